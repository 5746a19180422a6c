package steps

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fettle/engine/remedy"
	"fettle/engine/remedy/machine"
	"fettle/engine/remedy/step"
	"fettle/internal/means"
)

// held is a file without a name that this process has open.
func held(t *testing.T, content []byte, size int64) (*os.File, machine.OpenFile) {
	t.Helper()
	means.Root(t)
	f, err := os.CreateTemp(t.TempDir(), "held")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	f.Write(content)
	if size > 0 {
		if err := f.Truncate(size); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(f.Name()); err != nil {
		t.Fatal(err)
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		t.Fatal(err)
	}
	return f, machine.OpenFile{PID: os.Getpid(), FD: int(f.Fd()), Dev: uint64(st.Dev), Inode: st.Ino}
}

// ground is a folder that nobody but root can lead elsewhere.
func ground(t *testing.T, options string) string {
	t.Helper()
	means.Root(t)
	dir, err := os.MkdirTemp("/run", "fettle-copyout-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if options != "" {
		if err := unix.Mount("tmpfs", dir, "tmpfs", 0, options); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Unmount(dir, unix.MNT_DETACH) })
	}
	return dir
}

func site(t *testing.T) *step.Site {
	return &step.Site{Machine: machine.Linux{}, Temp: ".fettle-0001-0", Log: func(l string) { t.Log(l) }}
}

func TestCopyOut(t *testing.T) {
	_, open := held(t, []byte("precious"), 1<<30) // the rest is a hole
	dir := ground(t, "")
	s := CopyOut{Open: open, Name: "/var/log/app.log", To: dir + "/rescued/now/app.log.7-5"}
	if its, err := s.Items(t.Context(), machine.Linux{}); err != nil || its != nil {
		t.Fatalf("items: %v, %v", its, err)
	}
	// What a kill left of an earlier try is in nobody's way.
	os.MkdirAll(filepath.Dir(s.To), 0o700)
	os.WriteFile(filepath.Join(filepath.Dir(s.To), ".fettle-0001-0"), []byte("half"), 0o600)
	for range 2 { // twice ends the same
		if err := s.Apply(t.Context(), site(t), nil); err != nil {
			t.Fatal(err)
		}
	}
	var st unix.Stat_t
	if err := unix.Stat(s.To, &st); err != nil || st.Size != 1<<30 || st.Mode&0o7777 != 0o600 {
		t.Fatalf("%+v, %v", st, err)
	}
	if st.Blocks*512 > 1<<20 {
		t.Errorf("the copy takes %d bytes: holes became zeros", st.Blocks*512)
	}
	f, _ := os.Open(s.To)
	defer f.Close()
	b := make([]byte, 8)
	if f.Read(b); !bytes.Equal(b, []byte("precious")) {
		t.Errorf("the copy says %q", b)
	}
	if names, _ := filepath.Glob(dir + "/rescued/now/*"); len(names) != 1 {
		t.Errorf("left: %v", names)
	}
	if done, err := s.Done(t.Context(), machine.Linux{}, nil, nil); !done || err != nil {
		t.Errorf("done: %v, %v", done, err)
	}
}

// A copy that somebody else put there, or could exchange, is none: the content would
// be lost with the restart.
func TestCopyOutAmongOthers(t *testing.T) {
	_, open := held(t, []byte("precious"), 0)
	for name, prepare := range map[string]func(dir string) error{
		"a group's folder":   func(dir string) error { return errors.Join(os.Chown(dir, 0, means.Staff), os.Chmod(dir, 0o2775)) },
		"everybody's folder": func(dir string) error { return os.Chmod(dir, 0o1777) },
		"a user's folder":    func(dir string) error { return os.Chown(dir, means.Nobody, means.Nobody) },
		"a user's empty copy": func(dir string) error {
			return errors.Join(os.WriteFile(dir+"/app.log", nil, 0o600), os.Chown(dir+"/app.log", means.Nobody, 0))
		},
		"one others may write": func(dir string) error {
			return errors.Join(os.WriteFile(dir+"/app.log", nil, 0o600), os.Chmod(dir+"/app.log", 0o666))
		},
	} {
		dir := ground(t, "")
		if err := errors.Join(os.Chmod(dir, 0o755), prepare(dir)); err != nil {
			t.Fatal(err)
		}
		s := CopyOut{Open: open, Name: "x", To: dir + "/app.log"}
		var shared *machine.Shared
		for what, err := range map[string]error{
			"items": second(s.Items(t.Context(), machine.Linux{})),
			"apply": s.Apply(t.Context(), site(t), nil),
		} {
			if !errors.As(err, &shared) {
				t.Errorf("%s, %s: %v", name, what, err)
			}
		}
	}
}

