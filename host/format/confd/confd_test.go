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
