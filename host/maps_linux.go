package host

import (
	"bytes"
	"fmt"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// mapping is one mapping of a file, executable or shared.
type mapping struct {
	exec       bool
	start, end uint64
	dev, ino   uint64 // as the file system below says: differs from stat's on overlayfs and btrfs
	name       []byte
}

// mappings notes deleted files that the process at hand has mapped, be it
// executable (replaced programs and libraries) or shared (data). A private
// mapping of data is left out: it is rare, and asking for it costs three
// times as much.
func (w *scanner) mappings() {
	fd, err := retry(func() (int, error) { return unix.Openat(w.dirfd, "maps", unix.O_RDONLY|unix.O_CLOEXEC, 0) })
	if err != nil {
		w.refused = w.refused || err == unix.EACCES || err == unix.EPERM
		return
	}
	defer unix.Close(fd)
	if !w.noQuery.Load() {
		if w.queryMaps(fd, procmapExecutable) && w.queryMaps(fd, procmapShared) {
			return
		}
		w.noQuery.Store(true)
	}
	w.readMaps(fd)
}

// procmapQuery is struct procmap_query of include/uapi/linux/fs.h, Linux 6.11.
type procmapQuery struct {
	size, flags, addr          uint64
	start, end                 uint64
	vmaFlags, pageSize, offset uint64
	inode                      uint64
	devMajor, devMinor         uint32
	nameSize, buildIDSize      uint32
	nameAddr, buildIDAddr      uint64
}

const (
	procmapExecutable     = 0x04
	procmapShared         = 0x08
	procmapCoveringOrNext = 0x10
	procmapFileBacked     = 0x20
	// _IOWR('f', 17, struct procmap_query)
	procmapIoctl = 3<<30 | uintptr(unsafe.Sizeof(procmapQuery{}))<<16 | 'f'<<8 | 17
)

// queryMaps asks for the file mappings of one kind alone, which spares the
// kernel to write all the others out as text. False: this kernel cannot.
func (w *scanner) queryMaps(fd int, kind uint64) bool {
	q := procmapQuery{size: uint64(unsafe.Sizeof(procmapQuery{})),
		flags: kind | procmapCoveringOrNext | procmapFileBacked}
	nameless := false
	for {
		q.nameAddr, q.nameSize, q.buildIDSize = uint64(uintptr(unsafe.Pointer(&w.link[0]))), uint32(len(w.link)/2), 0
		if nameless {
			q.nameAddr, q.nameSize = 0, 0
		}
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), procmapIoctl, uintptr(unsafe.Pointer(&q)))
		switch errno {
		case 0:
		case unix.EINTR:
			continue
		case unix.ENOTTY, unix.EINVAL, unix.ENOSYS:
			return false
		case unix.ENAMETOOLONG:
			// Deep folders make names over PATH_MAX. Nothing was written back, not
			// even where the mapping ends: that is asked for without its name.
			if nameless {
				return true
			}
			w.refused, nameless = true, true
			continue
		default:
			return true // ENOENT: no further mapping; ESRCH: the process has gone
		}
		if n := int(q.nameSize); n > 1 && n <= len(w.link) { // the size counts the NUL
			w.mapped(
				mapping{
					exec:  q.vmaFlags&procmapExecutable != 0,
					start: q.start,
					end:   q.end,
					dev:   unix.Mkdev(q.devMajor, q.devMinor),
					ino:   q.inode,
					name:  w.link[:n-1],
				},
			)
		}
		if q.end <= q.addr {
			return true
		}
		q.addr, nameless = q.end, false
	}
}

// readMaps reads /proc/PID/maps as text (proc_pid_maps(5)).
func (w *scanner) readMaps(fd int) {
	if w.text == nil {
		w.text = make([]byte, 64<<10)
	}
	have := 0
	for {
		n, err := retry(func() (int, error) { return unix.Read(fd, w.text[have:]) })
		if err != nil || n <= 0 {
			return
		}
		have += n
		rest := w.text[:have]
		for {
			line, after, ok := bytes.Cut(rest, []byte("\n"))
			if !ok {
				break
			}
			if m, ok := parseMapsLine(line); ok {
				w.mapped(m)
			}
			rest = after
		}
		have = copy(w.text, rest)
		if have == len(w.text) { // one line fills the buffer: its path is not available
			w.refused = true
			return
		}
	}
}

