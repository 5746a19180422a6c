package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"fettle/cli/app"
	"fettle/traps"
)

// TestHelpFits: the help of every verb fits a serial console, examples too.
func TestHelpFits(t *testing.T) {
	var walk func(c *cobra.Command, path []string)
	seen := 0
	walk = func(c *cobra.Command, path []string) {
		if c.Hidden || c.Name() == "completion" { // cobra's own text
			return
		}
		if c.DisableFlagParsing { // fettle-lab's: it would take this process's place, and end the tests as passed
			return
		}
		var out bytes.Buffer
		if code := Main(append(path, "--help"), strings.NewReader(""), &out, &out); code != 0 {
			t.Errorf("fettle %s --help: status %d", strings.Join(path, " "), code)
		}
		seen++
		for line := range strings.Lines(out.String()) {
			if n := len([]rune(strings.TrimRight(line, "\n"))); n > app.HelpWidth {
				t.Errorf("fettle %s --help: %d columns: %s", strings.Join(path, " "), n, line)
			}
		}
		for _, sub := range c.Commands() {
			walk(sub, append(path[:len(path):len(path)], sub.Name()))
		}
	}
	walk(tree(&app.App{Traps: traps.All()}), nil)
	if seen < 25 {
		t.Errorf("only %d verbs were looked at", seen)
	}
}
