package host

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

func readHeld(ctx context.Context) ([]byte, error) {
	all, err := pids()
	if err != nil {
		return nil, err
	}
	if hidden(all) {
		return nil, fmt.Errorf("processes of other users are hidden (proc(5), hidepid): %w", ErrDenied)
	}
	out := []Held{}
	buf := make([]byte, 64<<10)
	here := home()
	var own unix.Stat_t
	unix.Stat("/proc/self/ns/mnt", &own)
	for _, pid := range all {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		fd, err := openProcess(pid)
		if err != nil {
			continue
		}
		if p, ok := processOf(fd, pid, here, buf); ok && fileServers[p.Comm] {
			p.OtherPIDs = deeper(fd, buf)
			v := Held{Process: p, Paths: pathsIn(readAt(fd, "cmdline", buf))}
			if v.look(fd, own.Ino) {
				out = append(out, v)
			}
		}
		unix.Close(fd)
	}
	return json.Marshal(out)
}

// pathsIn are the absolute paths among the words of a command line: "/srv/tftp",
// "--tftp-root=/srv/tftp".
func pathsIn(cmdline []byte) []string {
	var out []string
	for i, word := range strings.Split(string(cmdline), "\x00") {
		if _, value, ok := strings.Cut(word, "="); ok && strings.HasPrefix(word, "-") {
			word = value
		}
		if i > 0 && strings.HasPrefix(word, "/") && len(out) < heldMost {
			out = append(out, word)
		}
	}
	return out
}

// look reads what the process holds. Nothing is looked up by a path: the links of
// /proc lead to the very objects. False: it has ended.
func (v *Held) look(dirfd int, ownMounts uint64) bool {
	var err error
	if v.Cwd, err = heldAt(dirfd, "cwd"); err != nil {
		v.Denied = errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM)
		return v.Denied
	}
	v.Root, _ = heldAt(dirfd, "root")
	var ns unix.Stat_t
	if unix.Fstatat(dirfd, "ns/mnt", &ns, 0) == nil && ns.Ino != ownMounts {
		v.mounts(dirfd)
	}
	fds, err := unix.Openat(dirfd, "fd", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return true
	}
	d := os.NewFile(uintptr(fds), "fd")
	defer d.Close()
	names, _ := d.Readdirnames(10 * heldMost)
	for _, n := range names {
		link, err := readlinkAt(fds, n)
		if err != nil || !strings.HasSuffix(link, string(deletedMark)) || unlinkedOnPurpose(link) || len(v.Files) >= heldMost {
			continue
		}
		if f, err := heldAt(fds, n); err == nil && f.Deleted {
			v.Files = append(v.Files, f)
		}
	}
	return true
}

// mounts takes the folders that are mounted on others: those of which not the whole
// file system is mounted (proc_pid_mountinfo(5), field 4).
func (v *Held) mounts(dirfd int) {
	fd, err := unix.Openat(dirfd, "mountinfo", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	f := os.NewFile(uintptr(fd), "mountinfo")
	defer f.Close()
	var b bytes.Buffer
	if _, err := b.ReadFrom(f); err != nil {
		return
	}
	for _, m := range ParseMountinfo(b.String()) {
		root, deleted := strings.CutSuffix(m.Root, "//deleted")
		if root == "/" || m.Point == "/" || MayHang(m.Type) || m.Type == "proc" || m.Type == "sysfs" || len(v.Mounts) >= heldMost {
			continue
		}
		held := HeldFile{Path: m.Point, Deleted: deleted}
		var st unix.Stat_t
		if unix.Fstatat(dirfd, "root"+m.Point, &st, unix.AT_SYMLINK_NOFOLLOW) == nil {
			if st.Mode&unix.S_IFMT != unix.S_IFDIR { // a file that a container's manager mounts: boot_id, resolv.conf
				continue
			}
			held.Dev, held.Ino = uint64(st.Dev), st.Ino
		}
		v.Mounts = append(v.Mounts, held)
	}
}

func heldAt(dirfd int, name string) (HeldFile, error) {
	link, err := readlinkAt(dirfd, name)
	if err != nil {
		return HeldFile{}, err
	}
	f := HeldFile{}
	f.Path, f.Deleted = strings.CutSuffix(link, string(deletedMark))
	var st unix.Stat_t
	if unix.Fstatat(dirfd, name, &st, 0) == nil {
		f.Dev, f.Ino = uint64(st.Dev), st.Ino
		f.Deleted = f.Deleted && (st.Nlink == 0 || st.Mode&unix.S_IFMT == unix.S_IFDIR)
	}
	return f, nil
}

func readlinkAt(dirfd int, name string) (string, error) {
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(dirfd, name, buf)
	if err != nil {
		return "", fmt.Errorf("reading the link %s: %w", strconv.Quote(name), err)
	}
	return string(buf[:n]), nil
}
