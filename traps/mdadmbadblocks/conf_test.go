package mdadmbadblocks

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"fettle/host/hosttest"
	"fettle/internal/means"
)

func TestConfLines(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", ""},
		{"# CREATE bbl=no\n\n   # more\n", ""},
		{"CREATE bbl=no\n", "CREATE bbl=no"},
		{"CREATE bbl=no", "CREATE bbl=no"},
		{"CREATE owner=root\n\tgroup=disk # " +
			"comment\n# at the margin\n bbl=no\nARRAY /dev/md0\n", "CREATE owner=root group=disk bbl=no|ARRAY /dev/md0"},
		{"CREATE owner=ro#ot bbl=no", "CREATE owner=ro#ot bbl=no"},
		{"CREATE #bbl=no", "CREATE"},
		{`CREATE "bbl=no"`, "CREATE bbl=no"},
		{`CREATE bbl='n'"o"`, "CREATE bbl=no"},
		{"CREATE \"owner=a b\nARRAY x", "CREATE owner=a b|ARRAY x"},
		{"  CREATE bbl=no\nDEVICE x", "CREATE bbl=no|DEVICE x"}, // nothing above that it could go on with
		{"CREATE bbl=no\r\n", "CREATE bbl=no\r"},                // mdadm knows no carriage return
	} {
		var got []string
		for _, line := range confLines(c.text) {
			var ws []string
			for _, w := range line {
				ws = append(ws, w.text)
			}
			got = append(got, strings.Join(ws, " "))
		}
		if g := strings.Join(got, "|"); g != c.want {
			t.Errorf("%q: got %q, want %q", c.text, g, c.want)
		}
	}
}

func TestSettings(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"CREATE bbl=no", "1 no"},
		{"cre BBL=No\n", "1 no"},
		{"cr bbl=no\n", ""}, // three letters at least
		{"creates bbl=no\n", ""},
		{"CREATE bbl=off\n", ""}, // mdadm complains, and makes lists
		{"CREATE bbl=no\r\n", ""},
		{"CREATE names=yes bbl=no\n bbl=yes\n", "1 no, 2 yes"},
		{"ARRAY bbl=no\n", ""},
		{"DEVICE partitions\n CREATE bbl=no\n", ""}, // goes on with DEVICE
	} {
		settings, _ := settingsOf("", c.text)
		var got []string
		for _, s := range settings {
			got = append(got, fmt.Sprintf("%d %s", s.line, map[bool]string{true: "no", false: "yes"}[s.off]))
		}
		if g := strings.Join(got, ", "); g != c.want {
			t.Errorf("%q: got %q, want %q", c.text, g, c.want)
		}
	}
}

func TestWithoutList(t *testing.T) {
	const note = "\n# No bad blocks lists on members added from now on (fettle, mdadm-bad-blocks)\nCREATE bbl=no\n"
	for _, c := range []struct{ text, want string }{
		{"", "CREATE bbl=no\n"},
		{"HOMEHOST <system>\n", "HOMEHOST <system>\n" + note},
		{"HOMEHOST <system>", "HOMEHOST <system>\n" + note},
		{"CREATE owner=root # as installed\nMAILADDR root\n", "CREATE owner=root bbl=no # as installed\nMAILADDR root\n"},
		{"CREATE owner=root\n\tgroup=disk\nMAILADDR root\n", "CREATE owner=root\n\tgroup=disk bbl=no\nMAILADDR root\n"},
		{"CREATE owner=root bbl=yes auto=yes\n", "CREATE owner=root bbl=no auto=yes\n"},
		{"CREATE \"bbl=yes\"\nCREATE BBL=NO\n", "CREATE bbl=no\nCREATE bbl=no\n"},
		{"CREATE bbl=no\nCREATE bbl=yes\n", "CREATE bbl=no\nCREATE bbl=no\n"},
		{"CREATE\n", "CREATE bbl=no\n"},
		{"CREATE owner=a\nCREATE owner=b\n", "CREATE owner=a\nCREATE owner=b bbl=no\n"},
		{"CREATE owner=root\r\n", "CREATE owner=root\r bbl=no\n"},
		{"CREATE 'owner=root\nMAILADDR root\n", "CREATE 'owner=root\nMAILADDR root\n" + note}, // a quote left open
		{"#CREATE bbl=no\n", "#CREATE bbl=no\n" + note},
	} {
		if got := withoutList(c.text); got != c.want {
			t.Errorf("%q:\n got %q\nwant %q", c.text, got, c.want)
		}
	}
}

