package fix

import (
	"errors"
	"os"
	"os/signal"
	"syscall"

	"fettle/cli/app"
	"fettle/engine/remedy"
	"fettle/engine/remedy/machine"
	"fettle/engine/remedy/step"
)

// Exit statuses of fix, undo, resume and confirm, beside those of every verb.
const (
	exitNotDone    = 5 // refused or declined: nothing was changed
	exitRolledBack = 6 // applied, failed or still found, and put back as it was
	exitChanged    = 7 // somebody else changed the same thing: left alone
	exitHalfWay    = 8 // a change is half done: resume or undo it
	exitBusy       = 9 // another fettle is at work
)

// StatusHelp is the part of a verb's help about the exit status.
const StatusHelp = `
Exit status:
  0  done, or nothing to do
  2  usage error
  3  tried and failed
  4  could not inspect the host
  5  refused or declined, nothing was changed
  6  failed, or the trap was still found: rolled back
  7  the same thing was changed by others
  8  a change is half done: resume or undo it
  9  another fettle is running`

// outliveTerminal keeps a change going when the terminal goes away. The signals are
// caught and not ignored: what is ignored stays so in the commands of a plan.
func outliveTerminal() { signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP, syscall.SIGPIPE) }

// Status gives an error of package remedy its exit status.
func Status(err error) error {
	if err == nil {
		return nil
	}
	var s *app.Status
	if errors.As(err, &s) {
		return err
	}
	code := app.ExitFailed
	var (
		refusal    *remedy.Refusal
		rolledBack *remedy.RolledBack
		incomplete *remedy.Incomplete
		unfinished *remedy.Unfinished
		conflicts  *remedy.Conflicts
		changed    *machine.Changed
		held       *remedy.Held
		untrusted  *machine.Untrusted
		shared     *remedy.Shared
		nothing    *remedy.NothingMended
		waiting    *remedy.Unconfirmed
	)
	switch {
	case errors.Is(err, remedy.ErrNoChange), errors.Is(err, remedy.ErrStorePath):
		code = app.ExitUsage
	case errors.As(err, &incomplete), errors.As(err, &unfinished):
		code = exitHalfWay
	case errors.As(err, &rolledBack):
		code = exitRolledBack
	case errors.As(err, &conflicts), errors.As(err, &changed):
		code = exitChanged
	case errors.As(err, &held):
		code = exitBusy
	case errors.As(err, &refusal),
		errors.As(err, &untrusted),
		errors.As(err, &shared),
		errors.As(err, &nothing),
		errors.As(err, &waiting),
		errors.Is(err, remedy.ErrNeedsRoot),
		errors.Is(err, step.ErrSecret):
		code = exitNotDone
	}
	return app.Exit(code, err)
}
