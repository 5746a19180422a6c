package sample

import (
	"encoding/hex"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"golang.org/x/tools/txtar"

	"fettle/host"
)

// Parse reads txtar text.
func Parse(b []byte) (*Source, map[string]string, error) {
	s := &Source{kind: host.KindCapture, id: host.Identity{Hostname: "testhost", Sysname: "Linux", Release: "6.1.0-30-amd64",
		Machine: "x86_64", Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)},
		files: map[string][]byte{}, links: map[string]string{}, stats: map[string]host.Info{}, xattrs: map[string][]byte{},
		refused: map[string]error{}, tables: map[host.Table][]byte{}, commands: map[string]host.Output{}}
	extra := map[string]string{}
	ar := txtar.Parse(b)
	if err := s.header(string(ar.Comment)); err != nil {
		return nil, nil, err
	}
	for _, f := range ar.Files {
		section, rest, _ := strings.Cut(f.Name, "/")
		abs := "/" + rest
		data := strings.TrimSpace(string(f.Data))
		switch section {
		case "root":
			s.files[abs] = f.Data
		case "link":
			s.links[abs] = data
		case "stat":
			i, err := parseInfo(data)
			if err != nil {
				return nil, nil, fmt.Errorf("%s: %w", f.Name, err)
			}
			s.stats[abs] = i
		case "xattr":
			attr, p, _ := strings.Cut(rest, "/")
			v, err := hex.DecodeString(data)
			if err != nil {
				return nil, nil, fmt.Errorf("%s: %w", f.Name, err)
			}
			s.xattrs[attr+" /"+p] = v
		case "table":
			s.tables[host.Table(rest)] = f.Data
		case "command":
			s.commands[rest] = parseOutput(f.Data)
		case "units", "packages":
			if rest != "" {
				extra[f.Name] = string(f.Data)
				break
			}
			if err := s.listed(section, data); err != nil {
				return nil, nil, fmt.Errorf("%s: %w", f.Name, err)
			}
		case "denied":
			s.refused[refusal(rest)] = host.ErrDenied
		case "uncollected":
			s.refused[refusal(rest)] = host.ErrNotCollected
		default:
			extra[f.Name] = string(f.Data)
		}
	}
	return s, extra, nil
}

func refusal(rest string) string {
	if strings.HasPrefix(rest, "table/") || strings.HasPrefix(rest, "command/") {
		return rest
	}
	return "/" + rest
}

func (s *Source) header(text string) error {
	for line := range strings.Lines(text) {
		k, v, ok := strings.Cut(strings.TrimSpace(line), ":")
		v = strings.TrimSpace(v)
		var err error
		switch {
		case !ok || strings.HasPrefix(k, "#"):
		case k == "kind":
			s.kind = host.Kind(v)
		case k == "hostname":
			s.id.Hostname = v
		case k == "release":
			s.id.Release = v
		case k == "machine":
			s.id.Machine = v
		case k == "time":
			s.id.Time, err = time.Parse(time.RFC3339, v)
		case k == "euid":
			s.id.EUID, err = strconv.Atoi(v)
		case k == "incomplete":
			s.incomplete, err = strconv.ParseBool(v)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func parseInfo(s string) (host.Info, error) {
	i := host.Info{Mode: 0o644, Nlink: 1}
	f := strings.Fields(s)
	for k := 0; k+1 < len(f); k += 2 {
		n, err := strconv.ParseInt(f[k+1], 0, 64)
		switch f[k] {
		case "mode":
			var m uint64
			m, err = strconv.ParseUint(f[k+1], 8, 32)
			i.Mode = i.Mode&fs.ModeType | fs.FileMode(m&0o777)
			for bit, to := range map[uint64]fs.FileMode{0o4000: fs.ModeSetuid, 0o2000: fs.ModeSetgid, 0o1000: fs.ModeSticky} {
				if m&bit != 0 {
					i.Mode |= to
				}
			}
		case "uid":
			i.UID = uint32(n)
		case "gid":
			i.GID = uint32(n)
		case "size":
			i.Size = n
		case "nlink":
			i.Nlink = uint64(n)
		case "dev":
			i.Dev = uint64(n)
		case "ino":
			i.Ino = uint64(n)
		case "mtime":
			i.ModTime, err = time.Parse(time.RFC3339, f[k+1])
		case "type":
			err = nil
			i.Mode |= map[string]fs.FileMode{"dir": fs.ModeDir, "link": fs.ModeSymlink, "block": fs.ModeDevice}[f[k+1]]
		default:
			err = fmt.Errorf("unknown field %q", f[k])
		}
		if err != nil {
			return i, err
		}
	}
	return i, nil
}

func parseOutput(b []byte) host.Output {
	if first, rest, ok := strings.Cut(string(b), "\n"); ok && strings.HasPrefix(first, "exit ") {
		n, _ := strconv.Atoi(first[5:])
		return host.Output{Stdout: []byte(rest), Exit: n}
	}
	return host.Output{Stdout: b}
}
