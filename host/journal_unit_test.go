package host

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

func TestUnitName(t *testing.T) {
	for name, want := range map[string]string{"nginx": "nginx.service", "ssh.socket": "ssh.socket",
		"postgresql@15-main": "postgresql@15-main.service",
		"var-lib.mount":      "var-lib.mount", "a.b": "a.b.service"} {
		if got, err := UnitName(name); err != nil || got != want {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
	for _, name := range []string{"", "-x", ".service", "a/b", "a*", "a b", "a?.service", "ä", "--flush.service", strings.Repeat("a", 256)} {
		if got, err := UnitName(name); err == nil {
			t.Errorf("%q is taken as %s", name, got)
		}
	}
}

// TestUnitJournal: the unit's lines are handed on, none is no error, and no journal is one.
func TestUnitJournal(t *testing.T) {
	for name, c := range map[string]struct {
		of, all Output
		err     error
		says    string // the error
	}{
		"lines":     {of: Output{Stdout: []byte("{}\n")}},
		"no lines":  {all: Output{Stdout: []byte("{}\n")}},
		"none":      {says: "there is no journal"},
		"none told": {of: Output{Exit: 1, Stderr: []byte("No journal files were found.\n")}, says: "there is no journal"},
		"denied": {of: Output{Exit: 1, Stderr: []byte("No journal files were opened due to insufficient permissions.\n")},
			says: "cannot be read"},
		"his own": {of: Output{Stdout: []byte("{}\n"),
			Stderr: []byte("Hint: You are currently not seeing messages from other users and the system.\n")}, says: "of the system cannot be read"},
		"no command": {err: ErrNoCommand, says: "journalctl: "},
	} {
		run := func(_ context.Context, cmd Command) (Output, error) {
			if err := cmd.Allowed(); err != nil {
				t.Error(err)
			}
			if text := cmd.String(); strings.Contains(text, "-u a.service") {
				if !strings.Contains(text, "-b ") || !strings.Contains(text, "--since=@1767323045") {
					t.Errorf("%s: %s", name, text)
				}
				return c.of, c.err
			}
			return c.all, c.err
		}
		out, err := UnitJournal(t.Context(), run, "a.service", newYear)
		switch {
		case c.says == "" && err == nil && string(out) == string(c.of.Stdout):
		case c.says != "" && err != nil && strings.Contains(err.Error(), c.says):
		default:
			t.Errorf("%s: %q, %v", name, out, err)
		}
		if name == "denied" && !errors.Is(err, ErrDenied) {
			t.Error(err)
		}
	}
	refused := func(_ context.Context, cmd Command) (Output, error) { return Output{}, cmd.Allowed() }
	if _, err := UnitJournal(t.Context(), refused, "--flush", time.Time{}); err == nil {
		t.Error("an option is taken as a unit")
	}
}
