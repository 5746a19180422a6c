package remedy

import (
	"context"
	"errors"
	"testing"

	"fettle/engine/remedy/machine"
	"fettle/engine/remedy/step"
)

// moved is a step on what has another name by now, or is lost.
type moved struct {
	step.Check
	was, is string
	err     error
}

func (s moved) Renamed(context.Context, machine.Machine) (was, is string, err error) {
	return s.was, s.is, s.err
}

// After a boot the disks have changed their names with one another: resume
// has to verify the member that it mended.
func TestSubjectAfterBoot(t *testing.T) {
	for _, c := range []struct {
		subject string
		err     error
		want    string
	}{
		{"md0/sda1", nil, "md127/sdb1"},
		{"mdadm.conf", nil, "mdadm.conf"},                        // not a name of the step's
		{"md0/sda1", errors.New("the disk is gone"), "md0/sda1"}, // the step says so, not the verification
	} {
		s := moved{was: "md0/sda1", is: "md127/sdb1", err: c.err}
		h := (&Engine{}).subjectNow(t.Context(), Head{Subject: c.subject, Plan: Plan{Steps: []step.Step{step.Check{}, s}}})
		if h.Subject != c.want {
			t.Errorf("%s became %s, expected %s", c.subject, h.Subject, c.want)
		}
	}
}
