package guest

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"fettle/lab"
)

// probe runs the probes after a stage, the nth that has any.
func (p *player) probe(st *lab.Stage, nth int) {
	st.Probes = map[string]string{}
	for _, pr := range p.orders.Scenario.Probes {
		got := probe(pr)
		st.Probes[pr.Name] = got
		if nth < len(pr.Want) && pr.Want[nth] != "" && pr.Want[nth] != got && st.OK {
			p.failed, st.OK = true, false
			st.Said = fmt.Sprintf("%s: expected %q, and it was %q\n%s", pr.Name, pr.Want[nth], got, st.Said)
		}
	}
}

// probe runs a probe's command and returns what is to be shown of it.
func probe(p lab.Probe) string {
	start := time.Now()
	out, code, err := run(p.Run, nil)
	took := time.Since(start)
	switch {
	case err != nil:
		return err.Error()
	case p.Timed && code != 0:
		return fmt.Sprintf("status %d", code)
	case p.Timed:
		return fmt.Sprintf("%.2f s", took.Seconds())
	case p.Find != "":
		m := regexp.MustCompile(p.Find).FindStringSubmatch(out)
		if m == nil {
			return "not told: " + lastLine(out)
		}
		return m[len(m)-1]
	}
	first, _, _ := strings.Cut(strings.TrimSpace(out), "\n")
	return first
}
