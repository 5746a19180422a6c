package check

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"time"

	"fettle/fleet"
	"fettle/internal/ui"
	"fettle/report"
	"fettle/trap"
)

// fleetReport writes what comes back from many hosts.
type fleetReport struct {
	w      io.Writer
	format string
	opt    report.Options
	traps  []*trap.Trap
	counts report.Counts
	hosts  map[string]*hostReport
	order  []string // in which hosts were done
	matrix *matrix  // instead of a report of each host; nil for few hosts and -v
	failed int
}

// hostReport is one host's part until it is done.
type hostReport struct {
	buf bytes.Buffer
	doc report.Document
	err error
}

func fleetWriter(w io.Writer, o checkOptions, failOn trap.Severity, traps []*trap.Trap) *fleetReport {
	return &fleetReport{w: w, format: o.out.format, traps: traps, hosts: map[string]*hostReport{},
		opt: o.out.report(w, failOn)}
}

// fleetLine is a line of jsonl with its host. A host that gave no (whole)
// report ends with type "failed".
type fleetLine struct {
	Host    string `json:"host"`
	Reason  string `json:"reason,omitempty"`  // failed
	Reached *bool  `json:"reached,omitempty"` // failed: the host was reached, and failed then
	report.Line
}

func (r *fleetReport) event(e fleet.Event) error {
	if r.format == "jsonl" {
		return r.jsonl(e)
	}
	h := r.hosts[e.Host]
	if h == nil {
		h = &hostReport{}
		r.hosts[e.Host] = h
	}
	l := e.Line
	switch {
	case e.Err != nil:
		h.err = e.Err
	case l.Type == "begin":
		h.doc = report.Document{Envelope: report.Envelope{Format: l.Format, Schema: l.Schema, Fettle: l.Meta.Version}, Meta: *l.Meta, Traps: l.Traps, Results: []trap.Result{}}
	case l.Result != nil:
		h.doc.Results = append(h.doc.Results, *l.Result)
	case l.Type == "end":
		if l.Took != nil {
			h.doc.Took = *l.Took
		}
	}
	if e.Err == nil && l.Type != "end" {
		return nil
	}
	r.order = append(r.order, e.Host)
	if e.Err != nil {
		r.failed++
	}
	for _, res := range h.doc.Results {
		h.doc.Counts.Add(res)
	}
	switch {
	case r.matrix != nil:
		r.matrix.add(e.Host, h)
		r.hosts[e.Host] = &hostReport{} // thousands of reports are not kept
	case r.format == "text":
		return r.text(e.Host, h)
	}
	return nil
}

func (r *fleetReport) jsonl(e fleet.Event) error {
	l := fleetLine{Host: e.Host, Line: e.Line}
	if e.Err != nil {
		var fe *fleet.Error
		reached := errors.As(e.Err, &fe) && fe.Reached
		l.Line.Type, l.Reason, l.Reached = "failed", e.Err.Error(), &reached
	}
	return report.Encode(r.w, l, "")
}

// text writes a host's part as one block, when the host is done.
func (r *fleetReport) text(name string, h *hostReport) error {
	if h.doc.Format != "" {
		tw, err := report.New("text", &h.buf, r.opt)
		if err != nil {
			return err
		}
		m := h.doc.Meta
		if m.Host != name {
			m.Host = name + " [" + m.Host + "]"
		}
		if err := tw.Begin(m, r.traps); err != nil {
			return err
		}
		for _, res := range h.doc.Results {
			if err := tw.Result(res); err != nil {
				return err
			}
		}
		if h.err == nil {
			if err := tw.End(h.doc.Took); err != nil {
				return err
			}
		}
	}
	if h.err != nil {
		h.buf.WriteString(ui.Wrap(ui.Visible(h.err.Error()), r.opt.Width, "UNKNOWN   ", "          "))
	}
	h.buf.WriteString("\n")
	_, err := r.w.Write(h.buf.Bytes())
	h.buf = bytes.Buffer{}
	return err
}

func (r *fleetReport) Begin(report.Meta, []*trap.Trap) error { return nil }
func (r *fleetReport) Result(trap.Result) error              { return nil }

// fleetDocument is a report of many hosts as JSON.
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

func (r *fleetReport) End(took time.Duration) error {
	switch r.format {
	case "text":
		if r.matrix != nil {
			if _, err := io.WriteString(r.w, r.matrix.text(r.opt.Width, ui.Painter(r.opt.Colour))); err != nil {
				return err
			}
		}
		s := fmt.Sprintf("%d hosts", len(r.order))
		if len(r.order) == 1 {
			s = "1 host"
		}
		if r.failed > 0 {
			s += fmt.Sprintf(" (%d gave no report)", r.failed)
		}
		_, err := fmt.Fprintf(r.w, "%s: %s in %s\n", s, r.counts.String(), took.Round(time.Millisecond))
		return err
	case "json":
		d := fleetDocument{Envelope: report.NewEnvelope("fleet"), Hosts: []fleetHost{}, Counts: r.counts, Took: took}
		for _, name := range r.order {
			h := r.hosts[name]
			fh := fleetHost{Host: name}
			if h.doc.Format != "" {
				fh.Report = &h.doc
			}
			if h.err != nil {
				fh.Reason = h.err.Error()
			}
			d.Hosts = append(d.Hosts, fh)
		}
		return report.Encode(r.w, d, "  ")
	}
	return nil
}
