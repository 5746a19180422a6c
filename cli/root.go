// Package cli is fettle's command line: one room a verb, which this package
// puts together. It parses, calls and prints, and knows no trap.
package cli

import (
	"context"
	"io"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"fettle/before/snapshot"
	"fettle/before/update"
	"fettle/cli/accept"
	"fettle/cli/after"
	"fettle/cli/app"
	"fettle/cli/before"
	"fettle/cli/capture"
	"fettle/cli/check"
	"fettle/cli/explain"
	"fettle/cli/fix"
	"fettle/cli/history"
	"fettle/cli/lore"
	"fettle/cli/measure"
	"fettle/cli/netboot"
	"fettle/cli/notify"
	"fettle/cli/pack"
	"fettle/cli/serialname"
	"fettle/cli/totp"
	"fettle/cli/tune"
	"fettle/cli/watch"
	"fettle/cli/why"
	"fettle/engine/remedy"
	"fettle/engine/run"
	"fettle/engine/trap"
	"fettle/traps"
)

// Main runs one command line and returns the exit status.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	delayFirstCollection()
	return MainWith(traps.All(), args, stdin, stdout, stderr)
}

// MainOn is Main with traps and an engine of remedies that change had a hand
// in: proofs kill fettle in the middle of its work, and spoil its plans.
func MainOn(all []*trap.Trap, change func(*remedy.Engine), args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return start(&app.App{Stdin: stdin, Stdout: stdout, Stderr: stderr, Traps: all, Change: change}, args)
}

// MainWith is Main with a list of traps of its own, for tests.
func MainWith(all []*trap.Trap, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return start(&app.App{Stdin: stdin, Stdout: stdout, Stderr: stderr, Traps: all}, args)
}

func start(a *app.App, args []string) int {
	if code, ok := run.Child(args, append(slices.Clip(a.Traps), snapshot.Probe), answers(a.Traps), a.Stderr); ok {
		return code
	}
	a.Program = "fettle"
	if len(args) == 1 && (args[0] == "--version" || args[0] == "-v") {
		return a.Finish(func() error { return version(a) })
	}
	ctx, stop := app.Interruptible(context.Background())
	defer stop()
	return a.Execute(ctx, why.KeepMessages(args), func() *cobra.Command { return tree(a) })
}

// answers are what a confined copy of fettle can be asked besides the results of checks.
func answers(traps []*trap.Trap) run.Answers {
	all := run.Answers{snapshot.Question: snapshot.Answer, update.Question: update.Answer(traps)}
	maps.Copy(all, why.Answers)
	return all
}

// tree is all verbs.
func tree(a *app.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "fettle",
		Short: "Find, explain, fix and undo the traps that Linux hosts fall into",
		Long: `fettle knows the traps that Linux hosts fall into: the defaults that bite, the
settings that undo each other, the versions with a bug.`,
		PersistentPreRunE: a.Prepare,
	}
	c.PersistentFlags().StringVar(&a.Rules.Dir, "traps", "", "also load the rules in `DIR` (see fettle lore)")
	c.MarkPersistentFlagDirname("traps")
	c.AddCommand(check.Cmd(a), before.Cmd(a), after.Cmd(a), after.SnapshotCmd(a), capture.Cmd(a))
	c.AddCommand(history.Cmd(a), history.DiffCmd(a), notify.Cmd(a))
	c.AddCommand(fix.Cmd(a), fix.UndoCmd(a), fix.ResumeCmd(a), fix.ConfirmCmd(a), fix.ChangesCmd(a))
	c.AddCommand(explain.ListCmd(a), explain.Cmd(a), why.Cmd(a), accept.Cmd(a), lore.Cmd(a), pack.Cmd(a))
	c.AddCommand(
		watch.Cmd(a),
		measure.Cmd(a),
		tune.Cmd(a),
		totp.Cmd(a),
		netboot.Cmd(a),
		serialname.Cmd(a),
		app.InLab("lab", "Show a trap, and its fix, on a real kernel in a throwaway machine"),
		app.InLab("bisect", "Find the commits that changed a measured figure"),
		app.InLab("new", "Start a new trap in fettle's own sources"),
	)
	c.AddCommand(app.InAgent("Check this host on a schedule, and report to a hub"))
	c.AddCommand(app.InLab("keypath", "Find signature paths between OpenPGP keys"))
	return app.Grow(c, versionCmd(a))
}
