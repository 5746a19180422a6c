package capture

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"fettle/host"
	"fettle/host/archive"
)

// ManifestLimit bounds manifest.json, in bytes: about 300,000 questions.
const ManifestLimit = 64 << 20

// Source answers from a capture.
type Source struct {
	tree    *archive.Tree
	man     Manifest
	answers map[string]*Answer
}

// Open opens a capture: the file that Write wrote, or a folder that it was
// unpacked to.
func Open(ctx context.Context, file string) (*Source, error) {
	return OpenWithin(ctx, file, archive.Limits{Manifest: ManifestLimit})
}

// OpenWithin is Open with other bounds.
func OpenWithin(ctx context.Context, file string, lim archive.Limits) (*Source, error) {
	t, err := archive.Open(ctx, file, lim)
	if err != nil {
		return nil, err
	}
	sub, ok := Find(t)
	if !ok {
		sub = t
	}
	s, err := FromTree(sub)
	if err != nil {
		t.Close()
	}
	return s, err
}

// Is reports whether a tree looks like a capture.
func Is(t *archive.Tree) bool {
	var head struct{ Format string }
	b, err := t.ReadFile("/manifest.json", ManifestLimit)
	return err == nil && json.Unmarshal(b, &head) == nil && head.Format == Format
}

// Find finds a capture that was unpacked or packed with a folder around it.
func Find(t *archive.Tree) (*archive.Tree, bool) {
	es, err := t.ReadDir("/")
	if err != nil || len(es) != 1 {
		return nil, false
	}
	sub, err := t.Sub("/" + es[0].Name)
	return sub, err == nil && Is(sub)
}

// FromTree reads a capture from an open tree, which it closes at its own Close.
func FromTree(t *archive.Tree) (*Source, error) {
	b, err := t.ReadFile("/manifest.json", ManifestLimit)
	if err != nil {
		return nil, fmt.Errorf("%s: not a capture: %w", t.Name(), err)
	}
	s := &Source{tree: t, answers: map[string]*Answer{}}
	if err := json.Unmarshal(b, &s.man); err != nil {
		return nil, fmt.Errorf("%s: manifest.json: %w", t.Name(), err)
	}
	switch {
	case s.man.Format != Format:
		return nil, fmt.Errorf("%s: manifest.json has the format %q, not %q: not a capture", t.Name(), s.man.Format, Format)
	case s.man.Version > Version:
		return nil, fmt.Errorf("%s: capture of version %d; this fettle reads up to %d: use a newer one", t.Name(), s.man.Version, Version)
	}
	for i := range s.man.Answers {
		a := &s.man.Answers[i]
		s.answers[a.key()] = a
	}
	return s, nil
}

// Manifest is what the capture says of itself.
func (s *Source) Manifest() *Manifest { return &s.man }

// Kind is KindCapture; of a recorded root folder it is KindRoot, since that
// has no running state to be asked for.
func (s *Source) Kind() host.Kind {
	if s.man.Kind == host.KindRoot {
		return host.KindRoot
	}
	return host.KindCapture
}

func (s *Source) Name() string            { return string(s.man.Name) }
func (s *Source) Identity() host.Identity { return s.man.Identity }
func (s *Source) Close() error            { return s.tree.Close() }

// find is the recorded answer. The error says that the question was never
// asked, or what was answered then.
func (s *Source) find(q Question) (*Answer, error) {
	a, ok := s.answers[q.key()]
	if !ok && q.As != 0 { // a capture of before anybody asked so
		q.As = 0
		a, ok = s.answers[q.key()]
	}
	if !ok {
		return nil, &fs.PathError{Op: string(q.Op), Path: string(q.Path), Err: host.ErrNotCollected}
	}
	return a, a.Failure.err()
}

// content reads the answer's member. A capture that lacks it is damaged: that
// is no absence on the host.
func (s *Source) content(a *Answer, limit int64) ([]byte, error) {
	b, err := s.tree.ReadFile("/"+a.Member, limit)
	if err != nil && !errors.Is(err, host.ErrTooBig) {
		return nil, fmt.Errorf("damaged capture: its member %q: %s", a.Member, err)
	}
	return b, err
}

func (s *Source) Stat(ctx context.Context, path string, follow bool) (host.Info, error) {
	op := OpLstat
	if follow {
		op = OpStat
	}
	a, err := s.find(of(ctx, op, path))
	if err != nil {
		return host.Info{}, err
	}
	if a.Info == nil {
		return host.Info{}, errDamaged
	}
	return *a.Info, nil
}

var errDamaged = errors.New("damaged capture: an answer without its content")

func (s *Source) ReadFile(ctx context.Context, path string, limit int64) ([]byte, error) {
	a, err := s.find(of(ctx, OpRead, path))
	if err != nil {
		return nil, err
	}
	return s.content(a, limit)
}

func (s *Source) ReadDir(ctx context.Context, path string) ([]host.Entry, error) {
	a, err := s.find(of(ctx, OpDir, path))
	if a == nil {
		return nil, err
	}
	var es []host.Entry
	for _, e := range a.Entries {
		es = append(es, host.Entry{Name: string(e.Name), Type: fs.FileMode(e.Type).Type()})
	}
	return es, err
}

func (s *Source) Readlink(ctx context.Context, path string) (string, error) {
	a, err := s.find(of(ctx, OpLink, path))
	if err != nil {
		return "", err
	}
	if a.Target == nil {
		return "", errDamaged
	}
	return string(*a.Target), nil
}

func (s *Source) Xattr(ctx context.Context, path, name string) ([]byte, error) {
	q := of(ctx, OpXattr, path)
	q.Attr = text(name)
	a, err := s.find(q)
	if err != nil {
		return nil, err
	}
	return a.Value, nil
}

func (s *Source) Command(_ context.Context, c host.Command) (host.Output, error) {
	a, err := s.find(Question{Op: OpCommand, Path: text(c.Name), Args: texts(c.Args)})
	if err != nil {
		return host.Output{}, err
	}
	b, err := s.content(a, ManifestLimit)
	return host.Output{Stdout: b, Stderr: []byte(a.Stderr), Exit: a.Exit}, err
}

func (s *Source) Table(_ context.Context, t host.Table) ([]byte, error) {
	a, err := s.find(Question{Op: OpTable, Path: text(t)})
	if err != nil {
		return nil, err
	}
	return s.content(a, ManifestLimit)
}