// parseMapsLine reads a line of /proc/PID/maps that maps a deleted file
// executable or shared:
//
//	7f12a000-7f13b000 r-xp 00022000 fe:01 1573  /usr/lib/libc.so.6 (deleted)
func parseMapsLine(line []byte) (m mapping, ok bool) {
	if !bytes.HasSuffix(line, deletedMark) {
		return m, false
	}
	f := bytes.SplitN(line, []byte(" "), 6)
	if len(f) < 6 || len(f[1]) < 4 || f[1][2] != 'x' && f[1][3] != 's' {
		return m, false
	}
	from, to, _ := bytes.Cut(f[0], []byte("-"))
	major, minor, _ := bytes.Cut(f[3], []byte(":"))
	var nums [5]uint64
	for i, field := range [][]byte{from, to, major, minor} {
		v, err := strconv.ParseUint(string(field), 16, 64)
		if err != nil {
			return m, false
		}
		nums[i] = v
	}
	ino, err := strconv.ParseUint(string(f[4]), 10, 64)
	if err != nil {
		return m, false
	}
	name := bytes.TrimLeft(f[5], " ")
	return mapping{
			exec:  f[1][2] == 'x',
			start: nums[0],
			end:   nums[1],
			dev:   unix.Mkdev(uint32(nums[2]), uint32(nums[3])),
			ino:   ino,
			name:  name,
		},
		len(name) > 0 &&
			name[0] == '/'
}

// mapped notes one executable mapping if its file is deleted. A program maps
// one file many times in a row: the kernel is asked about the first.
func (w *scanner) mapped(m mapping) {
	if !bytes.HasSuffix(m.name, deletedMark) {
		return
	}
	if last := &w.last; last.ino != m.ino || last.dev != m.dev || !bytes.Equal(last.name, m.name) {
		w.last = lastMapping{dev: m.dev, ino: m.ino, name: append(last.name[:0], m.name...), hit: w.deletedMapping(m)}
	}
	if w.last.hit >= 0 {
		w.hits[w.last.hit].Exec = w.hits[w.last.hit].Exec || m.exec
	}
}

// lastMapping is the mapping of a deleted file that was looked at last.
type lastMapping struct {
	dev, ino uint64
	name     []byte
	hit      int // its place among the hits; -1: it is none
}

// deletedMapping finds or makes the hit of a mapping; -1: its file is not deleted.
func (w *scanner) deletedMapping(m mapping) int {
	target := string(m.name)
	if unlinkedOnPurpose(target) || w.network(target) {
		return -1
	}
	f := OpenFile{Dev: m.dev, Ino: m.ino}
	// map_files(5) leads to the file itself; following it takes
	// CAP_CHECKPOINT_RESTORE (CAP_SYS_ADMIN before 5.9). Without it size and
	// links stay unknown, which a program's replacement does not need.
	link := append([]byte(fmt.Sprintf("map_files/%x-%x", m.start, m.end)), 0)
	if st, ok := statAt(w.dirfd, &link[0], 0); ok {
		if st.Mode&unix.S_IFMT != unix.S_IFREG {
			return -1
		}
		f = fileOf("", &st)
	}
	if !w.gone(target, f.Ino) {
		return -1
	}
	f.Path = target[:len(target)-len(deletedMark)]
	f.FD, f.Deleted, f.Mapped, f.Exec = -1, true, true, m.exec
	for i := w.first; i < len(w.hits); i++ {
		if h := &w.hits[i]; h.FD < 0 && h.Path == f.Path && h.Ino == f.Ino { // the program itself, or another segment
			return i
		}
	}
	w.hits = append(w.hits, f)
	return len(w.hits) - 1
}
