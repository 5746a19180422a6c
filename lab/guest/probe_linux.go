package guest

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"fettle/lab"
)

// probe runs the probes after a stage, the nth that has any.
func (p *player) probe(st *lab.Stage, nth int) {
	shown, err := p.look(nth, false)
	st.Probes = shown
	if err != nil && st.OK {
		p.failed, st.OK = true, false
		st.Said = strings.TrimSpace(err.Error() + "\n" + st.Said)
	}
	switch nth {
	case 0:
		p.trapped = st.Probes
	case 1:
		p.fixed = st.Probes
	}
}

// look asks the probes of the nth stage that has any, or the quick ones alone.
func (p *player) look(nth int, quick bool) (map[string]string, error) {
	shown := map[string]string{}
	var wrong error
	for _, pr := range p.orders.Scenario.Probes {
		if pr.Slow && quick {
			continue
		}
		got := p.ask(pr)
		err := p.judge(pr, nth, got)
		for end := time.Now().Add(pr.Within); err != nil && wrong == nil && time.Now().Before(end); err = p.judge(pr, nth, got) {
			time.Sleep(200 * time.Millisecond)
			got = p.ask(pr)
		}
		shown[pr.Name] = got
		if err != nil && wrong == nil {
			wrong = fmt.Errorf("probe %s: %w", pr.Name, err)
		}
	}
	return shown, wrong
}

// judge compares what a probe showed with what it must show in this stage.
func (p *player) judge(pr lab.Probe, nth int, got string) error {
	if nth < len(pr.Want) && pr.Want[nth] != "" {
		want, err := regexp.Compile("^(?:" + pr.Want[nth] + ")$")
		if err != nil {
			return err
		}
		if !want.MatchString(got) {
			return fmt.Errorf("expected %q, and it was %q", pr.Want[nth], got)
		}
	}
	switch {
	case pr.Ratio == 0:
	case nth == 1:
		return compare(pr.Ratio, p.trapped[pr.Name], got)
	case nth == 2 && !pr.Lasts:
		return compare(pr.Ratio, got, p.fixed[pr.Name])
	}
	return nil
}

// compare wants the number fixed to be at most, or at least, ratio times trapped.
func compare(ratio float64, trapped, fixed string) error {
	before, err := number(trapped)
	if err != nil {
		return err
	}
	after, err := number(fixed)
	if err != nil {
		return err
	}
	switch {
	case ratio < 1 && after > ratio*before:
		return fmt.Errorf("expected at most %g times %q of the trap once it is mended, and it was %q", ratio, trapped, fixed)
	case ratio >= 1 && (after < ratio*before || after == 0):
		return fmt.Errorf("expected at least %g times %q of the trap once it is mended, and it was %q", ratio, trapped, fixed)
	}
	return nil
}

// number reads the number that begins a probe's answer; a time in seconds.
func number(s string) (float64, error) {
	f := strings.Fields(s)
	if len(f) == 0 {
		return 0, errors.New("no number was shown")
	}
	n, err := strconv.ParseFloat(f[0], 64)
	if err != nil {
		return 0, fmt.Errorf("%q does not begin with a number", s)
	}
	if len(f) > 1 && f[1] == "ms" {
		n /= 1000
	}
	return n, nil
}

// ask runs a probe's command and returns what is to be shown of it.
func (p *player) ask(pr lab.Probe) string {
	start := time.Now()
	out, code, err := p.run(pr.Run, nil)
	took := time.Since(start)
	switch {
	case err != nil:
		return err.Error()
	case pr.Timed && code != 0:
		return fmt.Sprintf("status %d", code)
	case pr.Timed:
		return fmt.Sprintf("%.2f s", took.Seconds())
	case pr.Find != "":
		m := regexp.MustCompile(pr.Find).FindStringSubmatch(out)
		if m == nil {
			return "not told: " + lastLine(out)
		}
		return m[len(m)-1]
	}
	first, _, _ := strings.Cut(strings.TrimSpace(out), "\n")
	return first
}
