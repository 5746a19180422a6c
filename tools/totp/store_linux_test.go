package totp

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"fettle/internal/means"
)

func TestStore(t *testing.T) {
	dir := t.TempDir()
	p := Place{filepath.Join(dir, FileName), uint32(os.Getuid()), uint32(os.Getgid())}
	if _, err := p.Read(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("nothing there: %v", err)
	}
	if err := p.Write([]byte("one\n"), false); err != nil {
		t.Fatal(err)
	}
	st, err := os.Stat(p.Path)
	if err != nil || st.Mode() != 0o400 {
		t.Errorf("%v %v", st.Mode(), err)
	}
	var exists *Exists
	if err := p.Write([]byte("two\n"), false); !errors.As(err, &exists) {
		t.Errorf("over another: %v", err)
	}
	if b, err := p.Read(); err != nil || string(b) != "one\n" {
		t.Errorf("%q %v", b, err)
	}
	if err := p.Write([]byte("two\n"), true); err != nil {
		t.Error(err)
	}
	if b, _ := p.Read(); string(b) != "two\n" {
		t.Errorf("%q", b)
	}
	if err := p.Disable(); err != nil {
		t.Error(err)
	}
	if es, _ := os.ReadDir(dir); len(es) != 1 || es[0].Name() != FileName+".disabled" {
		t.Errorf("left: %v", es)
	}
	if err := p.Write([]byte("three\n"), false); err != nil {
		t.Error(err)
	}
	if err := p.Disable(); err == nil || !strings.Contains(err.Error(), "there already") {
		t.Errorf("over a disabled one: %v", err)
	}
	os.Remove(p.Path)
	os.Symlink("/etc/hostname", p.Path)
	for _, replace := range []bool{false, true} {
		if err := p.Write([]byte("x"), replace); err == nil || !strings.Contains(err.Error(), "not a regular file") {
			t.Errorf("over a link: %v", err)
		}
	}
	if _, err := p.Read(); err == nil || !strings.Contains(err.Error(), "symbolic link") {
		t.Errorf("reading a link: %v", err)
	}
	os.Remove(p.Path)
	syscall.Mkfifo(p.Path, 0o600)
	if _, err := p.Read(); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("reading a pipe: %v", err)
	}
}

// TestStoreAsUser: root writes with the user's rights, and his links lead
// nowhere that he cannot go himself.
func TestStoreAsUser(t *testing.T) {
	means.Root(t)
	const uid, gid = 12345, 12346
	top := t.TempDir()
	for dir := top; dir != "/" && dir != "/tmp"; dir = filepath.Dir(dir) {
		os.Chmod(dir, 0o755)
	}
	secret := filepath.Join(top, "roots") // a folder of root's that only root may enter
	home := filepath.Join(top, "home")
	for _, d := range []string{secret, home} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chown(home, uid, gid); err != nil {
		t.Fatal(err)
	}
	p := Place{filepath.Join(home, FileName), uid, gid}
	if err := p.Write([]byte("x\n"), false); err != nil {
		t.Fatal(err)
	}
	st, err := os.Stat(p.Path)
	if err != nil {
		t.Fatal(err)
	}
	if s := st.Sys().(*syscall.Stat_t); s.Uid != uid || s.Gid != gid || st.Mode() != 0o400 {
		t.Errorf("%d:%d %v", s.Uid, s.Gid, st.Mode())
	}
	if b, err := p.Read(); err != nil || string(b) != "x\n" {
		t.Errorf("%q %v", b, err)
	}
	if os.Geteuid() != 0 {
		t.Error("not root any more")
	}
	if err := os.WriteFile(filepath.Join(secret, "still-root"), nil, 0o600); err != nil {
		t.Errorf("rights of the other threads: %v", err)
	}
	// The user turns his home into a link to root's folder.
	os.Rename(home, home+".was")
	if err := os.Symlink(secret, home); err != nil {
		t.Fatal(err)
	}
	if err := p.Write([]byte("x\n"), true); !errors.Is(err, os.ErrPermission) {
		t.Errorf("through a link into root's folder: %v", err)
	}
	if es, _ := os.ReadDir(secret); len(es) != 1 {
		t.Errorf("root's folder holds %v", es)
	}
	// A file of root's beside it cannot be replaced, nor read through a link.
	os.Remove(home)
	os.Rename(home+".was", home)
	os.Remove(p.Path)
	os.Symlink(filepath.Join(secret, "still-root"), p.Path)
	if _, err := p.Read(); err == nil {
		t.Error("read through a link")
	}
}
