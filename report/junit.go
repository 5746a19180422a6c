package report

import (
	"io"
	"strings"
	"time"

	"fettle/engine/trap"
	"fettle/internal/junit"
	"fettle/internal/ui"
)

// junitReport writes JUnit XML: a suite
// for each trap, a case for each subject. Found is a failure, unknown an
// error, not applicable and accepted are skipped, clear passes.
type junitReport struct {
	collected
	w   io.Writer
	opt Options
}

func newJUnit(w io.Writer, opt Options) Writer { return &junitReport{w: w, opt: opt} }

func (j *junitReport) End(took time.Duration) error {
	all := junit.Suites{Name: "fettle " + ui.Visible(j.meta.Host), Time: junit.Seconds(took)}
	for _, r := range worstFirst(j.results) {
		s := j.suite(r.Trap, j.meta.Host, r.Took)
		for _, c := range j.cases(r) {
			s.Add(c)
		}
		all.Add(s)
	}
	return all.Write(j.w)
}

// JUnitHost is one host of many as a suite: a case for each subject of each trap,
// with the host before the trap in the class, because readers join suites by it.
// failed says why the report is not whole.
func JUnitHost(name string, d *Document, opt Options, failed error) junit.Suite {
	j := junitReport{collected: collected{meta: d.Meta}, opt: opt}
	s := j.suite(ui.Visible(name), name, d.Took)
	for _, r := range worstFirst(d.Results) {
		for _, c := range j.cases(r) {
			c.Class = s.Name + "." + c.Class
			s.Add(c)
		}
	}
	if failed != nil {
		why := ui.Visible(failed.Error())
		s.Add(junit.Case{Class: s.Name, Name: "report", Error: &junit.Message{Message: why, Type: "failed", Text: why}})
	}
	return s
}

func (j *junitReport) suite(name, host string, took time.Duration) junit.Suite {
	s := junit.Suite{Name: name, Hostname: ui.Visible(host), Time: junit.Seconds(took)}
	if !j.meta.Started.IsZero() {
		s.Timestamp = j.meta.Started.UTC().Format("2006-01-02T15:04:05")
	}
	return s
}

func (j *junitReport) cases(r trap.Result) []junit.Case {
	var out []junit.Case
	for i := range r.Outcomes {
		out = append(out, j.testcase(&r.Outcomes[i]))
	}
	for _, was := range r.Resolved {
		out = append(out, resolvedCase(r.Trap, was))
	}
	return out
}

// resolvedCase passes: a finding of an earlier run is gone.
func resolvedCase(id string, was trap.Resolved) junit.Case {
	c := junit.Case{Class: id, Name: ui.Visible(was.Subject), Out: "resolved; was " + ui.Visible(was.Said)}
	if c.Name == "" {
		c.Name = id
	}
	return c
}

func (j *junitReport) testcase(o *trap.Outcome) junit.Case {
	c := junit.Case{Class: o.Trap, Name: ui.Visible(o.Subject)}
	if c.Name == "" {
		c.Name = o.Trap
	}
	switch said := plain(&j.meta, o); {
	case o.Status == trap.Clear:
		c.Out = said
	case o.Status == trap.NotApplicable:
		c.Skipped = &junit.Message{Message: "not applicable: " + ui.Visible(o.Reason)}
	case o.Status != trap.Found:
		c.Error = &junit.Message{Message: "unknown: " + ui.Visible(o.Reason), Type: "unknown", Text: said}
	case o.Hidden() && o.Below:
		c.Skipped = &junit.Message{Message: severityName(o.Severity) + ", below --severity: " + ui.Visible(o.Summary)}
	case o.Hidden() && !o.Known:
		c.Skipped = &junit.Message{Message: "accepted: " + ui.Visible(o.Accepted.Reason) + until(o.Accepted)}
	case o.Hidden():
		c.Skipped = &junit.Message{Message: "known from an earlier run: " + ui.Visible(o.Summary)}
	case o.Severity < j.opt.FailOn:
		c.Skipped = &junit.Message{Message: severityName(o.Severity) + ", below --fail-on: " + ui.Visible(o.Summary)}
		c.Out = said
	default:
		c.Failure = &junit.Message{Message: ui.Visible(o.Summary), Type: severityName(o.Severity), Text: said}
	}
	return c
}

func until(a *trap.Acceptance) string {
	if a.Until == "" {
		return ""
	}
	return " (until " + a.Until + ")"
}

// plain is an outcome as lines of text without layout, for formats with room
// for them.
func plain(m *Meta, o *trap.Outcome) string {
	var out []string
	for _, s := range []string{o.Summary, o.Reason} {
		if s != "" {
			out = append(out, ui.Visible(s))
		}
	}
	for l := range strings.Lines(string(o.Detail)) {
		out = append(out, ui.Visible(strings.TrimRight(l, "\n")))
	}
	for _, e := range o.Evidence {
		out = append(out, ui.Visible(e.Source)+": "+ui.Visible(e.Value))
	}
	switch {
	case o.Status == trap.Found:
		if a := o.Accepted; a != nil && a.Lapsed != "" {
			out = append(out, "was accepted ("+ui.Visible(a.Reason)+"); back because "+ui.Visible(a.Lapsed))
		}
		if o.ByHand != "" {
			out = append(out, "by hand: "+ui.Visible(o.ByHand))
		}
		out = append(out, next(m, o)+Command(o))
	case o.Status == trap.Unknown:
		if h := hint(m, o); h != "" {
			out = append(out, h)
		}
	}
	return strings.Join(out, "\n")
}
