package cel

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"

	"fettle/internal/sorted"
)

// Values are Go's: bool, int64, float64, string, time.Time, time.Duration,
// Null, slices, maps, and pointers to structs.

func kindOf(v any) Kind {
	switch v.(type) {
	case bool:
		return Bool
	case int64:
		return Int
	case float64:
		return Double
	case string:
		return String
	case time.Time:
		return Timestamp
	case time.Duration:
		return Duration
	case Null:
		return NullKind
	case []any, []string:
		return List
	}
	switch reflect.TypeOf(v).Kind() {
	case reflect.Slice:
		return List
	case reflect.Map:
		return Map
	}
	return Object
}

func objectOf(v any) *ObjectType { return TypeOf(reflect.TypeOf(v)).Obj }

// normal makes a Go value one of the values.
func normal(v reflect.Value) any {
	switch v.Kind() {
	case reflect.Interface:
		return normal(v.Elem())
	case reflect.Int, reflect.Int32, reflect.Int64:
		if v.Type() == durationType {
			return v.Interface()
		}
		return v.Int()
	case reflect.Uint32, reflect.Uint64:
		return int64(v.Uint())
	case reflect.String:
		return v.String()
	case reflect.Bool:
		return v.Bool()
	}
	return v.Interface()
}

// Normal makes a Go value one of those that expressions work on.
func Normal(v any) any { return normal(reflect.ValueOf(v)) }

// Elements are what a list holds; ok is false for what is none.
func Elements(v any) (els []any, ok bool) {
	switch l := v.(type) {
	case []any:
		return l, true
	case []string:
		els = make([]any, len(l))
		for i, s := range l {
			els[i] = s
		}
		return els, true
	}
	r := reflect.ValueOf(v)
	if !r.IsValid() || r.Kind() != reflect.Slice {
		return nil, false
	}
	els = make([]any, r.Len())
	for i := range els {
		els[i] = normal(r.Index(i))
	}
	return els, true
}

// length is how many elements a list or map has.
func length(v any) int64 { return int64(reflect.ValueOf(v).Len()) }

// at is an element of a map.
func at(m, key any) (any, bool) {
	key = mapKey(key)
	switch key.(type) {
	case string, int64, bool:
	default:
		return nil, false
	}
	switch m := m.(type) {
	case map[string]string:
		k, ok := key.(string)
		v, there := m[k]
		return v, ok && there
	case map[any]any:
		v, ok := m[key]
		return v, ok
	}
	r, k := reflect.ValueOf(m), reflect.ValueOf(key)
	if !k.Type().AssignableTo(r.Type().Key()) {
		return nil, false
	}
	v := r.MapIndex(k)
	if !v.IsValid() {
		return nil, false
	}
	return normal(v), true
}

// mapKey makes numbers that are equal one key.
func mapKey(k any) any {
	if f, ok := k.(float64); ok && f == math.Trunc(f) && math.Abs(f) < 1<<62 {
		return int64(f)
	}
	return k
}

// keysOf are the keys of a map, sorted.
func keysOf(m any) []any {
	r := reflect.ValueOf(m)
	keys := make([]any, 0, r.Len())
	for _, k := range r.MapKeys() {
		keys = append(keys, normal(k))
	}
	sorted.By(keys, func(a, b any) int {
		if c, err := compare(a, b); err == nil {
			return c
		}
		return cmp.Compare(kindOf(a), kindOf(b))
	})
	return keys
}

// FieldOf reads a field of an object, or a key of a map.
func FieldOf(v any, name string) (any, error) {
	switch kindOf(v) {
	case Map:
		if x, ok := at(v, name); ok {
			return x, nil
		}
		return nil, fmt.Errorf("no such key: %s", name)
	case Object:
		f := objectOf(v).Fields[name]
		if f == nil {
			return nil, fmt.Errorf("no such field: %s", name)
		}
		return f.read(reflect.ValueOf(v))
	}
	return nil, fmt.Errorf("no such overload: %s has no fields", kindNames[kindOf(v)])
}

