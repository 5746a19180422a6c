package before

import (
	"fmt"
	"strings"

	"fettle/engine/trap"
	"fettle/report"
)

// UpgradeVerdict is what is said of an upgrade.
type UpgradeVerdict string

// The verdicts, the best first.
const (
	NothingBreaks UpgradeVerdict = "nothing-breaks"
	MayBreak      UpgradeVerdict = "cannot-say" // nothing was found that breaks, but not all could be looked at
	Different     UpgradeVerdict = "changes"
	Broken        UpgradeVerdict = "breaks"
)

// Upgrade is what an upgrade of the distribution will do to a host.
type Upgrade struct {
	Verdict UpgradeVerdict `json:"verdict"`
	From    string         `json:"from"` // "Debian 12"
	To      string         `json:"to"`
	// What is found, by consequence, the worst first; findings are named as in the report.
	Stops    []string `json:"stops,omitempty"`
	Changes  []string `json:"changes,omitempty"`
	Asks     []string `json:"asks,omitempty"`
	Prepares []string `json:"prepares,omitempty"`
	// NotLooked says what could not be looked at, and why.
	NotLooked []Unlooked `json:"not_looked,omitempty"`
}

// Unlooked is something that a trap could not look at.
type Unlooked struct {
	Trap   string `json:"trap,omitempty"`
	Reason string `json:"reason"`
}

// JudgeUpgrade reads the results of the traps that bite at an upgrade.
func JudgeUpgrade(from, to string, m *report.Meta, traps []*trap.Trap, results []trap.Result) Upgrade {
	u := Upgrade{From: from, To: to}
	of := ByConsequence(traps, results)
	for c, names := range map[trap.Consequence]*[]string{trap.Stops: &u.Stops, trap.Changes: &u.Changes, trap.Asks: &u.Asks,
		trap.Prepares: &u.Prepares} {
		for _, o := range of[c] {
			*names = append(*names, o.ID())
		}
	}
	for _, r := range results {
		for _, o := range r.Outcomes {
			if o.Status == trap.Unknown {
				u.NotLooked = append(u.NotLooked, Unlooked{o.Trap, o.Reason})
			}
		}
	}
	if m.Identity.EUID != 0 {
		u.NotLooked = append(u.NotLooked, Unlooked{Reason: "checked without root"})
	}
	switch {
	case len(u.Stops) > 0:
		u.Verdict = Broken
	case len(u.Changes) > 0:
		u.Verdict = Different
	case len(u.NotLooked) > 0:
		u.Verdict = MayBreak
	default:
		u.Verdict = NothingBreaks
	}
	return u
}

// ByConsequence sorts the findings that count by what they mean for an upgrade.
func ByConsequence(traps []*trap.Trap, results []trap.Result) map[trap.Consequence][]*trap.Outcome {
	by := map[string]*trap.Trap{}
	for _, t := range traps {
		by[t.ID()] = t
	}
	out := map[trap.Consequence][]*trap.Outcome{}
	for _, o := range worst(results) {
		if t := by[o.Trap]; t != nil {
			c := t.AtUpgrade(o)
			out[c] = append(out[c], o)
		}
	}
	return out
}

// Says is the verdict in a sentence.
func (u *Upgrade) Says(name string) string {
	to := " of " + name + " to " + u.To
	switch u.Verdict {
	case Broken:
		s := fmt.Sprintf("the upgrade%s breaks %s", to, things(len(u.Stops)))
		if n := len(u.Changes); n > 0 {
			s += fmt.Sprintf(", and silently changes %d more", n)
		}
		return s
	case Different:
		return fmt.Sprintf("the upgrade%s stops nothing, and silently changes %s", to, things(len(u.Changes)))
	case NothingBreaks:
		return "nothing breaks in the upgrade" + to + ", of all that fettle looks at"
	}
	var what []string
	for _, n := range u.NotLooked {
		if n.Trap == "" {
			what = append(what, "what only root may read")
		} else if len(what) == 0 || what[len(what)-1] != n.Trap {
			what = append(what, n.Trap)
		}
	}
	return "found nothing that breaks in the upgrade" + to + ", but could not look at all of: " + strings.Join(what, ", ")
}

func things(n int) string {
	if n == 1 {
		return "one thing"
	}
	return fmt.Sprintf("%d things", n)
}
