package check

import (
	"errors"
	"io"
	"strings"
	"time"

	"fettle/fleet"
	"fettle/report"
)

// fleetLine is a line of jsonl with its host. A host that gave no (whole)
// report ends with type "failed".
type fleetLine struct {
	Host    string `json:"host"`
	Reason  string `json:"reason,omitempty"`  // failed
	Reached *bool  `json:"reached,omitempty"` // failed: the host was reached, and failed then
	report.Line
}

// fleetLines is jsonl.
type fleetLines struct{ w io.Writer }

func (f fleetLines) line(e fleet.Event) error {
	l := fleetLine{Host: e.Host, Line: e.Line}
	if e.Err != nil {
		var fe *fleet.Error
		reached := errors.As(e.Err, &fe) && fe.Reached
		l.Line.Type, l.Reason, l.Reached = "failed", e.Err.Error(), &reached
	}
	return report.Encode(f.w, l, "")
}

func (f fleetLines) host(string, *hostReport) error        { return nil }
func (f fleetLines) end(*fleetReport, time.Duration) error { return nil }

// fleetDocument is a report of many hosts as JSON. It is written piece by piece.
type fleetDocument struct {
	report.Envelope
	Hosts  []fleetHost   `json:"hosts"` // in the order in which they were done
	Counts report.Counts `json:"counts"`
	Took   time.Duration `json:"took_ns"`
}

type fleetHost struct {
	Host   string           `json:"host"`
	Reason string           `json:"reason,omitempty"` // why there is no whole report
	Report *report.Document `json:"report,omitempty"`
}

// fleetJSON writes the document as the hosts are done: that of thousands of hosts
// would not fit into memory.
type fleetJSON struct {
	w     io.Writer
	began bool
}

func (f *fleetJSON) host(name string, h *hostReport) error {
	fh := fleetHost{Host: name}
	if h.doc.Format != "" {
		fh.Report = &h.doc
	}
	if h.err != nil {
		fh.Reason = h.err.Error()
	}
	before := ",\n    "
	if !f.began {
		head, _, err := f.frame(fleetDocument{})
		if err != nil {
			return err
		}
		before = head + "\n    "
		f.began = true
	}
	b, err := indented(fh, "    ")
	if err != nil {
		return err
	}
	_, err = io.WriteString(f.w, before+b)
	return err
}

func (f *fleetJSON) end(r *fleetReport, took time.Duration) error {
	head, tail, err := f.frame(fleetDocument{Counts: r.counts, Took: took})
	if err != nil {
		return err
	}
	if f.began {
		head = "\n  "
	}
	_, err = io.WriteString(f.w, head+tail+"\n")
	return err
}

// frame is the document around its hosts.
func (f *fleetJSON) frame(d fleetDocument) (head, tail string, err error) {
	d.Envelope, d.Hosts = report.NewEnvelope("fleet"), []fleetHost{}
	text, err := indented(d, "")
	if err != nil {
		return "", "", err
	}
	const hosts = `"hosts": [`
	i := strings.Index(text, hosts)
	if i < 0 {
		return "", "", errors.New("the document has no hosts, which is a bug in fettle")
	}
	i += len(hosts)
	return text[:i], text[i:], nil
}

// indented is v as report.Encode writes it, below a margin and without its last
// line end.
func indented(v any, margin string) (string, error) {
	var b strings.Builder
	if err := report.Encode(&b, v, "  "); err != nil {
		return "", err
	}
	// No string of JSON has a line end in it.
	return strings.ReplaceAll(strings.TrimSuffix(b.String(), "\n"), "\n", "\n"+margin), nil
}
