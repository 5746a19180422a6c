package bisect

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"fettle/internal/ui"
	"fettle/tools/bisect/belief"
)

// line is the search on one line of commits; one goroutine owns it.
type line struct {
	*session
	history  *History
	index    map[string]int // by hash
	runs     []Run
	skipped  map[int]string
	inFlight []job // being read
	rng      *rand.Rand
	search   belief.Search
	most     int // runs of the whole hunt before it stops looking on; 0: MaxRuns
	thought  struct {
		runs int // after so many
		is   *belief.Thought
	}
}

// EndError is that an end of a line gives no reading.
type EndError struct {
	commit Commit
	why    string
	log    string
}

func (e *EndError) Error() string {
	return fmt.Sprintf(
		"%s (%s), an end of the history, gives no reading: %s; its log is %s",
		e.commit.Short(),
		ui.Visible(e.commit.Subject),
		e.why,
		e.log,
	)
}

// line begins with what the journal has of its commits.
func (s *session) line(h *History, prior belief.Prior, confidence float64) *line {
	l := &line{session: s, history: h, index: map[string]int{}, skipped: map[int]string{},
		rng: rand.New(rand.NewPCG(1, 2))}
	l.search = belief.Search{Kind: s.Command.Kind, Last: len(h.Commits) - 1, Prior: prior, Confidence: confidence,
		Usable: func(at int) bool { return l.skipped[at] == "" },
		// Each is checked out and built before a run: the worktree held another.
		Cost: func(int) float64 { return 1 }}
	for i, c := range h.Commits {
		l.index[c.Hash] = i
	}
	for _, e := range s.journal.entries[1:] {
		if at, ok := l.index[e.Commit]; ok {
			s.machine(e.Host)
			l.remember(Run{At: at, Figure: e.Figure, Skipped: e.Skipped, Log: e.Log, Built: e.Built, Host: e.Host,
				Start: time.UnixMicro(int64(e.Start * 1e6)), Took: time.Duration(e.Seconds * float64(time.Second))})
		}
	}
	return l
}

func (l *line) remember(r Run) {
	if r.Skipped != "" {
		l.skipped[r.At] = r.Skipped
	}
	l.runs = append(l.runs, r)
}

// run reads commits until it is sure.
func (l *line) run(ctx context.Context) (*Result, error) {
	if err := l.ends(); err != nil {
		return nil, err // as an earlier run of this hunt found
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	results := make(chan job)
	for {
		for _, p := range l.places {
			if ctx.Err() != nil || l.done() {
				break
			}
			if slices.ContainsFunc(l.inFlight, func(j job) bool { return j.at == p }) {
				continue
			}
			if at, ok := l.next(p.host()); ok {
				l.inFlight = append(l.inFlight, job{at: p, run: Run{At: at, Host: p.host()}})
				go l.send(ctx, at, p, results)
			}
		}
		if len(l.inFlight) == 0 {
			if err := context.Cause(ctx); err != nil {
				return nil, err
			}
			return l.result(), nil
		}
		j := <-results
		l.inFlight = slices.DeleteFunc(l.inFlight, func(f job) bool { return f.at == j.at })
		if err := l.take(j); err != nil {
			stop(err)
		}
	}
}

// ends is nil while both ends can be read.
func (l *line) ends() error {
	for _, r := range l.runs {
		if r.Skipped != "" && (r.At == 0 || r.At == l.search.Last) {
			return &EndError{l.history.Commits[r.At], r.Skipped, r.Log}
		}
	}
	return nil
}

// readings are the runs that gave a figure.
func (l *line) readings() []belief.Reading {
	var list []belief.Reading
	for _, r := range l.runs {
		if r.Skipped == "" {
			list = append(list, belief.Reading{At: r.At, Figure: r.Figure, Time: float64(r.Start.UnixMicro()) / 1e6, Host: l.machine(r.Host)})
		}
	}
	return list
}

// think is what is believed now; nil before both ends were read, where their
// levels are not known.
func (l *line) think() *belief.Thought {
	if l.thought.is == nil || l.thought.runs != len(l.runs) {
		l.thought.runs, l.thought.is = len(l.runs), l.search.Think(l.readings())
	}
	return l.thought.is
}

// count is how many readings were begun of which is true.
func (l *line) count(of func(Run) bool) int {
	n := 0
	for _, r := range l.runs {
		if r.Skipped == "" && of(r) {
			n++
		}
	}
	for _, j := range l.inFlight {
		if of(j.run) {
			n++
		}
	}
	return n
}

// done: sure enough, or out of runs.
func (l *line) done() bool {
	t := l.think()
	most := l.MaxRuns
	if l.most > 0 {
		most = min(most, l.most)
	}
	return l.session.runs()+len(l.inFlight) >= most || t != nil && t.Sure
}

// next is the commit to read next on a host.
func (l *line) next(host string) (at int, ok bool) {
	p := belief.Pace{
		Runs:  l.count(func(r Run) bool { return r.Host == host }),
		Count: func(at int) int { return l.count(func(r Run) bool { return r.At == at }) },
		Busy:  func(at int) bool { return slices.ContainsFunc(l.inFlight, func(j job) bool { return j.run.At == at }) },
	}
	if len(l.Hosts) > 1 || len(l.machines) > 1 {
		p.Here = func(at int) int { return l.count(func(r Run) bool { return r.At == at && r.Host == host }) }
	}
	return l.search.Next(l.think(), p, l.rng)
}

func (l *line) progress(last Run) Progress {
	pr := Progress{History: l.history, Last: last, Runs: l.session.runs()}
	var took time.Duration
	for _, r := range l.runs {
		took += r.Took
	}
	pr.Each = took / time.Duration(len(l.runs))
	t := l.think()
	if t == nil {
		return pr
	}
	pr.Verdict, pr.Gaps = t.Verdict, t.Gaps()
	if !t.Sure {
		pr.Left = l.left(pr.Gaps)
	}
	return pr
}

// left guesses how many runs are still to come: the bits that are missing,
// by the bits a run has brought so far.
func (l *line) left(gaps []belief.Gap) int {
	missing, whole := 0.0, math.Log2(float64(len(l.history.Commits)))
	for _, g := range gaps {
		if g.Change > 1e-6 {
			missing += g.Change * (math.Log2(float64(g.Last-g.First+1)) - math.Log2(min(g.Change, 1)))
		}
	}
	missing += 3 // to be sure
	brought := max(whole+3-missing, 0.5) / float64(len(l.runs))
	return max(1, int(math.Ceil(missing/brought)))
}

func (l *line) result() *Result {
	r := &Result{Runs: l.runs, Skipped: l.skipped, Total: l.session.runs()}
	if t := l.think(); t != nil {
		r.Verdict, r.Gaps, r.Scale, r.Drifted, r.Sure = t.Verdict, t.Gaps(), t.Scale(), t.Drifted, t.Sure
		r.Ends[0], r.Ends[1] = t.Ends()
	}
	return r
}
