package host

import (
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"fettle/internal/means"
)

// TestAgain: what was interrupted is repeated, what met a change a few times, and nothing else.
func TestAgain(t *testing.T) {
	means.Ends(t)
	for name, c := range map[string]struct {
		err   error
		times int // that the call fails so, before it works
		calls int
		want  error
	}{
		"works":             {nil, 0, 1, nil},
		"interrupted":       {unix.EINTR, 100, 101, nil},
		"met a change":      {unix.EAGAIN, 16, 17, nil},
		"meets it for ever": {unix.EAGAIN, 99, 17, unix.EAGAIN},
		"is not there":      {unix.ENOENT, 99, 1, unix.ENOENT},
	} {
		calls := 0
		n, err := retry(func() (int, error) {
			if calls++; calls <= c.times {
				return -1, c.err
			}
			return 7, nil
		})
		if calls != c.calls || !errors.Is(err, c.want) || err == nil && n != 7 {
			t.Errorf("%s: %d calls, %d, %v; want %d calls, %v", name, calls, n, err, c.calls, c.want)
		}
	}
}

// TestNoDescriptorIsLeft: whatever is read, and whether or not it can be, nothing of it stays open.
func TestNoDescriptorIsLeft(t *testing.T) {
	dir := t.TempDir()
	file := write(t, dir+"/file", "x")
	if err := errors.Join(os.Symlink("file", dir+"/link"), unix.Mkfifo(dir+"/fifo", 0o600)); err != nil {
		t.Fatal(err)
	}
	live, err := NewLive()
	if err != nil {
		t.Fatal(err)
	}
	root, err := NewRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	ctx := t.Context()
	for what, read := range map[string]func(){
		"listing": func() { live.ReadDir(ctx, dir); root.ReadDir(ctx, "/") },
		"files": func() {
			live.ReadFile(ctx, file, 9)
			root.ReadFile(ctx, "/link", 9)
			live.ReadFile(ctx, "/proc/self/status", 1<<16)
		},
		"refusals": func() {
			live.ReadFile(ctx, dir+"/fifo", 9)
			live.ReadFile(ctx, file, 0)
			root.ReadFile(ctx, "/none", 9)
			live.ReadFile(ctx, "/proc/self", 9)
		},
		"looks": func() {
			live.Stat(ctx, file, true)
			root.Stat(ctx, "/link", true)
			root.Stat(ctx, "/link", false)
			root.Readlink(ctx,
				"/link")
		},
		"attributes": func() { live.Xattr(ctx, file, "user.x"); root.Xattr(ctx, "/file", "user.x") },
		"processes":  func() { readProcesses(ctx) },
		"open files": func() { scanOpenFiles(ctx, &mountTable{}) },
		"servers":    func() { readHeld(ctx) },
		"listeners":  func() { readListeners(ctx, &processTable{}) },
		"no folder":  func() { NewRoot(dir + "/none"); NewRoot(file) },
	} {
		read()
		before := len(means.OpenFiles(t))
		const times = 5
		for range times {
			read()
		}
		if now := len(means.OpenFiles(t)); now >= before+times {
			t.Errorf("%s: %d descriptors were open, and now %d", what, before, now)
		}
	}
}

// TestXattr: an attribute that a file has, one that it has not, and one of a file system that knows none.
func TestXattr(t *testing.T) {
	file := write(t, t.TempDir()+"/file", "x")
	if err := unix.Setxattr(file, "user.x", []byte("value"), 0); err != nil {
		means.Missing(t, "needs a file system with user attributes: "+err.Error())
	}
	l, err := NewLive()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, attr, want string
		err              error
	}{{file, "user.x", "value", nil}, {file, "user.y", "", ErrAbsent}, {"/proc/self/status", "user.x", "", ErrAbsent}, {file + "/none",
		"user.x", "", unix.ENOTDIR}} {
		if b, err := l.Xattr(t.Context(), c.name, c.attr); string(b) != c.want || !errors.Is(err, c.err) {
			t.Errorf("%s of %s: %q, %v, want %q, %v", c.attr, c.name, b, err, c.want, c.err)
		}
	}
}
