package message

import (
	"strings"

	"fettle/engine/trap"
	"fettle/report"
)

// Comparison is what an agent reads of fettle after --format json.
type Comparison struct {
	Restarted bool   `json:"restarted"`
	Lost      []Lost `json:"lost"`
}

// Lost is something that did not come back as it was before the host's start.
type Lost struct {
	Subject  string        `json:"subject"`
	Severity trap.Severity `json:"severity"`
	Summary  string        `json:"summary"`
	How      string        `json:"how"`
	With     []string      `json:"with"`
}

// Lacking is a state with what the start took away, as findings of report.NotAsBefore.
func (s *State) Lacking(lost []Lost) *State {
	if len(lost) == 0 {
		return s
	}
	res := trap.Result{Trap: report.NotAsBefore.ID()}
	for _, l := range lost {
		o := trap.Outcome{Trap: res.Trap, Subject: l.Subject, Status: trap.Found, Severity: l.Severity, Summary: l.Summary, ByHand: l.How}
		if len(l.With) > 0 {
			o.Detail = trap.Prose("with it: " + strings.Join(l.With, ", "))
		}
		res.Outcomes = append(res.Outcomes, o)
	}
	lacks := StateOf(&report.Document{Traps: report.Infos([]*trap.Trap{report.NotAsBefore}), Results: []trap.Result{res}})
	return s.And(&lacks)
}
