package sosreport

import (
	"fmt"
	"io/fs"
	"path"
	"strings"

	"fettle/host"
)

type pathError = fs.PathError

// files are paths that sos does not copy but tells of by a command.
var files = map[string]func(*Source) ([]byte, error){
	"/var/lib/dpkg/status": (*Source).dpkgStatus,
	"/etc/machine-id":      (*Source).machineID,
	"/etc/hostname":        func(s *Source) ([]byte, error) { return s.nameFile() },
	"/proc/meminfo":        (*Source).memory,
	"/proc/modules":        (*Source).modules,
	"/proc/uptime":         (*Source).uptimeFile,
	"/etc/adjtime":         (*Source).adjtime,
}

// derived answers a file from command output, or says that it is missing.
func (s *Source) derived(name string) ([]byte, error) {
	if f, ok := files[name]; ok {
		if b, err := f(s); err == nil {
			return b, nil
		}
	}
	if strings.HasPrefix(name, "/proc/sys/") || name == "/proc/sys" {
		return s.sysctlFile(name)
	}
	if name == "/var/lib/rpm" || name == "/usr/lib/sysimage/rpm" {
		if _, err := s.output(installedRPMs...); err == nil {
			return nil, &pathError{Op: "read", Path: name, Err: host.ErrNotRegular}
		}
	}
	if b, err := s.told(name); err == nil || host.IsAbsent(err) {
		return b, err
	}
	if e, known := s.lists().look(name); known && e == nil {
		return nil, &pathError{Op: "read", Path: name, Err: host.ErrAbsent}
	}
	return nil, s.man.missing("read", name)
}

func (s *Source) nameFile() ([]byte, error) {
	if s.id.Hostname == "" {
		return nil, host.ErrNotCollected
	}
	return []byte(s.id.Hostname + "\n"), nil
}

// sysctls is `sysctl -a` as the folder tree that it was read from.
type sysctls struct {
	values map[string]string                 // by path
	dirs   map[string]map[string]fs.FileMode // names in a folder, by path
}

func (s *Source) readSysctl() (*sysctls, error) {
	text, err := s.output("sos_commands/kernel/sysctl_-a")
	if err != nil {
		return nil, err
	}
	return parseSysctl(text), nil
}

// parseSysctl reads "key = value" lines. sysctl(8) writes the folders with
// dots between them and turns dots of a name into slashes:
// net.ipv4.conf.eth0/7.forwarding. A value of many lines has the key on each.
func parseSysctl(text string) *sysctls {
	v := &sysctls{values: map[string]string{}, dirs: map[string]map[string]fs.FileMode{}}
	for line := range strings.Lines(text) {
		key, val, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " =")
		if !ok || key == "" || strings.ContainsAny(key, " \t:") {
			continue // a complaint of sysctl about a key it could not read
		}
		p := path.Clean("/proc/sys/" + strings.NewReplacer(".", "/", "/", ".").Replace(key))
		if !strings.HasPrefix(p, "/proc/sys/") {
			continue
		}
		if old, ok := v.values[p]; ok {
			v.values[p] = old + strings.TrimPrefix(val, " ") + "\n"
			continue
		}
		v.values[p] = strings.TrimPrefix(val, " ") + "\n"
		typ := fs.FileMode(0)
		for at := p; at != "/proc"; at = path.Dir(at) {
			dir := v.dirs[path.Dir(at)]
			if dir == nil {
				dir = map[string]fs.FileMode{}
				v.dirs[path.Dir(at)] = dir
			}
			dir[path.Base(at)] = typ
			typ = fs.ModeDir
		}
	}
	delete(v.dirs, "/proc")
	return v
}

// unlisted are keys that sysctl -a leaves out although they are there:
// write-only ones, the deprecated, and those that answer an error until set
// (procps-ng sysctl.c).
var unlisted = map[string]bool{"stable_secret": true, "base_reachable_time": true, "retrans_time": true, "flush": true,
	"compact_memory": true, "stat_refresh": true, "drop_caches": true}

// sysctlFile answers a key of /proc/sys. sysctl -a lists all that root can
// read, so that a key it does not have is absent.
func (s *Source) sysctlFile(name string) ([]byte, error) {
	sys, err := s.sysctl()
	if err != nil {
		return nil, s.man.missing("read", name)
	}
	if v, ok := sys.values[name]; ok {
		return []byte(v), nil
	}
	switch {
	case sys.dirs[name] != nil:
		err = host.ErrNotRegular
	case unlisted[path.Base(name)] || len(sys.values) < 100:
		err = host.ErrNotCollected
	default:
		err = host.ErrAbsent
	}
	return nil, &pathError{Op: "read", Path: name, Err: err}
}

// dpkgStatus writes what dpkg -l tells in the form of dpkg's status file, as
// far as that is known.
func (s *Source) dpkgStatus() ([]byte, error) {
	text, err := s.output("sos_commands/dpkg/dpkg_-l", "installed-debs")
	if err != nil {
		return nil, err
	}
	return parseDpkgList(text)
}

var dpkgWant = map[byte]string{'u': "unknown", 'i': "install", 'h': "hold", 'r': "deinstall", 'p': "purge"}
var dpkgState = map[byte]string{'n': "not-installed", 'c': "config-files", 'H': "half-installed", 'U': "unpacked", 'F': "half-configured",
	'W': "triggers-awaited", 't': "triggers-pending", 'i': "installed"}

// parseDpkgList reads dpkg-query(1) -l: wish, state and error letters, then
// name, version, architecture.
func parseDpkgList(text string) ([]byte, error) {
	var b strings.Builder
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) < 4 || len(f[0]) < 2 || len(f[0]) > 3 || dpkgWant[f[0][0]] == "" || dpkgState[f[0][1]] == "" {
			continue
		}
		name, _, _ := strings.Cut(f[1], ":") // "libc6:amd64"
		fmt.Fprintf(
			&b,
			"Package: %s\nStatus: %s ok %s\nArchitecture: %s\nVersion: %s\n\n",
			name,
			dpkgWant[f[0][0]],
			dpkgState[f[0][1]],
			f[3],
			f[2],
		)
	}
	if b.Len() == 0 {
		return nil, host.ErrNotCollected
	}
	return []byte(b.String()), nil
}
