package app

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"fettle/internal/build"
	"fettle/internal/lazy"
)

// ManCmd writes the man pages of all verbs, made from their help. It is
// hidden: packagers use it, through make man. (cobra's own generator goes
// through Markdown, which runs the tables of exit statuses together, and
// costs every start of fettle half a millisecond.)
func ManCmd() *cobra.Command {
	return &cobra.Command{
		Use:         "man DIR",
		Short:       "Write the man pages of all verbs into a folder",
		Hidden:      true,
		Annotations: NoRules,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return Usagef("where to? %s man DIR", cmd.Root().Name())
			}
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return Usagef("%w", err)
			}
			cmd.Root().InitDefaultCompletionCmd()
			return writeManPages(cmd.Root(), args[0])
		},
	}
}

func writeManPages(c *cobra.Command, dir string) error {
	name := strings.ReplaceAll(c.CommandPath(), " ", "-")
	if err := os.WriteFile(filepath.Join(dir, name+".1"), []byte(manPage(c, name)), 0o644); err != nil {
		return Failf("writing man pages: %w", err)
	}
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			if err := writeManPages(sub, dir); err != nil {
				return err
			}
		}
	}
	return nil
}

// manPage is the page of one verb, in the man macros (groff_man(7)).
func manPage(c *cobra.Command, name string) string {
	c.InitDefaultHelpFlag()
	var b strings.Builder
	fmt.Fprintf(&b, ".TH %s 1 \"%s\" \"fettle %s\" \"User Commands\"\n", strings.ToUpper(roff(name)), build.Date(), roff(build.Version()))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roff(name), roff(c.Short))
	b.WriteString(
		".SH SYNOPSIS\n.nf\n\\fB" + strings.Replace(roff(c.UseLine()), roff(c.CommandPath()), roff(c.CommandPath())+"\\fR", 1) + "\n",
	)
	if c.HasAvailableSubCommands() {
		b.WriteString("\\fB" + roff(c.CommandPath()) + "\\fR COMMAND\n")
	}
	b.WriteString(".fi\n")
	text := c.Long
	if text == "" {
		text = c.Short + "."
	}
	b.WriteString(".SH DESCRIPTION\n" + manText(text))
	if c.HasAvailableSubCommands() {
		b.WriteString(".SH COMMANDS\n")
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() {
				fmt.Fprintf(&b, ".TP\n.BR %s (1)\n%s\n", roff(name+"-"+sub.Name()), roff(sub.Short))
			}
		}
	}
	b.WriteString(".SH OPTIONS\n")
	c.LocalFlags().VisitAll(func(f *pflag.Flag) { manFlag(&b, f) })
	c.InheritedFlags().VisitAll(func(f *pflag.Flag) { manFlag(&b, f) })
	if c.Example != "" {
		b.WriteString(".SH EXAMPLES\n" + manText(c.Example))
	}
	if c.HasParent() {
		b.WriteString(".SH SEE ALSO\n.BR " + roff(strings.ReplaceAll(c.Parent().CommandPath(), " ", "-")) + " (1)\n")
	}
	return b.String()
}

func manFlag(b *strings.Builder, f *pflag.Flag) {
	if f.Hidden {
		return
	}
	value, usage := pflag.UnquoteUsage(f)
	b.WriteString(".TP\n")
	if f.Shorthand != "" {
		b.WriteString("\\fB\\-" + roff(f.Shorthand) + "\\fR, ")
	}
	b.WriteString("\\fB\\-\\-" + roff(f.Name) + "\\fR")
	if value != "" {
		b.WriteString(" \\fI" + roff(value) + "\\fR")
	}
	if def := f.DefValue; def != "" && def != "false" && def != "0" && def != "0s" && def != "[]" {
		usage += " (default " + def + ")"
	}
	b.WriteString("\n" + roff(usage) + "\n")
}

var manHeading = lazy.Regexp(`^([A-Z][A-Za-z ]+):$`)

// manText writes help: paragraphs, headings that end with a colon ("Exit
// status:"), and indented lines, which stay as they are.
func manText(s string) string {
	var b strings.Builder
	kept := false
	keep := func(on bool) {
		if on != kept {
			if on {
				b.WriteString(".PP\n.RS\n.nf\n")
			} else {
				b.WriteString(".fi\n.RE\n")
			}
		}
		kept = on
	}
	for line := range strings.Lines(s) {
		line = strings.TrimRight(line, "\n")
		switch m := manHeading().FindStringSubmatch(line); {
		case m != nil:
			keep(false)
			b.WriteString(".SS " + roff(m[1]) + "\n")
		case strings.HasPrefix(line, "  "):
			keep(true)
			b.WriteString(roff(line[2:]) + "\n")
		case line == "":
			if !kept {
				b.WriteString(".PP\n")
			}
		default:
			keep(false)
			b.WriteString(roff(line) + "\n")
		}
	}
	keep(false)
	return b.String()
}

// roff writes text so that troff takes none of it for a request (groff(7),
// "Escape sequences" and "Control characters").
func roff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`, "\n", " ").Replace(s)
	if strings.HasPrefix(s, ".") || strings.HasPrefix(s, "'") {
		s = `\&` + s
	}
	return s
}
