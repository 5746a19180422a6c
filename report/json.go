package report

import (
	"bytes"
	"encoding/json"
	"io"
	"time"

	"fettle/internal/build"
	"fettle/internal/ui"
	"fettle/trap"
)

// Envelope begins every JSON document that fettle prints: which it is, and the
// version of its schema, docs/schema/NAME-VERSION.schema.json. A version grows
// when a field is removed or changes its meaning; new fields may appear at any
// time.
type Envelope struct {
	Format string `json:"format"` // "fettle-" and the document's name
	Schema int    `json:"schema"`
	Fettle string `json:"fettle"` // the version of fettle that wrote it
}

// NewEnvelope is the envelope of a document by its name.
func NewEnvelope(name string) Envelope {
	return Envelope{"fettle-" + name, SchemaVersion, build.Version()}
}

// SchemaVersion is the version of the JSON report. It grows when a field is
// removed or changes its meaning; new fields may appear at any time.
const SchemaVersion = 1

// Document is a whole report as JSON. docs/schema/report-1.schema.json
// describes it.
type Document struct {
	Envelope
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
}

// Infos lists traps for a report.
func Infos(traps []*trap.Trap) []TrapInfo {
	out := make([]TrapInfo, 0, len(traps))
	for _, t := range traps {
		out = append(out, TrapInfo{ID: t.ID(), Title: t.Title(), Cost: t.Cost.String(), Fixable: t.Plan != nil})
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
	return Encode(j.w, NewDocument(j.meta, j.traps, j.results, took), "  ")
}

// NewDocument is a run as a document, the worst first.
func NewDocument(m Meta, traps []*trap.Trap, results []trap.Result, took time.Duration) *Document {
	d := &Document{Envelope: Envelope{DocumentFormat, SchemaVersion, m.Version}, Meta: m, Traps: Infos(traps), Results: worstFirst(results), Took: took}
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
	return Encode(j.w, Line{Type: "begin", Format: DocumentFormat, Schema: SchemaVersion, Meta: &m, Traps: Infos(traps)}, "")
}

func (j *jsonl) Result(r trap.Result) error {
	j.counts.Add(r)
	r = filled(r)
	return Encode(j.w, Line{Type: "result", Result: &r}, "")
}

func (j *jsonl) End(took time.Duration) error {
	return Encode(j.w, Line{Type: "end", Counts: &j.counts, Took: &took}, "")
}

// filled writes no list as null, for readers in strict languages.
func filled(r trap.Result) trap.Result {
	if r.Outcomes == nil {
		r.Outcomes = []trap.Outcome{}
	}
	return r
}

// Encode writes v with < and > as they are, and a new line; for people to read
// with an indent of two blanks.
func Encode(w io.Writer, v any, indent string) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	if err := e.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(ui.JSON(b.Bytes()))
	return err
}
