package cel

import (
	"context"
	"fmt"
	"reflect"
)

// Functions are what expressions can call, by name.
type Functions map[string][]*Overload

// Overload is one form of a function.
type Overload struct {
	Member bool
	Args   []Type
	Result Type

	generic func(args []Type) (Type, bool) // instead of Args
	call    func(*run, []any) (any, error)
	ahead   func(args []any) int // what a call will cost beyond looking at its arguments
}

// Ahead sets what a call of a function costs by its arguments, reckoned before
// it is made: each function needs it whose result can be much longer than what
// it is given, so that the limit is met before the memory is taken.
func (f Functions) Ahead(name string, cost func(args []any) int) {
	for _, o := range f[name] {
		o.ahead = cost
	}
}

// Bytes is the cost of so many bytes made.
func Bytes(n int) int { return n / 10 }

// Add adds a Go function. Its arguments and its result are of Go types that
// TypeOf knows; a second result is an error. Of a member, the first argument is
// what is before the dot.
func (f Functions) Add(name string, member bool, do any) {
	v := reflect.ValueOf(do)
	t := v.Type()
	o := &Overload{Member: member, Result: TypeOf(t.Out(0))}
	for i := range t.NumIn() {
		o.Args = append(o.Args, TypeOf(t.In(i)))
	}
	o.call = func(_ *run, args []any) (any, error) { return callGo(v, t, args) }
	f[name] = append(f[name], o)
}

// Member adds the forms of a function that is behind a dot: Go functions.
func (f Functions) Member(name string, do ...any) {
	for _, d := range do {
		f.Add(name, true, d)
	}
}

// Global adds the forms of a function that is no member.
func (f Functions) Global(name string, do ...any) {
	for _, d := range do {
		f.Add(name, false, d)
	}
}

func callGo(v reflect.Value, t reflect.Type, args []any) (any, error) {
	in := make([]reflect.Value, len(args))
	for i, a := range args {
		x, ok := toGo(a, t.In(i))
		if !ok {
			return nil, fmt.Errorf("no such overload: %s cannot be %s", kindNames[kindOf(a)], t.In(i))
		}
		in[i] = x
	}
	out := v.Call(in)
	if len(out) == 2 && !out[1].IsNil() {
		return nil, out[1].Interface().(error)
	}
	return normal(out[0]), nil
}

// toGo makes a value fit a Go parameter.
func toGo(a any, want reflect.Type) (reflect.Value, bool) {
	v := reflect.ValueOf(a)
	switch {
	case v.Type().AssignableTo(want):
		return v, true
	case want.Kind() == reflect.Int && v.Kind() == reflect.Int64:
		return v.Convert(want), true
	case want.Kind() != reflect.Slice || v.Kind() != reflect.Slice:
		return v, false
	}
	n := v.Len() // a list that an expression made: its elements are what counts
	out := reflect.MakeSlice(want, n, n)
	for i := range n {
		x, ok := toGo(normal(v.Index(i)), want.Elem())
		if !ok {
			return v, false
		}
		out.Index(i).Set(x)
	}
	return out, true
}

// Call calls the function.
func (o *Overload) Call(args []any) (any, error) {
	return o.call(&run{ctx: context.Background()}, args)
}

// takes tells whether the overload takes arguments of these types, and what
// comes of it.
func (o *Overload) takes(member bool, args []Type) (Type, bool) {
	if o.Member != member {
		return Type{}, false
	}
	if o.generic != nil {
		return o.generic(args)
	}
	if len(args) != len(o.Args) {
		return Type{}, false
	}
	for i, a := range args {
		if !a.Is(o.Args[i]) {
			return Type{}, false
		}
	}
	return o.Result, true
}

// fits tells the same of values.
func (o *Overload) fits(member bool, args []any) bool {
	if o.Member != member || o.generic == nil && len(args) != len(o.Args) {
		return false
	}
	if o.generic != nil {
		types := make([]Type, len(args))
		for i, a := range args {
			types[i] = roughly(a)
		}
		_, ok := o.generic(types)
		return ok
	}
	for i, a := range args {
		if want := o.Args[i]; want.Kind != Dyn && !(kindOf(a) == want.Kind && (want.Kind != Object || objectOf(a) == want.Obj)) {
			return false
		}
	}
	return true
}

// roughly is a value's type without what is in it.
func roughly(v any) Type {
	switch k := kindOf(v); k {
	case List:
		return ListOf(Type{})
	case Map:
		return MapOf(Type{}, Type{})
	case Object:
		return Type{Kind: Object, Obj: objectOf(v)}
	default:
		return Simple(k)
	}
}
