package check

import (
	"bytes"
	"fmt"
	"io"
	"time"

	"fettle/engine/trap"
	"fettle/fleet/ssh"
	"fettle/internal/jsondoc"
	"fettle/internal/junit"
	"fettle/internal/ui"
	"fettle/internal/units"
	"fettle/report"
)

// fleetReport writes what comes back from many hosts. What is kept of a host
// that is done is what the format needs at the end: of json, csv, junit and sarif nothing.
type fleetReport struct {
	form   fleetForm
	hosts  map[string]*hostReport // that are not done
	counts report.Counts
	done   int
	failed int
}

// hostReport is what one host says.
type hostReport struct {
	doc report.Document
	err error // why it is not whole
}

// fleetForm is a form of the report. Each host is given to it when it is done.
type fleetForm interface {
	host(name string, h *hostReport) error
	end(r *fleetReport, took time.Duration) error
}

// lineForm takes the lines of reports as they come.
type lineForm interface {
	line(e ssh.Event) error
}

func newFleetReport(w io.Writer, o checkOptions, failOn trap.Severity, traps []*trap.Trap, hosts int) *fleetReport {
	r := &fleetReport{hosts: map[string]*hostReport{}}
	opt := o.out.report(w, failOn)
	switch {
	case o.out.format == "jsonl":
		r.form = fleetLines{w}
	case o.out.format == "json":
		r.form = newFleetJSON(w)
	case o.out.format == "junit":
		r.form = &fleetJUnit{junit.NewStream(w, "fettle"), opt}
	case o.out.format == "sarif":
		r.form = newFleetSARIF(w, opt)
	case o.out.format == "nagios":
		r.form = &fleetNagios{w, opt, newMatrix()}
	case o.out.format == "prometheus":
		r.form = &fleetPrometheus{w, report.NewMetrics(opt)}
	case o.out.format == "csv":
		r.form = &fleetCSV{w: w}
	case o.out.format == "html":
		r.form = &fleetPage{w: w, matrix: newMatrix(), said: map[string][]sentence{}, at: map[sentenceKey]int{}, traps: traps}
	case hosts > fewHosts && !o.out.verbose:
		r.form = &fleetMatrix{w: w, opt: opt, matrix: newMatrix()}
	default:
		r.form = &fleetText{w: w, opt: opt, traps: traps}
	}
	return r
}

func (r *fleetReport) event(e ssh.Event) error {
	if form, ok := r.form.(lineForm); ok {
		return form.line(e)
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
		h.doc = report.Document{
			Envelope: jsondoc.Envelope{Format: l.Format, Schema: l.Schema, Fettle: l.Meta.Version},
			Meta:     *l.Meta,
			Traps:    l.Traps,
			Results:  []trap.Result{},
		}
	case l.Result != nil:
		h.doc.Results = append(h.doc.Results, *l.Result)
	case l.Type == "end" && l.Took != nil:
		h.doc.Took = *l.Took
	}
	if e.Err == nil && l.Type != "end" {
		return nil
	}
	delete(r.hosts, e.Host) // thousands of reports are not kept
	r.done++
	if e.Err != nil {
		r.failed++
	}
	for _, res := range h.doc.Results {
		h.doc.Counts.Add(res)
	}
	return r.form.host(e.Host, h)
}

func (r *fleetReport) Begin(report.Meta, []*trap.Trap) error { return nil }
func (r *fleetReport) Result(trap.Result) error              { return nil }
func (r *fleetReport) End(took time.Duration) error          { return r.form.end(r, took) }

// sum is the last line of a text.
func (r *fleetReport) sum(took time.Duration) string {
	s := units.Count(r.done, "host", "hosts")
	if r.failed > 0 {
		s += fmt.Sprintf(" (%d gave no report)", r.failed)
	}
	s += ": " + r.counts.String()
	if r.counts.Known > 0 {
		s += fmt.Sprintf(", %d known", r.counts.Known)
	}
	if r.counts.Resolved > 0 {
		s += fmt.Sprintf(", %d resolved", r.counts.Resolved)
	}
	return s + " (" + units.Duration(took) + ")\n"
}

// fleetText writes a block for each host.
type fleetText struct {
	w     io.Writer
	opt   report.Options
	traps []*trap.Trap
	wrote bool
}

func (t *fleetText) host(name string, h *hostReport) error {
	var out bytes.Buffer
	if h.doc.Format != "" {
		tw, err := report.New("text", &out, t.opt)
		if err != nil {
			return err
		}
		m := h.doc.Meta
		if m.Host != name {
			m.Host = name + " [" + m.Host + "]"
		}
		if err := tw.Begin(m, t.traps); err != nil {
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
		out.WriteString(ui.Wrap(ui.Visible(h.err.Error()), t.opt.Width, "UNKNOWN   ", "          "))
	}
	if out.Len() == 0 { // with -q, where there is nothing to say
		return nil
	}
	head := ""
	if t.opt.Quiet && h.doc.Format != "" { // else its report or the error names it
		head = ui.Visible(name) + ":\n"
	}
	gap := "\n"
	if !t.wrote {
		t.wrote, gap = true, ""
	}
	_, err := io.WriteString(t.w, gap+head+out.String())
	return err
}

func (t *fleetText) end(r *fleetReport, took time.Duration) error {
	if t.opt.Quiet || r.done == 1 { // its report has said it
		return nil
	}
	_, err := io.WriteString(t.w, "\n"+r.sum(took))
	return err
}

// fleetMatrix writes one screen for all hosts.
type fleetMatrix struct {
	w   io.Writer
	opt report.Options
	*matrix
}

func (f *fleetMatrix) host(name string, h *hostReport) error {
	f.add(name, h)
	return nil
}

func (f *fleetMatrix) end(r *fleetReport, took time.Duration) error {
	text := f.text(f.opt.Width, ui.Painter(f.opt.Colour))
	if !f.opt.Quiet {
		text += r.sum(took)
	}
	_, err := io.WriteString(f.w, text)
	return err
}
