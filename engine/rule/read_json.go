package rule

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"fettle/host"
)

// Bounds of a JSON document: levels of nesting, and scalars in all.
const (
	jsonDepth = 50
	jsonKeys  = 20000
)

// jsonFact is a file in JSON (RFC 8259), its scalars by the path that leads to them.
type jsonFact struct {
	seen
	Path   string                            `cel:"path"`
	Values func() (map[string]string, error) `cel:"values"`
}

func (j *jsonFact) getOr(key, otherwise string) (string, error) {
	m, err := j.Values()
	if v, ok := m[key]; ok {
		return v, nil
	}
	return otherwise, err
}

func (j *jsonFact) sets(key string) (bool, error) {
	m, err := j.Values()
	_, ok := m[key]
	return ok, err
}

// readJSON lists the files that patterns come to. What is in a file that is no JSON is
// unknown, and only to what asks for it.
func readJSON(r *reading, f *Fact) ([]*jsonFact, error) {
	out := []*jsonFact{}
	files, err := readGlob(r, f)
	if err != nil {
		return nil, err
	}
	for _, name := range files {
		b, err := r.content(name)
		if host.IsAbsent(err) || errors.Is(err, host.ErrNotRegular) {
			continue
		}
		if err != nil {
			return nil, err
		}
		m, err := flatJSON(b)
		if err != nil {
			err = fmt.Errorf("%s: %w", name, err)
		}
		out = append(out, &jsonFact{seen: seen{name, fmt.Sprintf("%d values", len(m))}, Path: name,
			Values: func() (map[string]string, error) { return m, err }})
	}
	return out, nil
}

// flatJSON maps the path of each scalar ("HostConfig.Binds.0") to its text. A list or an
// object without elements has a path, too, and the text [] or {}; null is empty. The last
// of several members of one name counts, as in encoding/json.
func flatJSON(b []byte) (map[string]string, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var doc any
	if err := d.Decode(&doc); err != nil {
		return nil, fmt.Errorf("not JSON: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("not JSON: text follows the document")
	}
	m := map[string]string{}
	if err := fill(m, "", doc, 0); err != nil {
		return nil, err
	}
	return m, nil
}

func fill(m map[string]string, at string, v any, depth int) error {
	if depth > jsonDepth || len(m) > jsonKeys {
		return fmt.Errorf("JSON with more than %d levels or %d values", jsonDepth, jsonKeys)
	}
	below := at
	if at != "" {
		below += "."
	}
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			if err := fill(m, below+k, e, depth+1); err != nil {
				return err
			}
		}
		if len(v) == 0 {
			m[at] = "{}"
		}
	case []any:
		for i, e := range v {
			if err := fill(m, below+strconv.Itoa(i), e, depth+1); err != nil {
				return err
			}
		}
		if len(v) == 0 {
			m[at] = "[]"
		}
	case nil:
		m[at] = ""
	default:
		m[at] = fmt.Sprint(v)
	}
	return nil
}
