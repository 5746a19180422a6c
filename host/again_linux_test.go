package host

import (
	"errors"
	"fmt"
	"os"
	"strings"
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

// TestShapeEnds: whatever the text, and before any other test would wait for it.
func TestShapeEnds(t *testing.T) {
	means.Ends(t)
	for text, want := range map[string]string{"": "", "a": "a", "12": "#", "a 12": "a #", " 12 ": " # ", "a1-22": "a1-#", "ä 7": "ä #"} {
		if got := shape(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestChainsOfLinks: as many links are followed as the kernel follows, whoever follows them.
func TestChainsOfLinks(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/l0", "x")
	links := map[string]string{}
	for i := range 41 {
		from, to := fmt.Sprint("l", i+1), fmt.Sprint("l", i)
		links["/"+from] = to
		if err := os.Symlink(to, dir+"/"+from); err != nil {
			t.Fatal(err)
		}
	}
	live, err := NewLive()
	if err != nil {
		t.Fatal(err)
	}
	m := fakeMounts("22 1 8:1 / / rw - ext4 /dev/sda1 rw\n30 22 0:40 /home /home rw - nfs4 filer:/home rw\n")
	for n, want := range map[int]error{1: nil, 40: nil, 41: unix.ELOOP} {
		name := fmt.Sprint("/l", n)
		if b, err := live.ReadFile(t.Context(), dir+name, 9); !errors.Is(err, want) || err == nil && string(b) != "x" {
			t.Errorf("%d links: %q, %v, want %v", n, b, err, want)
		}
		at, err := m.resolve(name, false, func(at string) (string, error) {
			if to, ok := links[at]; ok {
				return to, nil
			}
			return "", unix.EINVAL
		})
		if !errors.Is(err, want) || err == nil && at != "/l0" {
			t.Errorf("%d links beside a network mount: %q, %v, want %v", n, at, err, want)
		}
	}
	for todo, want := range map[string]bool{"": false, ".": false, "//./": false, "a": true, "./a": true, "a/.": true, "..": true} {
		if remains(strings.Split(todo, "/")) != want {
			t.Errorf("%q: a component remains: %v", todo, !want)
		}
	}
	if got := join("/", []string{"a", ".."}) + join("/a", nil) + join("/a", []string{"b"}); got != "/a/../a/a/b" {
		t.Error(got)
	}
}

// TestUnitNames: names that systemctl is given, at their bounds (systemd.unit(5)); one that begins like an option is not.
func TestUnitNames(t *testing.T) {
	long := strings.Repeat("a", 247)
	for name, want := range map[string]bool{"a.service": true, long + ".service": true, long + "a.service": false, ".service": false,
		"a.": false, "a": false,
		"-a.service": false, "a.b": true, `a\x2d@b:c_d.mount`: true, "a b.service": false, "": false, "-.mount": false} {
		if validUnitName(name) != want {
			t.Errorf("%.20q (%d bytes) is a unit's name: %v", name, len(name), !want)
		}
	}
}
