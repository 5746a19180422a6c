// Package oracle evaluates expressions with google/cel-go, so that tests can
// compare package cel with it. Nothing that goes on a host imports it.
package oracle

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	gocel "cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"

	"fettle/engine/rule/cel"
)

// Oracle is cel-go with the names and functions of a package cel environment.
type Oracle struct{ env *gocel.Env }

// New makes an oracle that knows names by their types, and the functions that
// are not CEL's own.
func New(functions, standard cel.Functions, names map[string]cel.Type) (*Oracle, error) {
	reg, err := types.NewRegistry()
	if err != nil {
		return nil, err
	}
	objects := map[string]*cel.ObjectType{}
	opts := []gocel.EnvOption{gocel.CustomTypeAdapter(adapter{}), gocel.CustomTypeProvider(provider{reg, objects}), gocel.StdLib(),
		gocel.DefaultUTCTimeZone(true), gocel.CrossTypeNumericComparisons(true)}
	for name, t := range names {
		opts = append(opts, gocel.Variable(name, typeOf(objects, t)))
	}
	for name, overs := range functions {
		overs = overs[len(standard[name]):]
		var forms []gocel.FunctionOpt
		for i, o := range overs {
			forms = append(forms, form(objects, fmt.Sprintf("%s_%d", name, i), o))
		}
		if name == "get" {
			k, v := gocel.TypeParamType("K"), gocel.TypeParamType("V")
			forms = append(forms, gocel.MemberOverload("map_get", []*gocel.Type{gocel.MapType(k, v), k, v}, v, gocel.FunctionBinding(mapGet)))
		}
		if len(forms) > 0 {
			opts = append(opts, gocel.Function(name, forms...))
		}
	}
	env, err := gocel.NewCustomEnv(opts...)
	return &Oracle{env}, err
}

func mapGet(a ...ref.Val) ref.Val {
	if v, ok := a[0].(traits.Mapper).Find(a[1]); ok {
		return v
	}
	return a[2]
}

func form(objects map[string]*cel.ObjectType, id string, o *cel.Overload) gocel.FunctionOpt {
	var args []*gocel.Type
	for _, a := range o.Args {
		args = append(args, typeOf(objects, a))
	}
	do := gocel.FunctionBinding(func(vals ...ref.Val) ref.Val {
		in := make([]any, len(vals))
		for i, v := range vals {
			in[i] = Native(v)
		}
		out, err := o.Call(in)
		if err != nil {
			return types.WrapErr(err)
		}
		return toVal(out)
	})
	if o.Member {
		return gocel.MemberOverload(id, args, typeOf(objects, o.Result), do)
	}
	return gocel.Overload(id, args, typeOf(objects, o.Result), do)
}

func typeOf(objects map[string]*cel.ObjectType, t cel.Type) *gocel.Type {
	switch t.Kind {
	case cel.Bool:
		return gocel.BoolType
	case cel.Int:
		return gocel.IntType
	case cel.Double:
		return gocel.DoubleType
	case cel.String:
		return gocel.StringType
	case cel.Timestamp:
		return gocel.TimestampType
	case cel.Duration:
		return gocel.DurationType
	case cel.NullKind:
		return gocel.NullType
	case cel.List:
		return gocel.ListType(typeOf(objects, *t.Elem))
	case cel.Map:
		return gocel.MapType(typeOf(objects, *t.Key), typeOf(objects, *t.Elem))
	case cel.Object:
		if objects[t.Obj.Name] == nil {
			objects[t.Obj.Name] = t.Obj
			for _, f := range t.Obj.Fields {
				typeOf(objects, f.Type)
			}
		}
		return gocel.ObjectType("fact." + t.Obj.Name)
	}
	return gocel.DynType
}

// Program is a checked expression.
type Program struct {
	// Type is what it comes to, as package cel writes types.
	Type string
	prog gocel.Program
}

// Compile parses and checks an expression.
func (o *Oracle) Compile(src string) (*Program, error) {
	ast, iss := o.env.Compile(src)
	if iss.Err() != nil {
		return nil, iss.Err()
	}
	prog, err := o.env.Program(ast)
	name := strings.NewReplacer("google.protobuf.Timestamp", "timestamp", "google.protobuf.Duration", "duration", "fact.", "",
		"null_type", "null").
		Replace(ast.OutputType().String())
	return &Program{name, prog}, err
}

// Eval evaluates over names, and gives a Go value.
func (p *Program) Eval(names cel.Names) (any, error) {
	v, _, err := p.prog.Eval(activation{names})
	if err != nil {
		return nil, err
	}
	return Native(v), nil
}

