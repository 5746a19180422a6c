package cli

import (
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// usageWidth is that of help, in characters: a serial console's.
const usageWidth = 80

// usage is cobra's own help of a verb, with lines that fit.
func usage(c *cobra.Command) error {
	var b strings.Builder
	b.WriteString("Usage:\n")
	if c.Runnable() {
		fmt.Fprintf(&b, "  %s\n", c.UseLine())
	}
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "  %s [command]\n", c.CommandPath())
	}
	if c.HasExample() {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", c.Example)
	}
	if c.HasAvailableSubCommands() {
		b.WriteString("\nAvailable Commands:\n")
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() || sub.Name() == "help" {
				fmt.Fprintf(&b, "  %-*s %s\n", sub.NamePadding(), sub.Name(), sub.Short)
			}
		}
	}
	for _, part := range []struct {
		title string
		flags *pflag.FlagSet
	}{{"Flags", c.LocalFlags()}, {"Global Flags", c.InheritedFlags()}} {
		if part.flags.HasAvailableFlags() {
			fmt.Fprintf(&b, "\n%s:\n%s\n", part.title, strings.TrimRight(part.flags.FlagUsagesWrapped(usageWidth), " \n"))
		}
	}
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\nUse \"%s [command] --help\" for more information about a command.\n", c.CommandPath())
	}
	_, err := io.WriteString(c.OutOrStderr(), b.String())
	return err
}

// oneTrap is the arguments of verbs about one trap.
func oneTrap(c *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return usagef("which trap? %s TRAP; fettle list shows them", c.CommandPath())
	case len(args) > 1:
		return usagef("%s takes one trap, not %d", c.CommandPath(), len(args))
	}
	return nil
}

// noEmptyFlags refuses what an unset variable of a script leaves: check
// --root "$TARGET" must not look at this host instead. (--on "" is the finding
// of the whole host.)
func noEmptyFlags(c *cobra.Command, _ []string) error {
	var err error
	c.Flags().Visit(func(f *pflag.Flag) {
		if t := f.Value.Type(); (t == "string" && f.Value.String() == "" || t == "stringSlice" && f.Value.String() == "[]") && err == nil {
			err = usagef("--%s is given, but empty", f.Name)
		}
	})
	return err
}

// helpCmd is cobra's help, but that of a verb that is not there is wrong use.
func helpCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "help [VERB]...",
		Short: "Show the help of a verb",
		ValidArgsFunction: func(c *cobra.Command, args []string, _ string) (out []string, _ cobra.ShellCompDirective) {
			if at, _, err := c.Root().Find(args); err == nil {
				for _, sub := range at.Commands() {
					if sub.IsAvailableCommand() {
						out = append(out, sub.Name()+"\t"+sub.Short)
					}
				}
			}
			return out, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(c *cobra.Command, args []string) error {
			at, rest, err := c.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return usagef("no verb is called %q; fettle help lists them", strings.Join(args, " "))
			}
			at.InitDefaultHelpFlag()
			return at.Help()
		},
	}
}

// noSuchShell makes a shell that cobra writes no completions for wrong use.
func noSuchShell(root *cobra.Command) {
	for _, c := range root.Commands() {
		if c.Name() == "completion" {
			c.Args = cobra.ArbitraryArgs
			c.RunE = func(_ *cobra.Command, args []string) error {
				if len(args) == 0 {
					return usagef("of which shell? fettle completion bash, zsh, fish or powershell")
				}
				return usagef("no shell is called %q here; there are bash, zsh, fish and powershell", args[0])
			}
		}
	}
}

// Of what cobra says, its numbers of arguments.
var (
	tooFew  = regexp.MustCompile(`^(?:requires at least|accepts) (\d+) arg\(s\), (?:only )?received (\d+)$`)
	tooMany = regexp.MustCompile(`^accepts at most (\d+) arg\(s\), received (\d+)$`)
)

var exclusive = regexp.MustCompile(`^if any flags in the group \[.*\] are set none of the others can be; \[(.+)\] were all set$`)

// plainly says what cobra says of flags that do not go together.
func plainly(msg string) string {
	if m := exclusive.FindStringSubmatch(msg); m != nil {
		return "--" + strings.Join(strings.Fields(m[1]), " and --") + " do not go together"
	}
	if m := tooFew.FindStringSubmatch(msg); m != nil {
		return "expected arguments: " + m[1] + ", given: " + m[2] + "; --help tells which"
	}
	if m := tooMany.FindStringSubmatch(msg); m != nil {
		return "expected arguments: at most " + m[1] + ", given: " + m[2] + "; --help tells which"
	}
	return msg
}
