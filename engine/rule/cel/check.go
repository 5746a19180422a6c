package cel

import "strings"

// Env is what expressions may use: names and their types, and functions.
type Env struct {
	Functions Functions
	names     map[string]Type
	outer     *Env
}

// With is an environment with a further name.
func (e *Env) With(name string, t Type) *Env {
	return &Env{Functions: e.Functions, names: map[string]Type{name: t}, outer: e}
}

func (e *Env) lookup(name string) (Type, bool) {
	for ; e != nil; e = e.outer {
		if t, ok := e.names[name]; ok {
			return t, true
		}
	}
	return Type{}, false
}

// Checked is what a checker learned about an expression.
type Checked struct {
	Type Type
	// Fields are the fields that are looked at.
	Fields []FieldUse
}

// FieldUse is a field of an object that an expression looks at.
type FieldUse struct {
	At    int
	Name  string
	Field *Field
}

// Check finds the mistakes in an expression's types: at most a handful.
func (e *Env) Check(x *Expr) (Checked, []Mistake) {
	c := &checking{}
	c.Type = c.of(e, x.root)
	return c.Checked, c.mistakes
}

const maxMistakes = 5

type checking struct {
	Checked
	mistakes []Mistake
}

// wrong notes a mistake. What is wrong is dyn from there on: one mistake is told once.
func (c *checking) wrong(at int, format string, args ...any) Type {
	if len(c.mistakes) < maxMistakes {
		c.mistakes = append(c.mistakes, mistakef(at, format, args...))
	}
	return Type{}
}

func (c *checking) of(e *Env, n *node) Type {
	switch n.op {
	case opLiteral:
		return typeOfLiteral(n.value)
	case opName:
		if t, ok := e.lookup(n.name); ok {
			return t
		}
		return c.wrong(n.at, "undeclared reference to '%s'", n.name)
	case opField:
		return c.field(n, c.of(e, n.args[0]))
	case opHas:
		c.field(n, c.of(e, n.args[0]))
		return Simple(Bool)
	case opIndex:
		return c.index(n, c.of(e, n.args[0]), c.of(e, n.args[1]))
	case opList:
		elem, some := Type{Kind: open}, false
		for _, a := range n.args {
			elem, some = joinNext(elem, some, c.of(e, a))
		}
		return ListOf(elem)
	case opMap:
		return c.mapLiteral(e, n)
	case opIf:
		c.want(e, n.args[0], Bool)
		a, b := c.of(e, n.args[1]), c.of(e, n.args[2])
		if !a.Is(b) {
			return c.wrong(n.at, "one branch is %s, the other %s", a, b)
		}
		return join(a, b)
	case opAnd, opOr:
		for _, a := range n.args {
			c.want(e, a, Bool)
		}
		return Simple(Bool)
	case opNot:
		c.want(e, n.args[0], Bool)
		return Simple(Bool)
	case opNeg:
		t := c.of(e, n.args[0])
		if t.Kind != Int && t.Kind != Double && t.Kind != Dyn {
			return c.wrong(n.at, "- is for numbers, not %s", t)
		}
		return t
	case opBinary:
		return c.binary(n, c.of(e, n.args[0]), c.of(e, n.args[1]))
	case opEach:
		return c.each(e, n)
	}
	return c.call(e, n)
}

func typeOfLiteral(v any) Type {
	switch v.(type) {
	case bool:
		return Simple(Bool)
	case int64:
		return Simple(Int)
	case float64:
		return Simple(Double)
	case string:
		return Simple(String)
	}
	return Simple(NullKind)
}

func joinNext(sofar Type, some bool, next Type) (Type, bool) {
	if !some {
		return next, true
	}
	return join(sofar, next), true
}

func (c *checking) want(e *Env, n *node, k Kind) {
	if t := c.of(e, n); t.Kind != k && t.Kind != Dyn {
		c.wrong(n.at, "%s is wanted here, not %s", Simple(k), t)
	}
}

func (c *checking) field(n *node, of Type) Type {
	switch of.Kind {
	case Dyn:
		return Type{}
	case Map:
		if of.Key.Kind == String || of.Key.anything() {
			return of.elem()
		}
	case Object:
		f := of.Obj.Fields[n.name]
		if f == nil {
			return c.wrong(n.at, "undefined field '%s'", n.name)
		}
		c.Fields = append(c.Fields, FieldUse{n.at, n.name, f})
		return f.Type
	}
	return c.wrong(n.at, "type '%s' does not support field selection", of)
}

func (c *checking) index(n *node, of, by Type) Type {
	switch {
	case of.Kind == Dyn:
		return Type{}
	case of.Kind == List && by.Is(Simple(Int)), of.Kind == Map && by.Is(*of.Key):
		return of.elem()
	}
	return c.wrong(n.at, "%s cannot be indexed by %s", of, by)
}

