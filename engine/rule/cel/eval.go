package cel

import (
	"context"
	"errors"
	"fmt"
	"reflect"
)

// Names gives the values of names. An error is that of what asked for it.
type Names interface {
	Value(name string) (v any, known bool, err error)
}

// Errors of an evaluation that was ended.
var (
	ErrCost        = errors.New("cost limit exceeded")
	ErrInterrupted = errors.New("interrupted")
)

// CostLimit bounds an evaluation, and so its memory: about one for each step
// and for each ten bytes that are looked at or made.
const CostLimit = 2_000_000

// run is one evaluation.
type run struct {
	ctx       context.Context
	functions Functions
	names     Names
	cost      int
	nextLook  int
	over      error
}

// frame is the element of a macro, within others.
type frame struct {
	name  string
	value any
	outer *frame
}

// Eval evaluates an expression that Check found no mistake in.
func (e *Expr) Eval(ctx context.Context, functions Functions, names Names) (any, error) {
	r := &run{ctx: ctx, functions: functions, names: names}
	v, err := r.eval(e.root, nil)
	if r.over != nil {
		return nil, r.over
	}
	return v, err
}

// lookEvery is after how much cost an evaluation looks whether its time is over.
const lookEvery = 2000

func (r *run) spend(n int) {
	if r.cost += n; r.cost > CostLimit {
		r.over = ErrCost
	} else if r.cost > r.nextLook {
		r.nextLook = r.cost + lookEvery
		if r.ctx.Err() != nil {
			r.over = ErrInterrupted
		}
	}
}

func (r *run) eval(n *node, f *frame) (any, error) {
	if r.spend(1); r.over != nil {
		return nil, r.over
	}
	switch n.op {
	case opLiteral:
		return n.value, nil
	case opName:
		return r.name(n.name, f)
	case opIf:
		cond, err := r.truth(n.args[0], f)
		if err != nil {
			return nil, err
		}
		if cond {
			return r.eval(n.args[1], f)
		}
		return r.eval(n.args[2], f)
	case opAnd:
		return r.logic(n, f, false)
	case opOr:
		return r.logic(n, f, true)
	case opNot:
		b, err := r.truth(n.args[0], f)
		return !b, err
	case opEach:
		return r.each(n, f)
	}
	args := make([]any, len(n.args))
	for i, a := range n.args {
		var err error
		if args[i], err = r.eval(a, f); err != nil {
			return nil, err
		}
	}
	switch n.op {
	case opField:
		return FieldOf(args[0], n.name)
	case opHas:
		return r.has(args[0], n.name)
	case opIndex:
		return index(args[0], args[1])
	case opList:
		return args, nil
	case opMap:
		return makeMap(args)
	case opNeg:
		return negate(args[0])
	case opBinary:
		return r.binary(n.name, args[0], args[1])
	}
	return r.call(n, args)
}

func (r *run) name(name string, f *frame) (any, error) {
	for ; f != nil; f = f.outer {
		if f.name == name {
			return f.value, nil
		}
	}
	v, known, err := r.names.Value(name)
	if !known {
		return nil, fmt.Errorf("no such attribute: %s", name)
	}
	return v, err
}

func (r *run) truth(n *node, f *frame) (bool, error) {
	v, err := r.eval(n, f)
	if err != nil {
		return false, err
	}
	b, ok := v.(bool)
	if !ok {
		return false, fmt.Errorf("no such overload: %s is neither true nor false", kindNames[kindOf(v)])
	}
	return b, nil
}

// logic is && and ||: one operand that decides does so whatever became of the
// others; else an error of one of them is that of the whole.
func (r *run) logic(n *node, f *frame, decides bool) (any, error) {
	var first error
	for _, a := range n.args {
		b, err := r.truth(a, f)
		if r.over != nil {
			return nil, r.over
		}
		if err == nil && b == decides {
			return decides, nil
		}
		if first == nil {
			first = err
		}
	}
	if first != nil {
		return nil, first
	}
	return !decides, nil
}

func (r *run) has(v any, name string) (any, error) {
	switch kindOf(v) {
	case Map:
		_, ok := at(v, name)
		return ok, nil
	case Object:
		return objectOf(v).Fields[name] != nil, nil
	case List:
		return nil, errors.New("no such overload: list has no fields")
	}
	return false, nil // nor has anything else any, to cel-go
}

