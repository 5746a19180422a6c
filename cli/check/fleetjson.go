package check

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"fettle/fleet/ssh"
	"fettle/internal/jsondoc"
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

func (f fleetLines) line(e ssh.Event) error {
	l := fleetLine{Host: e.Host, Line: e.Line}
	if e.Err != nil {
		var fe *ssh.Error
		reached := errors.As(e.Err, &fe) && fe.Reached
		l.Line.Type, l.Reason, l.Reached = "failed", e.Err.Error(), &reached
	}
	return jsondoc.Encode(f.w, l, "")
}

func (f fleetLines) host(string, *hostReport) error        { return nil }
func (f fleetLines) end(*fleetReport, time.Duration) error { return nil }

// fleetDocument is a report of many hosts as JSON. It is written piece by piece.
type fleetDocument struct {
	jsondoc.Envelope
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
type fleetJSON struct{ list listWriter }

func newFleetJSON(w io.Writer) *fleetJSON { return &fleetJSON{listWriter{w: w, list: "hosts"}} }

func (f *fleetJSON) host(name string, h *hostReport) error {
	fh := fleetHost{Host: name}
	if h.doc.Format != "" {
		fh.Report = &h.doc
	}
	if h.err != nil {
		fh.Reason = h.err.Error()
	}
	return f.list.add(f.document(fleetDocument{}), fh)
}

func (f *fleetJSON) end(r *fleetReport, took time.Duration) error {
	return f.list.end(f.document(fleetDocument{Counts: r.counts, Took: took}))
}

func (f *fleetJSON) document(d fleetDocument) fleetDocument {
	d.Envelope, d.Hosts = jsondoc.New("fleet"), []fleetHost{}
	return d
}

// listWriter writes a document as JSON whose list, a field of it, is written piece by
// piece. The documents it is given have an empty list.
type listWriter struct {
	w     io.Writer
	list  string // its name
	began bool
}

// add writes an element; of the document what is before the list counts.
func (l *listWriter) add(document, element any) error {
	before := ",\n    "
	if !l.began {
		head, _, err := l.frame(document)
		if err != nil {
			return err
		}
		before = head + "\n    "
		l.began = true
	}
	b, err := indented(element, "    ")
	if err != nil {
		return err
	}
	_, err = io.WriteString(l.w, before+b)
	return err
}

// end writes what is behind the list.
func (l *listWriter) end(document any) error {
	head, tail, err := l.frame(document)
	if err != nil {
		return err
	}
	if l.began {
		head = "\n  "
	}
	_, err = io.WriteString(l.w, head+tail+"\n")
	return err
}

func (l *listWriter) frame(document any) (head, tail string, err error) {
	text, err := indented(document, "")
	if err != nil {
		return "", "", err
	}
	list := fmt.Sprintf("%q: [", l.list)
	i := strings.Index(text, list)
	if i < 0 {
		return "", "", fmt.Errorf("the document has no list %s, which is a bug in fettle", l.list)
	}
	i += len(list)
	return text[:i], text[i:], nil
}

// indented is v as report.Encode writes it, below a margin and without its last
// line end.
func indented(v any, margin string) (string, error) {
	var b strings.Builder
	if err := jsondoc.Encode(&b, v, "  "); err != nil {
		return "", err
	}
	// No string of JSON has a line end in it.
	return strings.ReplaceAll(strings.TrimSuffix(b.String(), "\n"), "\n", "\n"+margin), nil
}