func (c *checking) mapLiteral(e *Env, n *node) Type {
	key, elem, some := Type{Kind: open}, Type{Kind: open}, false
	for i := 0; i < len(n.args); i += 2 {
		k, v := c.of(e, n.args[i]), c.of(e, n.args[i+1])
		if k.Kind != String && k.Kind != Int && k.Kind != Bool && k.Kind != Dyn {
			c.wrong(n.args[i].at, "%s cannot be the key of a map", k)
		}
		key, _ = joinNext(key, some, k)
		elem, some = joinNext(elem, some, v)
	}
	return MapOf(key, elem)
}

func numeric(k Kind) bool { return k == Int || k == Double || k == Dyn }

func (c *checking) binary(n *node, a, b Type) Type {
	bad := func() Type { return c.wrong(n.at, "%s is not for %s and %s", n.name, a, b) }
	switch n.name {
	case "==", "!=":
		if !a.Is(b) {
			return bad()
		}
		return Simple(Bool)
	case "in":
		switch {
		case b.Kind == Dyn, b.Kind == List && a.Is(*b.Elem), b.Kind == Map && a.Is(*b.Key):
			return Simple(Bool)
		}
		return bad()
	case "<", "<=", ">", ">=":
		if ordered(a.Kind) && ordered(b.Kind) && (a.Is(b) || numeric(a.Kind) && numeric(b.Kind)) {
			return Simple(Bool)
		}
		return bad()
	}
	if t, ok := arithmetic(n.name, a, b); ok {
		return t
	}
	return bad()
}

func ordered(k Kind) bool {
	return k == Dyn || k == Bool || k == Int || k == Double || k == String || k == Timestamp || k == Duration
}

// arithmetic is the type of a + b and its like.
func arithmetic(op string, a, b Type) (Type, bool) {
	if a.Kind == Dyn && b.Kind == Dyn {
		return Type{}, true
	}
	if op == "+" && (a.Kind == List || b.Kind == List) {
		return join(a, b), a.Is(b)
	}
	var result Type
	fits := 0
	for _, o := range arithmeticOn[op] {
		if (a.Kind == o[0] || a.Kind == Dyn) && (b.Kind == o[1] || b.Kind == Dyn) {
			if fits++; fits > 1 && result.Kind != o[2] {
				return Type{}, true // only the values tell
			}
			result = Simple(o[2])
		}
	}
	return result, fits > 0
}

// arithmeticOn lists what an operator is for: left, right, result.
var arithmeticOn = map[string][][3]Kind{
	"+": {{Int, Int, Int}, {Double, Double, Double}, {String, String, String}, {Duration, Duration, Duration},
		{Timestamp, Duration, Timestamp}, {Duration, Timestamp, Timestamp}},
	"-": {
		{Int, Int, Int},
		{Double, Double, Double},
		{Duration, Duration, Duration},
		{Timestamp, Duration, Timestamp},
		{Timestamp, Timestamp, Duration},
	},
	"*": {{Int, Int, Int}, {Double, Double, Double}},
	"/": {{Int, Int, Int}, {Double, Double, Double}},
	"%": {{Int, Int, Int}},
}

func (c *checking) each(e *Env, n *node) Type {
	over, elem := c.of(e, n.args[0]), Type{}
	switch over.Kind {
	case List:
		elem = over.elem()
	case Map:
		if elem = *over.Key; elem.Kind == open {
			elem = Type{}
		}
	case Dyn:
	default:
		c.wrong(n.args[0].at, "%s goes through a list or a map, not %s", n.name, over)
	}
	inner := e.With(n.variable, elem)
	if n.name == "map" {
		if len(n.args) == 3 {
			c.want(inner, n.args[1], Bool)
		}
		return ListOf(c.of(inner, n.args[len(n.args)-1]))
	}
	c.want(inner, n.args[1], Bool)
	if n.name == "filter" {
		return ListOf(elem)
	}
	return Simple(Bool)
}

func (c *checking) call(e *Env, n *node) Type {
	args := make([]Type, len(n.args))
	for i, a := range n.args {
		args[i] = c.of(e, a)
	}
	overs := e.Functions[n.name]
	var result Type
	fits := 0
	for _, o := range overs {
		if t, ok := o.takes(n.op == opMember, args); ok {
			if result = t; fits > 0 {
				result = Type{} // dyn arguments leave it open
			}
			fits++
		}
	}
	if fits > 0 {
		return result
	}
	if len(overs) == 0 {
		return c.wrong(n.at, "undeclared reference to '%s'", n.name)
	}
	says := make([]string, len(args))
	for i, t := range args {
		says[i] = t.String()
	}
	if n.op == opMember {
		return c.wrong(n.at, "%s has no method %s(%s)", says[0], n.name, strings.Join(says[1:], ", "))
	}
	return c.wrong(n.at, "%s is not for (%s)", n.name, strings.Join(says, ", "))
}
