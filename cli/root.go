// Package cli is fettle's command line: one file a verb. It parses, calls and
// prints, and knows no trap.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"fettle/internal/ui"
	"fettle/trap"
	"fettle/traps"
)

// Exit statuses of every verb; fix, undo and resume add their own.
const (
	exitOK      = 0
	exitFound   = 1 // check: a finding at or above --fail-on
	exitUsage   = 2 // wrong use, or input that cannot be read
	exitFailed  = 3 // what was asked for was tried, and failed
	exitUnknown = 4 // check: nothing found, but something could not be looked at
)

// app is what every verb is given.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	traps          []*trap.Trap
	rules          ruleSet
	acted          bool // a change was begun, resumed or undone: its status counts, whatever became of the output
}

// status ends a verb with an exit status. A nil err prints nothing.
type status struct {
	code int
	err  error
}

func (s *status) Error() string {
	if s.err == nil {
		return ""
	}
	return s.err.Error()
}
func (s *status) Unwrap() error { return s.err }

// usagef is an error of wrong use or unreadable input.
func usagef(format string, args ...any) error {
	return &status{exitUsage, fmt.Errorf(format, args...)}
}

// failf is an error of something that was tried and failed.
func failf(format string, args ...any) error {
	return &status{exitFailed, fmt.Errorf(format, args...)}
}

// Main runs one command line and returns the exit status.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	collectLate()
	if code, ok := labRole(args); ok {
		return code
	}
	return mainWith(traps.All(), args, stdin, stdout, stderr)
}

// mainWith is Main with a list of traps of its own, for tests.
func mainWith(all []*trap.Trap, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if code, ok := confined(args, all, stderr); ok {
		return code
	}
	stdout, unwritten := sticky(stdout)
	a := &app{stdin: stdin, stdout: stdout, stderr: stderr, traps: all}
	err := a.run(args)
	if werr := unwritten(); werr != nil && !a.acted {
		err = failf("writing the output: %w", werr)
	}
	if err == nil {
		return exitOK
	}
	code := exitUsage // what cobra itself refuses is wrong use
	var s *status
	if errors.As(err, &s) {
		code = s.code
	}
	if msg := err.Error(); msg != "" {
		fmt.Fprint(stderr, complaint("fettle: "+plainly(msg), stderr))
	}
	return code
}

// complaint fits an error to a terminal; what is indented by four is to be
// copied and stays as it is, and so does all on a pipe. Names in it may be
// anybody's: nothing in it reaches a terminal raw.
func complaint(msg string, w io.Writer) string {
	lines := strings.Split(msg, "\n")
	for i, l := range lines {
		lines[i] = ui.Visible(strings.ReplaceAll(l, "\t", "    "))
	}
	msg = strings.Join(lines, "\n")
	if !ui.IsTerminal(w) {
		return msg + "\n"
	}
	var b strings.Builder
	for line := range strings.Lines(msg) {
		line = strings.TrimRight(line, "\n")
		if line == "" || strings.HasPrefix(line, "    ") {
			b.WriteString(line + "\n")
			continue
		}
		text := strings.TrimLeft(line, " ")
		lead := line[:len(line)-len(text)]
		b.WriteString(ui.Wrap(text, ui.Width(w), lead, lead))
	}
	return b.String()
}

func (a *app) run(args []string) error {
	if len(args) == 1 && (args[0] == "--version" || args[0] == "-v") {
		_, err := fmt.Fprint(a.stdout, buildFacts())
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // the second Ctrl-C ends fettle on the spot
	root := a.root()
	root.SetArgs(pasted(args))
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	return root.ExecuteContext(ctx)
}

// Root is the command tree, for man pages and completions.
func Root() *cobra.Command {
	return (&app{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, traps: traps.All()}).root()
}

func (a *app) root() *cobra.Command {
	c := &cobra.Command{
		Use:   "fettle",
		Short: "Find, explain, fix and undo the traps that Linux hosts fall into",
		Long: `fettle knows the traps that Linux hosts fall into: the defaults that bite, the
settings that undo each other, the versions with a bug.`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       Version(),

		PersistentPreRunE: a.prepare,
	}
	c.SetUsageFunc(usage)
	c.SetHelpCommand(helpCmd())
	c.PersistentFlags().StringVar(&a.rules.dir, "traps", "", "also load the rules in `DIR` (see fettle lore)")
	c.MarkPersistentFlagDirname("traps")
	c.AddCommand(a.loreCmd())
	c.AddCommand(a.checkCmd(), a.captureCmd())
	c.AddCommand(a.fixCmd(), a.undoCmd(), a.resumeCmd(), a.confirmCmd(), a.changesCmd())
	c.AddCommand(a.listCmd(), a.explainCmd(), a.whyCmd(), a.acceptCmd(), a.manCmd())
	c.AddCommand(a.labCmd(), a.watchCmd(), a.measureCmd(), a.totpCmd())
	c.InitDefaultCompletionCmd()
	noSuchShell(c)
	return c
}
