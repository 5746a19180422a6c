package rule

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	exprpb "google.golang.org/genproto/googleapis/api/expr/v1alpha1"
	"google.golang.org/protobuf/proto"
)

// Expr is one checked CEL expression.
type Expr struct {
	Source string `json:"s"`
	Line   int    `json:"l"` // in the rule's file
	// Checked is the checked expression as protobuf; empty until freeze.
	Checked []byte `json:"c,omitempty"`

	ast  *cel.Ast
	once sync.Once
	prog cel.Program
	err  error
}

// freeze keeps the checked form for Encode.
func (e *Expr) freeze() error {
	if len(e.Checked) > 0 {
		return nil
	}
	c, err := cel.AstToCheckedExpr(e.ast)
	if err != nil {
		return err
	}
	c.SourceInfo = nil // places: mistakes were told when it was checked
	// Of the types, running needs that of the whole, which says that it was
	// checked, and those of types themselves. The others are most of the bytes.
	for id, t := range c.TypeMap {
		if id != c.Expr.Id && t.GetType() == nil {
			delete(c.TypeMap, id)
		}
	}
	e.Checked, err = proto.MarshalOptions{Deterministic: true}.Marshal(c)
	return err
}

// program plans the expression, once.
func (e *Expr) program() (cel.Program, error) {
	e.once.Do(func() {
		env, err := base()
		if err != nil {
			e.err = err
			return
		}
		ast := e.ast
		if ast == nil {
			c := &exprpb.CheckedExpr{}
			if e.err = proto.Unmarshal(e.Checked, c); e.err != nil {
				return
			}
			ast = cel.CheckedExprToAst(c)
		}
		e.prog, e.err = env.Program(ast, programOptions...)
	})
	return e.prog, e.err
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
func (e *Expr) eval(ctx context.Context, s *scope) (ref.Val, error) {
	p, err := e.program()
	if err != nil {
		return nil, &Fault{s.rule.Path, e.Line, err}
	}
	v, _, err := p.ContextEval(ctx, s)
	if err != nil {
		var unread *unreadable
		switch {
		case errors.As(err, &unread): // a fact could not be read: that is the reason
			return nil, unread.err
		case ctx.Err() != nil:
			return nil, ctx.Err()
		}
		return nil, &Fault{s.rule.Path, e.Line, plainly(err)}
	}
	return v, nil
}

// plainly says CEL's own complaints in an admin's words.
func plainly(err error) error {
	switch msg := err.Error(); {
	case strings.Contains(msg, "cost limit"):
		return errors.New("the expression costs too much on this host")
	case strings.Contains(msg, "interrupted"):
		return errors.New("the expression took too long")
	}
	return err
}

func (e *Expr) truth(ctx context.Context, s *scope) (bool, error) {
	v, err := e.eval(ctx, s)
	if err != nil {
		return false, err
	}
	b, ok := v.Value().(bool)
	if !ok {
		return false, &Fault{s.rule.Path, e.Line, fmt.Errorf("neither true nor false but %v", v.Type().TypeName())}
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

// line is fill for what must be one line.
func (t *Text) line(ctx context.Context, s *scope) (string, error) {
	v, err := t.fill(ctx, s)
	return strings.Join(strings.Fields(v), " "), err
}

// say writes a value for people.
func say(v ref.Val) string {
	switch n := v.Value().(type) {
	case string:
		return n
	case float64:
		return strings.TrimSuffix(fmt.Sprintf("%.1f", n), ".0")
	case time.Time:
		return n.UTC().Format("2006-01-02 15:04 UTC")
	case time.Duration:
		return fmt.Sprint(asTime(v))
	}
	if l, ok := v.(traits.Lister); ok {
		var out []string
		for it := l.Iterator(); it.HasNext() == types.True && len(out) < 1000; {
			out = append(out, say(it.Next()))
		}
		return strings.Join(out, ", ")
	}
	if o, ok := v.(*object); ok {
		return o.brief
	}
	return fmt.Sprint(v.Value())
}
