package check

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"fettle/engine/trap"
	"fettle/report"
)

func saying(traps map[string]trap.Severity) *hostReport {
	h := &hostReport{doc: report.Document{}}
	for id, s := range traps {
		o := trap.Outcome{Trap: id, Subject: "x", Status: trap.Found, Severity: s, Summary: "it is so"}
		if s == 0 {
			o = trap.Outcome{Trap: id, Status: trap.Clear}
		}
		h.doc.Results = append(h.doc.Results, trap.Result{Trap: id, Outcomes: []trap.Outcome{o}})
	}
	return h
}

func TestMatrix(t *testing.T) {
	m := newMatrix()
	m.add("root@web1", saying(map[string]trap.Severity{"bridge-mtu": trap.Warning, "boot-full": 0}))
	m.add("web2", saying(map[string]trap.Severity{"bridge-mtu": trap.Warning, "ksm-scan-rate": trap.Notice}))
	m.add("db1", saying(map[string]trap.Severity{"raid-degraded": trap.Critical, "ksm-scan-rate": trap.Notice}))
	m.add("ok", saying(map[string]trap.Severity{"bridge-mtu": 0}))
	for _, h := range []string{"d1", "d2"} {
		m.add(h, &hostReport{err: errors.New("could not reach " + h + ": Connection refused")})
	}
	accepted := saying(map[string]trap.Severity{"boot-full": trap.Critical})
	accepted.doc.Results[0].Outcomes[0].Accepted = &trap.Acceptance{Reason: "known"}
	m.add("quiet", accepted)
	want := `trap           hosts  db1  web2  web1
raid-degraded      1    C     .     .
bridge-mtu         2    .     W     W
ksm-scan-rate      2    n     n     .
C critical, W warning, n notice

NO REPORT d1, d2: Connection refused
`
	if got := m.text(80, false); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

// TestMatrixIsAScreen: thousands of hosts and all traps are one screen, and
// nothing is cut off in silence.
func TestMatrixIsAScreen(t *testing.T) {
	m := newMatrix()
	for i := range 5000 {
		traps := map[string]trap.Severity{}
		for k := range 40 {
			if (i+k)%(k+2) == 0 {
				traps[fmt.Sprintf("a-trap-with-a-long-name-%d", k)] = trap.Severity(k%3 + 1)
			}
		}
		h := saying(traps)
		if i%100 == 0 {
			h.err = fmt.Errorf("host-%d.example.org: reason %d \x1b[2J", i, i%700)
		}
		m.add(fmt.Sprintf("host-%d.example.org", i), h)
	}
	got := m.text(80, false)
	if n := strings.Count(got, "\n"); n > 28 {
		t.Errorf("%d lines", n)
	}
	for line := range strings.Lines(got) {
		if n := len([]rune(strings.TrimRight(line, "\n"))); n > 80 || strings.Contains(line, "\x1b") {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	if !strings.Contains(got, "and 21 more") || !strings.Contains(got, "for other reasons (-v shows)") || !strings.Contains(got, "  +4") {
		t.Errorf("what is left out is not counted:\n%s", got)
	}
	t.Logf("\n%s", got)
}
