package traptest

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"

	"fettle/engine/trap"
	"fettle/host"
)

// Blind is a source that notes what it is asked, and answers one question with an error.
type Blind struct {
	host.Source
	Hide string // a question, such as "read /etc/hosts"; empty: none
	Err  error  // the answer to it

	mu    sync.Mutex
	asked map[string]bool // of each question, whether there was an answer
}

// Asked are the questions until now, in alphabetical order.
func (b *Blind) Asked() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Sorted(maps.Keys(b.asked))
}

// Answered are those of them that were answered, if only with that it is absent.
func (b *Blind) Answered() []string {
	return slices.DeleteFunc(b.Asked(), func(q string) bool { return !b.asked[q] })
}

func blind[T any](b *Blind, question, what string, ask func() (T, error)) (v T, err error) {
	if b.Hide == question {
		err = &fs.PathError{Op: "reading", Path: what, Err: b.Err}
	} else {
		v, err = ask()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.asked == nil {
		b.asked = map[string]bool{}
	}
	b.asked[question] = b.asked[question] || err == nil || host.IsAbsent(err)
	return v, err
}

func (b *Blind) Stat(ctx context.Context, p string, follow bool) (host.Info, error) {
	kind := map[bool]string{true: "stat", false: "lstat"}[follow]
	return blind(b, kind+" "+p, p, func() (host.Info, error) { return b.Source.Stat(ctx, p, follow) })
}

func (b *Blind) ReadFile(ctx context.Context, p string, limit int64) ([]byte, error) {
	return blind(b, "read "+p, p, func() ([]byte, error) { return b.Source.ReadFile(ctx, p, limit) })
}

func (b *Blind) ReadDir(ctx context.Context, p string) ([]host.Entry, error) {
	return blind(b, "list "+p, p, func() ([]host.Entry, error) { return b.Source.ReadDir(ctx, p) })
}

func (b *Blind) Readlink(ctx context.Context, p string) (string, error) {
	return blind(b, "link "+p, p, func() (string, error) { return b.Source.Readlink(ctx, p) })
}

func (b *Blind) Xattr(ctx context.Context, p, name string) ([]byte, error) {
	return blind(b, "xattr "+name+" of "+p, p, func() ([]byte, error) { return b.Source.Xattr(ctx, p, name) })
}

func (b *Blind) Command(ctx context.Context, c host.Command) (host.Output, error) {
	return blind(b, "command "+c.String(), c.String(), func() (host.Output, error) { return b.Source.Command(ctx, c) })
}

func (b *Blind) Table(ctx context.Context, t host.Table) ([]byte, error) {
	return blind(b, "table "+string(t), string(t), func() ([]byte, error) { return b.Source.Table(ctx, t) })
}

// IsFound tells whether an outcome is a finding.
func IsFound(o trap.Outcome) bool { return o.Status == trap.Found }

// Lost is what was found before and is now neither found nor unknown: clear, or silence, would be
// a lie where an answer was taken away. It is empty where nothing is.
func Lost(before, after []trap.Outcome) string {
	unknown := slices.ContainsFunc(after, func(o trap.Outcome) bool { return o.Status == trap.Unknown })
	var lost []string
	for _, o := range before {
		if !IsFound(o) {
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

// Gained is what is found and was not before: an accusation, where all that changed is that an answer
// was taken away. It is empty where nothing is.
func Gained(before, after []trap.Outcome) string {
	var gained []string
	for _, o := range after {
		same := func(b trap.Outcome) bool { return IsFound(b) && b.Subject == o.Subject }
		if IsFound(o) && !slices.ContainsFunc(before, same) {
			gained = append(gained, o.Subject+" is found: "+o.Summary)
		}
	}
	return strings.Join(gained, "\n")
}
