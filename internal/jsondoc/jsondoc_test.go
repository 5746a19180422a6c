package jsondoc

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"fettle/internal/build"
)

func TestEncode(t *testing.T) {
	doc := struct {
		Envelope
		Text string `json:"text"`
	}{New("hosts"), "a<b> & \u009b"}
	head := `{"format":"fettle-hosts","schema":1,"fettle":"` + build.Version() + `",`
	for _, c := range []struct {
		indent string
		v      any
		want   string
	}{
		{"", doc, head + `"text":"a<b> & \u009b"}` + "\n"}, // what a terminal obeys is escaped, < and > are not
		{"  ", map[string]int{"a": 1, "b": 2}, "{\n  \"a\": 1,\n  \"b\": 2\n}\n"},
		{"", []int(nil), "null\n"},
	} {
		var b bytes.Buffer
		if err := Encode(&b, c.v, c.indent); err != nil || b.String() != c.want {
			t.Errorf("%#v: %q, %v; want %q", c.v, b.String(), err, c.want)
		}
		if !json.Valid(b.Bytes()) {
			t.Errorf("%#v: no JSON: %s", c.v, b.String())
		}
	}
}

type full struct{ err error }

func (f full) Write([]byte) (int, error) { return 0, f.err }

// TestEncodeTellsWhatFailed: nothing is written of what cannot be, and a full disk is told.
func TestEncodeTellsWhatFailed(t *testing.T) {
	var b bytes.Buffer
	if err := Encode(&b, map[string]any{"a": 1, "f": func() {}}, ""); err == nil || b.Len() > 0 {
		t.Errorf("a function: %v, wrote %q", err, b.String())
	}
	no := errors.New("no space")
	if err := Encode(full{no}, 1, ""); !errors.Is(err, no) {
		t.Errorf("a full disk: %v", err)
	}
}
