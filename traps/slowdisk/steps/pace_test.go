package steps

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fettle/engine/remedy/machine"
	"fettle/engine/remedy/step"
)

// counting is a machine whose array completes 72 writes a second.
type counting struct {
	machine.Machine
	begun time.Time
}

func (c counting) ReadValue(string) (string, error) {
	writes := int(time.Since(c.begun).Seconds() * 72)
	return strings.Join([]string{"7", "0", "0", "0", strconv.Itoa(1000 + writes), "0", "0", "0", "0", "0", "0"}, " "), nil
}

func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said []string
		st := &step.Site{Machine: counting{begun: time.Now()}, Log: func(s string) { said = append(said, s) }}
		if err := (Pace{Device: "md0", With: "with sda1", Over: 5 * time.Second}).Apply(t.Context(), st, nil); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(said, "\n"); !strings.Contains(got, "md0 with sda1: 0 reads and 72 writes a second") {
			t.Errorf("said %q", got)
		}
	})
	for _, bad := range []Pace{{Device: "../x", Over: time.Second}, {Device: "md0"}, {Device: "md0", Over: time.Hour}} {
		if _, err := bad.Items(context.Background(), nil); err == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
}
