package fix

import (
	"strings"
	"testing"
	"time"
)

func TestParseDocument(t *testing.T) {
	const outcome = "{\n  \"format\": \"fettle-fix\",\n  \"schema\": 1,\n  \"result\": \"mended\"\n}\n"
	for name, c := range map[string]struct{ said, wrong string }{
		"alone":           {said: outcome},
		"behind a banner": {said: "Welcome to {web1}\n{ all your bases }\n" + outcome},
		"a later version": {said: strings.Replace(outcome, "1", "2", 1), wrong: "in version 2"},
		"nothing":         {said: "", wrong: "did not report"},
		"cut off":         {said: outcome[:40], wrong: "did not report"},
		"another verb's":  {said: strings.Replace(outcome, "-fix", "-undo", 1), wrong: "did not report"},
	} {
		d, err := parseDocument("web1", []byte(c.said), 1, "sh: fettle: not found")
		switch {
		case c.wrong == "" && (err != nil || d.Result != resultMended):
			t.Errorf("%s: %+v, %v", name, d, err)
		case c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong)):
			t.Errorf("%s: expected %q: %v", name, c.wrong, err)
		}
	}
}

// TestHostileDocument: objects in objects must not be read anew from each brace on.
func TestHostileDocument(t *testing.T) {
	began := time.Now()
	for _, nested := range []string{`{"a":`, "{\"a\":\n"} {
		b := []byte(strings.Repeat(nested, documentLimit/len(nested)))
		if _, err := parseDocument("web1", b, 0, ""); err == nil {
			t.Error("an outcome was found")
		}
	}
	t.Logf("%s", time.Since(began))
}
