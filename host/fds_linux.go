package host

import (
	"bytes"
	"encoding/binary"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// descriptors looks at every link below /proc/PID/fd. It reads folder entries
// and links with bare system calls: tens of thousands of descriptors are
// usual, and hits are few. False: there were none.
//
// The links of a process with very many descriptors are followed beside the
// listing of the folder: either takes about half the time.
func (w *scanner) descriptors(fds int) bool {
	some := false
	var beside *scanner
	var batch chan []byte
	var done sync.WaitGroup
	for {
		n, err := retry(func() (int, error) { return unix.Getdents(fds, w.dents) })
		if err != nil || n <= 0 {
			break
		}
		if n < len(w.dents)-1024 && beside == nil || runtime.GOMAXPROCS(0) == 1 {
			some = w.entries(fds, w.dents[:n]) || some
			continue
		}
		some = true
		if beside == nil {
			beside, batch = newScanner(w.fileScan), make(chan []byte, 1)
			beside.dirfd, beside.pid = w.dirfd, w.pid
			done.Go(func() {
				for b := range batch {
					beside.entries(fds, b)
				}
			})
		}
		select {
		case batch <- slices.Clone(w.dents[:n]):
		default: // the other one is behind
			w.entries(fds, w.dents[:n])
		}
	}
	if beside != nil {
		close(batch)
		done.Wait()
		w.hits = append(w.hits, beside.hits...)
		w.refused = w.refused || beside.refused
	}
	return some
}

// entries looks at the links that one getdents64(2) listed.
func (w *scanner) entries(fds int, b []byte) (some bool) {
	for len(b) > nameOffset {
		size := int(binary.NativeEndian.Uint16(b[sizeOffset:]))
		if size <= nameOffset || size > len(b) {
			return some // not what getdents64(2) writes
		}
		name := &b[nameOffset]
		if *name != '.' {
			some = true
			w.descriptor(fds, name)
		}
		b = b[size:]
	}
	return some
}

// struct linux_dirent64: where the entry's size and its name are. The name
// ends in a NUL.
const (
	sizeOffset = int(unsafe.Offsetof(unix.Dirent{}.Reclen))
	nameOffset = int(unsafe.Offsetof(unix.Dirent{}.Name))
)

var deletedMark = []byte(" (deleted)")

// descriptor looks at one link of /proc/PID/fd. The link's own mode tells how
// the file is open (proc_pid_fd(5)), so that no fdinfo needs reading.
func (w *scanner) descriptor(fds int, fd *byte) {
	n := w.readlink(fds, fd)
	if n < 2 || w.link[0] != '/' {
		return // a socket, a pipe, an anonymous inode; or closed meanwhile
	}
	deleted := bytes.HasSuffix(w.link[:n], deletedMark)
	if !deleted && !LogPath(unsafe.String(&w.link[0], n)) {
		return // before anything is allocated or asked for
	}
	target := string(w.link[:n])
	if unlinkedOnPurpose(target) || w.network(target) {
		return
	}
	l, ok := statAt(fds, fd, unix.AT_SYMLINK_NOFOLLOW)
	if !ok {
		return
	}
	write := l.Mode&unix.S_IWUSR != 0
	if !deleted && !write {
		return
	}
	st, ok := statAt(fds, fd, 0)
	if !ok || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return
	}
	f := fileOf(target, &st)
	f.Write = write
	if f.Deleted = deleted && w.gone(target, f.Ino); f.Deleted {
		f.Path = strings.TrimSuffix(target, string(deletedMark))
	}
	if !f.Deleted && (!write || !LogPath(f.Path)) {
		return
	}
	f.FD, _ = strconv.Atoi(unix.BytePtrToString(fd))
	w.hits = append(w.hits, f)
}

// gone reports whether a target that ends in " (deleted)" is a file whose name
// is gone, and not one that is called so. Call network first.
func (w *scanner) gone(target string, ino uint64) bool {
	if w.other {
		target = "root" + target
	}
	var st unix.Stat_t
	return unix.Fstatat(w.dirfd, target, &st, unix.AT_SYMLINK_NOFOLLOW) != nil || st.Ino != ino
}

