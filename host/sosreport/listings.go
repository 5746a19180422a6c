package sosreport

import (
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"fettle/host"
	"fettle/internal/lazy"
)

// listings are folders that sos listed in full (ls -lanR and its kin): what is
// not in them was not on the host.
type listings map[string]section

// section is one folder of a listing.
type section map[string]listed

// listed is one line of a listing.
type listed struct {
	info   host.Info
	target string // of a symlink
}

var (
	recursiveList = lazy.Regexp(`^ls_-[A-Za-z]*R[A-Za-z]*_\.`)
	// Mode, links, owner, group, sometimes a security context, size or device
	// number, a date in one of ls's two forms, name.
	listLine = lazy.Regexp(
		`^([-bcdlps])([-rwxsStT]{9})[.+@]?\s+(\d+)\s+(\S+)\s+(\S+)\s+(?:(?:\?|\S+:\S+:\S+)\s+)?(\d+,\s+\d+|[0-9.]+[KMGTP]?)\s+` +
			`(?:[A-Z][a-z]{2}\s+\d+\s+[0-9:]+|\d{4}-\d\d-\d\d \d\d:\d\d)\s(.+)$`,
	)
)

// readListings reads every recursive listing of the report.
func (s *Source) readListings() listings {
	all := listings{}
	plugins, err := s.tree.ReadDir("/sos_commands")
	if err != nil {
		return all
	}
	for _, p := range plugins {
		files, err := s.tree.ReadDir("/sos_commands/" + p.Name)
		if err != nil {
			continue
		}
		for _, f := range files {
			if !recursiveList().MatchString(f.Name) {
				continue
			}
			if text, err := s.output("sos_commands/" + p.Name + "/" + f.Name); err == nil {
				all.add(text)
			}
		}
	}
	if text, err := s.output("sos_commands/devices/udevadm_info_--export-db"); err == nil {
		all.terminals(text)
	}
	if text, err := s.output(ipAddress...); err == nil {
		all.interfaces(text)
	}
	return all
}

// interfaces makes /sys/class/net of what ip listed; of what is below nothing is told.
func (l listings) interfaces(text string) {
	links, err := ParseLinks(text)
	if err != nil {
		return
	}
	class := section{}
	for _, i := range links {
		class[i.Name] = listed{info: host.Info{Mode: fs.ModeDir | 0o755, Nlink: 2}}
	}
	l["/sys/class/net"] = class
}

// terminals makes /sys/class/tty of udev's database, which has a line
// "P: /devices/virtual/tty/tty0" for each device of the kernel.
func (l listings) terminals(text string) {
	class := section{}
	for line := range strings.Lines(text) {
		device, ok := strings.CutPrefix(strings.TrimSpace(line), "P: /devices/")
		if !ok || path.Base(path.Dir(device)) != "tty" {
			continue
		}
		class[path.Base(device)] = listed{info: host.Info{Mode: fs.ModeSymlink | 0o777, Nlink: 1}, target: "../../devices/" + device}
	}
	if len(class) > 0 {
		l["/sys/class/tty"] = class
	}
}

// add reads one listing: "/dev/mapper:", "total 0", then a line an entry.
func (l listings) add(text string) {
	var dir section
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if name, ok := strings.CutSuffix(line, ":"); ok && strings.HasPrefix(name, "/") {
			dir = section{}
			l[path.Clean(name)] = dir
			continue
		}
		m := listLine().FindStringSubmatch(line)
		if m == nil || dir == nil || m[7] == "." || m[7] == ".." {
			continue
		}
		name, e := m[7], listed{info: host.Info{Mode: listMode(m[1], m[2])}}
		if e.info.Mode&fs.ModeSymlink != 0 {
			name, e.target, _ = strings.Cut(name, " -> ")
		}
		e.info.Nlink, _ = strconv.ParseUint(m[3], 10, 64)
		e.info.Size, _ = strconv.ParseInt(m[6], 10, 64)
		e.info.UID, e.info.GID = owner(m[4]), owner(m[5])
		dir[name] = e
	}
}

// owner reads a user or group, of which ls -n gives the number; of names, only
// root's is sure.
func owner(s string) uint32 {
	n, err := strconv.ParseUint(s, 10, 32)
	if err != nil && s != "root" {
		return 1<<32 - 2 // nobody's
	}
	return uint32(n)
}

func listMode(kind, bits string) fs.FileMode {
	mode := map[string]fs.FileMode{"d": fs.ModeDir, "l": fs.ModeSymlink, "b": fs.ModeDevice, "c": fs.ModeDevice | fs.ModeCharDevice,
		"p": fs.ModeNamedPipe, "s": fs.ModeSocket}[kind]
	for i, c := range bits {
		if c != '-' && c != 'S' && c != 'T' {
			mode |= 1 << (8 - i)
		}
	}
	for i, special := range map[int]fs.FileMode{2: fs.ModeSetuid, 5: fs.ModeSetgid, 8: fs.ModeSticky} {
		if strings.ContainsRune("sStT", rune(bits[i])) {
			mode |= special
		}
	}
	return mode
}

func (s section) entries() []host.Entry {
	var out []host.Entry
	for _, n := range slices.Sorted(maps.Keys(s)) {
		out = append(out, host.Entry{Name: n, Type: s[n].info.Mode.Type()})
	}
	return out
}

// look finds a path. Known means that a listing tells: of e where there is the
// thing, of its absence where e is nil.
func (l listings) look(name string) (e *listed, known bool) {
	if l[name] != nil { // a folder that was listed itself
		return &listed{info: host.Info{Mode: fs.ModeDir | 0o755, Nlink: 2}}, true
	}
	for range 8 { // symlinks on the way
		dir := path.Dir(name)
		for dir != "/" && l[dir] == nil {
			dir = path.Dir(dir)
		}
		here := l[dir]
		if here == nil {
			return nil, false
		}
		first, rest, deeper := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(name, dir), "/"), "/")
		entry, ok := here[first]
		switch {
		case !ok:
			return nil, true
		case !deeper:
			return &entry, true
		case entry.target == "":
			return nil, !entry.info.Mode.IsDir() // of a folder that ls could not enter nothing is known
		}
		to := entry.target
		if !path.IsAbs(to) {
			to = path.Join(dir, to)
		}
		name = path.Join(to, rest)
	}
	return nil, false
}

// alias gives /usr/lib the listings of /lib, and the other way round, where
// the one is a link to the other.
func (l listings) alias() {
	for dir, sec := range maps.Clone(l) {
		if strings.HasPrefix(dir, "/lib/") {
			l["/usr"+dir] = sec
		} else if rest, ok := strings.CutPrefix(dir, "/usr/lib/"); ok {
			l["/lib/"+rest] = sec
		}
	}
}
