// Package sample makes hosts out of txtar files: what is in the file is
// there, everything else is absent (or, with "incomplete: true", not collected).
// fettle's own tests use it through package hosttest, and fettle lore test for
// the samples of rules.
//
// The comment before the first file holds "name: value" lines: kind, hostname,
// release, machine, time (RFC 3339), euid, incomplete. The files are:
//
//	-- root/etc/hosts --              a file and its content
//	-- raw/etc/hosts --               the same as Go string literals, one a line: for bytes that txtar can't hold
//	-- link/etc/resolv.conf --        a symlink and its target
//	-- stat/var/log/journal --        "mode 2755 uid 0 gid 999 type dir" (any of them, also size, mtime, nlink, dev, ino;
//	                                  type is file, dir, link, block, char, socket or pipe)
//	-- xattr/user.x/etc/hosts --      an extended attribute, in hexadecimal
//	-- denied/etc/shadow --           asking for it is refused
//	-- uncollected/etc/hosts --       asking for it answers that nobody looked
//	-- table/links --                 a table, JSON
//	-- journal --                     the log since boot, as journalctl -o short-iso prints it
//	-- command/systemctl show x --    what the command prints; "exit 3" as its first line sets the status
//	-- units --                       systemd runs, and has these units, one a line: name, load, active and sub
//	                                  state, and state of the file ("ssh.service loaded active running enabled")
//	-- packages --                    what dpkg has installed, one a line: name and version; with "# rpm" as
//	                                  the first line, what rpm has
//
// denied/ and uncollected/ also take table/NAME and command/LINE. Other
// lines of the comment are prose; a key or a section that nobody reads is an error.
package sample

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"sort"
	"strings"

	"fettle/host"
)

// Source is a host.Source made of a txtar archive.
type Source struct {
	kind       host.Kind
	id         host.Identity
	incomplete bool
	files      map[string][]byte
	links      map[string]string
	stats      map[string]host.Info
	xattrs     map[string][]byte // "attr path"
	refused    map[string]error  // path, "table/…" or "command/…"
	tables     map[host.Table][]byte
	commands   map[string]host.Output // by Command.String
	units      map[string]host.Unit   // nil: not told
	rpms       string                 // as rpm -qa prints them
}

func (s *Source) Kind() host.Kind         { return s.kind }
func (s *Source) Name() string            { return s.id.Hostname }
func (s *Source) Identity() host.Identity { return s.id }
func (s *Source) Close() error            { return nil }

func (s *Source) running(name string) bool {
	top, _, _ := strings.Cut(strings.TrimPrefix(name, "/"), "/")
	return s.kind == host.KindRoot && (top == "proc" || top == "sys" || top == "run" || top == "dev")
}

// resolve follows symlinks of every folder on the way, and of the last name
// where follow says so.
func (s *Source) resolve(name string, follow bool) (string, error) {
	if s.running(name) {
		return "", host.ErrNotRunning
	}
	name = path.Clean(name)
	for range 40 {
		again := false
		for link, target := range s.links {
			if name == link && follow || strings.HasPrefix(name, link+"/") {
				if !path.IsAbs(target) {
					target = path.Join(path.Dir(link), target)
				}
				name, again = path.Join(target, strings.TrimPrefix(name, link)), true
				break
			}
		}
		if !again {
			return name, s.refused[name]
		}
	}
	return "", fmt.Errorf("too many symlinks")
}

func (s *Source) none() error {
	if s.incomplete {
		return host.ErrNotCollected
	}
	return host.ErrAbsent
}

func (s *Source) ReadFile(_ context.Context, name string, limit int64) ([]byte, error) {
	name, err := s.resolve(name, true)
	if err != nil {
		return nil, err
	}
	b, ok := s.files[name]
	switch {
	case !ok && s.isDir(name):
		return nil, host.ErrNotRegular
	case !ok:
		return nil, s.none()
	case int64(len(b)) > limit:
		return nil, host.ErrTooBig
	}
	return b, nil
}

// names lists every path that is known to exist.
func (s *Source) names(each func(p string, typ fs.FileMode)) {
	for p := range s.files {
		each(p, 0)
	}
	for p := range s.links {
		each(p, fs.ModeSymlink)
	}
	for p, i := range s.stats {
		each(p, i.Mode.Type())
	}
}

func (s *Source) isDir(name string) bool {
	found := s.stats[name].Mode.IsDir()
	s.names(func(p string, _ fs.FileMode) {
		found = found || strings.HasPrefix(p, strings.TrimSuffix(name, "/")+"/")
	})
	return found
}

func (s *Source) ReadDir(_ context.Context, name string) ([]host.Entry, error) {
	name, err := s.resolve(name, true)
	if err != nil {
		return nil, err
	}
	if !s.isDir(name) {
		return nil, s.none()
	}
	found := map[string]fs.FileMode{}
	s.names(func(p string, typ fs.FileMode) {
		rest, ok := strings.CutPrefix(p, strings.TrimSuffix(name, "/")+"/")
		if !ok || rest == "" {
			return
		}
		first, _, deeper := strings.Cut(rest, "/")
		if deeper {
			found[first] = fs.ModeDir
		} else if _, ok := found[first]; !ok {
			found[first] = typ
		}
	})
	var out []host.Entry
	for n, typ := range found {
		out = append(out, host.Entry{Name: n, Type: typ})
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out, nil
}

func (s *Source) Stat(_ context.Context, name string, follow bool) (host.Info, error) {
	name, err := s.resolve(name, follow)
	if err != nil {
		return host.Info{}, err
	}
	if i, ok := s.stats[name]; ok {
		return i, nil
	}
	if b, ok := s.files[name]; ok {
		return host.Info{Mode: 0o644, Size: int64(len(b)), Nlink: 1}, nil
	}
	if l, ok := s.links[name]; ok {
		return host.Info{Mode: fs.ModeSymlink | 0o777, Size: int64(len(l)), Nlink: 1}, nil
	}
	if s.isDir(name) {
		return host.Info{Mode: fs.ModeDir | 0o755, Nlink: 2}, nil
	}
	return host.Info{}, s.none()
}

func (s *Source) Readlink(_ context.Context, name string) (string, error) {
	name, err := s.resolve(name, false)
	if err != nil {
		return "", err
	}
	if l, ok := s.links[name]; ok {
		return l, nil
	}
	return "", s.none()
}

func (s *Source) Xattr(_ context.Context, name, attr string) ([]byte, error) {
	name, err := s.resolve(name, true)
	if err != nil {
		return nil, err
	}
	if v, ok := s.xattrs[attr+" "+name]; ok {
		return v, nil
	}
	return nil, s.none()
}

func (s *Source) Command(_ context.Context, c host.Command) (host.Output, error) {
	if s.kind == host.KindRoot {
		return host.Output{}, host.ErrNotRunning
	}
	if err := s.refused["command/"+c.String()]; err != nil {
		return host.Output{}, err
	}
	if o, ok := s.commands[c.String()]; ok {
		return o, nil
	}
	if o, ok := s.show(c); ok {
		return o, nil
	}
	if s.incomplete {
		return host.Output{}, host.ErrNotCollected
	}
	return host.Output{}, host.ErrNoCommand
}

func (s *Source) Table(_ context.Context, t host.Table) ([]byte, error) {
	if s.kind == host.KindRoot {
		return nil, host.ErrNotRunning
	}
	if err := s.refused["table/"+string(t)]; err != nil {
		return nil, err
	}
	if b, ok := s.tables[t]; ok {
		return b, nil
	}
	return nil, host.ErrNotCollected
}
