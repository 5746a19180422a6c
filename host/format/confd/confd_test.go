package confd

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"fettle/host"
	"fettle/host/hosttest"
)

// TestSettings: of the main files the first one counts, and fragments count more.
func TestSettings(t *testing.T) {
	h := hosttest.New(t, `
-- root/etc/x.conf --
a
-- root/usr/lib/x.conf --
hidden
-- root/usr/lib/x.conf.d/10-a.conf --
b
-- link/etc/x.conf.d/20-b.conf --
/dev/null
`)
	got := ""
	err := Settings(t.Context(), h, "x.conf", func(file string, text []byte) { got += file + ": " + string(text) })
	if want := "/etc/x.conf: a\n/usr/lib/x.conf.d/10-a.conf: b\n"; err != nil || got != want {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
}

// TestSettingsApart: what comes after a file that is not there, or is there only to hide others,
// counts nevertheless; what could not be read is an error.
func TestSettingsApart(t *testing.T) {
	const d, taken = "/etc/x.conf.d/", "/usr/lib/x.conf: main\n/etc/x.conf.d/9.conf: last\n"
	const files = "-- root/usr/lib/x.conf --\nmain\n-- root" + d + "9.conf --\nlast\n"
	for text, want := range map[string]string{
		files:                                 taken,
		"kind: root\n" + files:                taken,
		files + "-- root" + d + "1.conf --\n": taken,
		files + "-- link" + d + "1.conf --\n/dev/null\n":                              taken,
		files + "-- link" + d + "1.conf --\n/none\n":                                  taken,
		files + "-- denied/etc/x.conf --\n":                                           "reading /etc/x.conf: permission denied",
		files + "-- denied/etc/x.conf.d --\n":                                         "listing /etc/x.conf.d: permission denied",
		files + "-- stat" + d + "1.conf --\ntype file\n-- denied" + d + "1.conf --\n": "lstat of /etc/x.conf.d/1.conf: permission denied",
		files + "-- link" + d + "1.conf --\n/usr/lib\n":                               "reading /etc/x.conf.d/1.conf: not a regular file",
	} {
		got := ""
		if err := Settings(t.Context(), hosttest.New(t, text), "x.conf", func(file string, text []byte) {
			got += file + ": " + string(text)
		}); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestFiles(t *testing.T) {
	h := hosttest.New(t, `
-- root/usr/lib/x.d/10-a.conf --
lib
-- root/usr/lib/x.d/20-b.conf --
lib
-- root/usr/lib/x.d/30-c.conf --
lib
-- root/usr/lib/x.d/40-d.conf --
lib
-- root/usr/lib/x.d/.hidden.conf --
no
-- root/usr/lib/x.d/folder.conf/x --
no
-- root/usr/lib/x.d/README --
no
-- root/run/x.d/20-b.conf --
run
-- root/etc/x.d/20-b.conf --
etc
-- root/etc/x.d/05-z.conf --
etc
-- link/etc/x.d/30-c.conf --
/dev/null
-- link/usr/local/lib/x.d/40-d.conf --
../../../../dev/null
`)
	fs, err := Files(t.Context(), h, Dirs("x.d"), ".conf")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range fs {
		got = append(got, fmt.Sprintf("%s %v %v", f.Path, f.Null, f.Hides))
	}
	want := `/etc/x.d/05-z.conf false []
/usr/lib/x.d/10-a.conf false []
/etc/x.d/20-b.conf false [/run/x.d/20-b.conf /usr/lib/x.d/20-b.conf]
/etc/x.d/30-c.conf true [/usr/lib/x.d/30-c.conf]
/usr/local/lib/x.d/40-d.conf true [/usr/lib/x.d/40-d.conf]`
	if g := strings.Join(got, "\n"); g != want {
		t.Errorf("got\n%s\nwant\n%s", g, want)
	}
}

func TestFilesUnseen(t *testing.T) {
	h := hosttest.New(t, "-- denied/etc/x.d --\n-- root/usr/lib/x.d/a.conf --\nx\n")
	fs, err := Files(t.Context(), h, Dirs("x.d"), ".conf")
	if len(fs) != 1 || !errors.Is(err, host.ErrDenied) {
		t.Errorf("%v, %v", fs, err)
	}
	h = hosttest.New(t, "kind: root\n-- root/usr/lib/x.d/a.conf --\nx\n")
	if fs, err := Files(t.Context(), h, Dirs("x.d"), ".conf"); len(fs) != 1 || err != nil {
		t.Errorf("of a root folder: %v, %v", fs, err)
	}
}
