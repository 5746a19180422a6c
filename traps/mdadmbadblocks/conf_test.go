package mdadmbadblocks

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"fettle/host/format/mdadmconf"
	"fettle/internal/means"
)

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
			got = append(got, fmt.Sprintf("%d %s", s.Line, map[bool]string{true: "no", false: "yes"}[s.off]))
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

func TestFuzz(t *testing.T) { means.Fuzz(t) }

// What is written has every setting off, and no other line's words changed.
func FuzzWithoutList(f *testing.F) {
	for _, s := range []string{"", "CREATE owner=roo" +
		"t\n\tgroup=disk # x\nARRAY /dev/md0\n", "CREATE 'bbl=yes' \"bbl=no\n", "cre\n bbl=yes", "CREATE x\r\n#", "\"", "CREATE '"} {
		f.Add(s)
	}
	others := func(text string) (out []string) {
		for _, line := range mdadmconf.Lines(text) {
			if !mdadmconf.IsKeyword(line[0].Text, "create") {
				for _, w := range line {
					out = append(out, w.Text)
				}
			}
		}
		return out
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, line := range mdadmconf.Lines(text) {
			for _, w := range line {
				if w.From >= w.To || w.To > len(text) || strings.Contains(text[w.From:w.To], "\n") || strings.Count(text[:w.From], "\n") != w.Line-1 {
					t.Fatalf("%q: word %+v", text, w)
				}
			}
		}
		got := withoutList(text)
		settings, _ := settingsOf("", got)
		for _, s := range settings {
			if !s.off {
				t.Errorf("%q became %q, where line %d says bbl=yes", text, got, s.Line)
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
