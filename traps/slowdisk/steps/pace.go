// Package steps holds the kind of step that measures an array.
package steps

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"fettle/engine/remedy/machine"
	"fettle/engine/remedy/step"
	"fettle/internal/lazy"
)

// Pace counts what an array completes for a while, and tells it: before a slow member is
// taken out, and after. It reads the array's stat (Documentation/block/stat.rst), which
// counts on all kernels, and not the time that requests took, which MD counts since 5.10
// alone. What it shows is what the array was asked for at that moment: an idle one stays
// idle.
type Pace struct {
	Device string        `json:"device"` // "md0"
	With   string        `json:"with"`   // "with sda1": how the array is made up
	Over   time.Duration `json:"over"`
}

var _ = step.Register[Pace]()

func (Pace) Kind() string { return "disk-pace" }

func (s Pace) Describe() string {
	return fmt.Sprintf("measure for %s what %s completes %s", s.Over, s.Device, s.With)
}

func (Pace) Reversal() step.Reversal { return step.Reversal{Class: step.Restorable} }

func (Pace) Running() bool { return false }

func (s Pace) Commands() [][]string {
	return [][]string{{"iostat", "-dx", strconv.Itoa(int(s.Over.Seconds())), "2", s.Device}}
}

var deviceForm = lazy.Regexp(`^md[A-Za-z0-9_.-]*$`)

func (s Pace) Items(context.Context, machine.Machine) ([]step.Item, error) {
	if !deviceForm().MatchString(s.Device) || s.Over <= 0 || s.Over > time.Minute {
		return nil, fmt.Errorf("%q over %s: expected an MD array's name and at most a minute", s.Device, s.Over)
	}
	return nil, nil
}

func (s Pace) Apply(ctx context.Context, st *step.Site, _ []step.Item) error {
	before, err := s.completed(st.Machine)
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(s.Over):
	}
	after, err := s.completed(st.Machine)
	if err != nil {
		return err
	}
	per := s.Over.Seconds()
	st.Note("%s %s: %.0f reads and %.0f writes a second", s.Device, s.With, (after[0]-before[0])/per, (after[1]-before[1])/per)
	return nil
}

// completed are the reads and writes that the array has completed.
func (s Pace) completed(m machine.Machine) (n [2]float64, err error) {
	name := "/sys/block/" + s.Device + "/stat"
	text, err := m.ReadValue(name)
	if err != nil {
		return n, err
	}
	f := strings.Fields(text)
	if len(f) < 5 {
		return n, fmt.Errorf("%s: %d figures, expected 11 or more", name, len(f))
	}
	for i, at := range []int{0, 4} {
		if n[i], err = strconv.ParseFloat(f[at], 64); err != nil {
			return n, fmt.Errorf("%s: %w", name, err)
		}
	}
	return n, nil
}

// Done: measuring again does no harm.
func (Pace) Done(context.Context, machine.Machine, []step.Item, []step.Item) (bool, error) {
	return false, nil
}

// Asks: it changes nothing.
func (Pace) Asks() {}

func (Pace) Shell(string) (string, error) { return "", nil }

func (Pace) Ansible(*step.Tasks) error { return nil }
