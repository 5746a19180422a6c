// Package bisect finds the commits that moved a figure. It reads the figure
// itself, not good or bad: it runs a commit again only while the evidence is
// thin, finds several changes in either direction, takes a commit that does not
// build for one that tells nothing, and says how sure it is.
package bisect

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"fettle/bisect/belief"
)

// Hunt is what is looked for, and how.
type Hunt struct {
	History    *History
	Command    Command
	Confidence float64 // at which it stops
	Prior      belief.Prior
	MaxRuns    int  // at which it gives up
	Jobs       int  // worktrees in which runs go on side by side
	Fresh      bool // forget an earlier hunt
	// Tell hears of each reading, from one goroutine at a time.
	Tell func(Progress)
}

// Progress is what is known after a reading.
type Progress struct {
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
}

// Result is how a hunt ended.
type Result struct {
	Verdict belief.Verdict
	Sure    bool // the confidence asked for was reached
	Drifted bool // the machine's drift showed, and was taken out
	Gaps    []belief.Gap
	Scale   float64 // noise of one reading
	Runs    []Run
	Skipped map[int]string
}

// state is a hunt under way; one goroutine owns it.
type state struct {
	*Hunt
	dir     string
	journal *journal
	index   map[string]int // by hash
	runs    []Run
	skipped map[int]string
	flying  map[int]int // commits being read, and how often
	rng     *rand.Rand
	search  belief.Search
	thought struct {
		runs int // after so many
		is   *belief.Thought
	}
}

// Run hunts until the confidence is reached. Killed at any instant, the next
// call goes on with what was read.
func (h *Hunt) Run(ctx context.Context) (*Result, error) {
	s, err := h.begin()
	if err != nil {
		return nil, err
	}
	defer s.journal.close()
	trees, err := s.worktrees(ctx)
	defer s.leave(trees)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	results := make(chan job)
	idle := trees
	for {
		for len(idle) > 0 && ctx.Err() == nil && !s.done() {
			at, ok := s.next()
			if !ok {
				break
			}
			s.flying[at]++
			go s.send(ctx, at, idle[len(idle)-1], results)
			idle = idle[:len(idle)-1]
		}
		if len(s.flying) == 0 {
			return s.result(), context.Cause(ctx)
		}
		j := <-results
		idle = append(idle, j.tree)
		if s.flying[j.run.At]--; s.flying[j.run.At] == 0 {
			delete(s.flying, j.run.At)
		}
		if err := s.take(j); err != nil {
			stop(err)
		}
	}
}

// dir is the hunt's folder, below the repository's git folder.
func (h *Hunt) dir() string { return filepath.Join(h.History.GitDir, "fettle-bisect") }

// Logs is the folder with the output of builds and runs that gave no figure.
func (h *Hunt) Logs() string { return filepath.Join(h.dir(), "logs") }

// begin opens the hunt's folder.
func (h *Hunt) begin() (*state, error) {
	s := &state{Hunt: h, dir: h.dir(), index: map[string]int{},
		skipped: map[int]string{}, flying: map[int]int{}, rng: rand.New(rand.NewPCG(1, 2))}
	commits := h.History.Commits
	s.search = belief.Search{Kind: h.Command.Kind, Last: len(commits) - 1, Prior: h.Prior, Confidence: h.Confidence,
		Usable: func(at int) bool { return s.skipped[at] == "" },
		// Each is checked out and built before a run: the worktree held another.
		Cost: func(int) float64 { return 1 }}
	for i, c := range commits {
		s.index[c.Hash] = i
	}
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
	b := begun{Good: commits[0].Hash, Bad: commits[len(commits)-1].Hash, Build: h.Command.Build, Run: h.Command.Run, In: strings.Join(h.Command.In, " "),
		Tests: h.Command.Kind == belief.Tests}
	if h.Command.Match != nil {
		b.Match = h.Command.Match.String()
	}
	var err error
	if s.journal, err = openJournal(s.dir, b); err != nil {
		return nil, err
	}
	for _, e := range s.journal.entries[1:] {
		if at, ok := s.index[e.Commit]; ok {
			s.remember(Run{At: at, Figure: e.Figure, Skipped: e.Skipped, Log: e.Log, Built: e.Built,
				Start: time.UnixMicro(int64(e.Start * 1e6)), Took: time.Duration(e.Seconds * float64(time.Second))})
		}
	}
	return s, nil
}

func (s *state) remember(r Run) {
	if r.Skipped != "" {
		s.skipped[r.At] = r.Skipped
	}
	s.runs = append(s.runs, r)
}

func (s *state) worktrees(ctx context.Context) ([]*worktree, error) {
	var trees []*worktree
	for i := range max(1, s.Jobs) {
		w, err := addWorktree(ctx, s.History, filepath.Join(s.dir, fmt.Sprintf("tree-%d", i)))
		if err != nil {
			return trees, err
		}
		trees = append(trees, w)
	}
	return trees, nil
}

// leave removes the worktrees: also after an interrupt.
func (s *state) leave(trees []*worktree) {
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	for _, w := range trees {
		_ = w.remove(ctx) // what stays is found and used by the next hunt
	}
}

// job is a reading on its way.
type job struct {
	tree *worktree
	run  Run
	hash string
	err  error
}

