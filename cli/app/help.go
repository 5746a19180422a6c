package app

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"fettle/internal/lazy"
)

// HelpWidth is that of help, in characters: a serial console's.
const HelpWidth = 80

// Usage is cobra's own help of a verb, with lines that fit.
func Usage(c *cobra.Command) error {
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
			fmt.Fprintf(&b, "\n%s:\n%s\n", part.title, strings.TrimRight(part.flags.FlagUsagesWrapped(HelpWidth), " \n"))
		}
	}
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\nUse \"%s [command] --help\" for more information about a command.\n", c.CommandPath())
	}
	_, err := io.WriteString(c.OutOrStderr(), b.String())
	return err
}

// HelpCmd is cobra's help; help for a verb that does not exist is a usage error.
func HelpCmd() *cobra.Command {
	return &cobra.Command{
		Use:         "help [VERB]...",
		Annotations: NoRules,
		Short:       "Show the help of a verb",
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
				return Usagef("no verb is called %q; %s help lists them", strings.Join(args, " "), c.Root().Name())
			}
			at.InitDefaultHelpFlag()
			return at.Help()
		},
	}
}

// RefuseOtherShells makes asking for the completions of another shell a usage error.
func RefuseOtherShells(root *cobra.Command) {
	for _, c := range root.Commands() {
		if c.Name() == "completion" {
			c.Args = cobra.ArbitraryArgs
			c.RunE = func(_ *cobra.Command, args []string) error {
				if len(args) == 0 {
					return Usagef("of which shell? %s completion bash, zsh, fish or powershell", root.Name())
				}
				return Usagef("no shell is called %q here; there are bash, zsh, fish and powershell", args[0])
			}
		}
	}
}

// What cobra and pflag say of arguments and flags.
var (
	exclusive = lazy.Regexp(`^if any flags in the group \[.*\] are set none of the others can be; \[(.+)\] were all set$`)
	noVerb    = lazy.Regexp(`(?s)^unknown command "(.*?)" for "([a-z-]+)"(.*)$`)
	badValue  = lazy.Regexp(`^invalid argument "(.*)" for "(?:-., )?(--[a-z-]+)" flag: (.*)$`)
)

// otherTools are verbs that people type because other programs have them.
var otherTools = map[string]string{
	"plan":   "fettle fix TRAP --plan shows what a fix would do, and changes nothing",
	"apply":  "fettle fix TRAP shows the plan, asks, and applies it",
	"revert": "fettle undo takes the last change back",
	"scan":   "fettle check looks at this host",
}

// reworded is what cobra and pflag say, in fettle's words.
func reworded(msg string) string {
	if m := exclusive().FindStringSubmatch(msg); m != nil {
		return "--" + strings.Join(strings.Fields(m[1]), " and --") + " do not go together"
	}
	if m := noVerb().FindStringSubmatch(msg); m != nil {
		if hint := otherTools[m[1]]; hint != "" {
			return "no verb is called " + m[1] + ": " + hint
		}
		near := strings.TrimRight(strings.Replace(m[3], "\n\nDid", "\ndid", 1), "\n")
		return "no verb is called " + m[1] + "; " + m[2] + " help lists them" + near
	}
	if m := badValue().FindStringSubmatch(msg); m != nil {
		return m[2] + " " + m[1] + ": " + expected(m[3])
	}
	return msg
}

// expected is why a flag's value was refused.
func expected(why string) string {
	switch {
	case strings.HasPrefix(why, "time: "):
		return "expected a time such as 10s or 5m"
	case strings.HasPrefix(why, "strconv.ParseInt"), strings.HasPrefix(why, "strconv.ParseUint"):
		return "expected an integer"
	case strings.HasPrefix(why, "strconv."):
		return "expected a number"
	}
	return why
}
