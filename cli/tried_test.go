package cli

import (
	"bytes"
	"strings"
	"testing"
)

// TestTriedFirst: what people type who know other programs is answered with what fettle calls it.
func TestTriedFirst(t *testing.T) {
	for _, c := range []struct {
		line   string
		status int
		want   string
	}{
		{"check --json", 2, "did you mean --format json?"},
		{"check --sarif", 2, "did you mean --format sarif?"},
		{"check --yaml", 2, "unknown flag: --yaml\n"},
		{"why --json x", 2, "did you mean --format json?"},
		{"why --nosuch x", 2, "goes into quotes"},
		{"capture --redact /tmp/host.tar.zst", 2, "to write the capture there: -o /tmp/host.tar.zst"},
		{"capture no-such-trap", 2, "no trap is called"},
		{"why --no-check", 1, "the text is empty"},
	} {
		var out bytes.Buffer
		status := Main(strings.Fields(c.line), strings.NewReader(""), &out, &out)
		if status != c.status || !strings.Contains(out.String(), c.want) {
			t.Errorf("fettle %s: status %d, want %d and %q:\n%s", c.line, status, c.status, c.want, out.String())
		}
	}
}
