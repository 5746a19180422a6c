package lab

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"fettle/internal/build"
	"fettle/internal/files"
)

// Record is how scenarios and experiments ended when they were last played: a table in
// Markdown, among the sources.
type Record struct {
	above string // what the file holds before the table
	of    map[string]Played
}

// Played is a line of the record.
type Played struct {
	Name    string // TRAP/SCENARIO, as Job.Name says it
	Result  string // Proved, or what went wrong
	Slips   string // how many of the plan's were tried: "7, of which 1 change nothing"
	Seconds float64
	Run     int // which run of the whole lab it was, or which it followed
	Version string
	Kernel  string // the guest's uname -r
}

// Proved is the result where all went as it must.
const Proved = "proved"

const (
	recordColumns = 7
	recordHead    = "| scenario | result | slips | seconds | run | version | kernel |\n|---|---|---|--:|--:|---|---|\n"
)

// ReadRecord reads a record from a file; one that does not exist yet is empty.
func ReadRecord(name string) (*Record, error) {
	r := &Record{of: map[string]Played{}}
	b, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return nil, err
	}
	above, rows, found := strings.Cut(string(b), recordHead)
	if !found {
		return nil, fmt.Errorf("%s: holds no record: expected a table that begins with %q", name, strings.SplitN(recordHead, "\n", 2)[0])
	}
	r.above = above
	line := strings.Count(above+recordHead, "\n")
	for row := range strings.Lines(rows) {
		line++
		p, err := parsePlayed(row)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, line, err)
		}
		r.of[p.Name] = p
	}
	return r, nil
}

func parsePlayed(row string) (Played, error) {
	cells := strings.Split(strings.Trim(strings.TrimSpace(row), "|"), "|")
	if len(cells) != recordColumns {
		return Played{}, fmt.Errorf("a row has %d cells, and this one %d", recordColumns, len(cells))
	}
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	seconds, err := strconv.ParseFloat(cells[3], 64)
	run, err2 := strconv.Atoi(cells[4])
	return Played{cells[0], cells[1], cells[2], seconds, run, cells[5], cells[6]}, errors.Join(err, err2)
}

// Last is the number of the last run in the record, 0 in an empty one.
func (r *Record) Last() int {
	last := 0
	for _, p := range r.of {
		last = max(last, p.Run)
	}
	return last
}

// Of is how a job was last played.
func (r *Record) Of(j *Job) (p Played, ok bool) {
	p, ok = r.of[j.Name()]
	return p, ok
}

// Times tells jobs how long they took when they were last played.
func (r *Record) Times(jobs []Job) {
	for i := range jobs {
		if p, ok := r.Of(&jobs[i]); ok {
			jobs[i].Last = time.Duration(p.Seconds * float64(time.Second))
		}
	}
}

// Note takes down how a job ended in a run. One that this machine lacks the means for was not played.
func (r *Record) Note(o Outcome, run int) {
	if errors.As(o.Err, new(*MissingError)) {
		return
	}
	p := Played{Name: o.Job.Name(), Result: Proved, Seconds: o.Verdict.Took.Seconds(), Run: run,
		Version: build.Version(), Kernel: o.Verdict.Kernel}
	switch {
	case o.Err != nil:
		p.Result = cell(o.Err.Error())
	case !o.Verdict.OK:
		p.Result = cell(o.Verdict.Why)
	}
	for _, s := range o.Verdict.Stages {
		if s.Name == SlipsStage && s.OK {
			p.Slips = s.Said
		}
	}
	r.of[p.Name] = p
}

// cell makes a text fit for a cell of the table.
func cell(s string) string {
	const most = 80
	s = strings.Join(strings.Fields(strings.ReplaceAll(s, "|", "/")), " ")
	return strings.TrimSpace(strings.ToValidUTF8(s[:min(len(s), most)], ""))
}

// Write writes the record, without the jobs that there are no more.
func (r *Record) Write(name string, jobs []Job) error {
	var b strings.Builder
	b.WriteString(r.above + recordHead)
	for _, n := range slices.Sorted(maps.Keys(r.of)) {
		if !slices.ContainsFunc(jobs, func(j Job) bool { return j.Name() == n }) {
			continue
		}
		p := r.of[n]
		fmt.Fprintf(&b, "| %s | %s | %s | %.1f | %d | %s | %s |\n", p.Name, p.Result, p.Slips, p.Seconds, p.Run, p.Version, p.Kernel)
	}
	return files.WriteFile(name, []byte(b.String()), 0o644)
}

// Oldest are the n jobs that have waited longest, those that were never played first.
func (r *Record) Oldest(jobs []Job, n int) []Job {
	jobs = slices.Clone(jobs)
	slices.SortStableFunc(jobs, func(a, b Job) int { return r.of[a.Name()].Run - r.of[b.Name()].Run })
	return jobs[:min(n, len(jobs))]
}
