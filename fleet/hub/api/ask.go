package api

import (
	"encoding/json"
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxText is how long one parameter may be, in bytes; pasted text may be longer.
const maxText = 1000

// BadRequest is what the caller got wrong.
type BadRequest struct{ Said string }

func (e *BadRequest) Error() string { return e.Said }

func bad(format string, args ...any) error { return &BadRequest{fmt.Sprintf(format, args...)} }

// param is one parameter of an operation: a field of its question.
type param struct {
	name, about string
	index       []int
	required    bool
	one         []string // what may be given; empty: anything
	least, most int      // of numbers
	long        int      // of texts, in bytes
	kind        reflect.Kind
}

// params reads a question's fields: `json:"name" about:"…"`, and of the rest
// what applies: `need:"yes"`, `one:"a b c"`, `most:"500"`, `long:"1000000"`.
func params(t reflect.Type) []param {
	var out []param
	for _, f := range reflect.VisibleFields(t) {
		if f.Anonymous || !f.IsExported() {
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		p := param{
			name:     name,
			about:    f.Tag.Get("about"),
			index:    f.Index,
			required: f.Tag.Get("need") != "",
			kind:     f.Type.Kind(),
			most:     1 << 31,
			long:     maxText,
		}
		p.one = strings.Fields(f.Tag.Get("one"))
		p.most = number(f.Tag.Get("most"), p.most)
		p.long = number(f.Tag.Get("long"), p.long)
		out = append(out, p)
	}
	return out
}

func number(s string, otherwise int) int {
	if n, err := strconv.Atoi(s); err == nil {
		return n
	}
	return otherwise
}

// Read makes a question of what was given by name, and refuses what it does not know.
func Read[Q any](given url.Values) (Q, error) {
	var q Q
	v := reflect.ValueOf(&q).Elem()
	ps := params(v.Type())
	for name := range given {
		if !slices.ContainsFunc(ps, func(p param) bool { return p.name == name }) {
			return q, bad("unknown parameter %q: expected %s", clip(name), names(ps))
		}
	}
	for _, p := range ps {
		vals := given[p.name]
		if len(vals) > 1 {
			return q, bad("%s is given %d times", p.name, len(vals))
		}
		if len(vals) == 0 || vals[0] == "" {
			if p.required {
				return q, bad("%s is missing", p.name)
			}
			continue
		}
		if err := p.set(v.FieldByIndex(p.index), vals[0]); err != nil {
			return q, err
		}
	}
	return q, nil
}

func (p *param) set(f reflect.Value, s string) error {
	switch p.kind {
	case reflect.String:
		if len(s) > p.long || !utf8.ValidString(s) || strings.Contains(s, "\x00") {
			return bad("%s: expected valid text of up to %d bytes", p.name, p.long)
		}
		if len(p.one) > 0 && !slices.Contains(p.one, s) {
			return bad("%s %q: expected %s", p.name, clip(s), strings.Join(p.one, ", "))
		}
		f.SetString(s)
	case reflect.Int, reflect.Int64:
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil || n < int64(p.least) || f.Kind() == reflect.Int && n > int64(p.most) {
			return bad("%s %q: expected a number from %d to %d", p.name, clip(s), p.least, p.most)
		}
		f.SetInt(n)
	case reflect.Bool:
		b, err := strconv.ParseBool(s)
		if err != nil {
			return bad("%s %q: expected true or false", p.name, clip(s))
		}
		f.SetBool(b)
	default:
		panic("a question's field of kind " + p.kind.String())
	}
	return nil
}

func names(ps []param) string {
	var out []string
	for _, p := range ps {
		out = append(out, p.name)
	}
	if len(out) == 0 {
		return "none"
	}
	return strings.Join(out, ", ")
}

func clip(s string) string {
	const most = 60
	if len(s) > most {
		s = s[:most] + "…"
	}
	return strings.ToValidUTF8(s, "?")
}

// fromJSON is a JSON object's members by name, as Read takes them.
func fromJSON(body []byte) (url.Values, error) {
	var obj map[string]any
	if err := json.Unmarshal(body, &obj); err != nil {
		return nil, bad("the body: expected a JSON object: %v", err)
	}
	out := url.Values{}
	for k, v := range obj {
		switch v := v.(type) {
		case string:
			out.Set(k, v)
		case bool:
			out.Set(k, strconv.FormatBool(v))
		case float64:
			out.Set(k, strconv.FormatFloat(v, 'f', -1, 64))
		default:
			return nil, bad("%s: expected text, a number, true or false", clip(k))
		}
	}
	return out, nil
}
