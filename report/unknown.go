package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/internal/sorted"
	"fettle/internal/ui"
)

// ignorance is one reason why something is not known, and where it stood in the way.
type ignorance struct {
	reason string   // shared
	first  string   // as the first of them said it
	who    []string // traps
	act    string   // what would answer it; "" where nothing general would
}

// classes are reasons that many checks share, told by the error that they
// come from.
var classes = []struct {
	err    error
	reason string
}{
	{host.ErrDenied, "access was denied"},
	{host.ErrNotCollected, "not in the capture"},
	{host.ErrNotRunning, "only files can be seen here"},
	{host.ErrTimeout, "took too long"},
	{host.ErrNoCommand, "a command is not installed"},
}

// unknowns groups what is not known by its reason, the most frequent first.
func unknowns(m *Meta, results []trap.Result) []ignorance {
	var out []ignorance
	for _, r := range results {
		for i := range r.Outcomes {
			o := &r.Outcomes[i]
			if !isUnknown(o) {
				continue
			}
			reason := reasonOf(o)
			k := slices.IndexFunc(out, func(g ignorance) bool { return g.reason == reason })
			if k < 0 {
				k = len(out)
				out = append(out, ignorance{reason: reason, first: said(o), act: again(m, o)})
			}
			if !slices.Contains(out[k].who, o.Trap) {
				out[k].who = append(out[k].who, o.Trap)
			}
		}
	}
	sorted.By(out, func(a, b ignorance) int { return cmp.Compare(len(b.who), len(a.who)) })
	return out
}

func isUnknown(o *trap.Outcome) bool {
	switch o.Status {
	case trap.Found, trap.Clear, trap.NotApplicable:
		return false
	}
	return true
}

func reasonOf(o *trap.Outcome) string {
	for _, c := range classes {
		if strings.Contains(o.Reason, c.err.Error()) {
			return c.reason
		}
	}
	return said(o)
}

func said(o *trap.Outcome) string {
	switch {
	case o.Reason != "":
		return o.Reason
	case o.Summary != "":
		return o.Summary
	}
	return fmt.Sprintf("no reason given (status %s)", o.Status)
}

// again is hint for all checks together.
func again(m *Meta, o *trap.Outcome) string {
	return strings.Replace(hint(m, o), "fettle check "+ui.Quote(o.Trap), "fettle check", 1)
}

// maxReasons and maxNamed bound the paragraph of what is not known.
const (
	maxReasons = 4
	maxNamed   = 3
)

// paragraph is all that is not known in a few lines: "30 checks: access was
// denied (a, b, c and 27 more); …", and the one act that answers most of it.
func paragraph(all []ignorance) (text, act string) {
	var parts []string
	for i, g := range all {
		if i == maxReasons-1 && len(all) > maxReasons {
			rest := 0
			for _, g := range all[i:] {
				rest += len(g.who)
			}
			parts = append(parts, fmt.Sprintf("%d more for other reasons", rest))
			break
		}
		if len(g.who) == 1 {
			parts = append(parts, g.who[0]+": "+g.first)
			continue
		}
		parts = append(parts, fmt.Sprintf("%d checks: %s (%s)", len(g.who), g.reason, some(g.who, maxNamed)))
	}
	for _, g := range all {
		if g.act != "" {
			act = g.act
			break
		}
	}
	return strings.Join(parts, "; "), act
}

// some names the first n, and counts the rest.
func some(names []string, n int) string {
	if len(names) <= n+1 {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:n], ", "), len(names)-n)
}
