package report

import (
	"fmt"
	"io"
	"strings"

	"fettle/engine/trap"
)

// Options says how a report is written.
type Options struct {
	Colour  bool          // text only
	Width   int           // of text, in characters; 0 is 80
	Verbose bool          // text: every subject with its evidence, also the clear and the hidden
	Detail  bool          // text: a block for each finding, with its evidence
	Quiet   bool          // text: findings and what changed, nothing else
	New     bool          // what an earlier run showed is marked Known
	Lead    string        // text: a sentence between the host and what was found
	Last    string        // text: a sentence after what is unknown
	Timing  bool          // what each check took: text, prometheus
	FailOn  trap.Severity // findings below it do not fail; 0 is all of them
}

var formats = []struct {
	name string
	make func(io.Writer, Options) Writer
}{
	{"text", newText},
	{"json", newJSON},
	{"jsonl", newJSONL},
	{"junit", newJUnit},
	{"sarif", newSARIF},
	{"nagios", newNagios},
	{"prometheus", newPrometheus},
	{"html", newHTML},
	{"csv", newCSV},
}

// Formats lists the names that New knows.
func Formats() []string {
	var out []string
	for _, f := range formats {
		out = append(out, f.name)
	}
	return out
}

// New makes the writer of a format.
func New(format string, w io.Writer, opt Options) (Writer, error) {
	if opt.Width <= 0 {
		opt.Width = 80
	}
	for _, f := range formats {
		if f.name == format {
			return f.make(w, opt), nil
		}
	}
	return nil, fmt.Errorf("unknown format %q: it is one of %s", format, strings.Join(Formats(), ", "))
}

// collected is what formats that cannot stream keep until the end.
type collected struct {
	meta    Meta
	traps   []*trap.Trap
	results []trap.Result
	counts  Counts
}

func (c *collected) Begin(m Meta, traps []*trap.Trap) error {
	c.meta, c.traps = m, traps
	return nil
}

func (c *collected) Result(r trap.Result) error {
	c.results = append(c.results, r)
	c.counts.Add(r)
	return nil
}

// severityName is a severity's name also for a finding that has none: an outcome
// read from elsewhere may lack it.
func severityName(s trap.Severity) string { return known(s).String() }
