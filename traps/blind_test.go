package traps

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"fettle/engine/trap"
	"fettle/engine/trap/traptest"
	"fettle/host"
	"fettle/host/hosttest"
	"fettle/internal/means"
	"fettle/traps/rules"
)

// blindfold is a source that notes what it is asked, and answers one question
// with an error.
type blindfold struct {
	host.Source
	hide string
	err  error

	mu    sync.Mutex
	asked map[string]bool // of each question, whether it was answered with more than absence
}

func (b *blindfold) hidden(question, what string) error {
	if b.hide == question {
		return &fs.PathError{Op: "reading", Path: what, Err: b.err}
	}
	return nil
}

func blind[T any](b *blindfold, question, what string, ask func() (T, error)) (T, error) {
	if err := b.hidden(question, what); err != nil {
		var zero T
		return zero, err
	}
	v, err := ask()
	b.mu.Lock()
	b.asked[question] = b.asked[question] || err == nil || host.IsAbsent(err)
	b.mu.Unlock()
	return v, err
}

func (b *blindfold) Stat(ctx context.Context, p string, follow bool) (host.Info, error) {
	return blind(b, fmt.Sprintf("stat %s follow=%v", p, follow), p, func() (host.Info, error) { return b.Source.Stat(ctx, p, follow) })
}

func (b *blindfold) ReadFile(ctx context.Context, p string, limit int64) ([]byte, error) {
	return blind(b, "read "+p, p, func() ([]byte, error) { return b.Source.ReadFile(ctx, p, limit) })
}

func (b *blindfold) ReadDir(ctx context.Context, p string) ([]host.Entry, error) {
	return blind(b, "list "+p, p, func() ([]host.Entry, error) { return b.Source.ReadDir(ctx, p) })
}

func (b *blindfold) Readlink(ctx context.Context, p string) (string, error) {
	return blind(b, "readlink "+p, p, func() (string, error) { return b.Source.Readlink(ctx, p) })
}

func (b *blindfold) Xattr(ctx context.Context, p, name string) ([]byte, error) {
	return blind(b, "xattr "+name+" of "+p, p, func() ([]byte, error) { return b.Source.Xattr(ctx, p, name) })
}

func (b *blindfold) Command(ctx context.Context, c host.Command) (host.Output, error) {
	return blind(b, "command "+c.String(), c.String(), func() (host.Output, error) { return b.Source.Command(ctx, c) })
}

func (b *blindfold) Table(ctx context.Context, t host.Table) ([]byte, error) {
	return blind(b, "table "+string(t), string(t), func() ([]byte, error) { return b.Source.Table(ctx, t) })
}

// TestNoFindingIsLost takes one answer after the other away from every golden
// host in which a trap is found. What was found must then still be found, or
// be unknown: clear, or silence, would be a lie.
func TestNoFindingIsLost(t *testing.T) {
	means.Short(t, "takes seconds")
	files, err := filepath.Glob("*/testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden hosts: %v", err)
	}
	samples, err := filepath.Glob("rules/*/*.txtar")
	if err != nil || len(samples) == 0 {
		t.Fatalf("no samples of rules: %v", err)
	}
	written := map[string]bool{} // which traps are rules: these have samples of their own
	for _, tr := range rules.All() {
		written[tr.ID()] = true
	}
	found := map[string]bool{}
	all := All()
	for _, f := range append(files, samples...) {
		src, _ := hosttest.Load(t, f)
		for _, tr := range all {
			if rule := filepath.Base(filepath.Dir(f)); written[tr.ID()] != strings.HasPrefix(f, "rules/") || written[tr.ID()] && tr.ID() != rule {
				continue
			}
			whole := &blindfold{Source: src, asked: map[string]bool{}}
			before := traptest.Run(t, tr, host.New(whole))
			if !slices.ContainsFunc(before, isFound) {
				continue
			}
			found[tr.ID()] = true
			t.Run(tr.ID()+"/"+strings.TrimSuffix(filepath.Base(f), ".txtar"), func(t *testing.T) {
				for _, q := range slices.Sorted(maps.Keys(whole.asked)) {
					if !whole.asked[q] {
						continue
					}
					for _, err := range []error{host.ErrDenied, host.ErrNotCollected} {
						one := &blindfold{Source: src, hide: q, err: err, asked: map[string]bool{}}
						after := traptest.Run(t, tr, host.New(one))
						if lost := lostFindings(before, after); lost != "" {
							t.Errorf("without %q (%v):\n%s\nwas:\n%s\nis:\n%s", q, err, lost, traptest.Lines(before), traptest.Lines(after))
						}
					}
				}
			})
		}
	}
	for _, tr := range all {
		if !found[tr.ID()] {
			t.Errorf("no golden host shows %s", tr.ID())
		}
	}
}

func isFound(o trap.Outcome) bool { return o.Status == trap.Found }

func lostFindings(before, after []trap.Outcome) string {
	unknown := slices.ContainsFunc(after, func(o trap.Outcome) bool { return o.Status == trap.Unknown })
	var lost []string
	for _, o := range before {
		if o.Status != trap.Found {
			continue
		}
		i := slices.IndexFunc(after, func(a trap.Outcome) bool { return a.Subject == o.Subject })
		switch {
		case i < 0 && !unknown:
			lost = append(lost, o.Subject+" is not spoken of")
		case i >= 0 && (after[i].Status == trap.Clear || after[i].Status == trap.NotApplicable):
			lost = append(lost, fmt.Sprintf("%s is %s", o.Subject, after[i].Status))
		}
	}
	return strings.Join(lost, "\n")
}
