package rule

import (
	"fmt"
	"reflect"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

// object is the value of a fact: fields by name, the costly ones made when
// they are asked for. It is no CEL value but one that CEL can look into.
type object struct {
	typ    *objectType
	fields map[string]any // Go values, or later
	data   any            // for the methods: what was read

	// source and brief are its evidence: where it was read, and what it said.
	source, brief string
}

// later is a field that is made when it is asked for, each time. An error
// makes what asks for it unknown.
type later func() (any, error)

func newObject(form, source, brief string, fields map[string]any) *object {
	return &object{typ: objectOf(form), source: source, brief: brief, fields: fields}
}

// Get reads a field.
func (o *object) Get(index ref.Val) ref.Val {
	name, ok := index.Value().(string)
	if !ok {
		return types.NewErr("no such field: %v", index.Value())
	}
	v, ok := o.fields[name]
	if !ok {
		f, known := o.typ.fields[name]
		if !known {
			return types.NewErr("no such field: %s", name)
		}
		return zero(f)
	}
	if f, ok := v.(later); ok {
		made, err := f()
		if err != nil {
			return types.WrapErr(&unreadable{err})
		}
		v = made
	}
	return toVal(v)
}

// zero is the value of a field that its reader left out.
func zero(f field) ref.Val {
	switch f.typ.Kind() {
	case types.BoolKind:
		return types.False
	case types.IntKind:
		return types.IntZero
	case types.DoubleKind:
		return types.Double(0)
	case types.StringKind:
		return types.String("")
	case types.ListKind:
		return toVal([]ref.Val{})
	case types.MapKind:
		return toVal(map[string]string{})
	}
	return types.NewErr("there is none")
}

// toVal makes a CEL value of what readers make.
func toVal(v any) ref.Val {
	switch v := v.(type) {
	case ref.Val:
		return v
	case []*object:
		vals := make([]ref.Val, len(v))
		for i, o := range v {
			vals[i] = o
		}
		return types.NewRefValList(adapter{}, vals)
	case []ref.Val:
		return types.NewRefValList(adapter{}, v)
	case uint64:
		return types.Int(v)
	}
	return types.DefaultTypeAdapter.NativeToValue(v)
}

// adapter lets objects through.
type adapter struct{}

func (adapter) NativeToValue(v any) ref.Val { return toVal(v) }

// ref.Val and traits.Indexer.

func (o *object) ConvertToNative(t reflect.Type) (any, error) {
	if reflect.TypeOf(o).AssignableTo(t) {
		return o, nil
	}
	return nil, fmt.Errorf("a fact cannot be made into %v", t)
}

func (o *object) ConvertToType(t ref.Type) ref.Val {
	if t.TypeName() == o.typ.cel.TypeName() {
		return o
	}
	return types.NewErr("a fact cannot be made into %s", t.TypeName())
}

func (o *object) Equal(other ref.Val) ref.Val {
	p, ok := other.(*object)
	return types.Bool(ok && p == o)
}

func (o *object) Type() ref.Type { return o.typ.cel }
func (o *object) Value() any     { return o }

// IsSet is for the macro has().
func (o *object) IsSet(f ref.Val) ref.Val {
	name, _ := f.Value().(string)
	_, ok := o.typ.fields[name]
	return types.Bool(ok)
}

var (
	_ ref.Val            = (*object)(nil)
	_ traits.Indexer     = (*object)(nil)
	_ traits.FieldTester = (*object)(nil)
)
