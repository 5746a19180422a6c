package deletedopenfiles

import (
	"io"
	"os"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestSemantics is what the lore says of names and open files, tried: on the
// file system of the machine's temporary folder and on tmpfs.
func TestSemantics(t *testing.T) {
	for _, fs := range []struct {
		name string
		dir  func(*testing.T) string
	}{{"disk", func(t *testing.T) string { return t.TempDir() }}, {"tmpfs", tmpfs}} {
		for _, c := range semantics {
			t.Run(fs.name+"/"+c.name, func(t *testing.T) {
				dir := fs.dir(t) + "/"
				write(t, dir+"file", "old;")
				os.Symlink("file", dir+"link")
				open := c.open
				if open == "" {
					open = "file"
				}
				f, err := os.OpenFile(dir+open, os.O_RDWR|os.O_APPEND, 0)
				if err != nil {
					t.Fatal(err)
				}
				defer f.Close()
				if err := c.act(dir); err != nil {
					t.Fatal(err)
				}
				if _, err := f.WriteString("new;"); err != nil {
					t.Fatal(err)
				}
				for name, want := range c.want {
					b, err := os.ReadFile(dir + name)
					if got := string(b); err != nil && want != "absent" || err == nil && got != want {
						t.Errorf("%s says %q (%v), want %q", name, got, err, want)
					}
				}
				f.Seek(0, io.SeekStart)
				if b, _ := io.ReadAll(f); string(b) != "old;new;" {
					t.Errorf("the open file says %q", b)
				}
				var st unix.Stat_t
				unix.Fstat(int(f.Fd()), &st)
				if uint64(st.Nlink) != c.links {
					t.Errorf("%d links, want %d", st.Nlink, c.links)
				}
				shown, _ := os.Readlink("/proc/self/fd/" + strconv.Itoa(int(f.Fd())))
				if shown = strings.TrimPrefix(shown, dir); shown != c.shown {
					t.Errorf("/proc shows %q, want %q", shown, c.shown)
				}
			})
		}
	}
}

// In each the file "file" ("old;") and the symlink "link" to it are made, one
// of them is opened, something is done, and "new;" is written to the open file.
var semantics = []struct {
	name  string
	open  string
	act   func(dir string) error
	want  map[string]string // content by name
	links uint64
	shown string // by /proc/self/fd
}{
	{"deleted while open", "", func(d string) error { return os.Remove(d + "file") },
		map[string]string{"file": "absent"}, 0, "file (deleted)"},
	{"deleted and made anew", "", func(d string) error { os.Remove(d + "file"); return os.WriteFile(d+"file", []byte("other"), 0o644) },
		map[string]string{"file": "other"}, 0, "file (deleted)"},
	{"renamed while open", "", func(d string) error { return os.Rename(d+"file", d+"file.1") },
		map[string]string{"file": "absent", "file.1": "old;new;"}, 1, "file.1"},
	{"replaced by rename", "", func(d string) error {
		os.WriteFile(d+"tmp", []byte("other"), 0o644)
		return os.Rename(d+"tmp", d+"file")
	},
		map[string]string{"file": "other"}, 0, "file (deleted)"},
	{"symlink retargeted", "link", func(d string) error {
		os.WriteFile(d+"second", []byte("other"), 0o644)
		os.Symlink("second", d+"tmp")
		return os.Rename(d+"tmp", d+"link")
	}, map[string]string{"link": "other", "second": "other", "file": "old;new;"}, 1, "file"},
	{"symlink deleted", "link", func(d string) error { return os.Remove(d + "link") },
		map[string]string{"link": "absent", "file": "old;new;"}, 1, "file"},
	{"target of a symlink deleted", "link", func(d string) error { return os.Remove(d + "file") },
		map[string]string{"link": "absent"}, 0, "file (deleted)"},
	{"one of two hard links deleted", "", func(d string) error { os.Link(d+"file", d+"hard"); return os.Remove(d + "file") },
		map[string]string{"file": "absent", "hard": "old;new;"}, 1, "file (deleted)"},
	{"hard link shares", "", func(d string) error { return os.Link(d+"file", d+"hard") },
		map[string]string{"file": "old;new;", "hard": "old;new;"}, 2, "file"},
}
