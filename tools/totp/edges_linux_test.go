package totp

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"fettle/internal/means"
)

// TestPeriods: the module takes codes of 1 to 60 s.
func TestPeriods(t *testing.T) {
	for period, ok := range map[int]bool{0: false, 1: true, 60: true, 61: false, -30: false} {
		_, step, err := ParseKey(fmt.Sprintf("otpauth://totp/a?secret=JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP&period=%d", period))
		if (err == nil) != ok || ok && step != period {
			t.Errorf("%d s: %d, %v", period, step, err)
		}
	}
}

// TestSizeOfFile: a file as large as the module reads is read whole, and one byte more is refused.
func TestSizeOfFile(t *testing.T) {
	p := Place{filepath.Join(t.TempDir(), FileName), uint32(os.Getuid()), uint32(os.Getgid())}
	for n, ok := range map[int]bool{0: true, MaxFile: true, MaxFile + 1: false} {
		if err := p.Write(bytes.Repeat([]byte{'x'}, n), true); err != nil {
			t.Fatal(err)
		}
		if b, err := p.Read(); (err == nil) != ok || ok && len(b) != n {
			t.Errorf("%d bytes: %d, %v", n, len(b), err)
		}
	}
}

// TestNowhere: what is not there is said, whatever was to be done with it, and nothing is left.
func TestNowhere(t *testing.T) {
	dir := t.TempDir()
	uid, gid := uint32(os.Getuid()), uint32(os.Getgid())
	nowhere := Place{filepath.Join(dir, "no", FileName), uid, gid}
	_, rerr := nowhere.Read()
	for what, err := range map[string]error{"read": rerr, "written": nowhere.Write(nil, true), "disabled": nowhere.Disable(),
		"a file that is not there, disabled": Place{filepath.Join(dir, FileName), uid, gid}.Disable()} {
		if !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %v", what, err)
		}
	}
	long := Place{filepath.Join(dir, strings.Repeat("x", 250)), uid, gid} // no room for the temporary name
	if err := long.Write([]byte("x"), false); err == nil || !strings.Contains(err.Error(), "writing ") {
		t.Errorf("a name that is too long: %v", err)
	}
	longer := Place{filepath.Join(dir, strings.Repeat("x", 300)), uid, gid}
	if err := longer.Write([]byte("x"), false); err == nil || !strings.Contains(err.Error(), "looking at") {
		t.Errorf("a name that cannot be: %v", err)
	}
	if es, err := os.ReadDir(dir); err != nil || len(es) != 0 {
		t.Errorf("left: %v, %v", es, err)
	}
}

// TestAnothersFile: a file of somebody else is not believed.
func TestAnothersFile(t *testing.T) {
	means.Root(t)
	p := Place{filepath.Join(t.TempDir(), FileName), 0, 0}
	if err := p.Write([]byte("x"), false); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(p.Path, 12345, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Read(); err == nil || !strings.Contains(err.Error(), "belongs to user ID 12345 and must belong to 0") {
		t.Error(err)
	}
}

// TestNothingStaysOpen: nor does a user's umask keep him from his file.
func TestNothingStaysOpen(t *testing.T) {
	p := Place{filepath.Join(t.TempDir(), FileName), uint32(os.Getuid()), uint32(os.Getgid())}
	before := means.OpenFiles(t)
	umask := unix.Umask(0o777)
	werr := p.Write([]byte("x"), false)
	unix.Umask(umask)
	_, rerr := p.Read()
	st, serr := os.Stat(p.Path)
	if err := errors.Join(werr, rerr, serr, p.Disable()); err != nil || st.Mode() != 0o400 {
		t.Errorf("%v, %v", st, err)
	}
	if after := means.OpenFiles(t); len(after) != len(before) {
		t.Errorf("open before: %v, after: %v", before, after)
	}
}

// TestNoRoom: a file that cannot be written whole leaves the old one, and nothing beside it.
func TestNoRoom(t *testing.T) {
	p := Place{filepath.Join(t.TempDir(), FileName), uint32(os.Getuid()), uint32(os.Getgid())}
	if err := p.Write([]byte("old"), false); err != nil {
		t.Fatal(err)
	}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	signal.Ignore(unix.SIGXFSZ)
	defer signal.Reset(unix.SIGXFSZ)
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 10, Max: limit.Max}); err != nil {
		t.Fatal(err)
	}
	err := p.Write(bytes.Repeat([]byte{'x'}, 20), true)
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	b, rerr := p.Read()
	es, derr := os.ReadDir(filepath.Dir(p.Path))
	if !errors.Is(err, unix.EFBIG) || string(b) != "old" || len(es) != 1 || rerr != nil || derr != nil {
		t.Errorf("%v; %q, %v, %v, %v", err, b, rerr, es, derr)
	}
}
