package report

import (
	"io"
	"time"

	"fettle/engine/trap"
	"fettle/internal/jsondoc"
)

// Document is a whole report as JSON. docs/schema/report-1.schema.json
// describes it.
type Document struct {
	jsondoc.Envelope
	Meta    Meta          `json:"meta"`
	Traps   []TrapInfo    `json:"traps"`
	Results []trap.Result `json:"results"`
	Counts  Counts        `json:"counts"`
	Took    time.Duration `json:"took_ns"`
}

// TrapInfo is what a report says of a trap itself.
type TrapInfo struct {
	ID      string `json:"id"`
	Title   string `json:"title"`
	Cost    string `json:"cost"`
	Fixable bool   `json:"fixable"`
	// Horizon says when it bites: trap.Horizons.
	Horizon []trap.Horizon `json:"horizon,omitempty"`
}

// Infos lists traps for a report.
func Infos(traps []*trap.Trap) []TrapInfo {
	out := make([]TrapInfo, 0, len(traps))
	for _, t := range traps {
		out = append(out, TrapInfo{ID: t.ID(), Title: t.Title(), Cost: t.Cost.String(), Fixable: t.Plan != nil, Horizon: t.Horizons()})
	}
	return out
}

// DocumentFormat is how a report names itself.
const DocumentFormat = "fettle-report"

type jsonDoc struct {
	collected
	w io.Writer
}

func newJSON(w io.Writer, _ Options) Writer { return &jsonDoc{w: w} }

func (j *jsonDoc) End(took time.Duration) error {
	return jsondoc.Encode(j.w, NewDocument(j.meta, j.traps, j.results, took), "  ")
}

// NewDocument is a run as a document, the worst first.
func NewDocument(m Meta, traps []*trap.Trap, results []trap.Result, took time.Duration) *Document {
	d := &Document{
		Envelope: jsondoc.Envelope{Format: DocumentFormat, Schema: jsondoc.Version, Fettle: m.Version},
		Meta:     m,
		Traps:    Infos(traps),
		Results:  worstFirst(results),
		Took:     took,
	}
	if d.Results == nil {
		d.Results = []trap.Result{}
	}
	for i := range d.Results {
		d.Results[i] = filled(d.Results[i])
		d.Counts.Add(d.Results[i])
	}
	return d
}

// Line is one line of the jsonl form: "begin" with Meta and Traps, "result"
// with Result, "end" with Counts and Took. A stream without "end" was cut off.
type Line struct {
	Type   string         `json:"type"`
	Format string         `json:"format,omitempty"` // begin
	Schema int            `json:"schema,omitempty"` // begin
	Meta   *Meta          `json:"meta,omitempty"`
	Traps  []TrapInfo     `json:"traps,omitempty"`
	Result *trap.Result   `json:"result,omitempty"`
	Counts *Counts        `json:"counts,omitempty"`
	Took   *time.Duration `json:"took_ns,omitempty"`
}

type jsonl struct {
	w      io.Writer
	counts Counts
}

func newJSONL(w io.Writer, _ Options) Writer { return &jsonl{w: w} }

func (j *jsonl) Begin(m Meta, traps []*trap.Trap) error {
	return jsondoc.Encode(j.w, Line{Type: "begin", Format: DocumentFormat, Schema: jsondoc.Version, Meta: &m, Traps: Infos(traps)}, "")
}

func (j *jsonl) Result(r trap.Result) error {
	j.counts.Add(r)
	r = filled(r)
	return jsondoc.Encode(j.w, Line{Type: "result", Result: &r}, "")
}

func (j *jsonl) End(took time.Duration) error {
	return jsondoc.Encode(j.w, Line{Type: "end", Counts: &j.counts, Took: &took}, "")
}

// filled writes no list as null, for readers in strict languages, and no facts.
func filled(r trap.Result) trap.Result {
	r = r.WithoutFacts()
	if r.Outcomes == nil {
		r.Outcomes = []trap.Outcome{}
	}
	return r
}
