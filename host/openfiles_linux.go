package host

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"fettle/internal/sorted"
)

// readOpenFiles looks through /proc/PID/fd, /proc/PID/exe and the executable
// mappings of every process it may look into, several processes concurrently. It
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
	s := &fileScan{own: m, tables: map[uint64]*mountTable{}, home: home()}
	s.rootDev, s.rootIno = fileID("/proc/self/root")
	_, s.mntns = fileID("/proc/self/ns/mnt")
	res := OpenFiles{Files: []OpenFile{}}
	if hidden(all) {
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
			res.Denied += len(w.denied)
			res.Refused = append(res.Refused, w.denied...)
		})
	}
	wg.Wait()
	sorted.By(res.Files, func(a, b OpenFile) int {
		return cmp.Or(cmp.Compare(a.PID, b.PID), cmp.Compare(a.FD, b.FD), cmp.Compare(a.Path, b.Path))
	})
	slices.Sort(res.Refused)
	res.Refused = res.Refused[:min(len(res.Refused), RefusedLimit)]
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
	home             string      // see home
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
	looked                   int
	denied                   []int // PIDs

	// of the process at hand
	dirfd  int // /proc/PID
	pid    int
	mounts *mountTable // nil until the first hit
	other  bool        // it has a mount namespace of its own; known with mounts

	refused bool // something of it could not be looked at
	first   int  // its first hit
	last    lastMapping
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
	w.last.ino, w.last.name = 0, w.last.name[:0]
	fds, err := retry(func() (int, error) {
		return unix.Openat(dirfd, "fd", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		if (err == unix.EACCES || err == unix.EPERM) && !kernelThread(dirfd, w.small) {
			w.denied = append(w.denied, pid)
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
		w.denied = append(w.denied, pid)
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
	p, alive := processOf(w.dirfd, w.pid, w.home, w.small)
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
		h.PID, h.Comm, h.UID, h.Unit, h.Container, h.Inside, h.Elsewhere = p.PID, p.Comm, p.UID, p.Unit, p.Container, p.Inside, elsewhere
	}
}
