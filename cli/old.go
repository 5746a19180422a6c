package cli

import (
	"io"

	"github.com/spf13/cobra"

	common "fettle/cli/app"
	"fettle/internal/files"
	"fettle/internal/ui"
	"fettle/trap"
)

// app is what the lab and two instruments are given.
type app struct {
	*common.App
	stdin          io.Reader
	stdout, stderr io.Writer
	traps          []*trap.Trap
}

func old(a *common.App) *app { return &app{a, a.Stdin, a.Stdout, a.Stderr, a.Traps} }

func (a *app) json(v any) error                        { return a.JSON(v) }
func (a *app) find(ids []string) ([]*trap.Trap, error) { return a.Find(ids) }
func (a *app) teller() func(string)                    { return ui.NewProgress(a.stderr).Show }

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
func (s *status) As(to any) bool {
	p, ok := to.(**common.Status)
	if ok {
		*p = &common.Status{Code: s.code, Err: s.err}
	}
	return ok
}

const (
	exitOK     = common.ExitOK
	exitFound  = common.ExitFound
	exitUsage  = common.ExitUsage
	exitFailed = common.ExitFailed
)

var (
	usagef = common.Usagef
	failf  = common.Failf
)

func labCmd(a *common.App) *cobra.Command { return old(a).labCmd() }

func complaint(msg string, w io.Writer) string { return ui.Paragraphs(msg, w) }
func bare(err error) error                     { return files.WithoutPath(err) }
func formatFlag(c *cobra.Command, into *string, formats ...string) {
	common.FormatFlag(c, into, formats...)
}

type pictures map[string]string

func (p pictures) writable() error { return common.Pictures(p).Writable() }
func (p pictures) write(draw func(w io.Writer, format string) error) error {
	return common.Pictures(p).Write(draw)
}
