package app

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"fettle/internal/build"
)

// grace is how long a verb may take to end after a signal. What waits where ctx
// does not reach, as for somebody to open the other end of a pipe, is cut off.
const grace = 1500 * time.Millisecond

// changing is set while a change to the host is under way, which comes to its own end:
// half of a change is worse than the wait.
var changing atomic.Bool

// Interruptible is ctx until SIGINT or SIGTERM; the second signal ends the program
// on the spot, and what did not end by itself ends after the time of grace.
func Interruptible(ctx context.Context) (context.Context, context.CancelFunc) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer cancel()
		select {
		case <-ended:
			signal.Stop(signals)
			return
		case s := <-signals:
			cancel()
			signal.Stop(signals)
			cutOff(ended, s)
		}
	}()
	return ctx, sync.OnceFunc(func() { close(ended); cancel() })
}

// cutOff ends the program with the status of one that a signal ended (bash(1), EXIT
// STATUS), unless it ends by itself.
func cutOff(ended <-chan struct{}, s os.Signal) {
	for wait := grace; ; wait = grace / 10 {
		select {
		case <-ended:
			return
		case <-time.After(wait):
		}
		if !changing.Load() {
			code := 128
			if n, ok := s.(syscall.Signal); ok {
				code += int(n)
			}
			os.Exit(code)
		}
	}
}

// Act says that a change to the host begins.
func (a *App) Act() {
	a.Acted = true
	changing.Store(true)
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
