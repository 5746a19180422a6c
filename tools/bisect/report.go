package bisect

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"fettle/internal/chart"
	"fettle/internal/ui"
	"fettle/tools/bisect/belief"
)

// Terms are the user's words for the two ends, as of git bisect --term-old and
// --term-new.
type Terms struct{ Good, Bad string }

// Bar draws the belief over the history: one column for each stretch of
// commits, the darker the likelier it holds a change.
func Bar(gaps []belief.Gap, commits, width int, ascii bool) string {
	shades := []rune(" ░▒▓█")
	if ascii {
		shades = []rune(" .:*#")
	}
	columns := make([]float64, max(1, min(width, commits)))
	for _, g := range gaps {
		each := g.Change / float64(g.Last-g.First+1)
		for at := g.First; at <= g.Last; at++ {
			columns[(at-1)*len(columns)/commits] += each
		}
	}
	var b strings.Builder
	for _, p := range columns {
		shade := 0
		if p > 0.005 {
			shade = min(len(shades)-1, 1+int(p*float64(len(shades)-1)))
		}
		b.WriteRune(shades[shade])
	}
	return b.String()
}

// Effect is how far a change moved the figure: absolute, and its standard error.
func Effect(c belief.Change) (by, err float64) {
	return c.After.Mean - c.Before.Mean, math.Hypot(c.Before.Error, c.After.Error)
}

// Partial tells whether the changes explain only a part of what the ends differ by,
// judged by the readings of the ends alone: a fifth of it is missing, or more, and
// that is more than the noise of these readings makes.
func (r *Result) Partial() bool {
	if len(r.Verdict.Changes) == 0 {
		return false
	}
	rest, whole, err := r.rest()
	return math.Abs(rest) > partialShare*math.Abs(whole) && math.Abs(rest) > partialErrors*err
}

const (
	partialShare  = 0.2
	partialErrors = 1.5
)

// rest is what the changes leave of the difference between the ends.
func (r *Result) rest() (rest, whole, err float64) {
	first, last := r.Ends[0], r.Ends[1]
	whole = last.Mean - first.Mean
	rest = whole
	for _, c := range r.Verdict.Changes {
		by, _ := Effect(c)
		rest -= by
	}
	return rest, whole, math.Hypot(first.Error, last.Error)
}

// Plot is the readings and the levels over the history, and the belief.
func (r *Result) Plot(h *History) []chart.Plot {
	readings := chart.Curve{Name: "readings", Points: true}
	for _, run := range r.Runs {
		if run.Skipped == "" {
			readings.X = append(readings.X, float64(run.At))
			readings.Y = append(readings.Y, run.Figure)
		}
	}
	levels := chart.Curve{Name: "level"}
	from := 0
	for i, l := range r.Verdict.Levels {
		to := len(h.Commits) - 1
		if i < len(r.Verdict.Changes) {
			to = r.Verdict.Changes[i].Last
		}
		levels.X = append(levels.X, float64(from), float64(to))
		levels.Y = append(levels.Y, l.Mean, l.Mean)
		from = to
	}
	trust := chart.Curve{Name: "probability of a change"}
	for _, g := range r.Gaps {
		each := g.Change / float64(g.Last-g.First+1)
		trust.X = append(trust.X, float64(g.First), float64(g.Last))
		trust.Y = append(trust.Y, each, each)
	}
	span := fmt.Sprintf("commits after %s", h.Commits[0].Short())
	return []chart.Plot{
		{Name: "figure", Title: "The figure over the history", X: span, Y: "figure", Curves: []chart.Curve{readings, levels}},
		{Name: "belief", Title: "Where the figure moved", X: span, Y: "probability per commit", Curves: []chart.Curve{trust}},
	}
}

// GitLog is a log for git bisect replay (git-bisect(1)): the ends, and what was
// read on both sides of the largest change.
func (r *Result) GitLog(h *History, t Terms) string {
	var b strings.Builder
	last := len(h.Commits) - 1
	line := func(term string, c Commit) {
		fmt.Fprintf(&b, "# %s: [%s] %s\n", term, c.Hash, ui.Visible(c.Subject))
		fmt.Fprintf(&b, "git bisect %s %s\n", term, c.Hash)
	}
	fmt.Fprintf(&b, "git bisect start '--term-old=%s' '--term-new=%s'\n", t.Good, t.Bad)
	line(t.Bad, h.Commits[last])
	line(t.Good, h.Commits[0])
	r.marks(h, t, map[string]bool{h.Commits[0].Hash: true, h.Commits[last].Hash: true}, line)
	if first, ok := r.firstBad(h); ok {
		fmt.Fprintf(&b, "# first %s commit: [%s] %s\n", t.Bad, first.Hash, ui.Visible(first.Subject))
	}
	return b.String()
}

