// Package firstlook reads a log that no known trap explains as an experienced admin would:
// which messages stand out, worst first, who said them, how often and when, what they mean,
// and what began shortly before. It says what is there and never why: a cause is not guessed.
//
// A log is read once, line by line, in memory that does not grow with it.
package firstlook

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"strings"

	"fettle/internal/sorted"
	"fettle/why/meaning"
)

// Look is a first look at a log. Write the log to it, then ask for the Report.
type Look struct {
	parser  parser
	groups  *groups
	pending []byte // an unfinished line
	over    bool   // the line is too long: the rest of it is skipped

	lines, bytes int64
	records      int64
	stamped      int64
	first        string // stamps
	last         []byte
	host         []byte // of the last line
	hosts        map[string]bool
	boots        map[string]bool
	recent       [64]*group // of the last messages, by turns
	firstFailure *group
}

// maxNames bounds how many hosts, boots and programs are distinguished.
const maxNames = 512

// New begins a look.
func New() *Look {
	return &Look{groups: newGroups(), hosts: map[string]bool{}, boots: map[string]bool{}}
}

// Write reads more of the log. It never fails.
func (l *Look) Write(b []byte) (int, error) {
	n := len(b)
	l.bytes += int64(n)
	for {
		i := bytes.IndexByte(b, '\n')
		if i < 0 {
			l.keep(b)
			return n, nil
		}
		switch {
		case l.over:
			l.line(l.pending)
			l.over, l.pending = false, l.pending[:0]
		case len(l.pending) > 0:
			l.keep(b[:i])
			l.line(l.pending)
			l.over, l.pending = false, l.pending[:0]
		default:
			l.line(b[:min(i, maxPending)])
		}
		b = b[i+1:]
	}
}

// keep keeps the beginning of a line whose end has not come.
func (l *Look) keep(b []byte) {
	room := maxPending - len(l.pending)
	if len(b) > room {
		b, l.over = b[:room], true
	}
	l.pending = append(l.pending, b...)
}

func (l *Look) line(b []byte) {
	l.lines++
	if bytes.HasPrefix(b, []byte("-- Boot ")) {
		l.name(b[8:min(len(b), 40)])
	}
	if r, ok := l.parser.line(b); ok && len(r.text) > 0 {
		l.take(&r)
	}
}

// name remembers a boot.
func (l *Look) name(boot []byte) {
	if id := strings.ReplaceAll(strings.TrimSpace(string(boot)), "-", ""); len(l.boots) < maxNames && len(id) == 32 {
		l.boots[id] = true
	}
}

func (l *Look) take(r *record) {
	l.records++
	if len(r.stamp) > 0 {
		l.stamped++
		if l.first == "" {
			l.first = string(r.stamp)
		}
		l.last = append(l.last[:0], r.stamp...)
	}
	if len(r.host) > 0 && !bytes.Equal(r.host, l.host) {
		l.host = append(l.host[:0], r.host...)
		if len(l.hosts) < maxNames {
			l.hosts[string(r.host)] = true
		}
	}
	if len(r.boot) > 0 && !l.boots[string(r.boot)] {
		l.name(r.boot)
	}
	g := l.groups.add(r, l.lines)
	if g == nil {
		return
	}
	if g.verdict.effect {
		l.blame(r)
	} else if l.firstFailure == nil && g.verdict.score >= serious {
		l.firstFailure = g
	}
	l.recent[l.records%int64(len(l.recent))] = g
}

// blame finds whose last words came before systemd reported a failed unit: those of the
// program with the unit's name, or else of the program that spoke last.
func (l *Look) blame(r *record) {
	unit := unitIn(string(r.text))
	if unit == "" {
		unit = string(r.unit)
	}
	base, _, _ := strings.Cut(unit, ".")
	base, _, _ = strings.Cut(base, "@")
	var nearest *group
	for back := int64(0); back < min(int64(len(l.recent)), l.records-1); back++ {
		g := l.recent[(l.records-1-back)%int64(len(l.recent))]
		if g == nil || g.verdict.effect {
			continue
		}
		manager := isSystemd([]byte(g.by))
		own := base != "" && (strings.HasPrefix(g.by, base) || g.unit == unit && !manager || manager && strings.HasPrefix(g.text, unit))
		if own {
			g.lastWords++
			return
		}
		if nearest == nil && !manager && back < 4 {
			nearest = g
		}
	}
	if nearest != nil && base == "" {
		nearest.lastWords++
	}
}

// unitIn is the unit with whose name a text begins, or the one that it quotes.
func unitIn(text string) string {
	name, _, ok := strings.Cut(text, ": ")
	if ok && strings.Contains(name, ".") && !strings.ContainsAny(name, " /") {
		return name
	}
	return ""
}

// ranked are the groups, those that an admin would look at first being first.
func (l *Look) ranked() []*group {
	weight := map[*group]float64{}
	for _, g := range l.groups.all {
		weight[g] = l.weight(g)
	}
	out := slices.Clone(l.groups.all)
	sort := func(of []*group) {
		sorted.By(of, func(a, b *group) int {
			return cmp.Or(cmp.Compare(weight[b], weight[a]), cmp.Compare(a.firstLine, b.firstLine))
		})
	}
	sort(out)
	top := out[:min(len(out), 3*shown)]
	for _, g := range top { // a reason with a name is worth more than a complaint
		if !g.verdict.effect && l.failing(g) && slices.ContainsFunc(meaning.Of(g.text, g.id), reason) {
			weight[g]++
		}
	}
	sort(top)
	return out
}

// reason: how a program ended is not yet one.
func reason(m meaning.Meaning) bool { return !strings.HasPrefix(m.Says, "SIG") }

// weight puts together what a message says by itself and where it is.
func (l *Look) weight(g *group) float64 {
	w := g.verdict.score
	if g.lastWords > 0 {
		w += 2
		if g.verdict.score < telling {
			w += 1
		}
	}
	if g == l.firstFailure {
		w += 1.5
	}
	if l.lines >= 50 && g.lastLine > l.lines-l.lines/10 { // it goes on to the end, where logs are cut at what hurt
		w += 0.7
	}
	share := float64(g.count) / float64(max(l.records, 1))
	switch {
	case g.verdict.score < telling && l.records > 20: // of chatter the rare stands out
		w -= math.Log10(float64(g.count))
	case share > 0.2 && l.records > 200: // said all the time, and the host lived on
		w -= 1
	}
	return w
}
