package filesemantics

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Case is one act on an open file. The file "file" with the content "old;" and
// the symlink "link" to it are made, one of them is opened for appending, Act
// is done in their folder, and "new;" is written to the open file.
type Case struct {
	Name  string
	Open  string // "file" or "link"
	Act   func(dir string) error
	Want  map[string]string // content by name, Absent for none
	Links uint64            // of the open file
	Shown string            // its name by /proc/PID/fd
}

// Absent stands for the content of a name that does not exist.
const Absent = "(absent)"

// Seen is what a case led to.
type Seen struct {
	Content map[string]string // of the names that the case has an opinion of
	Open    string            // content read through the open file
	Links   uint64
	Shown   string
}

// Lands names the files in which the write that came after the act is found.
func (s Seen) Lands() string {
	var in []string
	for name, content := range s.Content {
		if strings.HasSuffix(content, "new;") && name != "link" {
			in = append(in, name)
		}
	}
	if len(in) == 0 {
		return "no name"
	}
	slices.Sort(in)
	return strings.Join(in, "+")
}

// Differs says what is not as the case wants it; "" for nothing.
func (c Case) Differs(s Seen) string {
	var out []string
	for name, want := range c.Want {
		if got := s.Content[name]; got != want {
			out = append(out, name+" holds "+strconv.Quote(got)+", not "+strconv.Quote(want))
		}
	}
	slices.Sort(out)
	if s.Open != "old;new;" {
		out = append(out, "the open file holds "+strconv.Quote(s.Open))
	}
	if s.Links != c.Links {
		out = append(out, strconv.FormatUint(s.Links, 10)+" links, not "+strconv.FormatUint(c.Links, 10))
	}
	if s.Shown != c.Shown {
		out = append(out, "/proc shows "+s.Shown+", not "+c.Shown)
	}
	return strings.Join(out, "; ")
}

// Prepare makes the case's files in dir, a folder that exists.
func (c Case) Prepare(dir string) error {
	if err := os.WriteFile(filepath.Join(dir, "file"), []byte("old;"), 0o644); err != nil {
		return err
	}
	return os.Symlink("file", filepath.Join(dir, "link"))
}

// Try does the case in dir, where Prepare's files are.
func (c Case) Try(dir string) (Seen, error) {
	s := Seen{Content: map[string]string{}}
	f, err := os.OpenFile(filepath.Join(dir, c.Open), os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		return s, err
	}
	defer f.Close()
	if err := c.Act(dir + "/"); err != nil {
		return s, err
	}
	if _, err := f.WriteString("new;"); err != nil {
		return s, err
	}
	for name := range c.Want {
		b, err := os.ReadFile(filepath.Join(dir, name))
		switch {
		case os.IsNotExist(err):
			s.Content[name] = Absent
		case err != nil:
			return s, err
		default:
			s.Content[name] = string(b)
		}
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return s, err
	}
	b, err := io.ReadAll(f)
	if err != nil {
		return s, err
	}
	s.Open = string(b)
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return s, err
	}
	s.Links = uint64(st.Nlink)
	shown, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(int(f.Fd())))
	s.Shown = strings.TrimPrefix(shown, dir+"/")
	return s, err
}

// replace makes name a file with the content "other", by renaming.
func replace(dir, name string) error {
	if err := other(dir + "tmp"); err != nil {
		return err
	}
	return os.Rename(dir+"tmp", dir+name)
}

func other(name string) error { return os.WriteFile(name, []byte("other"), 0o644) }

// Cases are what POSIX says; every file system should agree.
var Cases = []Case{
	{"deleted while open", "file", func(d string) error { return os.Remove(d + "file") },
		map[string]string{"file": Absent}, 0, "file (deleted)"},
	{"deleted and made anew", "file", func(d string) error {
		if err := os.Remove(d + "file"); err != nil {
			return err
		}
		return other(d + "file")
	}, map[string]string{"file": "other"}, 0, "file (deleted)"},
	{"renamed while open", "file", func(d string) error { return os.Rename(d+"file", d+"file.1") },
		map[string]string{"file": Absent, "file.1": "old;new;"}, 1, "file.1"},
	{"replaced by rename", "file", func(d string) error { return replace(d, "file") },
		map[string]string{"file": "other"}, 0, "file (deleted)"},
	{"symlink retargeted", "link", func(d string) error {
		if err := other(d + "second"); err != nil {
			return err
		}
		if err := os.Symlink("second", d+"tmp"); err != nil {
			return err
		}
		return os.Rename(d+"tmp", d+"link")
	}, map[string]string{"link": "other", "second": "other", "file": "old;new;"}, 1, "file"},
	{"symlink deleted", "link", func(d string) error { return os.Remove(d + "link") },
		map[string]string{"link": Absent, "file": "old;new;"}, 1, "file"},
	{"target of a symlink deleted", "link", func(d string) error { return os.Remove(d + "file") },
		map[string]string{"link": Absent}, 0, "file (deleted)"},
	{"one of two hard links deleted", "file", func(d string) error {
		if err := os.Link(d+"file", d+"hard"); err != nil {
			return err
		}
		return os.Remove(d + "file")
	}, map[string]string{"file": Absent, "hard": "old;new;"}, 1, "file (deleted)"},
	{"second hard link made", "file", func(d string) error { return os.Link(d+"file", d+"hard") },
		map[string]string{"file": "old;new;", "hard": "old;new;"}, 2, "file"},
	{"symlink made beside it", "file", func(d string) error { return os.Symlink("file", d+"soft") },
		map[string]string{"file": "old;new;", "soft": "old;new;"}, 1, "file"},
}
