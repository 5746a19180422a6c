// Package apptest holds the tests that every program of fettle must pass.
package apptest

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"fettle/cli/app"
)

// HelpFits: the help of every verb of a program fits a serial console, examples too.
// least is how many verbs there are at least.
func HelpFits(t *testing.T, root *cobra.Command, main func(args []string, stdin io.Reader, stdout, stderr io.Writer) int, least int) {
	seen := 0
	var walk func(c *cobra.Command, path []string)
	walk = func(c *cobra.Command, path []string) {
		if c.Hidden || c.Name() == "completion" { // cobra's own text
			return
		}
		if c.DisableFlagParsing { // fettle-lab's: it would take this process's place, and end the tests as passed
			return
		}
		var out bytes.Buffer
		said := root.Name() + " " + strings.Join(append(path, "--help"), " ")
		if code := main(append(path, "--help"), strings.NewReader(""), &out, &out); code != 0 {
			t.Errorf("%s: status %d", said, code)
		}
		seen++
		for line := range strings.Lines(out.String()) {
			if n := len([]rune(strings.TrimRight(line, "\n"))); n > app.HelpWidth {
				t.Errorf("%s: %d columns: %s", said, n, line)
			}
		}
		for _, sub := range c.Commands() {
			walk(sub, append(path[:len(path):len(path)], sub.Name()))
		}
	}
	walk(root, nil)
	if seen < least {
		t.Errorf("only %d verbs of %s were looked at", seen, root.Name())
	}
}