// marks tells line of each commit that was read: on which side of the largest
// change it lies, and of the largest in the branches of the merge that made it.
func (r *Result) marks(h *History, t Terms, seen map[string]bool, line func(term string, c Commit)) {
	c, ok := r.largest()
	for _, run := range r.Runs {
		commit := h.Commits[run.At]
		if seen[commit.Hash] {
			continue
		}
		seen[commit.Hash] = true
		switch {
		case r.Skipped[run.At] != "":
			line("skip", commit)
		case !ok || run.At < c.First: // a branch that moved nothing is as good as its beginning
			line(t.Good, commit)
		case run.At >= c.Last:
			line(t.Bad, commit)
		}
	}
	for _, b := range r.Brought[c.Last] {
		if b.Result != nil {
			b.Result.marks(b.History, t, seen, line)
		}
	}
}

// firstBad is the commit that made the largest change, inside merges where the
// hunt went there.
func (r *Result) firstBad(h *History) (Commit, bool) {
	c, ok := r.largest()
	if !ok || !r.Sure || c.First != c.Last {
		return Commit{}, false
	}
	for _, b := range r.Brought[c.Last] {
		if b.Result == nil {
			continue
		}
		if first, ok := b.Result.firstBad(b.History); ok {
			return first, true
		}
	}
	return h.Commits[c.Last], true
}

// largest is the change that moved the figure most.
func (r *Result) largest() (belief.Change, bool) {
	if len(r.Verdict.Changes) == 0 {
		return belief.Change{}, false
	}
	return slices.MaxFunc(r.Verdict.Changes, func(a, b belief.Change) int {
		x, _ := Effect(a)
		y, _ := Effect(b)
		switch d := math.Abs(x) - math.Abs(y); {
		case d < 0:
			return -1
		case d > 0:
			return 1
		}
		return 0
	}), true
}

// Report is the result for programs.
type Report struct {
	Figure     *Figure        `json:"figure,omitempty"`
	Sure       bool           `json:"sure"`
	Confidence float64        `json:"confidence"`
	Drifted    bool           `json:"drifted"`
	Noise      float64        `json:"noise"`   // of one run, in the figure's unit
	Ends       [2]float64     `json:"ends"`    // the figure at both ends
	Partial    bool           `json:"partial"` // the changes explain only a part of what the ends differ by
	Changes    []ReportChange `json:"changes"`
	Runs       []ReportRun    `json:"runs"`
}

// ReportChange is one change, or the run of commits that holds it.
type ReportChange struct {
	First       Commit  `json:"first"`
	Last        Commit  `json:"last"`
	Probability float64 `json:"probability"`
	Before      float64 `json:"before"`
	After       float64 `json:"after"`
	Error       float64 `json:"standard_error"` // of the difference
	// Of a merge that was looked into: what came with it.
	Brought []ReportBranch `json:"brought,omitempty"`
}

// ReportBranch is a line of commits that a merge brought.
type ReportBranch struct {
	Tip     Commit         `json:"tip"`
	Commits int            `json:"commits"`
	Unread  string         `json:"unread,omitempty"` // why it was not looked at
	Changes []ReportChange `json:"changes"`
	Runs    []ReportRun    `json:"runs"`
}

// ReportRun is one run.
type ReportRun struct {
	Commit string `json:"commit"`
	Run
}

// Report puts names to the places in the history.
func (r *Result) Report(h *History) Report {
	return Report{Sure: r.Sure, Confidence: r.Confidence(), Drifted: r.Drifted, Noise: r.Scale,
		Ends: [2]float64{r.Ends[0].Mean, r.Ends[1].Mean}, Partial: r.Partial(),
		Changes: r.changes(h), Runs: r.list(h)}
}

func (r *Result) changes(h *History) []ReportChange {
	out := []ReportChange{}
	for _, c := range r.Verdict.Changes {
		_, err := Effect(c)
		change := ReportChange{
			First:       h.Commits[c.First],
			Last:        h.Commits[c.Last],
			Probability: c.Probability,
			Before:      c.Before.Mean,
			After:       c.After.Mean,
			Error:       err,
		}
		for _, b := range r.Brought[c.Last] {
			in := ReportBranch{
				Tip:     b.History.tip(),
				Commits: len(b.History.Commits) - 1,
				Unread:  b.Why,
				Changes: []ReportChange{},
				Runs:    []ReportRun{},
			}
			if b.Result != nil {
				in.Changes, in.Runs = b.Result.changes(b.History), b.Result.list(b.History)
			}
			change.Brought = append(change.Brought, in)
		}
		out = append(out, change)
	}
	return out
}

func (r *Result) list(h *History) []ReportRun {
	out := []ReportRun{}
	for _, run := range r.Runs {
		out = append(out, ReportRun{h.Commits[run.At].Hash, run})
	}
	return out
}
