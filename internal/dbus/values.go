package dbus

import (
	"encoding/binary"
	"errors"
	"fmt"
)

var errForm = errors.New("the message is not what its signature says")

// decoder reads values one after the other. After an error all that follow are empty.
type decoder struct {
	b   []byte
	at  int
	err error
}

// Variant is the value of a reply that is one variant: a string, a bool, a uint64 of numbers, a
// []string; nil of other types.
func (r Reply) Variant() (any, error) {
	if r.Sig != "v" {
		return nil, fmt.Errorf("%w: %q", errForm, r.Sig)
	}
	d := decoder{b: r.Body}
	return d.variant(), d.err
}

// Properties calls f with each property of a reply of GetAll.
func (r Reply) Properties(f func(name string, value any)) error {
	if r.Sig != "a{sv}" {
		return fmt.Errorf("%w: %q", errForm, r.Sig)
	}
	d := decoder{b: r.Body}
	n := int(d.uint32())
	d.align(8)
	for end := d.at + n; d.at < end && d.err == nil; {
		d.align(8)
		name := d.string()
		f(name, d.variant())
	}
	return d.err
}

// Rows calls f with the strings of each struct of a reply that is an array of structs.
func (r Reply) Rows(f func(row []string)) error {
	if len(r.Sig) < 4 || r.Sig[:2] != "a(" || r.Sig[len(r.Sig)-1] != ')' {
		return fmt.Errorf("%w: %q", errForm, r.Sig)
	}
	inner := r.Sig[2 : len(r.Sig)-1]
	d := decoder{b: r.Body}
	n := int(d.uint32())
	d.align(8)
	for end := d.at + n; d.at < end && d.err == nil; {
		d.align(8)
		row := make([]string, 0, len(inner))
		for sig := inner; sig != "" && d.err == nil; {
			var v any
			v, sig = d.value(sig, 0)
			s, _ := v.(string)
			row = append(row, s)
		}
		f(row)
	}
	return d.err
}

func (d *decoder) fail() {
	if d.err == nil {
		d.err = errForm
	}
	d.at = len(d.b)
}

// take is the next n bytes.
func (d *decoder) take(n int) []byte {
	if n < 0 || n > len(d.b)-d.at {
		d.fail()
		return make([]byte, 8)
	}
	d.at += n
	return d.b[d.at-n : d.at]
}

func (d *decoder) align(to int) {
	if rest := d.at % to; rest != 0 {
		d.take(to - rest)
	}
}

func (d *decoder) byte() byte { return d.take(1)[0] }

func (d *decoder) uint32() uint32 {
	d.align(4)
	return binary.LittleEndian.Uint32(d.take(4))
}

func (d *decoder) string() string {
	n := d.uint32()
	if n > maxMessage {
		d.fail()
		return ""
	}
	s := d.take(int(n))
	if d.take(1); d.err != nil {
		return ""
	}
	return string(s)
}

func (d *decoder) signature() string {
	s := d.take(int(d.byte()))
	if d.take(1); d.err != nil {
		return ""
	}
	return string(s)
}

func (d *decoder) variant() any {
	v, rest := d.value(d.signature(), 0)
	if rest != "" {
		d.fail()
	}
	return v
}

// maxDepth is how deep values may lie in each other (the specification: 64).
const maxDepth = 64

// value reads the value of the first type of a signature, and gives the rest of it.
func (d *decoder) value(sig string, depth int) (v any, rest string) {
	if sig == "" || depth > maxDepth {
		d.fail()
		return nil, ""
	}
	rest = sig[1:]
	switch sig[0] {
	case 'y':
		v = uint64(d.byte())
	case 'b':
		v = d.uint32() != 0
	case 'n', 'q':
		d.align(2)
		v = uint64(binary.LittleEndian.Uint16(d.take(2)))
	case 'i', 'u', 'h':
		v = uint64(d.uint32())
	case 'x', 't', 'd':
		d.align(8)
		v = binary.LittleEndian.Uint64(d.take(8))
	case 's', 'o':
		v = d.string()
	case 'g':
		v = d.signature()
	case 'v':
		v, _ = d.value(d.signature(), depth+1)
	case 'a':
		return d.array(rest)
	case '(':
		for d.align(8); rest != "" && rest[0] != ')' && d.err == nil; {
			_, rest = d.value(rest, depth+1)
		}
		if rest == "" {
			d.fail()
			return nil, ""
		}
		return nil, rest[1:]
	default:
		d.fail()
	}
	return v, rest
}

// array reads arrays of strings, and passes over others.
func (d *decoder) array(sig string) (any, string) {
	n := int(d.uint32())
	if sig == "" || n > maxMessage {
		d.fail()
		return nil, ""
	}
	rest := sig[one(sig):]
	switch sig[0] {
	case 's', 'o':
		var out []string
		for end := d.at + n; d.at < end && d.err == nil; {
			out = append(out, d.string())
		}
		return out, rest
	case 'x', 't', 'd', '(', '{':
		d.align(8)
	}
	d.take(n)
	return nil, rest
}

// one is how long the first whole type of a signature is.
func one(sig string) int {
	depth := 0
	for i := range len(sig) {
		switch sig[i] {
		case 'a':
			continue
		case '(', '{':
			depth++
		case ')', '}':
			depth--
		}
		if depth <= 0 {
			return i + 1
		}
	}
	return len(sig)
}
