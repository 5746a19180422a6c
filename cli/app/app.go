// Package app is what every verb is given, and what verbs share: the streams,
// the traps, and how a verb ends.
package app

import (
	"context"
	"errors"
	"fmt"
	"io"

	"fettle/engine/remedy"
	"fettle/engine/run"
	"fettle/engine/trap"
	"fettle/host"
	"fettle/internal/jsondoc"
	"fettle/internal/ui"
)

// App is what every verb is given.
type App struct {
	Program        string // "fettle"
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Traps          []*trap.Trap
	Rules          RuleSet
	// Acted: a change was begun, resumed or undone. Its status counts,
	// whatever became of the output.
	Acted bool
	// Change is what a proof changes of the engine of remedies; nil: nothing.
	Change func(*remedy.Engine)
}

// Exit statuses of every verb; fix, undo and resume add their own.
const (
	ExitOK      = 0
	ExitFound   = 1 // check: a finding at or above --fail-on
	ExitUsage   = 2 // a usage error, or input that cannot be read
	ExitFailed  = 3 // what was asked for was tried, and failed
	ExitUnknown = 4 // check: nothing found, but something could not be inspected
)

// Status ends a verb with an exit status. A nil Err prints nothing.
type Status struct {
	Code int
	Err  error
}

func (s *Status) Error() string {
	if s.Err == nil {
		return ""
	}
	return s.Err.Error()
}
func (s *Status) Unwrap() error { return s.Err }

// Exit ends a verb with a status, and with err, which may be nil.
func Exit(code int, err error) error { return &Status{Code: code, Err: err} }

// Usagef is a usage error, or one of unreadable input.
func Usagef(format string, args ...any) error {
	return Exit(ExitUsage, fmt.Errorf(format, args...))
}

// Failf is an error of something that was tried and failed.
func Failf(format string, args ...any) error {
	return Exit(ExitFailed, fmt.Errorf(format, args...))
}

// End tells the error that a command line ended with, and returns its exit status.
func (a *App) End(err error) int {
	if err == nil {
		return ExitOK
	}
	code := ExitUsage // what cobra itself refuses is a usage error
	var s *Status
	if errors.As(err, &s) {
		code = s.Code
	}
	if msg := err.Error(); msg != "" {
		a.Warn(reworded(msg))
	}
	return code
}

// Warn tells on standard error of something that does not end the verb.
func (a *App) Warn(msg string) {
	fmt.Fprint(a.Stderr, ui.Paragraphs(a.Program+": "+msg, a.Stderr))
}

// JSON prints v, indented.
func (a *App) JSON(v any) error { return jsondoc.Encode(a.Stdout, v, "  ") }

// Check runs checks over a target, as run.Engine does; its errors have their
// exit status.
func (a *App) Check(
	ctx context.Context,
	tg run.Target,
	traps []*trap.Trap,
	opt trap.Options,
	begin func(run.About) error,
	emit func(trap.Result),
) error {
	return a.CheckAlso(ctx, tg, traps, opt, nil, begin, emit)
}

// CheckAlso is Check, and a question that is answered from what the checks have read.
func (a *App) CheckAlso(
	ctx context.Context,
	tg run.Target,
	traps []*trap.Trap,
	opt trap.Options,
	also *run.Also,
	begin func(run.About) error,
	emit func(trap.Result),
) error {
	return ended(run.Engine{Rules: a.Rules.loaded, Also: also}.Check(ctx, tg, traps, opt, begin, emit))
}

// CheckLive runs checks of this host.
func (a *App) CheckLive(ctx context.Context, traps []*trap.Trap, opt trap.Options, emit func(trap.Result)) error {
	return ended(run.Engine{Rules: a.Rules.loaded}.Live(ctx, traps, opt, emit))
}

// Ask puts a question about a host to one of run.Answers, in a confined child.
func (a *App) Ask(ctx context.Context, tg run.Target, name string, question, answer any) error {
	return ended(run.Engine{}.Ask(ctx, tg, name, question, answer))
}

// ended gives an error of a run its exit status.
func ended(err error) error {
	var s *Status
	var input *run.Unreadable
	switch {
	case err == nil, errors.As(err, &s):
		return err
	case errors.As(err, &input):
		return Exit(ExitUsage, err)
	}
	return Exit(ExitFailed, err)
}

// OpenLive opens this host in this process, for verbs that read it themselves.
func (a *App) OpenLive() (host.Source, error) { return run.OpenLive() }