// network reports whether a path lies on a file system that may hang, as the
// process sees it.
func (w *scanner) network(target string) bool {
	if w.mounts == nil {
		w.mounts, w.other = w.mountsOf(w.dirfd)
	}
	return w.mounts.touchable(target) != nil
}

// program notes a deleted /proc/PID/exe.
func (w *scanner) program(target string) {
	name, deleted := strings.CutSuffix(target, string(deletedMark))
	if !deleted || unlinkedOnPurpose(target) || w.network(target) {
		return
	}
	st, ok := statAt(w.dirfd, &exeName[0], 0)
	if !ok || !w.gone(target, st.Ino) {
		return
	}
	f := fileOf(name, &st)
	f.FD, f.Deleted, f.Mapped, f.Exec, f.Program = -1, true, true, true, true
	w.hits = append(w.hits, f)
}

// unlinkedOnPurpose tells memory that merely looks like a deleted file: shared
// memory and buffers which the kernel, or a program right after opening them,
// left without a name. Sources: mm/memfd.c, ipc/shm.c, mm/shmem.c
// (shmem_zero_setup), fs/aio.c, drivers/gpu/drm; /dev/shm is shm_open(3)'s.
//
// The kernel's own programs (kernel/usermode_driver.c: bpfilter_umh) lie on no
// mount, and their name is "/".
func unlinkedOnPurpose(target string) bool {
	if target == "/" || target == "/"+string(deletedMark) {
		return true
	}
	for _, p := range []string{"/memfd:", "/SYSV", "/dev/", "/[aio]", "/drm", "/i915", "/anon_hugepage", "/proc/", "/sys/"} {
		if strings.HasPrefix(target, p) {
			return true
		}
	}
	return false
}

func fileOf(name string, st *unix.Statx_t) OpenFile {
	return OpenFile{Path: name, Dev: unix.Mkdev(st.Dev_major, st.Dev_minor), Ino: st.Ino, Size: int64(st.Size),
		Blocks: int64(st.Blocks), Links: uint64(st.Nlink)}
}

// readlink reads a link into w.link; -1 when there is none. A refusal is
// remembered: Landlock lets root list /proc/PID/fd, but not follow what is there.
func (w *scanner) readlink(dirfd int, name *byte) int {
	n, _, errno := unix.Syscall6(unix.SYS_READLINKAT, uintptr(dirfd), uintptr(unsafe.Pointer(name)),
		uintptr(unsafe.Pointer(&w.link[0])), uintptr(len(w.link)), 0, 0)
	switch errno {
	case 0:
		return int(n)
	case unix.EACCES, unix.EPERM, unix.ENAMETOOLONG: // the last: of a path over PATH_MAX there is no text
		w.refused = true
	}
	return -1
}

// statAt is statx(2) (Linux 4.11) without asking a server: a file of a
// network file system answers with what is cached. Where the kernel or a
// container's filter (EPERM) has no statx, it is fstatat(2).
func statAt(dirfd int, name *byte, flags int) (st unix.Statx_t, ok bool) {
	_, _, errno := unix.Syscall6(unix.SYS_STATX, uintptr(dirfd), uintptr(unsafe.Pointer(name)),
		uintptr(flags|unix.AT_STATX_DONT_SYNC|unix.AT_NO_AUTOMOUNT), unix.STATX_BASIC_STATS, uintptr(unsafe.Pointer(&st)), 0)
	if errno == unix.ENOSYS || errno == unix.EPERM {
		return oldStatAt(dirfd, name, flags)
	}
	return st, errno == 0
}

func oldStatAt(dirfd int, name *byte, flags int) (out unix.Statx_t, ok bool) {
	var st unix.Stat_t
	if unix.Fstatat(dirfd, unix.BytePtrToString(name), &st, flags) != nil {
		return out, false
	}
	dev := uint64(st.Dev)
	return unix.Statx_t{Mode: uint16(st.Mode), Nlink: uint32(st.Nlink), Ino: st.Ino, Size: uint64(st.Size), Blocks: uint64(st.Blocks),
		Dev_major: unix.Major(dev), Dev_minor: unix.Minor(dev)}, true
}
