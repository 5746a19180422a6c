package firstlook

import (
	"cmp"
	"slices"

	"fettle/internal/sorted"
	"fettle/why/meaning"
)

// Report is what a first look found.
type Report struct {
	Lines    int64 `json:"lines"`
	Messages int64 `json:"messages"`
	// Groups are those that stand out, worst first.
	Groups []Group `json:"groups"`
	// Failing reports whether any message says that something failed; else Groups are the rarest.
	Failing bool `json:"failing"`
	// Kinds is how many groups there are in all.
	Kinds int `json:"kinds"`
	// Dropped counts messages of groups that found no room.
	Dropped int64  `json:"dropped,omitempty"`
	First   string `json:"first,omitempty"` // stamps, as the log has them
	Last    string `json:"last,omitempty"`
	// Before are messages that began shortly before the first failure.
	Before []Group  `json:"before,omitempty"`
	Hosts  []string `json:"hosts,omitempty"`
	// Here is what this host says, where the log is its own.
	Here *Here `json:"here,omitempty"`
}

// Group is what like messages of one program have in common.
type Group struct {
	By        string `json:"by,omitempty"`
	Unit      string `json:"unit,omitempty"`
	Host      string `json:"host,omitempty"`
	Text      string `json:"text"`     // the first of them
	Template  string `json:"template"` // with <*> where they differ, # for numbers
	MessageID string `json:"message_id,omitempty"`
	Priority  *int   `json:"priority,omitempty"`
	Count     int64  `json:"count"`
	First     string `json:"first,omitempty"`
	Last      string `json:"last,omitempty"`
	FirstLine int64  `json:"first_line"`
	LastLine  int64  `json:"last_line"`
	Failure   bool   `json:"failure"` // it says that something failed
	// Effect: systemd's report that a unit ended badly, which says of no reason.
	Effect   bool              `json:"effect,omitempty"`
	Why      []string          `json:"why,omitempty"`
	Meanings []meaning.Meaning `json:"meanings,omitempty"`
	// Known: this host's journal of the days before has such a message too (true), or none
	// (false). Absent: it was not compared.
	Known *bool `json:"known,omitempty"`
}

// shown is how many groups a report has.
const shown = 8

// Report is what was found so far.
func (l *Look) Report() *Report {
	if len(l.pending) > 0 {
		l.line(l.pending)
		l.over, l.pending = false, l.pending[:0]
	}
	r := &Report{Lines: l.lines, Messages: l.records, Kinds: len(l.groups.all), Dropped: l.groups.dropped,
		First: readable(l.first), Last: readable(string(l.last)), Groups: []Group{}}
	for h := range l.hosts {
		r.Hosts = append(r.Hosts, h)
	}
	slices.Sort(r.Hosts)
	order := l.ranked()
	r.Failing = len(order) > 0 && l.failing(order[0])
	for _, g := range order {
		if len(r.Groups) == shown || r.Failing && !l.failing(g) {
			break
		}
		r.Groups = append(r.Groups, l.public(g))
	}
	r.Before = l.before(order)
	return r
}

// failing reports whether a group says that something failed, or came last before it did.
func (l *Look) failing(g *group) bool {
	return g.verdict.score >= telling || g.lastWords > 0 || g.verdict.effect
}

func (l *Look) public(g *group) Group {
	out := Group{By: g.by, Unit: g.unit, Host: g.host, Text: g.text, Template: join(g.template), MessageID: g.id, Count: g.count,
		First: readable(g.first), Last: readable(string(g.last)), FirstLine: g.firstLine, LastLine: g.lastLine, Failure: l.failing(g),
		Effect: g.verdict.effect && g.verdict.score < telling, Why: slices.Clone(g.verdict.why)}
	if g.prio >= 0 {
		p := g.prio
		out.Priority = &p
	}
	if g.lastWords > 0 {
		out.Why = append(out.Why, "it came last before the unit failed")
	}
	if g == l.firstFailure {
		out.Why = append(out.Why, "it is the first failure in the log")
	}
	out.Meanings = meaning.Of(g.text, g.id)
	return out
}

func join(words []string) string {
	n := 0
	for _, w := range words {
		n += len(w) + 1
	}
	b := make([]byte, 0, n)
	for i, w := range words {
		if i > 0 {
			b = append(b, ' ')
		}
		b = append(b, w...)
	}
	return string(b)
}

// How near is shortly before: in seconds, and in lines where there are no stamps.
const (
	nearSeconds = 120
	nearLines   = 40
	maxBefore   = 3
)

// before lists the messages that were said for the first time shortly before the first
// failure, and say of no failure themselves: what was started, changed or plugged in.
func (l *Look) before(order []*group) []Group {
	start := l.firstFailure
	if start == nil {
		if len(order) == 0 || !l.failing(order[0]) {
			return nil
		}
		start = order[0]
	}
	at, timed := seconds(start.first)
	var found []*group
	for _, g := range l.groups.all {
		if g.firstLine >= start.firstLine || l.failing(g) || g.firstLine == 1 && l.records > nearLines {
			continue
		}
		if when, ok := seconds(g.first); timed && ok {
			if d := at - when; d < 0 || d > nearSeconds {
				continue
			}
		} else if start.firstLine-g.firstLine > nearLines {
			continue
		}
		found = append(found, g)
	}
	sorted.By(found, func(a, b *group) int { return cmp.Compare(b.firstLine, a.firstLine) })
	var out []Group
	for _, g := range found[:min(len(found), maxBefore)] {
		out = append(out, l.public(g))
	}
	slices.Reverse(out)
	return out
}

// Explains reports whether any message has a word whose meaning is known.
func (r *Report) Explains() bool {
	return slices.ContainsFunc(r.Groups, func(g Group) bool { return g.Failure && len(g.Meanings) > 0 })
}

// IsLog reports whether most of what was read has stamps, as logs have.
func (l *Look) IsLog() bool { return l.records > 0 && 2*l.stamped >= l.records }