func TestConfFiles(t *testing.T) {
	for _, c := range []struct{ name, files, main, want string }{
		{"debian", "/etc/mdadm/mdadm.conf", "/etc/mdadm/mdadm.conf", "/etc/mdadm/mdadm.conf"},
		{"debian, both", "/etc/mdadm/mdadm.conf /etc/mdadm.conf", "/etc/mdadm/mdadm.conf", "/etc/mdadm/mdadm.conf"},
		{"debian, only the other", "/etc/mdadm/README /etc/mdadm.conf " +
			"/etc/mdadm.conf.d/a.conf /etc/mdadm/mdadm.conf.d/b.conf", "/etc/mdadm.conf", "/etc/mdadm.conf /etc/mdadm.conf.d/a.conf"},
		{"debian, folder only", "/etc/mdadm/mdadm.conf.d/b.conf", "/etc/mdadm/mdadm.conf", "/etc/mdadm/mdadm.conf " +
			"/etc/mdadm/mdadm.conf.d/b.conf"},
		{"others", "/etc/mdadm.conf /etc/mdadm.conf.d/b.conf /etc/mdadm.conf.d/a.conf /etc/mdadm.conf.d/.x.conf /etc/mdadm.conf.d/.conf " +
			"/etc/mdadm.conf.d/c.conf~", "/etc/mdadm.conf", "/etc/mdadm.conf /etc/mdadm.conf.d/a.conf /etc/mdadm.conf.d/b.conf"},
		{"none", "/etc/fstab", "/etc/mdadm.conf", "/etc/mdadm.conf"},
	} {
		text := "x\n"
		for f := range strings.FieldsSeq(c.files) {
			text += "-- root" + f + " --\n\n"
		}
		main, all, err := confFiles(context.Background(), hosttest.New(t, text))
		if err != nil || main != c.main || !slices.Equal(all, strings.Fields(c.want)) {
			t.Errorf("%s: %s, %q, %v; want %s, %q", c.name, main, all, err, c.main, c.want)
		}
	}
}

func TestFuzz(t *testing.T) { means.Fuzz(t) }

// What is written has every setting off, and no other line's words changed.
func FuzzWithoutList(f *testing.F) {
	for _, s := range []string{"", "CREATE owner=roo" +
		"t\n\tgroup=disk # x\nARRAY /dev/md0\n", "CREATE 'bbl=yes' \"bbl=no\n", "cre\n bbl=yes", "CREATE x\r\n#", "\"", "CREATE '"} {
		f.Add(s)
	}
	others := func(text string) (out []string) {
		for _, line := range confLines(text) {
			if !isKeyword(line[0].text, "create") {
				for _, w := range line {
					out = append(out, w.text)
				}
			}
		}
		return out
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, line := range confLines(text) {
			for _, w := range line {
				if w.from >= w.to || w.to > len(text) || strings.Contains(text[w.from:w.to], "\n") || strings.Count(text[:w.from], "\n") != w.line-1 {
					t.Fatalf("%q: word %+v", text, w)
				}
			}
		}
		got := withoutList(text)
		settings, _ := settingsOf("", got)
		for _, s := range settings {
			if !s.off {
				t.Errorf("%q became %q, where line %d says bbl=yes", text, got, s.line)
			}
		}
		if len(settings) == 0 {
			t.Errorf("%q became %q, which says nothing", text, got)
		}
		if a, b := others(text), others(got); !slices.Equal(a, b) {
			t.Errorf("%q became %q: %q are now %q", text, got, a, b)
		}
	})
}