func (f *Field) read(obj reflect.Value) (any, error) {
	v := obj.Elem().FieldByIndex(f.index)
	if !f.later {
		if k := v.Kind(); (k == reflect.Slice || k == reflect.Map) && v.IsNil() {
			return emptyOf(v.Type()), nil
		}
		return normal(v), nil
	}
	if v.IsNil() {
		if t := v.Type().Out(0); t.Kind() != reflect.Pointer {
			return normal(reflect.Zero(t)), nil
		}
		return nil, errors.New("there is none")
	}
	out := v.Call(nil)
	if !out[1].IsNil() {
		return nil, &FieldError{out[1].Interface().(error)}
	}
	return normal(out[0]), nil
}

// FieldError is why a field that is made when it is asked for was not.
type FieldError struct{ Err error }

func (e *FieldError) Error() string { return e.Err.Error() }
func (e *FieldError) Unwrap() error { return e.Err }

func emptyOf(t reflect.Type) any {
	if t.Kind() == reflect.Map {
		return reflect.MakeMap(t).Interface()
	}
	return reflect.MakeSlice(t, 0, 0).Interface()
}

// equal compares as CEL does: numbers by their value, things of different
// kinds are different.
func (r *run) equal(a, b any) bool {
	ka, kb := kindOf(a), kindOf(b)
	r.spend(1)
	switch {
	case (ka == Int || ka == Double) && (kb == Int || kb == Double):
		c, err := compare(a, b)
		return err == nil && c == 0 && !isNaN(a) && !isNaN(b)
	case ka != kb:
		return false
	}
	switch ka {
	case String:
		r.spend(min(len(a.(string)), len(b.(string))) / 10)
		return a == b
	case Timestamp:
		return a.(time.Time).Equal(b.(time.Time))
	case List:
		x, _ := Elements(a)
		y, _ := Elements(b)
		return slices.EqualFunc(x, y, r.equal)
	case Map:
		if length(a) != length(b) {
			return false
		}
		for _, k := range keysOf(a) {
			x, _ := at(a, k)
			y, ok := at(b, k)
			if !ok || !r.equal(x, y) {
				return false
			}
		}
		return true
	}
	return a == b // objects: the same one
}

func isNaN(v any) bool { f, ok := v.(float64); return ok && math.IsNaN(f) }

// compare orders two values.
func compare(a, b any) (int, error) {
	switch x := a.(type) {
	case int64:
		switch y := b.(type) {
		case int64:
			return cmp.Compare(x, y), nil
		case float64:
			return compareMixed(x, y)
		}
	case float64:
		switch y := b.(type) {
		case float64:
			if math.IsNaN(x) || math.IsNaN(y) {
				return 0, errors.New("NaN values cannot be ordered")
			}
			return cmp.Compare(x, y), nil
		case int64:
			c, err := compareMixed(y, x)
			return -c, err
		}
	case string:
		if y, ok := b.(string); ok {
			return strings.Compare(x, y), nil
		}
	case bool:
		if y, ok := b.(bool); ok {
			return boolInt(x) - boolInt(y), nil
		}
	case time.Time:
		if y, ok := b.(time.Time); ok {
			return x.Compare(y), nil
		}
	case time.Duration:
		if y, ok := b.(time.Duration); ok {
			return cmp.Compare(x, y), nil
		}
	}
	return 0, fmt.Errorf("no such overload: %s and %s cannot be ordered", kindNames[kindOf(a)], kindNames[kindOf(b)])
}

func compareMixed(n int64, f float64) (int, error) {
	switch {
	case math.IsNaN(f):
		return 0, errors.New("NaN values cannot be ordered")
	case f > math.MaxInt64:
		return -1, nil
	case f < math.MinInt64:
		return 1, nil
	}
	return cmp.Compare(float64(n), f), nil
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}
