// Package sosreport turns what sos report collected into a host, from its archive or its
// unpacked folder.
//
// Files that sos copied are read where they lie. Running state that sos keeps
// as the output of commands is parsed into the form that checks ask for; the
// list of which output serves what is in tables.go and files.go. What is not
// in the report counts as absent only where the report's manifest shows that
// sos went there to collect it (collected.go); everything else answers
// host.ErrNotCollected.
package sosreport

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"sync"

	"fettle/host"
	"fettle/host/archive"
)

// Source answers from a sosreport.
type Source struct {
	tree *archive.Tree
	man  manifest
	id   host.Identity

	sysctl    func() (*sysctls, error)
	lists     func() listings
	installed func() ([]string, error) // names of packages
	shown     func() (shownUnits, error)
	tables    sync.Map // host.Table to func() ([]byte, error)
}

// MaxMember is the size of the largest file of an archived report that is kept:
// sos cuts logs to 100 MB, and their ends are read.
const MaxMember = 128 << 20

// Open opens a report: its folder, or the archive that sos made.
func Open(ctx context.Context, file string) (*Source, error) {
	t, err := archive.Open(ctx, file, archive.Limits{Member: MaxMember})
	if err != nil {
		return nil, err
	}
	sub, ok := Find(t)
	if !ok {
		t.Close()
		return nil, fmt.Errorf("%s: contains no sosreport (no folder sos_commands)", file)
	}
	return FromTree(sub), nil
}

// Find finds the report in a tree: at its root, or in the only folder there,
// as in the archives that sos makes.
func Find(t *archive.Tree) (*archive.Tree, bool) {
	if Is(t) {
		return t, true
	}
	es, err := t.ReadDir("/")
	if err != nil || len(es) > 16 {
		return nil, false
	}
	for _, e := range es {
		if e.Type == fs.ModeDir {
			if sub, err := t.Sub("/" + e.Name); err == nil && Is(sub) {
				return sub, true
			}
		}
	}
	return nil, false
}

// Is reports whether a tree is a report.
func Is(t *archive.Tree) bool {
	i, err := t.Stat("/sos_commands", true)
	return err == nil && i.Mode.IsDir()
}

// FromTree makes a host of an open report; its Close closes the tree.
func FromTree(t *archive.Tree) *Source { return build(t, readManifest(t), "") }

// Layout is the report of another collector, with files where sos has them.
type Layout struct {
	Tree      *archive.Tree
	Collector string
	Looked    []string        // patterns of which all that matches was collected
	Absent    map[string]bool // files that the collector looked for without success
}

// FromLayout makes a host of it; its Close closes the tree.
func FromLayout(l Layout) *Source {
	m := manifest{commands: map[string]command{}, byExec: map[string]command{}, gone: l.Absent}
	m.addSpecs(l.Looked...)
	return build(l.Tree, m, l.Collector)
}

func build(t *archive.Tree, m manifest, collector string) *Source {
	s := &Source{tree: t, man: m}
	to, err := t.Readlink("/lib")
	merged := err == nil && strings.TrimPrefix(to, "/") == "usr/lib"
	if merged {
		s.man.mergeUsr()
	}
	s.sysctl = sync.OnceValues(s.readSysctl)
	s.installed = sync.OnceValues(s.packageNames)
	s.shown = sync.OnceValues(s.readShown)
	s.lists = sync.OnceValue(func() listings {
		l := s.readListings()
		if merged {
			l.alias()
		}
		return l
	})
	s.id.Collector = collector
	s.id = s.identity()
	return s
}

func (s *Source) Kind() host.Kind         { return host.KindSosreport }
func (s *Source) Name() string            { return s.id.Hostname }
func (s *Source) Identity() host.Identity { return s.id }
func (s *Source) Close() error            { return s.tree.Close() }

// output reads the first of the given files below sos_commands (or at the
// report's top) that is there and whose command did not fail.
func (s *Source) output(files ...string) (string, error) {
	for _, f := range files {
		if c, ok := s.man.commands[f]; ok && !c.usable() {
			continue
		}
		b, err := s.tree.ReadFile("/"+f, host.ReadLimit)
		if err == nil && len(b) > 0 {
			return string(b), nil
		}
	}
	if s.id.Collector != "" { // it has other names for its files
		command := strings.ReplaceAll(path.Base(files[0]), "_", " ")
		return "", fmt.Errorf("the output of %s: %w", command, host.ErrNotCollected)
	}
	return "", notCollected("read", files[0])
}

// collector is what made the report.
func (s *Source) collector() string {
	if s.id.Collector != "" {
		return s.id.Collector
	}
	return "sos"
}

func notCollected(op, name string) error {
	return &fs.PathError{Op: op, Path: name, Err: host.ErrNotCollected}
}

