package mdadmconf

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"fettle/host"
	"fettle/host/hosttest"
)

func TestLines(t *testing.T) {
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
		for _, line := range Lines(c.text) {
			var ws []string
			for _, w := range line {
				ws = append(ws, w.Text)
				at := strings.NewReplacer(`"`, "", "'", "").Replace(c.text[w.From:w.To])
				if at != w.Text || w.Line != 1+strings.Count(c.text[:w.From], "\n") {
					t.Errorf("%q: %+v is at %q", c.text, w, at)
				}
			}
			got = append(got, strings.Join(ws, " "))
		}
		if g := strings.Join(got, "|"); g != c.want {
			t.Errorf("%q: got %q, want %q", c.text, g, c.want)
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
		main, all, err := Files(context.Background(), hosttest.New(t, text))
		if err != nil || main != c.main || !slices.Equal(all, strings.Fields(c.want)) {
			t.Errorf("%s: %s, %q, %v; want %s, %q", c.name, main, all, err, c.main, c.want)
		}
	}
}

// TestUnread: which file counts is not known while one could not be looked at.
func TestUnread(t *testing.T) {
	for _, name := range []string{"/etc/mdadm", "/etc/mdadm.conf", "/etc/mdadm.conf.d"} {
		if main, all, err := Files(t.Context(), hosttest.New(t, "-- denied"+name+" --\n")); !errors.Is(err, host.ErrDenied) {
			t.Errorf("%s: %s, %q, %v", name, main, all, err)
		}
	}
}

// TestArrays: as mdadm --detail --scan and Debian's mkconf write them.
func TestArrays(t *testing.T) {
	got, home := Arrays("HOMEHOST <system>\nMAILADDR root\nARRAY /dev/md0 metadata=1.2 UUID=11111111:2222AAAA:33333333:44444444 name=vm:0\n" +
		"ARRAY /dev/md/1\n\tuuid=5555 more\narr metadata=1.2 uuid=6666\n#ARRAY /dev/md9\nAR /dev/md8\nHOMEHOST\n")
	want := []Array{{"/dev/md0", "111111112222aaaa3333333344444444"}, {"/dev/md/1", "5555"}, {"", "6666"}}
	if !slices.Equal(got, want) || home != "<system>" {
		t.Errorf("%+v, %q", got, home)
	}
	for device, want := range map[string]string{"/dev/md0": "md0", "/dev/md/12": "md12", "/dev/md0p1": "md0", "/dev/md/home": "",
		"/dev/md":  "",
		"/dev/sda": "", "/dev/md0p": "", "/dev/mdp1": "", "UUID=x": ""} {
		if got := Number(device); got != want {
			t.Errorf("%s: %q, want %q", device, got, want)
		}
	}
}
