package step

import (
	"context"
	"fmt"
	"strings"
	"time"

	"fettle/engine/remedy/machine"
	"fettle/internal/shell"
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

func (Check) Running() bool { return false }

func (s Check) Commands() [][]string { return [][]string{s.Run} }

func (s Check) Items(context.Context, machine.Machine) ([]Item, error) {
	if len(s.Run) == 0 || !strings.HasPrefix(s.Run[0], "/") {
		return nil, fmt.Errorf("%s: a command needs an absolute path", shell.Join(s.Run))
	}
	return nil, nil
}

func (s Check) Apply(ctx context.Context, st *Site, _ []Item) error {
	limit := s.Limit
	if limit == 0 {
		limit = time.Minute
	}
	out, err := st.Machine.Ask(ctx, s.Run, limit)
	if err != nil {
		return err
	}
	if out.Exit != 0 {
		return fmt.Errorf("%s ended with status %d%s", shell.Join(s.Run), out.Exit, Said(out))
	}
	return nil
}

// Done: asking twice does no harm.
func (Check) Done(context.Context, machine.Machine, []Item, []Item) (bool, error) { return false, nil }

// Asks: it changes nothing.
func (Check) Asks() {}

func (s Check) Shell(string) (string, error) { return ShellCommands(s), nil } // under set -e

func (s Check) Ansible(b *Tasks) error {
	for _, argv := range s.Commands() {
		b.Ask(s.Describe(), argv)
	}
	return nil
}
