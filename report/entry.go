package report

import (
	"cmp"
	"slices"
	"strings"

	"fettle/engine/trap"
	"fettle/internal/sorted"
)

// entry is one trap met with one cause: the findings that say the same of
// different subjects.
type entry struct {
	severity trap.Severity
	findings []*trap.Outcome
}

// maxCauses is how many causes of one trap stand apart; where there are more,
// they share an entry.
const maxCauses = 3

// entries groups the findings that count, the most severe first.
func entries(results []trap.Result) []entry {
	var out []entry
	for _, r := range results {
		for _, sev := range []trap.Severity{trap.Critical, trap.Warning, trap.Notice} {
			var of []*trap.Outcome
			for i := range r.Outcomes {
				if o := &r.Outcomes[i]; o.Status == trap.Found && !o.Hidden() && known(o.Severity) == sev {
					of = append(of, o)
				}
			}
			out = append(out, byCause(sev, of)...)
		}
	}
	sorted.By(out, func(a, b entry) int { return cmp.Compare(b.severity, a.severity) })
	return out
}

// known is a severity, also for a finding read from elsewhere that has none.
func known(s trap.Severity) trap.Severity {
	if s < trap.Notice || s > trap.Critical {
		return trap.Notice
	}
	return s
}

func byCause(sev trap.Severity, found []*trap.Outcome) []entry {
	var out []entry
	at := map[string]int{}
	for _, o := range found {
		key := cause(o)
		i, ok := at[key]
		if !ok {
			i = len(out)
			at[key] = i
			out = append(out, entry{severity: sev})
		}
		out[i].findings = append(out[i].findings, o)
	}
	if len(out) > maxCauses {
		return []entry{{sev, found}}
	}
	return out
}

// cause is what a finding says, without the name of its subject.
func cause(o *trap.Outcome) string { return without(o.Summary+"\x00"+o.ByHand, o.Subject, " ") }

// without is what is said of a subject without its name, or the last part of it: "alice"
// of "user alice".
func without(said, subject, parted string) string {
	name := subject[strings.LastIndexAny(subject, parted)+1:]
	if name == "" {
		return said
	}
	return strings.ReplaceAll(strings.ReplaceAll(said, subject, "\x00"), name, "\x00")
}

// causes parts an entry of several causes into those that say the same, each with its
// subjects; nil where all say the same, or some say it with their own names.
func (e *entry) causes() []entry {
	var out []entry
	at := map[string]int{}
	for _, o := range e.findings {
		said := without(o.Summary, o.Subject, " /") // also "sdb" of "md0/sdb"
		i, ok := at[said]
		switch {
		case o.Subject == "", ok && said != o.Summary:
			return nil
		case !ok:
			i = len(out)
			at[said] = i
			out = append(out, entry{severity: e.severity})
		}
		out[i].findings = append(out[i].findings, o)
	}
	if len(out) == 1 {
		return nil
	}
	return out
}

// says is the sentence of an entry: the findings' own where they agree, else
// the trap's title.
func (e *entry) says(title func(id string) string) string {
	first := e.findings[0]
	for _, o := range e.findings[1:] {
		if o.Summary != first.Summary {
			if t := title(first.Trap); t != "" {
				return t
			}
			break
		}
	}
	return first.Summary
}

// subjects are the names of an entry's subjects.
func (e *entry) subjects() []string {
	var out []string
	for _, o := range e.findings {
		if o.Subject != "" {
			out = append(out, o.Subject)
		}
	}
	return out
}

// act is what to do about an entry: the command, or what the check says to do
// by hand.
func (e *entry) act(m *Meta) (command, byHand string) {
	first := e.findings[0]
	if len(e.findings) == 1 {
		return next(m, first) + Command(first), first.ByHand
	}
	whole := *first
	whole.Subject = ""
	whole.Fixable = slices.ContainsFunc(e.findings, func(o *trap.Outcome) bool { return o.Fixable })
	for _, o := range e.findings[1:] {
		if o.ByHand != first.ByHand {
			return next(m, &whole) + Command(&whole), ""
		}
	}
	return next(m, &whole) + Command(&whole), first.ByHand
}
