package app

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"fettle/internal/lazy"
)

// tellUsage makes every verb below c tell a wrong number of arguments with what it
// expects and its usage line, and every family of verbs that a verb is missing, or that it
// has no such verb.
func tellUsage(c *cobra.Command) {
	for _, sub := range c.Commands() {
		tellUsage(sub)
	}
	if c.DisableFlagParsing || c.Name() == "completion" {
		return
	}
	c.Flags().VisitAll(nameValue)
	c.PersistentFlags().VisitAll(nameValue)
	if c.HasParent() && !c.Runnable() && c.HasSubCommands() {
		c.RunE = missingVerb
	}
	check := c.Args
	if check == nil {
		return
	}
	c.Args = func(c *cobra.Command, args []string) error {
		err := check(c, args)
		if err == nil || !countError().MatchString(err.Error()) {
			return err
		}
		if c.HasAvailableSubCommands() && len(args) > 0 {
			return missingVerb(c, args)
		}
		return Usagef("%s: %s\nusage: %s", c.CommandPath(), counted(c, len(args)), c.UseLine())
	}
}

// valueNames are what help calls the value of a flag whose description names none.
var valueNames = map[string]string{"int": "N", "int64": "N", "uint": "N", "uint64": "N", "float64": "X", "duration": "TIME"}

// namedValue is a flag's value with a name for help.
type namedValue struct {
	pflag.Value
	name string
}

func (v namedValue) Type() string { return v.name }

func nameValue(f *pflag.Flag) {
	if name := valueNames[f.Value.Type()]; name != "" {
		f.Value = namedValue{f.Value, name}
		if f.DefValue == "0s" {
			f.DefValue = "0" // which help leaves out
		}
	}
}

func missingVerb(c *cobra.Command, args []string) error {
	var names []string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	what := "missing subcommand"
	if len(args) > 0 {
		what = fmt.Sprintf("no subcommand is called %q", args[0])
	}
	return Usagef("%s: %s; there is: %s", c.CommandPath(), what, strings.Join(names, ", "))
}

// What cobra says of the number of arguments; "unknown command" is what it calls an
// argument of a verb without arguments.
var countError = lazy.Regexp(`^(?:requires at least|accepts|accepts at most|accepts between) .*\d|^unknown command `)

// placeholder is an argument in a usage line: FILE, [HOST], [A [B]], TRAP..., FILE|-, FILE|hub:NAME.
var placeholder = lazy.Regexp(`^\[?[A-Z][A-Z0-9|_-]*(?:\|[a-z]+:[A-Z]+)*(?:\.\.\.)?\]*(?:\.\.\.)?$`)

// counted says which arguments a verb expects, and how many were given.
func counted(c *cobra.Command, given int) string {
	var want []string
	depth := 0
	for i, word := range strings.Fields(c.Use) {
		// (--suite SUITE | --deb FILE) and [--plots DIR] are flags.
		opens := strings.HasPrefix(word, "(") || strings.HasPrefix(word, "[--")
		if opens {
			depth++
		}
		if i > 0 && depth == 0 && placeholder().MatchString(word) {
			want = append(want, word)
		}
		if depth > 0 && strings.HasSuffix(word, ")") || opens && strings.HasSuffix(word, "]") || depth > 0 && strings.HasSuffix(word, "]") {
			depth--
		}
	}
	got := fmt.Sprintf("%d given", given)
	if given == 0 {
		got = "none given"
	}
	if len(want) == 0 {
		return "expected no arguments, " + got
	}
	return "expected " + strings.Join(want, " ") + ", " + got
}