func index(v, by any) (any, error) {
	switch kindOf(v) {
	case Map:
		if x, ok := at(v, by); ok {
			return x, nil
		}
		return nil, fmt.Errorf("no such key: %v", by)
	case List:
		i, ok := by.(int64)
		if f, isFloat := by.(float64); isFloat && f == float64(int64(f)) {
			i, ok = int64(f), true
		}
		if !ok {
			break
		}
		if i < 0 || i >= length(v) {
			return nil, fmt.Errorf("index out of bounds: %d", i)
		}
		return normal(reflect.ValueOf(v).Index(int(i))), nil
	}
	return nil, fmt.Errorf("no such overload: %s cannot be indexed by %s", kindNames[kindOf(v)], kindNames[kindOf(by)])
}

func makeMap(args []any) (any, error) {
	m := make(map[any]any, len(args)/2)
	for i := 0; i < len(args); i += 2 {
		switch kindOf(args[i]) {
		case String, Int, Bool:
		default:
			return nil, fmt.Errorf("unsupported key type: %s", kindNames[kindOf(args[i])])
		}
		m[args[i]] = args[i+1]
	}
	return m, nil
}

// each runs a macro over a list, or over a map's keys.
func (r *run) each(n *node, f *frame) (any, error) {
	over, err := r.eval(n.args[0], f)
	if err != nil {
		return nil, err
	}
	els, ok := Elements(over)
	if !ok {
		if kindOf(over) != Map {
			return nil, fmt.Errorf("no such overload: %s goes through a list or a map, not %s", n.name, kindNames[kindOf(over)])
		}
		els = keysOf(over)
	}
	r.spend(len(els) / 10)
	var failed error
	var kept []any
	count := 0
	for _, el := range els {
		inner := &frame{n.variable, el, f}
		hit := true
		if n.name != "map" || len(n.args) == 3 {
			hit, err = r.truth(n.args[1], inner)
		}
		if r.over != nil {
			return nil, r.over
		}
		if err != nil {
			if failed == nil {
				failed = err // another element may still decide all and exists
			}
			continue
		}
		switch {
		case n.name == "exists" && hit, n.name == "all" && !hit:
			return hit, nil
		case !hit:
			continue
		case n.name == "filter":
			kept = append(kept, el)
		case n.name == "map" && failed == nil:
			v, err := r.eval(n.args[len(n.args)-1], inner)
			if err != nil {
				return nil, err
			}
			kept = append(kept, v)
		}
		count++
	}
	if failed != nil {
		return nil, failed
	}
	switch n.name {
	case "exists":
		return false, nil
	case "all":
		return true, nil
	case "exists_one":
		return count == 1, nil
	}
	if kept == nil {
		kept = []any{}
	}
	return kept, nil
}

func (r *run) binary(op string, a, b any) (any, error) {
	switch op {
	case "==":
		return r.equal(a, b), nil
	case "!=":
		return !r.equal(a, b), nil
	case "in":
		return r.in(a, b)
	case "<", "<=", ">", ">=":
		if s, ok := a.(string); ok {
			r.spend(len(s) / 10)
		}
		if isNaN(a) || isNaN(b) {
			return false, nil // as cel-go has it, whatever the other is
		}
		c, err := compare(a, b)
		if err != nil {
			return nil, err
		}
		switch op {
		case "<":
			return c < 0, nil
		case "<=":
			return c <= 0, nil
		case ">":
			return c > 0, nil
		}
		return c >= 0, nil
	}
	return r.arithmetic(op, a, b)
}

func (r *run) in(a, b any) (any, error) {
	switch kindOf(b) {
	case Map:
		_, ok := at(b, a)
		return ok, nil
	case List:
		els, _ := Elements(b)
		for _, e := range els {
			if r.equal(a, e) {
				return true, nil
			}
			if r.over != nil {
				return nil, r.over
			}
		}
		return false, nil
	}
	return nil, fmt.Errorf("no such overload: in %s", kindNames[kindOf(b)])
}

func (r *run) call(n *node, args []any) (any, error) {
	for _, a := range args {
		if s, ok := a.(string); ok {
			r.spend(len(s) / 10)
		}
	}
	for _, o := range r.functions[n.name] {
		if !o.fits(n.op == opMember, args) {
			continue
		}
		if o.ahead != nil {
			r.spend(o.ahead(args))
		}
		if r.over != nil {
			return nil, r.over
		}
		v, err := o.call(r, args)
		r.made(v)
		return v, err
	}
	return nil, fmt.Errorf("no such overload: %s", n.name)
}

// made counts what a function made.
func (r *run) made(v any) {
	switch v := v.(type) {
	case string:
		r.spend(len(v) / 10)
	case []string:
		r.spend(len(v))
	}
}
