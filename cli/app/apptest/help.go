// Package apptest holds the tests that every program of fettle must pass.
package apptest

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

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

// rawTypes are the names that pflag gives to values without a name of their own.
var rawTypes = []string{"string", "strings", "int", "ints", "uint", "float", "duration", "stringArray", "stringSlice", "value"}

// imperatives are what the short texts of verbs begin with: a verb that does something, as
// one would tell it to. A new one is added here.
var imperatives = strings.Fields(`Accept Add Adjust Ask Attach Check Compute End Exchange Explain Fetch Find Finish Fix Gather
	Generate Give Hand Have Install Join Keep List Make Manage Measure Name Print Prove Read Remove Report Revoke Run Save Send
	Serve Set Show Simulate Spend Start Switch Take Tell Test Time Undo Write`)

// short tells what is wrong with the short text of a verb.
func short(text string) string {
	first, _, _ := strings.Cut(text, " ")
	switch {
	case !slices.Contains(imperatives, strings.TrimSuffix(first, ",")):
		return "begins with none of the imperatives: " + strings.Join(imperatives, " ")
	case strings.HasSuffix(text, ".") || strings.HasSuffix(text, "?"):
		return "ends like a sentence"
	}
	return ""
}

// UsageTells: every verb says in one form what it does, every flag that takes a value names it, every example begins with a program
// that has the verb, and every wrong number of arguments ends with status 2, what is
// expected and the usage line. others has the trees of further programs that examples name.
func UsageTells(t *testing.T, root *cobra.Command, main func(args []string, stdin io.Reader, stdout, stderr io.Writer) int,
	others ...*cobra.Command,
) {
	var walk func(c *cobra.Command, path []string)
	walk = func(c *cobra.Command, path []string) {
		if c.Hidden || c.Name() == "completion" || c.DisableFlagParsing {
			return
		}
		if bad := short(c.Short); bad != "" {
			t.Errorf("%s: its short text %q %s", c.CommandPath(), c.Short, bad)
		}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if name, _ := pflag.UnquoteUsage(f); slices.Contains(rawTypes, name) {
				t.Errorf("%s: --%s %s: name the value between backquotes in its description", c.CommandPath(), f.Name, name)
			}
		})
		for line := range strings.Lines(c.Example) {
			named(t, c, strings.Fields(line), append(others, root))
		}
		if c.Args != nil && c.Runnable() {
			counts(t, c, path, main)
		}
		for _, sub := range c.Commands() {
			walk(sub, append(path[:len(path):len(path)], sub.Name()))
		}
	}
	walk(root, nil)
}

// named looks up a line of an example in the trees of the programs.
func named(t *testing.T, c *cobra.Command, words []string, programs []*cobra.Command) {
	for len(words) > 0 && (words[0] == "sudo" || strings.Contains(words[0], "=")) {
		words = words[1:]
	}
	if len(words) < 2 || !strings.HasPrefix(words[0], "fettle") {
		return // a continuation, or another program
	}
	for _, p := range programs {
		if p.Name() != words[0] {
			continue
		}
		if at, _, err := p.Find(words[1:]); err == nil && at != p || strings.HasPrefix(words[1], "-") {
			return
		}
	}
	t.Errorf("%s: its example %q is of no program that has this verb", c.CommandPath(), strings.Join(words, " "))
}

// counts calls a verb with too many and too few arguments.
func counts(t *testing.T, c *cobra.Command, path []string, main func(args []string, stdin io.Reader, stdout, stderr io.Writer) int) {
	for _, args := range [][]string{nil, {"x", "x", "x", "x", "x", "x", "x"}} {
		if c.ValidateArgs(args) == nil {
			continue // it would run
		}
		var out, errs bytes.Buffer
		said := c.CommandPath() + " " + strings.Join(args, " ")
		if code := main(append(path[:len(path):len(path)], args...), strings.NewReader(""), &out, &errs); code != 2 {
			t.Errorf("%s: status %d, want 2", said, code)
		}
		text := errs.String()
		if !strings.Contains(text, "usage: ") && !strings.Contains(text, "subcommand") && !strings.Contains(text, "?") {
			t.Errorf("%s: says neither what is expected nor the usage: %s", said, text)
		}
	}
}
