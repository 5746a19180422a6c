package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestHelpFits: the help of every verb fits a serial console, examples too.
func TestHelpFits(t *testing.T) {
	var walk func(c *cobra.Command, path []string)
	seen := 0
	walk = func(c *cobra.Command, path []string) {
		if c.Hidden || c.Name() == "completion" { // cobra's own text
			return
		}
		var out bytes.Buffer
		if code := Main(append(path, "--help"), strings.NewReader(""), &out, &out); code != 0 {
			t.Errorf("fettle %s --help: status %d", strings.Join(path, " "), code)
		}
		seen++
		for line := range strings.Lines(out.String()) {
			if n := len([]rune(strings.TrimRight(line, "\n"))); n > usageWidth {
				t.Errorf("fettle %s --help: %d columns: %s", strings.Join(path, " "), n, line)
			}
		}
		for _, sub := range c.Commands() {
			walk(sub, append(path[:len(path):len(path)], sub.Name()))
		}
	}
	walk(Root(), nil)
	if seen < 25 {
		t.Errorf("only %d verbs were looked at", seen)
	}
}

// TestComplaintIsVisible: what somebody else named reaches no terminal raw,
// not even in an error.
func TestComplaintIsVisible(t *testing.T) {
	got := complaint("fettle: open /x\x1b[31m\xff:\n  second\u202e line", &bytes.Buffer{})
	if want := "fettle: open /x\\x1b[31m\\xff:\n  second\\u202e line\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
