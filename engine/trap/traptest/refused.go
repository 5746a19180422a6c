package traptest

import (
	"context"
	"slices"
	"strings"
	"testing"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/hosttest"
)

// refusing is a source of which one question is denied.
type refusing struct {
	host.Source
	question string   // that is denied; empty: none
	asked    []string // in order, each once
}

func (s *refusing) ask(kind, what string) error {
	q := kind + " " + what
	if !slices.Contains(s.asked, q) {
		s.asked = append(s.asked, q)
	}
	if q == s.question {
		return host.ErrDenied
	}
	return nil
}

func (s *refusing) Stat(ctx context.Context, path string, follow bool) (host.Info, error) {
	if err := s.ask("stat", path); err != nil {
		return host.Info{}, err
	}
	return s.Source.Stat(ctx, path, follow)
}

func (s *refusing) ReadFile(ctx context.Context, path string, limit int64) ([]byte, error) {
	if err := s.ask("read", path); err != nil {
		return nil, err
	}
	return s.Source.ReadFile(ctx, path, limit)
}

func (s *refusing) ReadDir(ctx context.Context, path string) ([]host.Entry, error) {
	if err := s.ask("list", path); err != nil {
		return nil, err
	}
	return s.Source.ReadDir(ctx, path)
}

func (s *refusing) Readlink(ctx context.Context, path string) (string, error) {
	if err := s.ask("link", path); err != nil {
		return "", err
	}
	return s.Source.Readlink(ctx, path)
}

func (s *refusing) Command(ctx context.Context, c host.Command) (host.Output, error) {
	if err := s.ask("command", c.String()); err != nil {
		return host.Output{}, err
	}
	return s.Source.Command(ctx, c)
}

func (s *refusing) Table(ctx context.Context, t host.Table) ([]byte, error) {
	if err := s.ask("table", string(t)); err != nil {
		return nil, err
	}
	return s.Source.Table(ctx, t)
}

// refused denies a check its questions one by one: each time it says something, and still finds
// what it found, or says what it does not know. What was tried on a host of that kind is not
// tried again.
func refused(t testing.TB, tr *trap.Trap, file string, tried map[string]bool) {
	src, extra := hosttest.Load(t, file)
	_, network := extra["network"]
	opt := trap.Options{Network: network}
	all := &refusing{Source: src}
	found, kind := map[string]bool{}, "clear: "
	outcomes := Run(t, tr, host.New(all), opt)
	for _, o := range outcomes {
		if o.Status == trap.Found {
			found[o.Subject], kind = true, "found: "
		}
	}
	for _, q := range all.asked {
		if tried[kind+q] {
			continue
		}
		tried[kind+q] = true
		still, unknown := map[string]bool{}, false
		for _, o := range Run(t, tr, host.New(&refusing{Source: src, question: q}), opt) {
			still[o.Subject], unknown = o.Status == trap.Found, unknown || o.Status == trap.Unknown
			if strings.Contains(o.Reason, "reported nothing") {
				t.Errorf("%s: nothing is reported where this is denied: %s", file, q)
			}
		}
		for subject, was := range found {
			if was && !still[subject] && !unknown {
				t.Errorf("%s: %s is not found where this is denied, and nothing is unknown: %s", file, subject, q)
			}
		}
	}
	if tr.Plan != nil {
		refusedPlans(t, tr, file, src, outcomes, tried)
	}
}

// refusedPlans denies a plan its questions, and the facts of its finding: it is whole, or an error.
func refusedPlans(t testing.TB, tr *trap.Trap, file string, src host.Source, outcomes []trap.Outcome, tried map[string]bool) {
	for _, o := range outcomes {
		if o.Status != trap.Found {
			continue
		}
		all := &refusing{Source: src}
		if _, err := tr.Plan(t.Context(), host.New(all), o); err != nil && len(all.asked) == 0 {
			continue
		}
		for _, q := range append(all.asked, "facts") {
			if key := "plan: " + o.Summary + q; !tried[key] {
				tried[key] = true
				told := o
				if q == "facts" {
					told.Facts = nil
				}
				if p, err := tr.Plan(t.Context(), host.New(&refusing{Source: src, question: q}), told); err == nil && len(p.Steps) == 0 {
					t.Errorf("%s: a plan without steps for %s where this is denied: %s", file, o.Subject, q)
				}
			}
		}
	}
}
