package host

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// readOpenFiles looks through /proc/PID/fd, /proc/PID/exe and the executable
// mappings of every process it may look into, several processes at once. It
// keeps only hits (see TableOpenFiles).
func readOpenFiles(ctx context.Context, m *mountTable) ([]byte, error) {
	res, err := scanOpenFiles(ctx, m)
	if err != nil {
		return nil, err
	}
	return json.Marshal(res)
}

func scanOpenFiles(ctx context.Context, m *mountTable) (OpenFiles, error) {
	all, err := pids()
	if err != nil {
		return OpenFiles{}, err
	}
	s := &fileScan{own: m, tables: map[uint64]*mountTable{}}
	s.rootDev, s.rootIno = fileID("/proc/self/root")
	_, s.mntns = fileID("/proc/self/ns/mnt")
	res := OpenFiles{Files: []OpenFile{}}
	// proc(5) hidepid: process 1 always exists; who does not see it does not
	// see others either.
	if os.Geteuid() != 0 && (len(all) == 0 || all[0] != 1) {
		res.Denied++
	}
	var next atomic.Int64
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), 4) {
		wg.Go(func() {
			w := newScanner(s)
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= len(all) {
					break
				}
				w.process(all[i])
			}
			mu.Lock()
			defer mu.Unlock()
			res.Files = append(res.Files, w.hits...)
			res.Looked += w.looked
			res.Denied += w.denied
		})
	}
	wg.Wait()
	slices.SortFunc(res.Files, func(a, b OpenFile) int {
		return cmp.Or(cmp.Compare(a.PID, b.PID), cmp.Compare(a.FD, b.FD), cmp.Compare(a.Path, b.Path))
	})
	return res, ctx.Err()
}

func fileID(name string) (dev, ino uint64) {
	var st unix.Stat_t
	if unix.Stat(name, &st) != nil {
		return 0, 0
	}
	return uint64(st.Dev), st.Ino
}

// fileScan is what the scanners of one reading share.
type fileScan struct {
	own              *mountTable
	rootDev, rootIno uint64
	mntns            uint64
	noQuery          atomic.Bool // PROCMAP_QUERY is not known to this kernel
	mu               sync.Mutex
	tables           map[uint64]*mountTable // by mount namespace
}

// mountsOf is the mount table of a process: network mounts in a container are
// not in fettle's own table.
func (s *fileScan) mountsOf(dirfd int) (table *mountTable, other bool) {
	var st unix.Stat_t
	if unix.Fstatat(dirfd, "ns/mnt", &st, 0) != nil || st.Ino == s.mntns {
		return s.own, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.tables[st.Ino]; t != nil {
		return t, true
	}
	t := &mountTable{}
	t.once.Do(func() {
		if fd, err := unix.Openat(dirfd, "mountinfo", unix.O_RDONLY|unix.O_CLOEXEC, 0); err == nil {
			f := os.NewFile(uintptr(fd), "mountinfo")
			defer f.Close()
			var b bytes.Buffer
			if _, err := b.ReadFrom(f); err == nil {
				t.set(parseMountinfo(b.String()))
			}
		}
	})
	s.tables[st.Ino] = t
	return t, true
}

// scanner looks through one process after the other with the same buffers.
type scanner struct {
	*fileScan
	dents, link, small, text []byte
	hits                     []OpenFile
	looked, denied           int

	// of the process at hand
	dirfd  int // /proc/PID
	pid    int
	mounts *mountTable // nil until the first hit
	other  bool        // it has a mount namespace of its own; known with mounts

	refused bool // something of it could not be looked at
	first   int  // its first hit
}

func newScanner(s *fileScan) *scanner {
	return &scanner{fileScan: s, dents: make([]byte, 32<<10), link: make([]byte, 2*unix.PathMax), small: make([]byte, 8<<10)}
}

// process looks through one process. One that goes away meanwhile is left
// out, with what was already seen of it.
func (w *scanner) process(pid int) {
	dirfd, err := openProcess(pid)
	if err != nil {
		return
	}
	defer unix.Close(dirfd)
	w.dirfd, w.pid, w.mounts, w.first = dirfd, pid, nil, len(w.hits)
	fds, err := retry(func() (int, error) {
		return unix.Openat(dirfd, "fd", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		if (err == unix.EACCES || err == unix.EPERM) && !kernelThread(dirfd, w.small) {
			w.denied++
		}
		return
	}
	w.refused = false
	open := w.descriptors(fds)
	unix.Close(fds)
	if n := w.readlink(dirfd, &exeName[0]); n > 0 {
		w.program(string(w.link[:n]))
		w.mappings()
	} else if !open && !w.refused {
		return // a kernel thread or a zombie: it has neither files nor memory
	}
	if w.refused {
		w.denied++
	} else {
		w.looked++
	}
	w.name()
}

var exeName = [...]byte{'e', 'x', 'e', 0}

// name fills in whose the hits are.
func (w *scanner) name() {
	if len(w.hits) == w.first {
		return
	}
	p, alive := processOf(w.dirfd, w.pid, w.small)
	if !alive {
		w.hits = w.hits[:w.first]
		return
	}
	// In fettle's own mount namespace the kernel writes paths from fettle's
	// root (fs/d_path.c), also those of a process in a chroot.
	var root unix.Stat_t
	elsewhere := w.other && unix.Fstatat(w.dirfd, "root", &root, 0) == nil && (uint64(root.Dev) != w.rootDev || root.Ino != w.rootIno)
	for i := range w.hits[w.first:] {
		h := &w.hits[w.first+i]
		h.PID, h.Comm, h.UID, h.Unit, h.Elsewhere = p.PID, p.Comm, p.UID, p.Unit, elsewhere
	}
}

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

// gone tells whether a target that ends in " (deleted)" is a file whose name
// is gone, and not one that is called so. Call network first.
func (w *scanner) gone(target string, ino uint64) bool {
	if w.other {
		target = "root" + target
	}
	var st unix.Stat_t
	return unix.Fstatat(w.dirfd, target, &st, unix.AT_SYMLINK_NOFOLLOW) != nil || st.Ino != ino
}

// network tells whether a path lies on a file system that may hang, as the
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
func unlinkedOnPurpose(target string) bool {
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
	case unix.EACCES, unix.EPERM:
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
