package fix

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"path"
	"slices"

	"fettle/engine/remedy"
	"fettle/engine/remedy/step"
	"fettle/host"
)

// planned is this host as it will be when some plans are carried out, as far as
// their steps say: the next finding's plan is made from it, so that two plans
// may change one file.
type planned struct {
	host.Source
	files  map[string]file   // by path
	values map[string]string // of /proc/sys and /sys, by path
}

// file is one that a step makes, changes or removes.
type file struct {
	content []byte
	there   bool
}

func (p *planned) add(plan remedy.Plan) {
	for _, s := range plan.Steps {
		if w, ok := s.(step.Writer); ok {
			content, there := w.Writes()
			p.files[path.Clean(step.Target(s))] = file{content, there}
		}
		if v, ok := s.(step.Setter); ok {
			name, value := v.Sets()
			p.values[name] = value
		}
	}
}

// Extract is of the file as it is, unless a step writes it.
func (p *planned) Extract(ctx context.Context, kind, name string, of func(io.Reader) ([]byte, error)) ([]byte, error) {
	if f, ok := p.files[path.Clean(name)]; ok && f.there {
		return of(bytes.NewReader(f.content))
	} else if ok {
		return nil, host.ErrAbsent
	}
	return host.ExtractOf(ctx, p.Source, kind, name, of)
}

func (p *planned) ReadFile(ctx context.Context, name string, limit int64) ([]byte, error) {
	if v, ok := p.values[name]; ok {
		return []byte(v + "\n"), nil
	}
	f, ok := p.files[name]
	switch {
	case !ok:
		return p.Source.ReadFile(ctx, name, limit)
	case !f.there:
		return nil, host.ErrAbsent
	case int64(len(f.content)) > limit:
		return nil, host.ErrTooBig
	}
	return f.content, nil
}

func (p *planned) Stat(ctx context.Context, name string, follow bool) (host.Info, error) {
	f, ok := p.files[name]
	if ok && !f.there {
		return host.Info{}, host.ErrAbsent
	}
	i, err := p.Source.Stat(ctx, name, follow)
	switch {
	case !ok && host.IsAbsent(err) && len(p.made(name)) > 0: // a folder on the way
		return host.Info{Mode: fs.ModeDir | 0o755, Nlink: 2, ModTime: p.Identity().Time}, nil
	case !ok:
		return i, err
	case host.IsAbsent(err):
		i, err = host.Info{Mode: 0o644, Nlink: 1, ModTime: p.Identity().Time}, nil
	}
	if i.Mode.IsRegular() {
		i.Size = int64(len(f.content))
	}
	return i, err
}

func (p *planned) ReadDir(ctx context.Context, dir string) ([]host.Entry, error) {
	es, err := p.Source.ReadDir(ctx, dir)
	made := p.made(dir)
	if err != nil && (!host.IsAbsent(err) || len(made) == 0) {
		return es, err
	}
	es = slices.DeleteFunc(slices.Clone(es), func(e host.Entry) bool {
		f, ok := p.files[path.Join(dir, e.Name)]
		return ok && !f.there
	})
	for name, kind := range made {
		if !slices.ContainsFunc(es, func(e host.Entry) bool { return e.Name == name }) {
			es = append(es, host.Entry{Name: name, Type: kind})
		}
	}
	return es, nil
}

// made lists the files that steps make in a folder, and the folders on the way
// to such.
func (p *planned) made(dir string) map[string]fs.FileMode {
	out := map[string]fs.FileMode{}
	for name, f := range p.files {
		if !f.there {
			continue
		}
		kind := fs.FileMode(0)
		for at := name; at != "/" && at != "."; at, kind = path.Dir(at), fs.ModeDir {
			if path.Dir(at) == dir {
				out[path.Base(at)] = kind
				break
			}
		}
	}
	return out
}
