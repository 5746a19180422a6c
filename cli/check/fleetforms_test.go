package check

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"fettle/engine/trap"
	"fettle/fleet/ssh"
	"fettle/internal/jsondoc"
	"fettle/internal/junit"
	"fettle/internal/schematest"
	"fettle/report"
)

// hostile is a name that somebody on a host chose.
const hostile = "br\x1b[2J\n|<&>\"\\ \u202e\xff'"

// formOf is what a format says of hosts: of each the outcomes of trap alpha, or, with
// none, why it gave no report.
func formOf(t *testing.T, format string, hosts []string, outcomes map[string][]trap.Outcome) string {
	t.Helper()
	var out bytes.Buffer
	var o checkOptions
	o.out.format = format
	r := newFleetReport(&out, o, trap.Warning, nil, len(hosts))
	for _, host := range hosts {
		said, took := outcomes[host], time.Second
		events := []ssh.Event{{Host: host, Line: report.Line{Type: "begin", Format: report.DocumentFormat, Schema: jsondoc.Version,
			Meta: &report.Meta{
				Host:    "self",
				Kind:    "live",
				Version: "1",
				Started: time.Unix(1767323045, 0),
			}, Traps: []report.TrapInfo{{ID: "alpha", Title: "The first"}}}}}
		if said == nil {
			r.counts.Unknown++
			events[0] = ssh.Event{Host: host, Err: errors.New("could not reach " + host + ": <refused>")}
		} else {
			res := trap.Result{Trap: "alpha", Outcomes: said}
			r.counts.Add(res)
			events = append(events, ssh.Event{Host: host, Line: report.Line{Type: "result", Result: &res}},
				ssh.Event{Host: host, Line: report.Line{Type: "end", Took: &took}})
		}
		for _, e := range events {
			if err := r.event(e); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := r.End(3 * time.Second); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func found(s trap.Severity, subject string) trap.Outcome {
	return trap.Outcome{Trap: "alpha", Subject: subject, Status: trap.Found, Severity: s, Summary: "it is " + subject}
}

// four hosts: a critical finding of a hostile name, a warning and an unknown, nothing, no report.
var four = []string{"web1", "root@web2", "web3", "dead"}

func ofFour() map[string][]trap.Outcome {
	return map[string][]trap.Outcome{
		"web1":      {found(trap.Critical, hostile), {Trap: "alpha", Subject: "y", Status: trap.Clear}},
		"root@web2": {found(trap.Warning, "x"), {Trap: "alpha", Subject: "z", Status: trap.Unknown, Reason: "needs root"}},
		"web3":      {{Trap: "alpha", Status: trap.NotApplicable, Reason: "none"}},
	}
}

func TestFleetJUnit(t *testing.T) {
	var all junit.Suites
	text := formOf(t, "junit", four, ofFour())
	if err := xml.Unmarshal([]byte(text), &all); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	var got []string
	classes := map[string]bool{}
	for _, s := range all.Suites {
		got = append(got, fmt.Sprintf("%s at %s: %d %d %d %d", s.Name, s.Hostname, s.Tests, s.Failures, s.Errors, s.Skipped))
		for _, c := range s.Cases {
			classes[c.Class] = true
		}
	}
	if want := "web1 at web1: 2 1 0 0; root@web2 at root@web2: 2 1 1 0; web3 at web3: 1 0 0 1; dead at dead: 1 0 1 0"; strings.Join(
		got,
		"; ",
	) != want {
		t.Errorf("suites %s\nwant %s", strings.Join(got, "; "), want)
	}
	if e := all.Suites[3].Cases[0].Error; e == nil || !strings.Contains(e.Message, "could not reach dead: <refused>") {
		t.Errorf("dead: %+v", e)
	}
	// Jenkins adds up the cases of a class, whatever suite they are in.
	if !classes["web1.alpha"] || !classes["root@web2.alpha"] || classes["alpha"] {
		t.Errorf("classes %v", classes)
	}
	if err := xml.Unmarshal([]byte(formOf(t, "junit", nil, nil)), &all); err != nil {
		t.Errorf("no host: %v", err)
	}
}

func TestFleetSARIF(t *testing.T) {
	schema := schematest.Compiled(t, "../../report/testdata/sarif-schema-2.1.0.json", "")
	text := formOf(t, "sarif", four, ofFour())
	for _, s := range []string{text, formOf(t, "sarif", nil, nil)} {
		if err := schematest.Validate(t, schema, []byte(s)); err != nil {
			t.Errorf("%v\n%s", err, s)
		}
	}
	if schematest.Validate(t, schema, []byte(strings.Replace(text, `"level": "error"`, `"level": "bad"`, 1))) == nil {
		t.Error("the schema lets a wrong level pass: this test proves nothing")
	}
	for i, want := range []string{`"id": "fettle/web1"`, `"id": "fettle/root@web2"`, `"id": "fettle/dead"`,
		`"executionSuccessful": false`, `"text": "could not reach dead: <refused>"`} {
		if strings.Count(text, want) != 1 {
			t.Errorf("%d: %d times %s in\n%s", i, strings.Count(text, want), want, text)
		}
	}
}

func TestFleetPrometheus(t *testing.T) {
	text := formOf(t, "prometheus", four, ofFour())
	p := expfmt.NewTextParser(model.UTF8Validation)
	families, err := p.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	by := map[string]string{}
	for name, f := range families {
		for _, m := range f.Metric {
			for _, l := range m.Label {
				if l.GetName() == "host" {
					by[name] += " " + l.GetValue()
				}
			}
			by[name] += fmt.Sprintf(":%g", m.GetGauge().GetValue())
		}
	}
	for name, want := range map[string]string{"fettle_reported": " dead:0 root@web2:1 web1:1 web3:1",
		"fettle_finding": " root@web2:1 web1:1", "fettle_unknown": " root@web2:1",
		"fettle_info": " root@web2:1 web1:1 web3:1", "fettle_run_duration_seconds": " root@web2:1 web1:1 web3:1"} {
		if by[name] != want {
			t.Errorf("%s:%s, want%s", name, by[name], want)
		}
	}
	if strings.Contains(text, "\x1b") {
		t.Error("a control character came through")
	}
}

// TestFleetNagios: one line, one pipe, at most 1,024 bytes, the gravest first, whatever
// hosts are called and however many there are.
func TestFleetNagios(t *testing.T) {
	got := formOf(t, "nagios", four, ofFour())
	head, perf, _ := strings.Cut(got, " | ")
	if want := "FETTLE CRITICAL - 4 hosts (1 gave no report): 2 found (1 critical, 1 warning); 1 clear, 1 not applicable, 2 unknown: " +
		"critical alpha (web1), warning alpha (root@web2), no report (dead), unknowns (root@web2)"; head != want {
		t.Errorf("got  %s\nwant %s", head, want)
	}
	if !strings.Contains(perf, " hosts=4;;;0 no_report=1;;;0 time=3.000s;;;0\n") {
		t.Errorf("performance data %s", perf)
	}
	var hosts []string
	outcomes := map[string][]trap.Outcome{}
	for i := range 3000 {
		h := fmt.Sprintf("%s-%04d.example.org", strings.Repeat("x", 200), i)
		hosts = append(hosts, h)
		outcomes[h] = []trap.Outcome{found(trap.Warning, "x|y")}
	}
	outcomes["bad"], hosts = []trap.Outcome{found(trap.Critical, "x")}, append(hosts, "bad")
	got = formOf(t, "nagios", hosts, outcomes)
	if len(got) > 1024 || strings.Count(got, "\n") != 1 || strings.Count(got, "|") != 1 ||
		!strings.Contains(got, ": critical alpha (bad), warning alpha (xxx") {
		t.Errorf("%d bytes: %s", len(got), got)
	}
}
