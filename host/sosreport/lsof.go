package sosreport

import (
	"strconv"
	"strings"

	"fettle/host"
)

// openFiles reads `lsof +M -n -l -c ”` of sos's process plugin (before sos
// 4.9 with -b, which leaves most columns out). What lsof does not say: how
// many blocks a file takes (its size is taken, too much for sparse files),
// how many names are left, whether a mapping is executable (programs and .so
// files are taken to be), and whether the process has another root.
func (s *Source) openFiles() (host.OpenFiles, error) {
	text, err := s.output(
		"sos_commands/process/lsof_M_-n_-l_-c",
		"sos_commands/process/lsof_-b_M_-n_-l_-c",
		"sos_commands/process/lsof_-b_M_-n_-l",
		"sos_commands/filesys/lsof_-b_M_-n_-l_-P",
		"lsof",
	)
	if err != nil {
		return host.OpenFiles{}, err
	}
	ps, err := s.processes()
	if err != nil {
		return host.OpenFiles{}, err
	}
	res, ok := parseLsof(text, ps)
	if !ok {
		return host.OpenFiles{}, host.ErrNotCollected
	}
	return res, nil
}

func parseLsof(text string, ps []host.Process) (res host.OpenFiles, ok bool) {
	res.Files = []host.OpenFile{}
	by := map[int]host.Process{}
	for _, p := range ps {
		by[p.PID] = p
	}
	looked, denied := map[int]bool{}, map[int]bool{}
	user := -1 // the column; threads (TID, TASKCMD) come before it
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if user < 0 {
			if len(f) > 3 && f[0] == "COMMAND" && f[1] == "PID" {
				for i, h := range f {
					if h == "USER" {
						user = i
					}
				}
			}
			continue
		}
		// Of a row without thread the columns TID and TASKCMD are empty.
		col := user
		if col > 2 && len(f) > 2 && isNumber(f[2]) && (len(f) <= 3 || !isNumber(f[3])) && len(f) > col && !isNumber(f[col]) {
			col = 2
		}
		if len(f) <= col+2 || !isNumber(f[1]) {
			continue
		}
		pid, _ := strconv.Atoi(f[1])
		if strings.Contains(line, "Permission denied)") {
			denied[pid] = true
			continue
		}
		looked[pid] = true
		if o, ok := lsofRow(line, f, col); ok {
			p := by[pid]
			o.PID, o.Comm, o.Unit, o.Container, o.Inside = pid, f[0], p.Unit, p.Container, p.Inside
			if p.Comm != "" {
				o.Comm = p.Comm // lsof cuts names at nine letters
			}
			res.Files = append(res.Files, o)
		}
	}
	for pid := range denied {
		delete(looked, pid)
	}
	res.Looked, res.Denied = len(looked), len(denied)
	return res, user >= 0
}

// lsofRow reads USER FD TYPE DEVICE SIZE/OFF NODE NAME; SIZE/OFF may be empty.
func lsofRow(line string, f []string, col int) (host.OpenFile, bool) {
	if len(f) < col+6 || f[col+2] != "REG" {
		return host.OpenFile{}, false
	}
	uid, err := strconv.ParseUint(f[col], 10, 32)
	maj, mnr, isDev := strings.Cut(f[col+3], ",")
	major, err1 := strconv.ParseUint(maj, 0, 32)
	minor, err2 := strconv.ParseUint(mnr, 0, 32)
	if err != nil || err1 != nil || err2 != nil || !isDev {
		return host.OpenFile{}, false
	}
	o := host.OpenFile{UID: uint32(uid), FD: -1, Dev: makedev(major, minor)}
	i := col + 4
	// DEL rows have no size.
	if f[i+1] != "" && isNumber(f[i+1]) {
		o.Size, _ = strconv.ParseInt(f[i], 10, 64)
		i++
	}
	o.Ino, _ = strconv.ParseUint(f[i], 10, 64)
	o.Blocks = (o.Size + 511) / 512
	fd := f[col+1]
	slash := strings.Index(line, " /")
	if slash < 0 {
		return o, false
	}
	name := strings.TrimRight(line[slash+1:], "\n ")
	o.Path, o.Deleted = strings.CutSuffix(name, " (deleted)")
	switch {
	case fd == "txt":
		o.Mapped, o.Exec, o.Program = true, true, true
	case fd == "mem" || fd == "DEL":
		o.Mapped, o.Exec = true, strings.Contains(o.Path, ".so")
		o.Deleted = o.Deleted || fd == "DEL"
	default:
		digits := fd[:len(fd)-len(strings.TrimLeft(fd, "0123456789"))]
		n, err := strconv.Atoi(digits)
		if err != nil {
			return o, false // cwd, rtd
		}
		mode := fd[len(digits):]
		o.FD, o.Write = n, strings.HasPrefix(mode, "w") || strings.HasPrefix(mode, "u")
	}
	if o.Path == "/" { // no file can have that name: a program of the kernel's own, such as bpfilter_umh
		return o, false
	}
	for _, shared := range []string{"/memfd:", "/dev/shm/", "/SYSV", "/dev/zero", "/proc/", "/[aio]"} {
		if strings.HasPrefix(o.Path, shared) {
			return o, false
		}
	}
	return o, o.Deleted || o.Write && host.LogPath(o.Path)
}

func isNumber(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// makedev packs a device number as glibc's does (sys/sysmacros.h).
func makedev(major, minor uint64) uint64 {
	return major&0xfff<<8 | major&^0xfff<<32 | minor&0xff | minor&^0xff<<12
}
