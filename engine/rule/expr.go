package rule

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"fettle/engine/rule/cel"
	"fettle/engine/trap"
)

// Expr is one expression, checked when its rule was.
type Expr struct {
	Source string `json:"s"`
	Line   int    `json:"l"` // in the rule's file

	parse sync.Once
	tree  *cel.Expr
	err   error
}

// Fault is an expression that came to nothing for a reason of its own: no
// such key, text that is no number, a cost too high.
type Fault struct {
	Path string
	Line int
	Err  error
}

func (f *Fault) Error() string { return fmt.Sprintf("%s:%d: %v", f.Path, f.Line, f.Err) }
func (f *Fault) Unwrap() error { return f.Err }

// eval evaluates over the scope's facts.
func (e *Expr) eval(ctx context.Context, s *scope) (any, error) {
	e.parse.Do(func() { e.tree, e.err = cel.Parse(e.Source) })
	if e.err != nil {
		return nil, &Fault{s.rule.Path, e.Line, e.err}
	}
	v, err := e.tree.Eval(ctx, functions(), s)
	var unread *unreadable
	var field *cel.FieldError
	switch {
	case err == nil:
		return v, nil
	case errors.As(err, &unread): // a fact could not be read: that is the reason
		return nil, unread.err
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.As(err, &field):
		return nil, field.Err
	case errors.Is(err, cel.ErrCost):
		err = errors.New("the expression costs too much on this host")
	case errors.Is(err, cel.ErrInterrupted):
		err = errors.New("the expression took too long")
	}
	return nil, &Fault{s.rule.Path, e.Line, err}
}

func (e *Expr) truth(ctx context.Context, s *scope) (bool, error) {
	v, err := e.eval(ctx, s)
	if err != nil {
		return false, err
	}
	b, ok := v.(bool)
	if !ok {
		return false, &Fault{s.rule.Path, e.Line, errors.New("neither true nor false")}
	}
	return b, nil
}

// Text is text with expressions in it.
type Text struct {
	Parts []Part `json:"p"`
}

// Part is literal text, or an expression.
type Part struct {
	Text string `json:"t,omitempty"`
	Expr *Expr  `json:"e,omitempty"`
}

// String is the text as it can be shown without a host: with … in the place of a value.
func (t *Text) String() string {
	var b strings.Builder
	for _, p := range t.Parts {
		if b.WriteString(p.Text); p.Expr != nil {
			b.WriteString("…")
		}
	}
	return b.String()
}

// textLimit bounds what one text may come to, in bytes.
const textLimit = 64 << 10

// fill puts the values in.
func (t *Text) fill(ctx context.Context, s *scope) (string, error) {
	if t == nil {
		return "", nil
	}
	var b strings.Builder
	for _, p := range t.Parts {
		if p.Expr == nil {
			b.WriteString(p.Text)
			continue
		}
		v, err := p.Expr.eval(ctx, s)
		if err != nil {
			return "", err
		}
		b.WriteString(say(v))
		if b.Len() > textLimit {
			return "", &Fault{s.rule.Path, p.Expr.Line, fmt.Errorf("a text of more than %d bytes", textLimit)}
		}
	}
	return b.String(), nil
}

// prose is fill for text whose line ends are the author's: one in a value came
// from the host.
func (t *Text) prose(ctx context.Context, s *scope) (trap.Prose, error) {
	if t == nil {
		return "", nil
	}
	var out trap.Prose
	for _, p := range t.Parts {
		if p.Expr == nil {
			out += trap.Prose(p.Text)
			continue
		}
		v, err := (&Text{Parts: []Part{p}}).fill(ctx, s)
		if err != nil {
			return "", err
		}
		if out += trap.Lines(v); len(out) > textLimit {
			return "", &Fault{s.rule.Path, p.Expr.Line, fmt.Errorf("a text of more than %d bytes", textLimit)}
		}
	}
	return out, nil
}

// line is fill for what must be one line.
func (t *Text) line(ctx context.Context, s *scope) (string, error) {
	v, err := t.fill(ctx, s)
	return strings.Join(strings.Fields(v), " "), err
}

// say writes a value for people.
func say(v any) string {
	switch n := v.(type) {
	case string:
		return n
	case float64:
		return strings.TrimSuffix(fmt.Sprintf("%.1f", n), ".0")
	case time.Time:
		return n.UTC().Format("2006-01-02 15:04 UTC")
	case time.Duration:
		return asTime(n)
	case evident:
		return n.evidence().brief
	}
	els, ok := cel.Elements(v)
	if !ok {
		return fmt.Sprint(v)
	}
	var out []string
	for _, e := range els[:min(len(els), 1000)] {
		out = append(out, say(e))
	}
	return strings.Join(out, ", ")
}