// A number of a descriptor is used again: another file is not copied.
func TestCopyOutOfAnotherFile(t *testing.T) {
	f, open := held(t, []byte("a"), 0)
	other, _ := held(t, []byte("b"), 0)
	dir := ground(t, "")
	s := CopyOut{Open: open, Name: "x", To: dir + "/x"}
	if err := unix.Dup2(int(other.Fd()), int(f.Fd())); err != nil {
		t.Fatal(err)
	}
	for what, err := range map[string]error{"items": second(s.Items(t.Context(), machine.Linux{})),
		"apply": s.Apply(t.Context(), site(t), nil)} {
		var changed *machine.Changed
		if !errors.As(err, &changed) {
			t.Errorf("%s: %v", what, err)
		}
	}
	f.Close()
	if _, err := s.Items(t.Context(), machine.Linux{}); err == nil || !strings.Contains(err.Error(), "no longer the file") {
		t.Errorf("closed: %v", err)
	}
	if _, err := os.Stat(s.To); err == nil {
		t.Error("another file was copied")
	}
}

func second(_ []step.Item, err error) error { return err }

func TestCopyOutNeedsRoom(t *testing.T) {
	if !means.Inside(t, syscall.CLONE_NEWNS, time.Minute) {
		return
	}
	_, open := held(t, bytes.Repeat([]byte("x"), 4<<20), 0)
	dir := ground(t, "size=18m,mode=0700")
	s := CopyOut{Open: open, Name: "/srv/db", To: dir + "/db"}
	if _, err := s.Items(t.Context(), machine.Linux{}); err == nil ||
		!strings.Contains(err.Error(), "has room for 2 MiB: name another folder") {
		t.Errorf("items: %v", err)
	}
	var u *step.Untouched
	if err := s.Apply(t.Context(), site(t), nil); !errors.As(err, &u) {
		t.Errorf("apply: %v", err)
	}
	if es, _ := os.ReadDir(dir); len(es) > 0 {
		t.Errorf("left: %v", es)
	}
}

