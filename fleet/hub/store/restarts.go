package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"fettle/fleet/hub/message"
	"fettle/internal/ui"
	"fettle/internal/units"
	"fettle/report"
)

// Restart is a host that restarted in some time, or that went away and has not come back.
type Restart struct {
	HostID int64
	Host   HostRef
	// Back is when it reported after its last start; zero: it has not.
	Back time.Time
	// Away is since when nothing was heard of it; zero: it speaks. Said: it said that it stops.
	Away time.Time
	Said bool
	// Compared: it was compared with what it was before its start.
	Compared bool
	Lost     []Lost

	labels string
}

// AwayAfter is how long an agent says nothing at most, and some minutes: a host that is silent
// for longer is away.
const AwayAfter = message.BeatAfter + 15*time.Minute

// Lost is something of a host that did not come back as it was.
type Lost struct {
	Subject, Summary string
	Rank             int
}

// Labelled tells whether the host has all of these labels now.
func (r *Restart) Labelled(want []Label) (bool, error) {
	return (&Tidings{labels: r.labels}).Labelled(want)
}

// Restarts are the hosts that restarted from one time to another, and those that were last
// heard about then and are away: they said that they stop, or are silent since silent.
func (db *DB) Restarts(ctx context.Context, scope Scope, from, to, silent time.Time) ([]Restart, error) {
	w := &where{}
	scope.hosts(w, "")
	f, t := millis(from), millis(to)
	// Who fell silent without a word may have spoken last some time before.
	w.and(`retired = 0 AND (restarted >= ? AND restarted < ? OR down >= ? AND down < ? OR last_seen < ? AND last_seen >= ? AND last_seen < ?)`,
		f, t, f, t, millis(silent), millis(from.Add(-message.BeatAfter)), t)
	rows, err := db.query(ctx, `SELECT id, agent, name, grp, labels, restarted, down, last_seen,
		CASE WHEN compared <> '' AND compared = boot THEN 1 ELSE 0 END FROM hosts`+w.String()+" ORDER BY name, id", w.args...)
	list, err := read(rows, err, func(row scanner) (r Restart, err error) {
		var back, down, seen int64
		err = row.Scan(&r.HostID, &r.Host.Agent, &r.Host.Name, &r.Host.Group, &r.labels, &back, &down, &seen, &r.Compared)
		if back >= f && back < t {
			r.Back = moment(back)
		}
		if down > 0 || seen < millis(silent) {
			r.Away, r.Said = moment(max(down, seen)), down > 0
		}
		return r, err
	})
	if err != nil {
		return nil, err
	}
	w = &where{}
	scope.hosts(w, "h.")
	w.and("f.trap = ? AND f.rank > 0 AND f.accepted = 0 AND h.restarted >= ? AND h.restarted < ?", report.NotAsBefore.ID(), f, t)
	rows, err = db.query(ctx, "SELECT h.id, f.subject, f.summary, f.rank FROM findings f JOIN hosts h ON h.id = f.host"+w.String()+
		" ORDER BY f.rank DESC, f.subject", w.args...)
	type of struct {
		host int64
		Lost
	}
	lost, err := read(rows, err, func(row scanner) (l of, err error) {
		return l, row.Scan(&l.host, &l.Subject, &l.Summary, &l.Rank)
	})
	at := map[int64]int{}
	for i := range list {
		at[list[i].HostID] = i
	}
	for _, l := range lost {
		if i, ok := at[l.host]; ok {
			list[i].Lost = append(list[i].Lost, l.Lost)
		}
	}
	return list, err
}

// Cause is something that did not come back, and the hosts that lack it.
type Cause struct {
	Subject  string    `json:"subject"`
	Severity string    `json:"severity"`
	Summary  string    `json:"summary"`
	Hosts    []HostRef `json:"hosts"`
	rank     int
}

// AwayHost is a host that has not come back.
type AwayHost struct {
	Host  HostRef   `json:"host"`
	Since time.Time `json:"since"`
	// Stopped: it said that it stops. Else it fell silent.
	Stopped bool `json:"stopped"`
}

// Comings is what came of restarts.
type Comings struct {
	Restarted   int        `json:"restarted"`    // hosts
	AsBefore    int        `json:"as_before"`    // of them, that are as they were
	NotCompared []HostRef  `json:"not_compared"` // of them, of which nobody knows
	Lacking     int        `json:"lacking"`      // of them, that came back without something
	Causes      []Cause    `json:"causes"`       // what they lack, the worst first
	Away        []AwayHost `json:"away"`         // that have not come back, the longest away first
}

// Sum gathers restarts by what came of them.
func Sum(list []Restart) Comings {
	out := Comings{NotCompared: []HostRef{}, Causes: []Cause{}, Away: []AwayHost{}}
	at := map[[2]string]int{}
	for i := range list {
		r := &list[i]
		if !r.Away.IsZero() {
			out.Away = append(out.Away, AwayHost{r.Host, r.Away, r.Said})
			continue
		}
		out.Restarted++
		switch {
		case len(r.Lost) > 0:
			out.Lacking++
		case !r.Compared:
			out.NotCompared = append(out.NotCompared, r.Host)
		default:
			out.AsBefore++
		}
		for _, l := range r.Lost {
			key := [2]string{l.Subject, l.Summary}
			k, ok := at[key]
			if !ok {
				k = len(out.Causes)
				at[key] = k
				out.Causes = append(out.Causes, Cause{Subject: l.Subject, Summary: l.Summary})
			}
			c := &out.Causes[k]
			c.Hosts, c.rank = append(c.Hosts, r.Host), max(c.rank, l.Rank)
			c.Severity = rankName(c.rank)
		}
	}
	slices.SortStableFunc(out.Causes, func(a, b Cause) int {
		return cmp.Or(b.rank-a.rank, len(b.Hosts)-len(a.Hosts), strings.Compare(a.Subject, b.Subject))
	})
	slices.SortStableFunc(out.Away, func(a, b AwayHost) int { return a.Since.Compare(b.Since) })
	return out
}

// Few names some hosts, for people.
func Few(hosts []HostRef) string {
	var names []string
	for _, h := range hosts {
		names = append(names, ui.Visible(h.Name))
	}
	return ui.Few(names, 5)
}

// Headline says it in a line.
func (c *Comings) Headline() string {
	parts := []string{units.Count(c.Restarted, "host restarted", "hosts restarted")}
	for _, p := range []struct {
		n    int
		says string
	}{{c.AsBefore, "as before"}, {c.Lacking, "without something"}, {len(c.NotCompared), "not compared"}} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.says))
		}
	}
	if k := len(c.Away); k > 0 {
		parts = append(parts, units.Count(k, "has", "have")+" not come back")
	}
	return strings.Join(parts, ", ")
}
