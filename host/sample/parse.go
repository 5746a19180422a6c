package sample

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/tools/txtar"

	"fettle/host"
	"fettle/internal/nearest"
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
		case "journal":
			j, err := json.Marshal(journal(string(f.Data), s.id.Time))
			if err != nil {
				return nil, nil, err
			}
			s.tables[host.TableJournal] = j
		case "table":
			s.tables[host.Table(rest)] = f.Data
		case "command":
			out, err := parseOutput(f.Data)
			if err != nil {
				return nil, nil, fmt.Errorf("%s: %w", f.Name, err)
			}
			s.commands[rest] = out
		case "raw":
			content, err := literal(data)
			if err != nil {
				return nil, nil, fmt.Errorf("%s: %w", f.Name, err)
			}
			s.files[abs] = content
		case "units", "packages":
			if err := s.listed(section, data); err != nil {
				return nil, nil, fmt.Errorf("%s: %w", f.Name, err)
			}
		case "denied":
			s.refused[refusal(rest)] = host.ErrDenied
		case "uncollected":
			s.refused[refusal(rest)] = host.ErrNotCollected
		default:
			if !slices.Contains(extras, f.Name) {
				return nil, nil, unknown("section", f.Name, section, slices.Concat(sections, extras))
			}
			extra[f.Name] = string(f.Data)
		}
	}
	return s, extra, nil
}

// journal is the digest of a log of this boot as text, up to now.
func journal(text string, now time.Time) host.Journal {
	j := host.TextJournal("journalctl", text, host.LogText{Now: now}, true)
	for _, l := range []*host.Log{&j.Kernel, &j.Manager, &j.Failed, &j.Recent} {
		l.Until = now
	}
	return j
}

// sections are the first parts of the names that make a host.
var sections = []string{"root", "raw", "link", "stat", "xattr", "table", "journal", "command", "units", "packages", "denied", "uncollected"}

// extras are the sections that say what is to be made of the host; they are
// handed to the caller.
var extras = []string{"want", "plan", "network", "evidence"}

const lowercase = "abcdefghijklmnopqrstuvwxyz"

// keys are those of the lines before the first file.
var keys = []string{"kind", "hostname", "release", "version", "machine", "time", "euid", "incomplete"}

// unknown names what nobody reads, and what may have been meant.
func unknown(what, name, part string, known []string) error {
	if meant := nearest.Word(part, known); meant != "" {
		return fmt.Errorf("no %s is called %q; did you mean %s?", what, name, strings.Replace(name, part, meant, 1))
	}
	return fmt.Errorf("no %s is called %q; there are %s", what, name, strings.Join(known, ", "))
}

// literal reads Go string literals, one a line: bytes that txtar can't hold,
// such as a last line without its newline.
func literal(data string) ([]byte, error) {
	var b []byte
	for line := range strings.Lines(data) {
		text, err := strconv.Unquote(strings.TrimSpace(line))
		if err != nil {
			return nil, fmt.Errorf("%s is no Go string literal, such as \"a = 1\\nb = 2\"", strings.TrimSpace(line))
		}
		b = append(b, text...)
	}
	return b, nil
}

func refusal(rest string) string {
	if strings.HasPrefix(rest, "table/") || strings.HasPrefix(rest, "command/") {
		return rest
	}
	return "/" + rest
}

func (s *Source) header(text string) error {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		k, v, ok := strings.Cut(line, ":")
		v = strings.TrimSpace(v)
		var err error
		switch {
		case !ok || strings.Trim(k, lowercase) != "": // prose
		case k == "kind":
			s.kind = host.Kind(v)
		case k == "hostname":
			s.id.Hostname = v
		case k == "release":
			s.id.Release = v
		case k == "version":
			s.id.Version = v
		case k == "machine":
			s.id.Machine = v
		case k == "time":
			s.id.Time, err = time.Parse(time.RFC3339, v)
		case k == "euid":
			s.id.EUID, err = strconv.Atoi(v)
		case k == "incomplete":
			s.incomplete, err = strconv.ParseBool(v)
		default:
			err = unknown("key", k, k, keys)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// types are what stat's type may be.
var types = map[string]fs.FileMode{"file": 0, "dir": fs.ModeDir, "link": fs.ModeSymlink, "block": fs.ModeDevice,
	"char": fs.ModeDevice | fs.ModeCharDevice, "socket": fs.ModeSocket, "pipe": fs.ModeNamedPipe}

func parseInfo(s string) (host.Info, error) {
	i := host.Info{Mode: 0o644, Nlink: 1}
	f := strings.Fields(s)
	if len(f)%2 != 0 {
		return i, fmt.Errorf("%q: expected pairs, such as mode 0644 uid 0", s)
	}
	for k := 0; k < len(f); k += 2 {
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
			typ, ok := types[f[k+1]]
			if err = nil; !ok {
				err = fmt.Errorf("unknown type %q: expected %s", f[k+1], strings.Join(slices.Sorted(maps.Keys(types)), ", "))
			}
			i.Mode |= typ
		default:
			err = fmt.Errorf("unknown field %q", f[k])
		}
		if err != nil {
			return i, err
		}
	}
	return i, nil
}

func parseOutput(b []byte) (host.Output, error) {
	first, rest, ok := strings.Cut(string(b), "\n")
	status, exits := strings.CutPrefix(first, "exit ")
	if !ok || !exits {
		return host.Output{Stdout: b}, nil
	}
	n, err := strconv.Atoi(status)
	if err != nil {
		return host.Output{}, fmt.Errorf("%q: expected a number behind exit", first)
	}
	return host.Output{Stdout: []byte(rest), Exit: n}, nil
}
