package confine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"fettle/host"
)

// emptied are the folders in which programs that only validate their configuration still make
// files: an isolated command gets file systems of its own there, with the folders that the host
// has, and without their files.
var emptied = []string{"/run", "/var/run", "/tmp", "/var/tmp", "/var/log"}

const (
	// ownSize bounds what a command may write there.
	ownSize = "size=16m,nr_inodes=4k,mode=0755"
	// ownDepth and ownFolders bound how many folders are made there.
	ownDepth, ownFolders = 3, 2000
)

// isolate gives the calling thread, and what it starts from now on, namespaces of its own:
// no network and no process to be reached (what the command leaves behind dies with it,
// pid_namespaces(7)), and the emptied folders to write to, which it returns. abi is the kernel's
// version of Landlock.
func isolate(abi int) ([]string, error) {
	// The first process in the new PID namespace is its init, and when that ends there can be no
	// other: Go's own trial of pidfds (os.checkPidfd) must not be it.
	if p, err := os.FindProcess(os.Getpid()); err == nil {
		p.Release()
	}
	if err := unix.Unshare(unix.CLONE_NEWNS | unix.CLONE_NEWNET | unix.CLONE_NEWPID | unix.CLONE_NEWIPC); err != nil {
		if errors.Is(err, unix.EPERM) {
			return nil, host.ErrDenied
		}
		return nil, fmt.Errorf("making namespaces: %w", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return nil, fmt.Errorf("parting from the host's mounts: %w", err)
	}
	// Addresses that the host has, the namespace has not: programs may bind to them nevertheless.
	for _, v := range []string{"ipv4", "ipv6"} {
		os.WriteFile("/proc/sys/net/"+v+"/ip_nonlocal_bind", []byte("1"), 0)
	}
	if err := readOnly(); err != nil && abi == 0 {
		return nil, err
	}
	var own []string
	for _, dir := range emptied {
		if st, err := os.Lstat(dir); err != nil || !st.IsDir() { // /var/run is a link to /run
			continue
		}
		folders := skeleton(dir)
		if err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ownSize); err != nil {
			return nil, fmt.Errorf("mounting an empty %s: %w", dir, err)
		}
		for _, f := range folders {
			f.make()
		}
		own = append(own, dir)
	}
	return own, nil
}

// readOnly makes all mounts of the thread's own namespace read-only: what Landlock does where
// the kernel has it, and the only thing that does it before Linux 5.13.
func readOnly() error {
	b, err := os.ReadFile("/proc/thread-self/mountinfo")
	if err != nil {
		return fmt.Errorf("reading the mounts: %w", err)
	}
	for _, m := range host.ParseMountinfo(string(b)) {
		flags := uintptr(unix.MS_REMOUNT | unix.MS_BIND | unix.MS_RDONLY)
		for o := range strings.SplitSeq(m.Options, ",") {
			flags |= mountFlags[o]
		}
		if err := unix.Mount("", m.Point, "", flags, ""); err != nil {
			return fmt.Errorf("making %s read-only: %w", m.Point, err)
		}
	}
	return nil
}

// mountFlags are the options of a mount that a remount has to repeat (mount(2)).
var mountFlags = map[string]uintptr{"nosuid": unix.MS_NOSUID, "nodev": unix.MS_NODEV, "noexec": unix.MS_NOEXEC,
	"noatime": unix.MS_NOATIME, "nodiratime": unix.MS_NODIRATIME, "relatime": unix.MS_RELATIME}

// folder is one that the host has.
type folder struct {
	name     string
	mode     fs.FileMode
	uid, gid int
}

// make makes it where its file system is empty now. What cannot be made is missed by the
// command, which says so.
func (f folder) make() {
	if os.Mkdir(f.name, 0o700) == nil {
		os.Chown(f.name, f.uid, f.gid)
		os.Chmod(f.name, f.mode)
	}
}

// skeleton are the folders below dir, each before those in it.
func skeleton(dir string) []folder {
	var out []folder
	filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return fs.SkipDir
		case !e.IsDir() || name == dir:
			return nil
		case len(out) >= ownFolders:
			return fs.SkipAll
		}
		st, err := e.Info()
		if err != nil { // it is gone by now
			return fs.SkipDir
		}
		sys, ok := st.Sys().(*syscall.Stat_t)
		if !ok {
			return fs.SkipDir
		}
		out = append(out, folder{name, st.Mode() & (fs.ModePerm | fs.ModeSetgid | fs.ModeSticky), int(sys.Uid), int(sys.Gid)})
		if strings.Count(strings.TrimPrefix(name, dir), "/") >= ownDepth {
			return fs.SkipDir
		}
		return nil
	})
	return out
}
