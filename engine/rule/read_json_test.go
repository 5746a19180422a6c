package rule

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"fettle/engine/trap"
	"fettle/host/hosttest"
)

func TestFlatJSON(t *testing.T) {
	for in, want := range map[string]map[string]string{
		`{"a": {"b": [1, "x", true, null, 1.50]}, "c": {}, "d": []}`: {"a.b.0": "1", "a.b.1": "x", "a.b.2": "true", "a.b.3": "", "a.b.4": "1.50",
			"c": "{}", "d": "[]"},
		`{"PortBindings":{"80/tcp":[{"HostIp":"","HostPort":"8080"}]}}`: {"PortBindings.80/tcp.0.HostIp": "",
			"PortBindings.80/tcp.0.HostPort": "8080"},
		`{"a": 1, "a": 2}`: {"a": "2"},
		`7`:                {"": "7"},
	} {
		got, err := flatJSON([]byte(in))
		if err != nil || !maps.Equal(got, want) {
			t.Errorf("%s: %v, %v; want %v", in, got, err, want)
		}
	}
	for _, bad := range []string{"", "{", "{} x", "a: b", `{"a": 1,}`, strings.Repeat("[", 60) + strings.Repeat("]", 60)} {
		if got, err := flatJSON([]byte(bad)); err == nil {
			t.Errorf("%q: %v, no error", bad, got)
		}
	}
}

// FuzzFlatJSON: whatever a file holds, there are values or an error, and each
// scalar of an object at the top has its own text.
func FuzzFlatJSON(f *testing.F) {
	f.Add([]byte(`{"a": {"b": [1, "x"]}}`))
	f.Add([]byte(`{"a": "\ud800", "": {"": 1e400}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := flatJSON(b)
		if err != nil {
			return
		}
		var top map[string]json.RawMessage
		if json.Unmarshal(b, &top) != nil {
			return
		}
		for k, v := range top {
			var s string
			if v[0] == '"' && json.Unmarshal(v, &s) == nil && m[k] != s && !strings.Contains(string(b), k+".") {
				t.Errorf("%q: %q, want %q", k, m[k], s)
			}
		}
	})
}

// What is in a file that is no JSON is unknown, and only to what asks for it.
func TestJSONThatIsNone(t *testing.T) {
	r := with(t, "  j: {json: /etc/*.json}\n", `j.exists(x, x.get("a", "") == "1")`, "met")
	for text, want := range map[string]trap.Status{`{"a": 1}`: trap.Found, `{"a": 2}`: trap.Clear, `{"a"`: trap.Unknown} {
		if got := outcome(t, r, hosttest.New(t, "-- root/etc/x.json --\n"+text+"\n")).Status; got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}