// Copies of what only root may read go where only root can look.
func TestCopyOutOnOthersGround(t *testing.T) {
	_, open := held(t, []byte("x"), 0)
	dir := ground(t, "")
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	s := CopyOut{Open: open, Name: "x", To: dir + "/x"}
	if err := s.Apply(t.Context(), site(t), nil); err == nil || !strings.Contains(err.Error(), "can be written by everybody") {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(s.To); err == nil {
		t.Error("a copy lies there")
	}
}

// A copy that is interrupted leaves nothing.
func TestCopyOutInterrupted(t *testing.T) {
	_, open := held(t, bytes.Repeat([]byte("x"), 1<<20), 0)
	dir := ground(t, "")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := (CopyOut{Open: open, Name: "x", To: dir + "/x"}).Apply(ctx, site(t), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if es, _ := os.ReadDir(dir); len(es) > 0 {
		t.Errorf("left: %v", es)
	}
}

func TestCopyOutIsJournaled(t *testing.T) {
	p := remedy.Plan{Steps: []step.Step{CopyOut{Open: machine.OpenFile{PID: 1, FD: 2, Dev: 3, Inode: 4}, Name: "n", To: "/t"}}}
	b, err := json.Marshal(p)
	var q remedy.Plan
	if err == nil {
		err = json.Unmarshal(b, &q)
	}
	if err != nil || len(q.Steps) != 1 || q.Steps[0] != p.Steps[0] {
		t.Errorf("%s: %v, %v", b, q, err)
	}
	text, err := remedy.Script(p)
	if err != nil || !strings.Contains(text, "cp --sparse=always --no-preserve=mode -- /proc/1/fd/2 /t") ||
		!strings.Contains(text, "stat -Lc %i -- /proc/1/fd/2)\" = 4") {
		t.Errorf("%v\n%s", err, text)
	}
}

func TestFileName(t *testing.T) {
	for _, c := range []struct{ unit, name, want string }{
		{"app@1.service", "/var/log/App_z-Z.9", "app@1.service-App_z-Z.9.7-5"},
		{"a b", "/x/$(reboot) é\n", "a_b-__reboot____.7-5"},
		{"", "/x/" + strings.Repeat("n", 300), "-" + strings.Repeat("n", 199) + ".7-5"},
	} {
		if got := FileName(c.unit, c.name, machine.OpenFile{PID: 7, FD: 5}); got != c.want {
			t.Errorf("%q, %q: %q, want %q", c.unit, c.name, got, c.want)
		}
	}
}

// TestCopyOutTo: what is no descriptor, or no place for a copy, is not asked for.
func TestCopyOutTo(t *testing.T) {
	for _, s := range []CopyOut{
		{To: "x", Open: machine.OpenFile{PID: 1}}, {To: "/x/../y", Open: machine.OpenFile{PID: 1}},
		{To: "/x", Open: machine.OpenFile{}}, {To: "/x", Open: machine.OpenFile{PID: 1, FD: -1}},
	} {
		if _, err := s.Items(t.Context(), machine.Linux{}); err == nil || !strings.Contains(err.Error(), "is no file to copy descriptor") {
			t.Errorf("%+v: %v", s, err)
		}
	}
}

// faulty is a machine on which one call fails, the n-th of its name.
type faulty struct {
	machine.Machine
	call string
	n    *int
	err  error
}

func (m faulty) fails(call string) error {
	if call == m.call {
		if *m.n--; *m.n == 0 {
			return m.err
		}
	}
	return nil
}

func (m faulty) Look(name string, content bool) (machine.Image, error) {
	if err := m.fails("look " + filepath.Base(name)); err != nil {
		return machine.Image{}, err
	}
	return m.Machine.Look(name, content)
}

func (m faulty) Room(dir string) (int64, error) {
	if err := m.fails("room"); err != nil {
		return 0, err
	}
	return m.Machine.Room(dir)
}

func (m faulty) Mkdir(dir string, mode uint32) error {
	return errors.Join(m.Machine.Mkdir(dir, mode), m.fails("mkdir"))
}

func (m faulty) Rmdir(dir string) error {
	if err := m.fails("rmdir"); err != nil {
		return err
	}
	return m.Machine.Rmdir(dir)
}

func (m faulty) Sync(f machine.Ref) error { return errors.Join(m.Machine.Sync(f), m.fails("sync")) }

func (m faulty) Rename(from machine.Ref, to string) error {
	if err := m.fails("rename"); err != nil {
		return err
	}
	return m.Machine.Rename(from, to)
}

// TestCopyOutFails: whatever fails is said, and what was begun is gone after Tidy.
func TestCopyOutFails(t *testing.T) {
	_, open := held(t, []byte("precious"), 0)
	broken := errors.New("broken")
	for _, c := range []struct {
		call string
		n    int
		err  error
		want error
		kept bool // the copy
	}{
		{"look copy", 1, broken, broken, false}, {"look copy", 2, broken, broken, false}, {"look new", 1, broken, broken, false},
		{"look new", 2, broken, broken, false}, {"look .fettle-0001-0", 1, broken, broken, false},
		{"look .fettle-0001-0", 2, broken, broken, false}, {"room", 1, broken, broken, false}, {"mkdir", 1, broken, broken, false},
		{"mkdir", 1, fs.ErrExist, nil, true}, {"sync", 1, broken, broken, false}, {"sync", 2, broken, broken, true},
		{"rename", 1, broken, broken, false}, {"none", 1, broken, nil, true},
	} {
		dir := ground(t, "")
		s := CopyOut{Open: open, Name: "x", To: dir + "/new/copy"}
		st, n := site(t), c.n
		st.Machine = faulty{st.Machine, c.call, &n, c.err}
		if err := s.Apply(t.Context(), st, nil); !errors.Is(err, c.want) {
			t.Errorf("%s %d: %v, want %v", c.call, c.n, err, c.want)
		}
		st.Machine = machine.Linux{}
		if kept, err := s.Tidy(t.Context(), st); kept != c.kept || err != nil {
			t.Errorf("%s %d: kept %v, %v", c.call, c.n, kept, err)
		}
		left, _ := filepath.Glob(dir + "/new*")
		if copies, _ := filepath.Glob(dir + "/new/*"); len(copies) > 0 != c.kept || len(left) > 0 != c.kept {
			t.Errorf("%s %d: left are %q, %q", c.call, c.n, left, copies)
		}
	}
}

// TestCopyOutItems: what a plan is made from, and what it is refused for.
func TestCopyOutItems(t *testing.T) {
	if !means.Inside(t, syscall.CLONE_NEWNS, time.Minute) {
		return
	}
	f, open := held(t, []byte("precious"), 0)
	broken := errors.New("broken")
	dir := ground(t, "size=17m,mode=0700")
	s := CopyOut{Open: open, Name: "x", To: dir + "/copy"}
	for call, want := range map[string]error{"none": nil, "look copy": broken, "room": broken} {
		n := 1
		if call == "look copy" {
			n = 2 // the first is RootsAlone's
		}
		if _, err := s.Items(t.Context(), faulty{machine.Linux{}, call, &n, broken}); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", call, err, want)
		}
	}
	if err := os.WriteFile(s.To, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f.Close()
	if _, err := s.Items(t.Context(), machine.Linux{}); err != nil {
		t.Errorf("the copy is there: %v", err)
	}
}

// TestCopyOutTidy: a folder with more in it stays, and what cannot be removed is said.
func TestCopyOutTidy(t *testing.T) {
	broken := errors.New("broken")
	for _, c := range []struct {
		call string
		n    int
		make string // a name in the folder; empty: there is no folder
		want error
	}{
		{"none", 1, "", nil}, {"none", 1, ".fettle-0001-0", nil}, {"none", 1, "other", nil}, {"rmdir", 1, ".fettle-0001-0", broken},
		{"look copy", 1, "other", broken}, {"look .fettle-0001-0", 1, "other", broken},
	} {
		dir := ground(t, "") + "/new"
		if c.make != "" {
			if err := errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(dir+"/"+c.make, nil, 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		st, n := site(t), c.n
		st.Machine = faulty{st.Machine, c.call, &n, broken}
		if stays, err := (CopyOut{To: dir + "/copy"}).Tidy(t.Context(), st); stays || !errors.Is(err, c.want) {
			t.Errorf("%+v: stays %v, %v", c, stays, err)
		}
		if _, err := os.Stat(dir); (err == nil) != (c.make == "other" || c.want != nil) {
			t.Errorf("%+v: the folder: %v", c, err)
		}
	}
}
