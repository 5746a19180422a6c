package host

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fettle/internal/means"
)

// The FUSE protocol, include/uapi/linux/fuse.h: as much as a server needs that
// lets itself be mounted and then hangs.
const (
	fuseInit      = 26
	fuseHeader    = 40 // struct fuse_in_header
	fuseOutHeader = 16
	fuseInitOut   = 64
)

// hang serves FUSE on f: it agrees to the mount and answers nothing after. What
// it is asked it counts.
func hang(f *os.File, asked *atomic.Int64) {
	buf := make([]byte, 1<<20)
	for {
		n, err := f.Read(buf)
		if err != nil || n < fuseHeader {
			return // unmounted
		}
		if op := binary.NativeEndian.Uint32(buf[4:]); op != fuseInit {
			asked.Add(1)
			continue
		}
		out := make([]byte, fuseOutHeader+fuseInitOut)
		binary.NativeEndian.PutUint32(out, uint32(len(out)))
		copy(out[8:16], buf[8:16]) // unique
		body := out[fuseOutHeader:]
		binary.NativeEndian.PutUint32(body, 7)         // major
		binary.NativeEndian.PutUint32(body[4:], 31)    // minor
		binary.NativeEndian.PutUint32(body[20:], 4096) // max_write
		f.Write(out)
	}
}

// TestHungFUSE: a mount of the plain type fuse, as davfs2 makes it, whose
// server does not answer. Not one request may reach it: each would leave a
// process that nobody can kill. The judge is the server.
func TestHungFUSE(t *testing.T) {
	means.Root(t)
	fd, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		means.Missing(t, "needs /dev/fuse: "+err.Error())
	}
	// The server lives here: when the test ends, whoever hangs is let go.
	f := os.NewFile(uintptr(fd), "/dev/fuse")
	defer f.Close()
	var requests atomic.Int64
	go hang(f, &requests)
	dir := t.TempDir()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	cmd := &exec.Cmd{Path: exe, Args: os.Args[:1], Env: append(os.Environ(), "FETTLE_FUSE="+dir), ExtraFiles: []*os.File{f},
		Stdout: &said, Stderr: &said, SysProcAttr: &syscall.SysProcAttr{Unshareflags: unix.CLONE_NEWNS}}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	select {
	case err = <-done:
	case <-time.After(means.Patience):
		err = fmt.Errorf("hangs")
		f.Close()
		<-done
	}
	if err != nil || said.String() != "mounted and looked at\n" {
		t.Errorf("%v\n%s", err, said.String())
	}
	if n := requests.Load(); n > 0 {
		t.Errorf("the file system was asked %d times", n)
	}
}

// besideFUSE is the process that looks: it mounts what descriptor 3 serves, in
// a mount namespace of its own.
func besideFUSE(dir string) {
	check := func(what string, err error) {
		if err != nil {
			fmt.Printf("%s: %v\n", what, err)
			os.Exit(1)
		}
	}
	check("private mounts", unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
	check("a tmpfs", unix.Mount("tmpfs", dir, "tmpfs", 0, ""))
	at := dir + "/mnt"
	check("a folder", os.Mkdir(at, 0o755))
	check("a link", os.Symlink("mnt/x", dir+"/link"))
	check("mounting", unix.Mount("https://dav.example.com", at, "fuse", 0, "fd=3,rootmode=40000,user_id=0,group_id=0"))
	unix.Close(3) // the server's own is left
	hung, err := unix.Open(at, unix.O_PATH|unix.O_CLOEXEC, 0)
	check("holding it", err) // asks nothing: the root is known
	defer unix.Close(hung)
	l, err := NewLive()
	check("the live host", err)
	r, err := NewRoot(dir)
	check("the root folder", err)
	ctx := context.Background()
	for what, look := range map[string]func(){
		"stat":       func() { l.Stat(ctx, at, true) },
		"lstat":      func() { l.Stat(ctx, at+"/x", false) },
		"read":       func() { l.ReadFile(ctx, at+"/x", 10) },
		"by link":    func() { l.ReadFile(ctx, dir+"/link", 10) },
		"list":       func() { l.ReadDir(ctx, at) },
		"readlink":   func() { l.Readlink(ctx, at+"/x") },
		"xattr":      func() { l.Xattr(ctx, at, "user.x") },
		"as a user":  func() { l.ReadFile(As(ctx, 1234), at+"/x", 10) },
		"root":       func() { r.ReadFile(ctx, "/mnt/x", 10) },
		"root link":  func() { r.Stat(ctx, "/link", true) },
		"mounts":     func() { l.Table(ctx, TableFilesystems) },
		"open files": func() { l.Table(ctx, TableOpenFiles) },
		"processes":  func() { l.Table(ctx, TableProcesses) },
	} {
		done := make(chan bool)
		go func() { defer close(done); look() }()
		select {
		case <-done:
		case <-time.After(means.Patience):
			fmt.Println(what, "hangs")
		}
	}
	fmt.Println("mounted and looked at")
}
