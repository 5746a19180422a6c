package report

import (
	"encoding/csv"
	"io"
	"strings"
	"time"

	"fettle/engine/trap"
	"fettle/internal/ui"
)

// csvTable writes a row for each finding and each unknown, for spreadsheets.
type csvTable struct {
	collected
	w io.Writer
}

func newCSV(w io.Writer, _ Options) Writer { return &csvTable{w: w} }

func (c *csvTable) End(time.Duration) error {
	if err := CSVHeader(c.w); err != nil {
		return err
	}
	return CSVRows(c.w, c.meta.Host, c.results)
}

// CSVHeader writes the names of the columns.
func CSVHeader(w io.Writer) error {
	return csvLine(w, "host", "trap", "subject", "status", "severity", "state", "since", "summary", "command")
}

// CSVRows writes the rows of a host, the worst first.
func CSVRows(w io.Writer, host string, results []trap.Result) error {
	var err error
	row := func(cells ...string) {
		if err == nil {
			err = csvLine(w, cells...)
		}
	}
	results = worstFirst(results)
	for _, o := range outcomesWorstFirst(results) {
		switch {
		case o.Status == trap.Found:
			row(host, o.Trap, o.Subject, string(o.Status), severityName(o.Severity), findingState(o), timeCell(o.Since), o.Summary, Command(o))
		case isUnknown(o):
			row(host, o.Trap, o.Subject, string(trap.Unknown), "", "", "", said(o), "")
		}
	}
	for _, r := range results {
		for _, was := range r.Resolved {
			row(host, r.Trap, was.Subject, "resolved", "", "", timeCell(was.Since), was.Said, "")
		}
	}
	return err
}

func timeCell(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// CSVFailed writes the row of a host that gave no report.
func CSVFailed(w io.Writer, host, why string) error {
	return csvLine(w, host, "", "", "failed", "", "", "", why, "")
}

// csvLine writes a row. What a host says of itself could begin
// with a sign that makes a spreadsheet take it for a formula: an apostrophe in
// front makes it text there.
func csvLine(w io.Writer, cells ...string) error {
	for i, c := range cells {
		c = ui.Visible(c)
		if c != "" && strings.ContainsRune("=+-@", rune(c[0])) {
			c = "'" + c
		}
		cells[i] = c
	}
	enc := csv.NewWriter(w)
	if err := enc.Write(cells); err != nil {
		return err
	}
	enc.Flush()
	return enc.Error()
}