// hostTops are the folders at a report's top that are the host's own; the
// rest is sos's (links to command outputs, sos_logs, version.txt).
var hostTops = map[string]bool{"bin": true, "boot": true, "dev": true, "etc": true, "home": true, "lib": true, "lib32": true, "lib64": true,
	"libx32": true, "media": true, "mnt": true, "opt": true, "proc": true, "root": true, "run": true, "sbin": true, "srv": true,
	"sys": true, "tmp": true, "usr": true, "var": true}

func onHost(name string) bool {
	top, _, _ := strings.Cut(strings.TrimPrefix(name, "/"), "/")
	return hostTops[top]
}

func (s *Source) ReadFile(_ context.Context, name string, limit int64) ([]byte, error) {
	name = path.Clean(name)
	if onHost(name) {
		b, err := s.tree.ReadFile(name, limit)
		if err == nil || !host.IsAbsent(err) {
			return b, err
		}
	}
	b, err := s.derived(name)
	if err == nil && int64(len(b)) > limit {
		err = &fs.PathError{Op: "read", Path: name, Err: host.ErrTooBig}
	}
	return b, err
}

func (s *Source) Stat(_ context.Context, name string, follow bool) (host.Info, error) {
	name = path.Clean(name)
	if onHost(name) {
		i, err := s.tree.Stat(name, follow)
		if err == nil || !host.IsAbsent(err) {
			return i, err
		}
	}
	if sys, serr := s.sysctl(); serr == nil && sys.dirs[name] != nil {
		return host.Info{Mode: fs.ModeDir | 0o555, Nlink: 1}, nil
	}
	b, err := s.derived(name)
	if err != nil {
		if e, _ := s.lists().look(name); e != nil && (!follow || e.target == "") {
			return e.info, nil
		}
		switch {
		case errors.Is(err, host.ErrNotRegular): // a folder that another output tells of
			return host.Info{Mode: fs.ModeDir | 0o755, Nlink: 2}, nil
		case errors.Is(err, host.ErrNotCollected) && s.shipped(name):
			return host.Info{Mode: 0o755, Nlink: 1}, nil
		}
		return host.Info{}, err
	}
	return host.Info{Mode: 0o644, Size: int64(len(b)), Nlink: 1, ModTime: s.id.Time}, nil
}

func (s *Source) Readlink(_ context.Context, name string) (string, error) {
	name = path.Clean(name)
	if onHost(name) {
		t, err := s.tree.Readlink(name)
		if err == nil || !host.IsAbsent(err) {
			return t, err
		}
	}
	e, known := s.lists().look(name)
	switch {
	case known && e == nil:
		return "", &pathError{Op: "readlink", Path: name, Err: host.ErrAbsent}
	case known && e.target != "":
		return e.target, nil
	}
	return "", s.man.missing("readlink", name)
}

// ReadDir lists a folder if the report holds all of it.
func (s *Source) ReadDir(_ context.Context, name string) ([]host.Entry, error) {
	name = path.Clean(name)
	if !onHost(name) {
		return nil, notCollected("readdir", name)
	}
	es, err := s.tree.ReadDir(name)
	if err != nil && !host.IsAbsent(err) {
		return nil, err
	}
	have := err == nil
	if sys, serr := s.sysctl(); serr == nil && sys.dirs[name] != nil {
		return union(es, sys.dirs[name]), nil
	}
	if section := s.lists()[name]; section != nil {
		return section.entries(), nil
	}
	if name == "/var/lib/dpkg/updates" && !have {
		return s.dpkgUpdates()
	}
	if e, known := s.lists().look(name); known && e == nil && !have {
		return nil, &pathError{Op: "readdir", Path: name, Err: host.ErrAbsent}
	}
	if _, terr := s.told(name); !have && host.IsAbsent(terr) {
		return nil, terr
	}
	switch {
	case !have && s.man.listed(name): // also where nothing in it met "*.yaml"
		return nil, &pathError{Op: "readdir", Path: name, Err: host.ErrAbsent}
	case !have:
		return nil, notCollected("readdir", name)
	case !s.man.listed(name) || s.man.lacks(name, es):
		return nil, notCollected("readdir", name)
	}
	return es, nil
}

func union(es []host.Entry, more map[string]fs.FileMode) []host.Entry {
	out := make([]host.Entry, 0, len(more))
	for n, typ := range more {
		out = append(out, host.Entry{Name: n, Type: typ})
	}
	for _, e := range es {
		if _, ok := more[e.Name]; !ok {
			out = append(out, e)
		}
	}
	return out
}

// Xattr: sos copies no extended attributes.
func (s *Source) Xattr(_ context.Context, name, attr string) ([]byte, error) {
	return nil, notCollected("getxattr "+attr, name)
}
