package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/internal/junit"
)

// several is a run in which causes are shared, apart and by hand; what is accepted on the hub; what an earlier run knew.
func several() []trap.Result {
	found := func(subject string, s trap.Severity, summary, byHand string) trap.Outcome {
		return trap.Outcome{Subject: subject, Status: trap.Found, Severity: s, Summary: summary, ByHand: byHand, Fixable: byHand == "",
			Evidence: []trap.Evidence{{Source: "/proc/1/maps", Value: "of " + subject}}}
	}
	hub := found("h", trap.Notice, "grows", "")
	hub.OnHub = &trap.Acceptance{Reason: "it may", By: "eve", Until: "2027-01-02"}
	below, was, odd := found("b", trap.Notice, "is small", ""), found("w", trap.Warning, "was seen", ""), found("o", 0, "says no severity", "")
	below.Below, was.Known = true, true
	took := func(r trap.Result, d time.Duration) trap.Result { r.Took = d; return r }
	return []trap.Result{
		took(result("libs", found("a.service", trap.Warning, "runs on old libraries", ""), found("b.service", trap.Warning,
			"runs on old libraries", "")), 900*time.Microsecond),
		took(result("full", found("/srv", trap.Critical, "/srv is full", "delete something"), found("/var", trap.Critical, "/var is full",
			"delete something")), time.Millisecond),
		took(result("apart", found("x", trap.Notice, "says one", ""), found("y", trap.Notice, "says another", "")), 2*time.Second),
		result("hub", hub, below, was, odd),
		result("unsure", trap.Outcome{Status: trap.Unknown, Reason: "no one knows"}, trap.Outcome{Subject: "s", Status: "future"},
			trap.Outcome{Subject: "k", Status: trap.Unknown, Reason: "long unknown", Known: true}),
		result("fine", trap.Outcome{Status: trap.Clear, Summary: "all is well"}, trap.Outcome{Subject: "n", Status: trap.NotApplicable,
			Reason: "there is none"}),
		{Trap: "gone", Resolved: []trap.Resolved{{Subject: "g", Said: "notice: was there"}}},
	}
}

// TestShown: what people see of it, in each of the forms for people.
func TestShown(t *testing.T) {
	for name, opt := range map[string]Options{
		"several": {}, "several-detail": {Detail: true}, "several-verbose": {Verbose: true, New: true}, "several-quiet": {Quiet: true},
		"several-quiet-new": {Quiet: true, New: true}, "several-timing": {Timing: true, Lead: "A sentence before.", Last: "And one after."},
	} {
		golden(t, name, []byte(strings.Join(lines(t, opt, several()), "\n")+"\n"))
	}
	for _, format := range []string{"html", "junit", "nagios", "csv"} {
		var b bytes.Buffer
		w, err := New(format, &b, Options{FailOn: trap.Warning})
		if err != nil {
			t.Fatal(err)
		}
		m := run.meta
		m.Kind, m.Host = host.KindRoot, "/mnt"
		err = w.Begin(m, []*trap.Trap{someTrap("libs", "Old libraries", true), someTrap("apart", "Two of them", true)})
		for _, r := range several() {
			err = errors.Join(err, w.Result(r))
		}
		if err = errors.Join(err, w.End(time.Minute)); err != nil {
			t.Fatal(err)
		}
		golden(t, "several-"+format, b.Bytes())
	}
}

// TestHosts: a host among many is told by its name, with what it says, and why its report is not whole.
func TestHosts(t *testing.T) {
	doc := NewDocument(run.meta, run.traps, several(), time.Minute)
	broken := errors.New("the connection was closed")

	whole, part := JUnitHost("web1", doc, Options{}, nil), JUnitHost("web1", doc, Options{}, broken)
	if whole.Errors == 0 || part.Errors != whole.Errors+1 || whole.Tests != len(whole.Cases) || part.Tests != whole.Tests+1 ||
		whole.Failures == 0 ||
		whole.Time != junit.Seconds(time.Minute) || whole.Timestamp != "2026-01-02T03:04:05" || whole.Hostname != "web1" {
		t.Errorf("%d of %d errors, %+v", part.Errors, whole.Errors, whole)
	}
	for _, c := range whole.Cases {
		if !strings.HasPrefix(c.Class, "web1.") {
			t.Errorf("class %s", c.Class)
		}
	}
	b, err := xml.Marshal(part)
	elsewhere := Meta{Started: time.Date(2026, 1, 2, 4, 4, 5, 0, time.FixedZone("CET", 3600))}
	if at := JUnitHost("x", &Document{Meta: elsewhere}, Options{}, nil).Timestamp; at != "2026-01-02T03:04:05" {
		t.Errorf("a run of a host with another clock began at %s, not in UTC", at)
	}
	if err != nil || !bytes.Contains(b, []byte(broken.Error())) || JUnitHost("x", &Document{}, Options{}, nil).Timestamp != "" {
		t.Errorf("%s, %v", b, err)
	}

	for _, failed := range []error{nil, broken} {
		r := SARIFHost("web1", doc, Options{}, failed)
		inv := r.Invocations[0]
		if inv.Successful != (failed == nil) || (inv.Notes == nil) != (failed == nil) || r.Automation.ID != "fettle/web1" ||
			r.Properties != nil ||
			inv.Start != "2026-01-02T03:04:05.000Z" || inv.End != "2026-01-02T03:05:05.000Z" {
			t.Errorf("%+v", r)
		}
		for _, res := range r.Results {
			if r.Tool.Driver.Rules[res.RuleIndex].ID != res.RuleID {
				t.Errorf("%s is called %s", res.RuleID, r.Tool.Driver.Rules[res.RuleIndex].ID)
			}
		}
	}
	if r := SARIFHost("x", &Document{Meta: Meta{Kind: host.KindCapture}}, Options{}, nil); r.Properties["kind"] != host.KindCapture ||
		r.Invocations[0].Start != "" {
		t.Errorf("%+v", r)
	}

	for _, timing := range []bool{false, true} {
		m := NewMetrics(Options{Timing: timing})
		m.Host("web2", doc)
		m.Host("web1", doc)
		m.Failed("web3")
		var out bytes.Buffer
		if err := m.Write(&out); err != nil {
			t.Fatal(err)
		}
		golden(t, fmt.Sprintf("hosts-timing-%v", timing), out.Bytes())
	}
}

