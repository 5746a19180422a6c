package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"time"

	"fettle/internal/ui"
	"fettle/trap"
)

// junit writes JUnit XML, in the form that Jenkins and GitLab read: a suite
// for each trap, a case for each subject. Found is a failure, unknown an
// error, not applicable and accepted are skipped, clear passes.
type junit struct {
	collected
	w   io.Writer
	opt Options
}

func newJUnit(w io.Writer, opt Options) Writer { return &junit{w: w, opt: opt} }

type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Name     string       `xml:"name,attr"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Errors   int          `xml:"errors,attr"`
	Skipped  int          `xml:"skipped,attr"`
	Time     string       `xml:"time,attr"` // seconds
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name      string      `xml:"name,attr"`
	Hostname  string      `xml:"hostname,attr"`
	Timestamp string      `xml:"timestamp,attr"`
	Tests     int         `xml:"tests,attr"`
	Failures  int         `xml:"failures,attr"`
	Errors    int         `xml:"errors,attr"`
	Skipped   int         `xml:"skipped,attr"`
	Time      string      `xml:"time,attr"`
	Cases     []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string     `xml:"classname,attr"`
	Name    string     `xml:"name,attr"`
	Failure *junitSaid `xml:"failure"`
	Error   *junitSaid `xml:"error"`
	Skipped *junitSaid `xml:"skipped"`
	Out     string     `xml:"system-out,omitempty"`
}

type junitSaid struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr,omitempty"`
	Text    string `xml:",chardata"`
}

func (j *junit) End(took time.Duration) error {
	all := junitSuites{Name: "fettle " + ui.Visible(j.meta.Host), Time: seconds(took)}
	for _, r := range worstFirst(j.results) {
		s := junitSuite{Name: r.Trap, Hostname: ui.Visible(j.meta.Host), Time: seconds(r.Took), Tests: len(r.Outcomes),
			Timestamp: j.meta.Started.UTC().Format("2006-01-02T15:04:05")}
		for i := range r.Outcomes {
			c := j.testcase(&r.Outcomes[i])
			s.Failures += one(c.Failure)
			s.Errors += one(c.Error)
			s.Skipped += one(c.Skipped)
			s.Cases = append(s.Cases, c)
		}
		all.Tests += s.Tests
		all.Failures += s.Failures
		all.Errors += s.Errors
		all.Skipped += s.Skipped
		all.Suites = append(all.Suites, s)
	}
	b, err := xml.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(j.w, "%s%s\n", xml.Header, b)
	return err
}

func (j *junit) testcase(o *trap.Outcome) junitCase {
	c := junitCase{Class: o.Trap, Name: ui.Visible(o.Subject)}
	if c.Name == "" {
		c.Name = o.Trap
	}
	switch said := plain(&j.meta, o); {
	case o.Status == trap.Clear:
		c.Out = said
	case o.Status == trap.NotApplicable:
		c.Skipped = &junitSaid{Message: "not applicable: " + ui.Visible(o.Reason)}
	case o.Status != trap.Found:
		c.Error = &junitSaid{Message: "unknown: " + ui.Visible(o.Reason), Type: "unknown", Text: said}
	case o.Hidden() && o.Below:
		c.Skipped = &junitSaid{Message: severityName(o.Severity) + ", below --severity: " + ui.Visible(o.Summary)}
	case o.Hidden() && !o.Known:
		c.Skipped = &junitSaid{Message: "accepted: " + ui.Visible(o.Accepted.Reason) + until(o.Accepted)}
	case o.Hidden():
		c.Skipped = &junitSaid{Message: "known from an earlier run: " + ui.Visible(o.Summary)}
	case o.Severity < j.opt.FailOn:
		c.Skipped = &junitSaid{Message: severityName(o.Severity) + ", below --fail-on: " + ui.Visible(o.Summary)}
		c.Out = said
	default:
		c.Failure = &junitSaid{Message: ui.Visible(o.Summary), Type: severityName(o.Severity), Text: said}
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

func one(s *junitSaid) int {
	if s == nil {
		return 0
	}
	return 1
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }
