package steps

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
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
	for _, c := range []struct {
		pace Pace
		fits bool
	}{
		{Pace{Device: "md0", Over: time.Minute}, true}, {Pace{Device: "md_d1", Over: time.Nanosecond}, true},
		{Pace{Device: "../x", Over: time.Second}, false}, {Pace{Device: "md0"}, false}, {Pace{Device: "md0", Over: time.Minute + 1}, false},
	} {
		if _, err := c.pace.Items(t.Context(), nil); (err == nil) != c.fits {
			t.Errorf("%+v: %v", c.pace, err)
		}
	}
}

// saying is a machine whose files hold one text after the other, and which has no file when they are used up.
type saying struct {
	machine.Machine
	texts *[]string
}

func (m saying) ReadValue(name string) (string, error) {
	if len(*m.texts) == 0 {
		return "", fmt.Errorf("open %s: %w", name, fs.ErrNotExist)
	}
	text := (*m.texts)[0]
	*m.texts = (*m.texts)[1:]
	return text, nil
}

// What is said of an array whose figures are not as expected, before the pause and after it.
func TestFigures(t *testing.T) {
	const gone = "open /sys/block/md0/stat: file does not exist"
	for _, c := range []struct {
		texts []string
		want  string
	}{
		{nil, gone},
		{[]string{"1 0 0 0 1"}, gone},
		{[]string{"1 2 3 4"}, "/sys/block/md0/stat: 4 figures, expected 11 or more"},
		{[]string{"1 0 0 0 1", ""}, "/sys/block/md0/stat: 0 figures, expected 11 or more"},
		{[]string{"x 0 0 0 1"}, `/sys/block/md0/stat: strconv.ParseFloat: parsing "x": invalid syntax`},
		{[]string{"1 0 0 0 x"}, `/sys/block/md0/stat: strconv.ParseFloat: parsing "x": invalid syntax`},
		{[]string{"10 0 0 0 1", "30 0 0 0 5"}, "md0 with sda1: 10 reads and 2 writes a second"},
	} {
		synctest.Test(t, func(t *testing.T) {
			said := ""
			st := &step.Site{Machine: saying{texts: &c.texts}, Log: func(s string) { said += s }}
			if err := (Pace{Device: "md0", With: "with sda1", Over: 2 * time.Second}).Apply(t.Context(), st, nil); err != nil {
				said += err.Error()
			}
			if !strings.HasSuffix(said, c.want) {
				t.Errorf("%q: %q, want %q", c.texts, said, c.want)
			}
		})
	}
}

// An admin who stops it does not wait for the end.
func TestStopped(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	texts := []string{"1 0 0 0 1", "1 0 0 0 1"}
	err := Pace{Device: "md0", Over: time.Minute}.Apply(ctx, &step.Site{Machine: saying{texts: &texts}}, nil)
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
