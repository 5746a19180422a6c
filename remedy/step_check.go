package remedy

import (
	"context"
	"fettle/internal/shell"
	"fmt"
	"strings"
	"time"
)

// Check runs a command that only reads, and that must exit 0 before the plan
// goes on: sshd -t after its files were changed and before it is reloaded.
// Where it does not, what was done so far is put back.
type Check struct {
	Run   []string      `json:"run"`
	Limit time.Duration `json:"limit,omitempty"` // 0 is one minute
}

func (Check) Kind() string { return "check" }

func (s Check) Describe() string { return "go on only if " + shell.Join(s.Run) + " succeeds" }

func (Check) Reversal() Reversal { return Reversal{Class: Restorable} }

func (s Check) commands() [][]string { return [][]string{s.Run} }

func (Check) running() bool { return false }

func (s Check) items(context.Context, Machine) ([]Item, error) {
	if len(s.Run) == 0 || !strings.HasPrefix(s.Run[0], "/") {
		return nil, fmt.Errorf("%s: a command needs an absolute path", shell.Join(s.Run))
	}
	return nil, nil
}

func (s Check) act(ctx context.Context, st *site, _ []Item) error {
	limit := s.Limit
	if limit == 0 {
		limit = time.Minute
	}
	out, err := st.m.Ask(ctx, s.Run, limit)
	if err != nil {
		return err
	}
	if out.Exit != 0 {
		return fmt.Errorf("%s ended with status %d%s", shell.Join(s.Run), out.Exit, said(out))
	}
	return nil
}

// done: asking twice does no harm.
func (Check) done(context.Context, Machine, []Item, []Item) (bool, error) { return false, nil }
func (Check) between(_, _ Item) bool                                      { return false }
