package cel

import (
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"
)

// Kind is the kind of a type.
type Kind uint8

// The kinds of types. Dyn is known only when the expression runs.
const (
	Dyn Kind = iota
	NullKind
	Bool
	Int
	Double
	String
	Timestamp
	Duration
	List
	Map
	Object

	open // of the elements of [] and {}: whatever is wanted
)

var kindNames = [...]string{"dyn", "null", "bool", "int", "double", "string", "timestamp", "duration", "list", "map", "object", "dyn"}

// Type is the type of an expression.
type Type struct {
	Kind Kind
	Key  *Type // of a map
	Elem *Type // of a list or a map
	Obj  *ObjectType
}

// ObjectType describes a Go struct: the fields that have a tag cel.
type ObjectType struct {
	Name   string
	Fields map[string]*Field
}

// Field is a field of an object.
type Field struct {
	Type Type
	// Volatile: its value changes by itself (the tag's second word).
	Volatile bool

	index []int
	later bool // a function that makes it
}

func (t Type) String() string {
	switch t.Kind {
	case List:
		return "list(" + t.Elem.String() + ")"
	case Map:
		return "map(" + t.Key.String() + ", " + t.Elem.String() + ")"
	case Object:
		return t.Obj.Name
	}
	return kindNames[t.Kind]
}

// Simple is a type without parts.
func Simple(k Kind) Type { return Type{Kind: k} }

// ListOf is a list of elements.
func ListOf(elem Type) Type { return Type{Kind: List, Elem: &elem} }

// MapOf is a map with keys of text.
func MapOf(key, elem Type) Type { return Type{Kind: Map, Key: &key, Elem: &elem} }

// Is tells whether a value of type t may stand where u is wanted.
func (t Type) Is(u Type) bool {
	switch {
	case t.anything() || u.anything():
		return true
	case t.Kind == NullKind || u.Kind == NullKind:
		other := max(t.Kind, u.Kind)
		return other == NullKind || other == Object || other == Timestamp || other == Duration
	case t.Kind != u.Kind:
		return false
	case t.Kind == Object:
		return t.Obj == u.Obj
	case t.Kind == Map && !t.Key.Is(*u.Key):
		return false
	case t.Kind == List || t.Kind == Map:
		return t.Elem.Is(*u.Elem)
	}
	return true
}

// elem is the type of an element that is taken out of t.
func (t Type) elem() Type {
	if t.Elem.Kind == open {
		return Type{}
	}
	return *t.Elem
}

func (t Type) anything() bool { return t.Kind == Dyn || t.Kind == open }

// join is the type of either; dyn when they differ.
func join(a, b Type) Type {
	switch {
	case a.Kind == open:
		return b
	case b.Kind == open:
		return a
	case !a.Is(b) || a.Kind == Dyn || b.Kind == Dyn:
		return Type{}
	case a.Kind == NullKind:
		return b
	case a.Kind == List:
		return ListOf(join(*a.Elem, *b.Elem))
	case a.Kind == Map:
		return MapOf(join(*a.Key, *b.Key), join(*a.Elem, *b.Elem))
	}
	return a
}

var goTypes sync.Map // reflect.Type: Type

var (
	timeType     = reflect.TypeFor[time.Time]()
	durationType = reflect.TypeFor[time.Duration]()
	errorType    = reflect.TypeFor[error]()
)

// TypeOf is the type of a Go value: of a bool, a number, a string, a time, a
// slice, a map, or a pointer to a struct whose fields have tags. It panics over
// others: they are a bug in the program.
func TypeOf(t reflect.Type) Type {
	if known, ok := goTypes.Load(t); ok {
		return known.(Type)
	}
	made := makeType(t)
	known, _ := goTypes.LoadOrStore(t, made)
	return known.(Type)
}

func makeType(t reflect.Type) Type {
	switch t {
	case timeType:
		return Type{Kind: Timestamp}
	case durationType:
		return Type{Kind: Duration}
	}
	switch t.Kind() {
	case reflect.Bool:
		return Type{Kind: Bool}
	case reflect.String:
		return Type{Kind: String}
	case reflect.Float64:
		return Type{Kind: Double}
	case reflect.Int, reflect.Int64, reflect.Uint64, reflect.Uint32, reflect.Int32:
		return Type{Kind: Int}
	case reflect.Slice:
		return ListOf(TypeOf(t.Elem()))
	case reflect.Map:
		return MapOf(TypeOf(t.Key()), TypeOf(t.Elem()))
	case reflect.Interface:
		return Type{}
	case reflect.Func: // a field that is made when it is asked for
		if t.NumIn() == 0 && t.NumOut() == 2 && t.Out(1) == errorType {
			return TypeOf(t.Out(0))
		}
	case reflect.Pointer:
		if t.Elem().Kind() == reflect.Struct {
			return Type{Kind: Object, Obj: objectType(t.Elem())}
		}
	}
	panic("cel: no type for Go's " + t.String())
}

func objectType(t reflect.Type) *ObjectType {
	o := &ObjectType{Name: strings.TrimSuffix(t.Name(), "Fact"), Fields: map[string]*Field{}}
	for _, f := range reflect.VisibleFields(t) {
		tag, ok := f.Tag.Lookup("cel")
		if !ok {
			continue
		}
		words := strings.Split(tag, ",")
		o.Fields[words[0]] = &Field{
			Type:     TypeOf(f.Type),
			Volatile: slices.Contains(words[1:], "volatile"),
			index:    f.Index,
			later:    f.Type.Kind() == reflect.Func,
		}
	}
	return o
}

// TypeFor is TypeOf a Go type.
func TypeFor[T any]() Type { return TypeOf(reflect.TypeFor[T]()) }
