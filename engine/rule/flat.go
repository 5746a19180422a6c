package rule

import (
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"

	"fettle/internal/sorted"
)

// The flat form of a value: numbers as varints, lengths before texts and lists,
// the fields of a struct in order. It names no field, so that only the types that
// wrote it read it. Texts that are read are parts of what is read, not copies.

var errFlat = errors.New("not the flat form of a rule")

// flatten writes the value that v points to.
func flatten(v any) []byte { return appendFlat(nil, reflect.ValueOf(v).Elem()) }

// unflatten reads what flatten wrote into the value that v points to.
func unflatten(s string, v any) (err error) {
	defer func() {
		if p := recover(); p != nil {
			if e, ok := p.(error); !ok || !errors.Is(e, errFlat) {
				panic(p)
			}
			err = errFlat
		}
	}()
	in := flatReader{s}
	in.value(reflect.ValueOf(v).Elem())
	if in.rest != "" {
		return errFlat
	}
	return nil
}

// flatFields are the places of a struct's fields that are written, by its type:
// all that are exported but those that no JSON has either.
var flatFields sync.Map

func fieldsOf(t reflect.Type) []int {
	if f, ok := flatFields.Load(t); ok {
		return f.([]int)
	}
	var out []int
	for i := range t.NumField() {
		if f := t.Field(i); f.IsExported() && f.Tag.Get("json") != "-" {
			out = append(out, i)
		}
	}
	flatFields.Store(t, out)
	return out
}

func appendFlat(b []byte, v reflect.Value) []byte {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return append(b, 0)
		}
		return appendFlat(append(b, 1), v.Elem())
	case reflect.Struct:
		for _, i := range fieldsOf(v.Type()) {
			b = appendFlat(b, v.Field(i))
		}
	case reflect.Slice:
		b = binary.AppendUvarint(b, uint64(v.Len()))
		for i := range v.Len() {
			b = appendFlat(b, v.Index(i))
		}
	case reflect.Map:
		b = binary.AppendUvarint(b, uint64(v.Len()))
		keys := v.MapKeys()
		sorted.By(keys, func(x, y reflect.Value) int { return strings.Compare(x.String(), y.String()) })
		for _, k := range keys {
			b = appendFlat(appendFlat(b, k), v.MapIndex(k))
		}
	case reflect.String:
		b = append(binary.AppendUvarint(b, uint64(v.Len())), v.String()...)
	case reflect.Bool:
		if v.Bool() {
			return append(b, 1)
		}
		return append(b, 0)
	case reflect.Int, reflect.Int64:
		b = binary.AppendVarint(b, v.Int())
	default:
		panic(fmt.Sprintf("no flat form of %s", v.Type()))
	}
	return b
}

// flatReader is what is left to read. It panics with errFlat at what nobody wrote.
type flatReader struct{ rest string }

func (r *flatReader) number() (n uint64) {
	for shift := 0; shift < 64 && r.rest != ""; shift += 7 {
		c := r.rest[0]
		r.rest = r.rest[1:]
		n |= uint64(c&0x7f) << shift
		if c < 0x80 {
			return n
		}
	}
	panic(errFlat)
}

// length is a number of bytes or elements, of which each takes a byte at least.
func (r *flatReader) length() int {
	n := r.number()
	if n > uint64(len(r.rest)) {
		panic(errFlat)
	}
	return int(n)
}

func (r *flatReader) text() string {
	n := r.length()
	s := r.rest[:n]
	r.rest = r.rest[n:]
	return s
}

func (r *flatReader) value(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if r.number() == 0 {
			return
		}
		p := reflect.New(v.Type().Elem())
		r.value(p.Elem())
		v.Set(p)
	case reflect.Struct:
		for _, i := range fieldsOf(v.Type()) {
			r.value(v.Field(i))
		}
	case reflect.Slice:
		n := r.length()
		if n == 0 {
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			r.value(v.Index(i))
		}
	case reflect.Map:
		n := r.length()
		if n == 0 {
			return
		}
		v.Set(reflect.MakeMapWithSize(v.Type(), n))
		for range n {
			key, e := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			r.value(key)
			r.value(e)
			v.SetMapIndex(key, e)
		}
	case reflect.String:
		v.SetString(r.text())
	case reflect.Bool:
		v.SetBool(r.number() != 0)
	default: // appendFlat knows no others
		n := r.number()
		v.SetInt(int64(n>>1) ^ -int64(n&1))
	}
}
