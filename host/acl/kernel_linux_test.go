package acl_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"fettle/host/acl"
	"fettle/internal/means"
)

// TestAgainstSetfacl gives files lists with setfacl and reads them, and the
// other way round, with getfacl as the judge.
func TestAgainstSetfacl(t *testing.T) {
	setfacl, getfacl := means.Tool(t, "setfacl"), means.Tool(t, "getfacl")
	dir := t.TempDir()
	file := filepath.Join(dir, "f")
	if err := os.WriteFile(file, nil, 0o640); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setxattr(file, acl.XattrAccess, acl.FromMode(0o640).Xattr(), 0); err == unix.EOPNOTSUPP {
		means.Missing(t, "needs a file system with ACLs below the temporary folder")
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	perm := func() acl.Perm { return acl.Perm(rnd.IntN(8)) }
	have := acl.FromMode(0o640)
	for i := range 60 {
		var add acl.ACL
		for _, tag := range []acl.Tag{acl.User, acl.Group, acl.UserObj, acl.GroupObj, acl.Other, acl.Mask} {
			if rnd.IntN(3) == 0 {
				e := acl.Entry{Tag: tag, Perm: perm()}
				if tag == acl.User || tag == acl.Group {
					e.ID = uint32(rnd.IntN(4) * 1000)
				}
				add = append(add, e)
			}
		}
		if len(add) == 0 {
			continue
		}
		if out, err := exec.Command(setfacl, "-m", add.String(), file).CombinedOutput(); err != nil {
			t.Fatalf("setfacl -m %s: %v\n%s", add, err, out)
		}
		have = have.Merge(add...)
		got := readXattr(t, file, acl.XattrAccess)
		if got == nil {
			st, _ := os.Stat(file)
			got = acl.FromMode(st.Mode())
		}
		if !got.Equal(have) {
			t.Fatalf("round %d: after setfacl -m %s the file has %s; Merge says %s", i, add, got, have)
		}
		if st, _ := os.Stat(file); st.Mode().Perm() != have.Mode() {
			t.Fatalf("mode %o; Mode says %o for %s", st.Mode().Perm(), have.Mode(), have)
		}
	}
	sub := filepath.Join(dir, "d")
	if err := os.Mkdir(sub, 0o755); err != nil {
		t.Fatal(err)
	}
	list, err := acl.ParseText("other::--x,user::rwx,group::r-x,group:4:r-x", acl.Names{})
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Setxattr(sub, acl.XattrDefault, list.Xattr(), 0); err != nil {
		t.Fatalf("the kernel refuses %s: %v", list, err)
	}
	out, err := exec.Command(getfacl, "-n", "-c", "-d", "-E", sub).Output()
	if want := strings.ReplaceAll(list.WithMask().String(), ",", "\n"); err != nil || strings.TrimSpace(string(out)) != want {
		t.Errorf("getfacl prints %s (%v); want %s", out, err, want)
	}
	if text, err := acl.ParseText(string(out), acl.Names{}); err != nil || !text.Equal(list.WithMask()) {
		t.Errorf("what getfacl prints is read as %s, %v", text, err)
	}
}

func readXattr(t *testing.T, file, attr string) acl.ACL {
	t.Helper()
	buf := make([]byte, 4096)
	n, err := unix.Getxattr(file, attr, buf)
	if err == unix.ENODATA {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	a, err := acl.ParseXattr(buf[:n])
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestAllowsAsTheKernel asks the kernel, as unprivileged processes, what it
// allows on files with random lists.
func TestAllowsAsTheKernel(t *testing.T) {
	means.Root(t)
	test := means.Tool(t, "test")
	dir, err := os.MkdirTemp("", "acl")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "f")
	if err := os.WriteFile(file, nil, 0); err != nil {
		t.Fatal(err)
	}
	const owner, group = 2000, 2001
	if err := os.Chown(file, owner, group); err != nil {
		t.Fatal(err)
	}
	rnd := rand.New(rand.NewPCG(3, 4))
	for range 40 {
		a := acl.FromMode(os.FileMode(rnd.IntN(0o1000)))
		for range rnd.IntN(4) {
			tag := []acl.Tag{acl.User, acl.Group}[rnd.IntN(2)]
			a = a.Merge(acl.Entry{Tag: tag, ID: uint32(2000 + rnd.IntN(4)), Perm: acl.Perm(rnd.IntN(8))})
		}
		if _, ok := a.Find(acl.Mask, 0); ok && rnd.IntN(2) == 0 {
			a = a.Merge(acl.Entry{Tag: acl.Mask, Perm: acl.Perm(rnd.IntN(8))})
		}
		if err := unix.Setxattr(file, acl.XattrAccess, a.Xattr(), 0); err != nil {
			t.Fatalf("%s: %v", a, err)
		}
		uid, gids := uint32(2000+rnd.IntN(4)), []uint32{uint32(2000 + rnd.IntN(5)), uint32(2000 + rnd.IntN(5))}
		for flag, want := range map[string]acl.Perm{"-r": acl.Read, "-w": acl.Write, "-x": acl.Exec} {
			cmd := exec.Command(test, flag, file)
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: gids[0], Groups: gids}}
			kernel := cmd.Run() == nil
			if got := a.Allows(uid, gids, owner, group, want); got != kernel {
				t.Fatalf("uid %d gids %v on %s: test %s says %v, Allows says %v", uid, gids, a, flag, kernel, got)
			}
		}
	}
}

// TestInheritAsTheKernel creates files in folders with random default lists.
func TestInheritAsTheKernel(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	dir := t.TempDir()
	for i := range 60 {
		list := acl.FromMode(os.FileMode(rnd.IntN(0o1000)))
		for range rnd.IntN(3) {
			list = list.Merge(acl.Entry{Tag: acl.Group, ID: uint32(rnd.IntN(9)), Perm: acl.Perm(rnd.IntN(8))})
		}
		if err := unix.Setxattr(dir, acl.XattrDefault, list.Xattr(), 0); err == unix.EOPNOTSUPP {
			means.Missing(t, "needs a file system with ACLs below the temporary folder")
		} else if err != nil {
			t.Fatal(err)
		}
		file, mode := filepath.Join(dir, fmt.Sprint(i)), os.FileMode(rnd.IntN(0o1000))
		f, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY, mode)
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
		want := list.Inherit(mode)
		got := readXattr(t, file, acl.XattrAccess)
		st, _ := os.Stat(file)
		if got == nil {
			got = acl.FromMode(st.Mode())
		}
		if !got.Equal(want) || st.Mode().Perm() != want.Mode() {
			t.Fatalf("created with %o below %s: %s (mode %o); Inherit says %s", mode, list, got, st.Mode().Perm(), want)
		}
	}
}