type activation struct{ names cel.Names }

func (activation) Parent() gocel.Activation { return nil }

func (a activation) ResolveName(name string) (any, bool) {
	v, known, err := a.names.Value(name)
	if err != nil {
		return types.WrapErr(err), true
	}
	if !known {
		return nil, false
	}
	return toVal(v), true
}

// adapter makes cel-go's values of Go's.
type adapter struct{}

func (adapter) NativeToValue(v any) ref.Val { return toVal(v) }

func toVal(v any) ref.Val {
	switch v := v.(type) {
	case ref.Val:
		return v
	case cel.Null:
		return types.NullValue
	case bool, int64, float64, string, time.Time, time.Duration:
		return types.DefaultTypeAdapter.NativeToValue(v)
	}
	switch r := reflect.ValueOf(v); r.Kind() {
	case reflect.Slice:
		els, _ := cel.Elements(v)
		vals := make([]ref.Val, len(els))
		for i, e := range els {
			vals[i] = toVal(e)
		}
		return types.NewRefValList(adapter{}, vals)
	case reflect.Map:
		m := map[ref.Val]ref.Val{}
		for _, k := range r.MapKeys() {
			m[toVal(cel.Normal(k.Interface()))] = toVal(cel.Normal(r.MapIndex(k).Interface()))
		}
		return types.NewRefValMap(adapter{}, m)
	case reflect.Pointer:
		return &object{v, cel.TypeOf(r.Type()).Obj}
	}
	return types.DefaultTypeAdapter.NativeToValue(v)
}

// Native makes a Go value of one of cel-go's.
func Native(v ref.Val) any {
	switch v := v.(type) {
	case *object:
		return v.v
	case types.Null:
		return cel.Null{}
	case traits.Mapper:
		m := map[any]any{}
		for it := v.Iterator(); it.HasNext() == types.True; {
			k := it.Next()
			m[Native(k)] = Native(v.Get(k))
		}
		return m
	case traits.Lister:
		out := []any{}
		for it := v.Iterator(); it.HasNext() == types.True; {
			out = append(out, Native(it.Next()))
		}
		return out
	}
	return v.Value()
}

// object is a Go struct as a value of cel-go's.
type object struct {
	v   any
	typ *cel.ObjectType
}

func (o *object) celType() *gocel.Type { return gocel.ObjectType("fact." + o.typ.Name) }

// Get reads a field.
func (o *object) Get(index ref.Val) ref.Val {
	name, _ := index.Value().(string)
	v, err := cel.FieldOf(o.v, name)
	if err != nil {
		return types.WrapErr(err)
	}
	return toVal(v)
}

// IsSet is for the macro has().
func (o *object) IsSet(f ref.Val) ref.Val {
	name, _ := f.Value().(string)
	return types.Bool(o.typ.Fields[name] != nil)
}

func (o *object) ConvertToNative(reflect.Type) (any, error) {
	return nil, fmt.Errorf("an object has no other form")
}
func (o *object) ConvertToType(ref.Type) ref.Val { return types.NewErr("an object has no other form") }
func (o *object) Equal(other ref.Val) ref.Val {
	p, ok := other.(*object)
	return types.Bool(ok && p.v == o.v)
}
func (o *object) Type() ref.Type { return o.celType() }
func (o *object) Value() any     { return o }

// provider adds the object types to CEL's own.
type provider struct {
	types.Provider
	objects map[string]*cel.ObjectType
}

func (p provider) find(name string) *cel.ObjectType {
	name, _ = strings.CutPrefix(name, "fact.")
	return p.objects[name]
}

func (p provider) FindStructType(name string) (*types.Type, bool) {
	if o := p.find(name); o != nil {
		return types.NewTypeTypeWithParam(gocel.ObjectType("fact." + o.Name)), true
	}
	return p.Provider.FindStructType(name)
}

func (p provider) FindStructFieldNames(name string) ([]string, bool) {
	if o := p.find(name); o != nil {
		var names []string
		for n := range o.Fields {
			names = append(names, n)
		}
		return names, true
	}
	return p.Provider.FindStructFieldNames(name)
}

func (p provider) FindStructFieldType(name, f string) (*types.FieldType, bool) {
	if o := p.find(name); o != nil {
		ft := o.Fields[f]
		if ft == nil {
			return nil, false
		}
		return &types.FieldType{Type: typeOf(p.objects, ft.Type)}, true
	}
	return p.Provider.FindStructFieldType(name, f)
}
