// Package bisect finds the commits that moved a figure. It reads the figure
// itself, not good or bad: it runs a commit again only while the evidence is
// thin, finds several changes in either direction, takes a commit that does not
// build for one that tells nothing, and says how sure it is.
package bisect

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"fettle/internal/ssh"
	"fettle/tools/bisect/belief"
)

// Hunt is what is looked for, and how.
type Hunt struct {
	History    *History
	Command    Command
	Figure     *Figure // what it reads, where that is known
	Terms      Terms   // the user's words for the ends
	Confidence float64 // at which it stops
	Prior      belief.Prior
	MaxRuns    int  // at which it gives up
	Jobs       int  // runs that go on side by side, on each host
	Fresh      bool // forget an earlier hunt
	// Tell hears of each reading, from one goroutine at a time.
	Tell func(Progress)
	// FirstParent stays on the line of first parents: a merge that moved the
	// figure is the answer then, and what it brought is not looked at.
	FirstParent bool
	Hosts       []string    // where commits are run, over SSH; none: here
	SSH         ssh.Options // how they are reached
	// Lost hears of a host without which the hunt goes on.
	Lost func(host string, why error)
}

// Figure says what a figure is.
type Figure struct {
	Name   string `json:"name"`
	Unit   string `json:"unit"`
	Higher bool   `json:"higher_is_better"`
}

// Judge is what a change of the figure means; "" where that is not known.
func (f *Figure) Judge(by float64) string {
	switch {
	case f == nil || by == 0:
		return ""
	case by > 0 == f.Higher:
		return "better"
	}
	return "worse"
}

// Progress is what is known after a reading.
type Progress struct {
	History *History // the line that is looked at: the hunt's, or what a merge brought
	Last    Run
	Runs    int
	Verdict belief.Verdict
	Gaps    []belief.Gap
	Left    int           // runs still to do, by a guess
	Each    time.Duration // how long a run takes
}

// Run is one reading of one commit, or the reason why there is none.
type Run struct {
	At      int           `json:"at"`
	Figure  float64       `json:"figure"`
	Skipped string        `json:"skipped,omitempty"`
	Log     string        `json:"log,omitempty"`
	Start   time.Time     `json:"start"`
	Took    time.Duration `json:"took_ns"`
	Built   bool          `json:"built"`
	Host    string        `json:"host,omitempty"` // "": this one
}

// Result is how a hunt ended.
type Result struct {
	Verdict belief.Verdict
	Sure    bool // the confidence asked for was reached
	Drifted bool // the machine's drift showed, and was taken out
	Gaps    []belief.Gap
	Scale   float64 // noise of one reading
	Runs    []Run   // on this line
	Skipped map[int]string
	Total   int              // runs of the whole hunt up to now
	Brought map[int][]Branch // of merges that moved the figure: what was found in them
	// Ends are the levels of the two ends, by the readings of these alone.
	Ends [2]belief.Level
}

// session is what all lines of one hunt share: its journal, and where it runs
// commits.
type session struct {
	*Hunt
	dir      string
	journal  *journal
	fleet    *ssh.Client // nil without hosts
	places   []place
	lost     []place
	machines []string // hosts whose readings the journal has
}

// Run hunts until the confidence is reached. Killed at any instant, the next
// call goes on with what was read.
func (h *Hunt) Run(ctx context.Context) (*Result, error) {
	s, err := h.begin()
	if err != nil {
		return nil, err
	}
	defer s.journal.close()
	defer s.leave()
	if err := s.prepare(ctx); err != nil {
		return nil, err
	}
	return s.hunt(ctx, h.History, h.Prior, 1-h.Confidence)
}

// hunt finds the changes of a line, and goes on inside the merges among them.
// It may be wrong with a probability of risk, all told: where there is a merge,
// the line takes half of that, and the branches share the rest.
func (s *session) hunt(ctx context.Context, h *History, prior belief.Prior, risk float64) (*Result, error) {
	l := s.line(h, prior, 1-risk)
	r, err := l.run(ctx)
	if err == nil && r.Sure && l.search.Prior.Extra < belief.Several.Extra && (r.Partial() || l.search.More(l.readings())) {
		r, err = l.lookOn(ctx, r)
		prior = l.search.Prior
	}
	if err != nil || s.FirstParent || len(r.merges(h)) == 0 {
		return r, err
	}
	l.search.Confidence = 1 - risk/2
	l.thought.is = nil
	if r, err = l.run(ctx); err != nil || !r.Sure {
		return r, err
	}
	return r, s.descend(ctx, h, r, prior, risk/2)
}

// lookOn looks for more changes where one explains a part of what the ends differ
// by. It takes as many runs again as that one took, at most: a rest that they do not
// find is told with the change that is sure.
func (l *line) lookOn(ctx context.Context, first *Result) (*Result, error) {
	one := l.search.Prior
	l.most = 2 * l.session.runs()
	l.search.Prior, l.thought.is = l.search.Wider(), nil
	r, err := l.run(ctx)
	if err != nil || r.Sure {
		l.most = 0
		return r, err
	}
	l.search.Prior, l.thought.is, l.most = one, nil, 0
	if r = l.result(); r.Sure {
		return r, nil
	}
	first.Runs, first.Total = r.Runs, r.Total
	return first, nil
}

// dir is the hunt's folder, below the repository's git folder.
func (h *Hunt) dir() string { return filepath.Join(h.History.GitDir, "fettle-bisect") }

// Logs is the folder with the output of builds and runs that gave no figure.
func (h *Hunt) Logs() string { return filepath.Join(h.dir(), "logs") }

// begin opens the hunt's folder and its journal.
func (h *Hunt) begin() (*session, error) {
	s := &session{Hunt: h, dir: h.dir()}
	if err := makeFolder(s.dir); err != nil {
		return nil, err
	}
	if h.Fresh {
		for _, old := range []string{"journal.jsonl", "logs"} {
			if err := os.RemoveAll(filepath.Join(s.dir, old)); err != nil {
				return nil, fmt.Errorf("forgetting the earlier hunt: %w", err)
			}
		}
	}
	if err := makeFolder(s.Logs()); err != nil {
		return nil, err
	}
	commits := h.History.Commits
	b := begun{
		Good:  commits[0].Hash,
		Bad:   commits[len(commits)-1].Hash,
		Build: h.Command.Build,
		Run:   h.Command.Run,
		In:    strings.Join(h.Command.In, " "),
		Tests: h.Command.Kind == belief.Tests,
	}
	if h.Command.Match != nil {
		b.Match = h.Command.Match.String()
	}
	var err error
	s.journal, err = openJournal(s.dir, b)
	return s, err
}

// runs is how many there were in the whole hunt.
func (s *session) runs() int { return len(s.journal.entries) - 1 }

// leave removes the worktrees: also after an interrupt.
func (s *session) leave() {
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	for _, p := range slices.Concat(s.places, s.lost) {
		p.leave(ctx)
	}
	if s.fleet != nil {
		_ = s.fleet.Close()
	}
}
