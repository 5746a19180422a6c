package counters

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"fettle/internal/units"
)

// Result is counters and what Judge made of them.
type Result struct {
	Source   string        // where they are of
	Interval time.Duration // between two readings
	// Asked is how long they were to be recorded: 0 until interrupted, and of a
	// series that was recorded before.
	Asked     time.Duration
	Recording *Recording // nil of a series that was recorded before
	Counters  []Judged   // at least one
	// Truth is the rates that really passed, of simulated traffic, in bits a
	// second, and TruthAt the ends of their intervals.
	TruthAt []time.Time
	Truth   []float64
}

// Judged is a counter with its verdict.
type Judged struct {
	Series  Series
	Verdict Verdict
	Summary Summary
}

// JudgeAll judges series one by one.
func JudgeAll(all []Series) []Judged {
	var out []Judged
	for _, s := range all {
		v := Judge(s)
		out = append(out, Judged{s, v, Summarize(s, v)})
	}
	return out
}

// Interrupted tells whether recording ended an interval or more before its time.
func (r *Result) Interrupted() bool {
	return r.Recording != nil && r.Asked > 0 && r.Recording.Took+r.Interval < r.Asked
}

// Pick is the series that have one of the names, or are of an interface that
// has one; all without names. A name that no series has is an error.
func Pick(all []Series, names []string) ([]Series, error) {
	if len(names) == 0 {
		return all, nil
	}
	for _, n := range names {
		if !slices.ContainsFunc(all, func(s Series) bool { return s.named(n) }) {
			var have []string
			for _, s := range all[:min(len(all), 12)] {
				have = append(have, s.Name)
			}
			return nil, fmt.Errorf("contains no series of %s; it has: %s", n, strings.Join(have, ", "))
		}
	}
	var out []Series
	for _, s := range all {
		if slices.ContainsFunc(names, s.named) {
			out = append(out, s)
		}
	}
	return out, nil
}

func (s Series) named(name string) bool {
	return s.Name == name || slices.Contains(strings.Fields(s.Name), name)
}

// FormatTime writes a time with two figures or so: "12s", "4m30s".
func FormatTime(d time.Duration) string {
	switch {
	case d >= 10*time.Second:
		d = d.Round(time.Second)
	case d >= time.Second:
		d = d.Round(100 * time.Millisecond)
	default:
		d = d.Round(time.Millisecond)
	}
	return units.Whole(d)
}
