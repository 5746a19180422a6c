package host

import (
	"context"
	"encoding/json"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// readOpenFiles walks /proc/PID/fd of every process it may look into.
func readOpenFiles(ctx context.Context, m *mountTable) ([]byte, error) {
	all, err := pids()
	if err != nil {
		return nil, err
	}
	res := OpenFiles{Files: []OpenFile{}}
	for _, pid := range all {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		dir := "/proc/" + strconv.Itoa(pid) + "/fd"
		d, err := os.Open(dir)
		if err != nil {
			if os.IsPermission(err) {
				res.Denied++
			}
			continue
		}
		fds, _ := d.Readdirnames(-1)
		d.Close()
		res.Looked++
		for _, fd := range fds {
			if f, ok := openFile(m, dir+"/"+fd); ok {
				p, alive := readProcess(pid)
				if !alive {
					break
				}
				f.PID, f.Comm, f.UID, f.Unit = pid, p.Comm, p.UID, p.Unit
				f.FD, _ = strconv.Atoi(fd)
				res.Files = append(res.Files, f)
			}
		}
	}
	return json.Marshal(res)
}

// openFile looks at one /proc/PID/fd link; true for a regular file that is
// deleted or open for writing. The link's own mode tells how it is open
// (proc_pid_fd(5)), so no fdinfo needs reading.
func openFile(m *mountTable, link string) (OpenFile, bool) {
	target, err := os.Readlink(link)
	if err != nil || !strings.HasPrefix(target, "/") || strings.HasPrefix(target, "/dev/") || strings.HasPrefix(target, "/proc/") {
		return OpenFile{}, false
	}
	name, deleted := strings.CutSuffix(target, " (deleted)")
	var l, st unix.Stat_t
	if unix.Lstat(link, &l) != nil {
		return OpenFile{}, false
	}
	write := l.Mode&unix.S_IWUSR != 0
	if !deleted && !write || m.touchable(name) != nil {
		return OpenFile{}, false
	}
	if unix.Stat(link, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return OpenFile{}, false
	}
	if deleted && st.Nlink > 0 { // the name itself ends in " (deleted)", or another link of it lives on
		name, deleted = target, false
	}
	return OpenFile{Path: name, Deleted: deleted, Write: write, Dev: uint64(st.Dev), Ino: st.Ino, Size: st.Size, Blocks: st.Blocks}, deleted || write
}
