package app

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// First is the only argument, or "".
func First(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}

// OneTrap is the arguments of verbs about one trap.
func OneTrap(c *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return Usagef("which trap? %s TRAP; fettle list shows them", c.CommandPath())
	case len(args) > 1:
		return Usagef("%s: expected one TRAP, %d given\nusage: %s", c.CommandPath(), len(args), c.UseLine())
	}
	return nil
}

// NoEmptyFlags refuses what an unset variable of a script leaves: check
// --root "$TARGET" must not check this host instead. (--on "" is the finding
// of the whole host.)
func NoEmptyFlags(c *cobra.Command, _ []string) error {
	var err error
	c.Flags().Visit(func(f *pflag.Flag) {
		if t := f.Value.Type(); (t == "string" && f.Value.String() == "" || t == "stringSlice" && f.Value.String() == "[]") && err == nil {
			err = Usagef("--%s is given, but empty", f.Name)
		}
	})
	return err
}

// oneOf is the value of a flag that takes one of a few words; it refuses
// others by itself.
type oneOf struct {
	into  *string
	words []string
}

func (o *oneOf) String() string { return *o.into }
func (o *oneOf) Type() string   { return "string" }

func (o *oneOf) Set(s string) error {
	if !slices.Contains(o.words, s) {
		return fmt.Errorf("expected %s", alternatives(o.words))
	}
	*o.into = s
	return nil
}

// alternatives lists words: "text, json or md".
func alternatives(words []string) string {
	if len(words) == 1 {
		return words[0]
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

// WordFlag gives a verb a flag that takes one of words, with their
// completions; *into is the default. The description names the value between
// backquotes.
func WordFlag(c *cobra.Command, into *string, name, description string, words ...string) {
	c.Flags().Var(&oneOf{into, words}, name, description)
	c.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
}

// FormatFlag gives a verb --format; the first format is the default.
func FormatFlag(c *cobra.Command, into *string, formats ...string) {
	*into = formats[0]
	WordFlag(c, into, "format", "output `FORMAT`: "+alternatives(formats), formats...)
	before := c.FlagErrorFunc()
	c.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		for _, f := range formats {
			if err.Error() == "unknown flag: --"+f { // --json, as other programs have it
				return fmt.Errorf("%w; did you mean --format %s?", err, f)
			}
		}
		return before(c, err)
	})
}
