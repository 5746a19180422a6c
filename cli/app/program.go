package app

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"fettle/internal/build"
)

// Interruptible is ctx until SIGINT or SIGTERM; the second signal ends the program
// on the spot.
func Interruptible(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

// Execute runs one command line and returns the exit status. root makes the
// program's verbs, which write to a.Stdout.
func (a *App) Execute(ctx context.Context, args []string, root func() *cobra.Command) int {
	return a.Finish(func() error {
		c := root()
		c.SetArgs(args)
		c.SetIn(a.Stdin)
		c.SetOut(a.Stdout)
		c.SetErr(a.Stderr)
		return c.ExecuteContext(ctx)
	})
}

// Finish tells of run's error and returns the exit status. Output that could not
// be written is an error too, unless a.Acted.
func (a *App) Finish(run func() error) int {
	stdout, unwritten := Sticky(a.Stdout)
	a.Stdout = stdout
	err := run()
	if werr := unwritten(); werr != nil && !a.Acted {
		err = Failf("writing the output: %w", werr)
	}
	return a.End(err)
}

// Grow makes of root the command of a whole program: with its verbs, its help and
// its completions, and silent, because App tells of errors.
func Grow(root *cobra.Command, verbs ...*cobra.Command) *cobra.Command {
	root.SilenceUsage, root.SilenceErrors, root.Version = true, true, build.Version()
	root.SetUsageFunc(Usage)
	root.SetHelpCommand(HelpCmd())
	root.AddCommand(verbs...)
	root.AddCommand(ManCmd())
	root.InitDefaultCompletionCmd()
	RefuseOtherShells(root)
	tellUsage(root)
	return root
}

// StateFlag adds --state FOLDER to a program that runs as a service: without it, the
// folder is that of its unit (systemd.exec(5), StateDirectory=), else usual.
func StateFlag(c *cobra.Command, dir *string, usual, about string) {
	if d := os.Getenv("STATE_DIRECTORY"); d != "" {
		usual = d
	}
	c.PersistentFlags().StringVar(dir, "state", usual, about)
	c.MarkPersistentFlagDirname("state")
}
