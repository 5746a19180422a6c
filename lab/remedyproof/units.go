package remedyproof

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"fettle/engine/remedy"
	"fettle/engine/remedy/step"
	"fettle/lab"
)

// Experiments are all of them.
var Experiments = []lab.Experiment{UnitSteps, KillMatrix}

// UnitSteps takes each step on a unit under a real systemd, and undoes it.
var UnitSteps = lab.Experiment{
	Name: Group + "/unit-steps", About: "Each step on a unit of a real systemd, and its undo",
	Needs: lab.Needs{Systemd: true, Tools: []string{"systemctl", "sleep", "sh"}, Limit: 4 * time.Minute},
	Long:  true,
	Run:   unitSteps,
}

const subject = "lab-unit.service"

const subjectText = `[Unit]
Description=The subject of steps on a unit
[Service]
ExecStart=/usr/bin/sleep 3600
ExecReload=/usr/bin/sh -c 'echo again >> /run/lab-reloads'
[Install]
WantedBy=multi-user.target
`

func unitSteps(ctx context.Context, b *lab.Bench) error {
	if err := os.WriteFile(unitFile, []byte(subjectText), 0o644); err != nil {
		return err
	}
	if _, err := b.Run("systemctl", "daemon-reload"); err != nil {
		return err
	}
	store, err := remedy.OpenStore()
	if err != nil {
		return err
	}
	e := &remedy.Engine{Store: store, Machine: newHost(), Who: "the lab"}
	b.Columns("step", "before", "after the step", "after undo")
	var wrong []error
	for _, c := range []struct {
		act, before   string // the act of systemctl that sets the stage
		after, undone string
	}{
		{"start", "stop", "active disabled", "inactive disabled"},
		{"start", "start", "active disabled", "active disabled"},
		{"stop", "start", "inactive disabled", "active disabled"},
		{"stop", "stop", "inactive disabled", "inactive disabled"},
		{"enable", "disable", "inactive enabled", "inactive disabled"},
		{"enable", "enable", "inactive enabled", "inactive enabled"},
		{"disable", "enable", "inactive disabled", "inactive enabled"},
		{"disable", "disable", "inactive disabled", "inactive disabled"},
		// Where no file changed there is nothing that a second restart would undo.
		{"restart", "start", "active disabled new process", "active disabled"},
		{"reload", "start", "active disabled reloaded", "active disabled"},
		{"reload-or-restart", "start", "active disabled reloaded", "active disabled"},
	} {
		b.Exec([]string{"systemctl", "disable", "--now", subject})
		if _, err := b.Run("systemctl", c.before, subject); err != nil {
			return err
		}
		was, err := unitNow(b)
		if err != nil {
			return err
		}
		_, err = e.Apply(ctx, remedy.Head{Trap: "lab", Subject: subject, Plan: remedy.Plan{
			Title: c.act + " " + subject, Steps: []step.Step{step.Unit{Name: subject, Act: c.act}}}},
			func(context.Context) error { return nil })
		if err != nil {
			return fmt.Errorf("%s: %w", c.act, err)
		}
		after, err := unitNow(b)
		if err != nil {
			return err
		}
		if _, err := e.Undo(ctx, "", remedy.UndoOptions{Why: "the lab"}); err != nil {
			return fmt.Errorf("undoing %s: %w", c.act, err)
		}
		undone, err := unitNow(b)
		if err != nil {
			return err
		}
		row := []string{c.act, was.since(unit{}), after.since(was), undone.since(after)}
		b.Row(row...)
		if row[2] != c.after || row[3] != c.undone {
			wrong = append(
				wrong,
				fmt.Errorf("%s after %s: expected %q and after undo %q, and got %q and %q", c.act, c.before, c.after, c.undone, row[2], row[3]),
			)
		}
	}
	return errors.Join(wrong...)
}

// unit is how the subject stands.
type unit struct {
	state   string
	pid     string
	reloads int
}

func unitNow(b *lab.Bench) (u unit, err error) {
	out, err := b.Run("systemctl", "show", "--property=ActiveState,UnitFileState,MainPID", subject)
	if err != nil {
		return u, err
	}
	m := map[string]string{}
	for line := range strings.Lines(out) {
		k, v, _ := strings.Cut(strings.TrimSpace(line), "=")
		m[k] = v
	}
	reloads, _ := os.ReadFile(reloadLog)
	return unit{m["ActiveState"] + " " + m["UnitFileState"], m["MainPID"], strings.Count(string(reloads), "\n")}, nil
}

// since puts into words how the unit stands, against how it stood.
func (u unit) since(was unit) string {
	s := u.state
	if was.pid != "" && was.pid != "0" && u.pid != "0" && u.pid != was.pid {
		s += " new process"
	}
	if was.pid != "" && u.reloads > was.reloads {
		s += " reloaded"
	}
	return s
}