// send reads a commit and sends what came of it.
func (s *state) send(ctx context.Context, at int, tree *worktree, results chan<- job) {
	c := s.History.Commits[at]
	j := job{tree: tree, hash: c.Hash, run: Run{At: at, Start: time.Now(), Built: s.Command.Build != ""}}
	j.run.Figure, j.run.Log, j.err = s.readAt(ctx, c, tree)
	var why *skip
	if errors.As(j.err, &why) {
		j.run.Skipped, j.err = why.why, nil
	}
	j.run.Took = time.Since(j.run.Start)
	results <- j
}

// readAt checks a commit out, builds it and runs it.
func (s *state) readAt(ctx context.Context, c Commit, tree *worktree) (figure float64, log string, err error) {
	f, err := os.CreateTemp(s.Logs(), c.Short()+"-*.log")
	if err != nil {
		return 0, "", fmt.Errorf("making a log: %w", err)
	}
	defer f.Close()
	if err := tree.checkout(ctx, c.Hash); err != nil {
		if ctx.Err() != nil {
			return 0, f.Name(), ctx.Err()
		}
		return 0, f.Name(), &skip{err.Error()}
	}
	figure, err = s.Command.read(ctx, tree.dir, c.Hash, f)
	if err == nil {
		os.Remove(f.Name()) // logs are kept of what went wrong
		return figure, "", nil
	}
	return 0, f.Name(), err
}

// take writes a reading down, then counts it.
func (s *state) take(j job) error {
	if j.err != nil {
		return j.err
	}
	e := entry{Commit: j.hash, Figure: j.run.Figure, Skipped: j.run.Skipped, Log: j.run.Log, Built: j.run.Built,
		Start: float64(j.run.Start.UnixMicro()) / 1e6, Seconds: j.run.Took.Seconds()}
	if err := s.journal.add(e); err != nil {
		return err
	}
	s.remember(j.run)
	last := len(s.History.Commits) - 1
	if why, bad := s.skipped[j.run.At]; bad && (j.run.At == 0 || j.run.At == last) {
		c := s.History.Commits[j.run.At]
		return fmt.Errorf("%s (%s), an end of the history, gives no reading: %s; its log is %s", c.Short(), c.Subject, why, j.run.Log)
	}
	if s.Tell != nil {
		s.Tell(s.progress(j.run))
	}
	return nil
}

// readings are the runs that gave a figure.
func (s *state) readings() []belief.Reading {
	var list []belief.Reading
	for _, r := range s.runs {
		if r.Skipped == "" {
			list = append(list, belief.Reading{At: r.At, Figure: r.Figure, Time: float64(r.Start.UnixMicro()) / 1e6})
		}
	}
	return list
}

// think is what is believed now; nil before both ends were read, where their
// levels are not known.
func (s *state) think() *belief.Thought {
	if s.thought.is == nil || s.thought.runs != len(s.runs) {
		s.thought.runs, s.thought.is = len(s.runs), s.search.Think(s.readings())
	}
	return s.thought.is
}

// read is how often a commit was read.
func (s *state) read(at int) int {
	n := 0
	for _, r := range s.runs {
		if r.At == at && r.Skipped == "" {
			n++
		}
	}
	return n
}

// done: sure enough, or out of runs.
func (s *state) done() bool {
	t := s.think()
	return len(s.runs)+len(s.flying) >= s.MaxRuns || t != nil && t.Sure
}

// next is the commit to read next.
func (s *state) next() (at int, ok bool) {
	count := func(at int) int { return s.read(at) + s.flying[at] }
	busy := func(at int) bool { return s.flying[at] > 0 }
	return s.search.Next(s.think(), len(s.runs)+len(s.flying), count, busy, s.rng)
}

func (s *state) progress(last Run) Progress {
	pr := Progress{Last: last, Runs: len(s.runs)}
	var took time.Duration
	for _, r := range s.runs {
		took += r.Took
	}
	pr.Each = took / time.Duration(len(s.runs))
	t := s.think()
	if t == nil {
		return pr
	}
	pr.Verdict, pr.Gaps = t.Verdict, t.Gaps()
	if !t.Sure {
		pr.Left = s.left(pr.Gaps)
	}
	return pr
}

// left guesses how many runs are still to come: the bits that are missing,
// by the bits a run has brought so far.
func (s *state) left(gaps []belief.Gap) int {
	missing, whole := 0.0, math.Log2(float64(len(s.History.Commits)))
	for _, g := range gaps {
		if g.Change > 1e-6 {
			missing += g.Change * (math.Log2(float64(g.Last-g.First+1)) - math.Log2(min(g.Change, 1)))
		}
	}
	missing += 3 // to be sure
	brought := max(whole+3-missing, 0.5) / float64(len(s.runs))
	return max(1, int(math.Ceil(missing/brought)))
}

func (s *state) result() *Result {
	r := &Result{Runs: s.runs, Skipped: s.skipped}
	if t := s.think(); t != nil {
		r.Verdict, r.Gaps, r.Scale, r.Drifted, r.Sure = t.Verdict, t.Gaps(), t.Scale(), t.Drifted, t.Sure
	}
	return r
}