// TestWhere: SARIF points to the first file that the evidence names, at its line.
func TestWhere(t *testing.T) {
	for source, want := range map[string]string{
		"/etc/fstab:2": "file:///etc/fstab 2", "/etc/fstab:1": "file:///etc/fstab 1", "/etc/fstab": "file:///etc/fstab 0",
		"/etc/fstab:x": "file:///etc/fstab 0",
		"/etc/fstab:0": "file:///etc/fstab 0", "/etc/fstab:-1": "file:///etc/fstab 0", "netlink": "file:///second 0", "/a b": "file:///second 0",
		"/etc/100%": "file:///etc/100%25 0",
	} {
		l := sarifWhere(&trap.Outcome{Evidence: []trap.Evidence{{Source: source}, {Source: "/second"}, {Source: "/third"}}})
		line := 0
		if l.Physical.Region != nil {
			line = l.Physical.Region.StartLine
		}
		if got := fmt.Sprint(l.Physical.Artifact.URI, " ", line); got != want {
			t.Errorf("%s: %s, want %s", source, got, want)
		}
	}
	if l := sarifWhere(&trap.Outcome{Trap: "a"}); l.Physical != nil || l.Logical[0].Name != "host" {
		t.Errorf("%+v", l)
	}
}

// TestFormulas: no cell is a formula of a spreadsheet.
func TestFormulas(t *testing.T) {
	var b bytes.Buffer
	err := errors.Join(CSVHeader(&b), CSVFailed(&b, "web1", "-oops"), CSVRows(&b, "=web2", several()[:1]))
	if want := "web1,,,failed,,,,'-oops,\n'=web2,libs,a.service,found,warning,open,,runs on old libraries,fettle fix libs --on " +
		"a.service\n"; err != nil ||
		!strings.Contains(b.String(), want) {
		t.Errorf("%v\n%s", err, b.String())
	}
	for _, cell := range []string{"=a", "+a", "-a", "@a"} {
		b.Reset()
		if err := csvLine(&b, cell, "a"+cell, ""); err != nil || b.String() != "'"+cell+",a"+cell+",\n" {
			t.Errorf("%s, %v", b.String(), err)
		}
	}
}

// full takes n bytes, and no more: a disk.
type full struct{ n int }

func (f *full) Write(b []byte) (int, error) {
	if f.n -= len(b); f.n < 0 {
		return 0, errFull
	}
	return len(b), nil
}

var errFull = errors.New("the disk is full")

// TestFullDisk: that a report could not be written is told, in every format, wherever it ends.
func TestFullDisk(t *testing.T) {
	for _, format := range Formats() {
		whole := len(write(t, format, Options{}))
		for _, n := range []int{0, whole / 2, whole - 1, whole} {
			w, err := New(format, &full{n}, Options{})
			if err == nil {
				err = w.Begin(run.meta, run.traps)
			}
			for _, r := range run.results {
				err = errors.Join(err, w.Result(r))
			}
			if err = errors.Join(err, w.End(run.took)); errors.Is(err, errFull) != (n < whole) {
				t.Errorf("%s of %d bytes, room for %d: %v", format, whole, n, err)
			}
		}
	}
	if m := NewMetrics(Options{}); !errors.Is(m.Write(&full{}), errFull) {
		t.Error("metrics")
	}
	if !errors.Is(CSVHeader(&full{}), errFull) || !errors.Is(CSVRows(&full{}, "a", several()), errFull) || !errors.Is(CSVFailed(&full{},
		"a", "b"), errFull) {
		t.Error("rows")
	}
}

// TestEmptyLists: a list without elements is one, for readers in strict languages.
func TestEmptyLists(t *testing.T) {
	b, err := json.Marshal(NewDocument(Meta{}, nil, nil, 0))
	if err != nil || !bytes.Contains(b, []byte(`"results":[]`)) || !bytes.Contains(b, []byte(`"traps":[]`)) {
		t.Errorf("%s, %v", b, err)
	}
	b, err = json.Marshal(NewDocument(Meta{}, nil, []trap.Result{{Trap: "a"}}, 0))
	if err != nil || !bytes.Contains(b, []byte(`"outcomes":[]`)) {
		t.Errorf("%s, %v", b, err)
	}
}
