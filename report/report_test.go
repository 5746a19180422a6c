package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/internal/junit"
	"fettle/internal/schematest"
	"fettle/internal/ui"
)

func TestUnknownFormat(t *testing.T) {
	_, err := New("yaml", &bytes.Buffer{}, Options{})
	if err == nil || !strings.Contains(err.Error(), `"yaml"`) || !strings.Contains(err.Error(), "prometheus") {
		t.Errorf("error %v does not name the format and those there are", err)
	}
}

// TestNothingRaw: no format but JSON's and XML's own escapes lets a control
// character through to where a terminal may see it.
func TestNothingRaw(t *testing.T) {
	for _, f := range Formats() {
		for _, v := range []bool{false, true} {
			for i, b := range write(t, f, Options{Verbose: v}) {
				if b < ' ' && b != '\n' || b == 0x7f {
					t.Errorf("%s: control character %#x at offset %d", f, b, i)
				}
			}
		}
	}
	if s := string(write(t, "text", Options{})); strings.ContainsRune(s, '\u202e') || !utf8.ValidString(s) {
		t.Error("text lets a bidi override or invalid UTF-8 through")
	}
}

func TestTextFitsEightyColumns(t *testing.T) {
	for line := range strings.Lines(string(write(t, "text", Options{}))) {
		line = strings.TrimRight(line, "\n")
		copied := strings.Contains(line, "fix: ") || strings.Contains(line, "more: ")
		if n := utf8.RuneCountInString(line); n > 80 && !copied {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

func TestJSONSchema(t *testing.T) {
	s := schematest.Compiled(t, "../docs/schema/report-1.schema.json", "")
	b := write(t, "json", Options{})
	if err := schematest.Validate(t, s, b); err != nil {
		t.Error(err)
	}
	for _, wrong := range []string{`"unknown"|"fine"`, `"severity": "critical"|"severity": "bad"`, `"schema": 1|"schema": 2`} {
		from, to, _ := strings.Cut(wrong, "|")
		if schematest.Validate(t, s, bytes.Replace(b, []byte(from), []byte(to), 1)) == nil {
			t.Errorf("the schema lets %s pass", to)
		}
	}
}

func TestJSONReadsBack(t *testing.T) {
	var d Document
	if err := json.Unmarshal(write(t, "json", Options{}), &d); err != nil {
		t.Fatal(err)
	}
	if want := worstFirst(run.results); !reflect.DeepEqual(d.Results[1], want[1]) {
		t.Errorf("read back %+v, want %+v", d.Results[1], want[1])
	}
	if got := d.Results[0].Outcomes[0].Subject; got != strings.ToValidUTF8(nasty, "\uFFFD") {
		t.Errorf("subject read back as %q", got)
	}
	if d.Counts.Found != 3 || d.Counts.Accepted != 1 || d.Counts.Known != 1 || d.Counts.Unknown != 1 || d.Counts.Clear != 3 ||
		d.Counts.NotApplicable != 1 {
		t.Errorf("counts %+v", d.Counts)
	}
}

func TestJSONL(t *testing.T) {
	var types []string
	for line := range strings.Lines(string(write(t, "jsonl", Options{}))) {
		var l Line
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		types = append(types, l.Type)
		var parts map[string]json.RawMessage
		if err := json.Unmarshal([]byte(line), &parts); err != nil {
			t.Fatal(err)
		}
		for name, def := range map[string]string{"meta": "meta", "result": "result", "counts": "counts"} {
			if part, ok := parts[name]; ok {
				if err := schematest.Validate(t, schematest.Compiled(t, "../docs/schema/report-1.schema.json", "#/$defs/"+def), part); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		}
	}
	if got := strings.Join(types, " "); got != "begin result result result result end" {
		t.Errorf("lines: %s", got)
	}
}

func TestJUnitReadsBack(t *testing.T) {
	b := write(t, "junit", Options{FailOn: trap.Warning})
	var s junit.Suites
	if err := xml.Unmarshal(b, &s); err != nil {
		t.Fatal(err)
	}
	for _, suite := range s.Suites {
		s.Skipped += suite.Skipped
	}
	// Of delta: what was resolved passes. Of beta: one unknown; accepted, known and below --fail-on are skipped.
	if s.Tests != 11 || s.Failures != 2 || s.Errors != 1 || s.Skipped != 4 {
		t.Errorf("tests %d, failures %d, errors %d, skipped %d", s.Tests, s.Failures, s.Errors, s.Skipped)
	}
}

func TestSARIF(t *testing.T) {
	s := schematest.Compiled(t, "testdata/sarif-schema-2.1.0.json", "")
	b := write(t, "sarif", Options{})
	if err := schematest.Validate(t, s, b); err != nil {
		t.Error(err)
	}
	if schematest.Validate(t, s, bytes.Replace(b, []byte(`"kind": "open"`), []byte(`"kind": "unknown"`), 1)) == nil {
		t.Error("the schema lets a wrong kind pass: this test proves nothing")
	}
}

func TestPrometheusParses(t *testing.T) {
	p := expfmt.NewTextParser(model.UTF8Validation)
	families, err := p.TextToMetricFamilies(bytes.NewReader(write(t, "prometheus", Options{Timing: true})))
	if err != nil {
		t.Fatal(err)
	}
	n := map[string]int{}
	for name, f := range families {
		n[name] = len(f.Metric)
	}
	want := map[string]int{
		"fettle_info":                   1,
		"fettle_finding":                5,
		"fettle_unknown":                1,
		"fettle_resolved":               1,
		"fettle_findings":               3,
		"fettle_outcomes":               6,
		"fettle_check_duration_seconds": 4,
		"fettle_run_duration_seconds":   1,
		"fettle_run_timestamp_seconds":  1,
	}
	if !reflect.DeepEqual(n, want) {
		t.Errorf("families %v, want %v", n, want)
	}
	found := false
	for _, m := range families["fettle_finding"].Metric {
		for _, l := range m.Label {
			found = found || l.GetName() == "subject" && l.GetValue() == ui.Visible(strings.ToValidUTF8(nasty, "\uFFFD"))
		}
	}
	if !found {
		t.Error("the nasty subject did not survive label escaping")
	}
}

// TestNagiosLine: one line; one pipe; performance data as the guidelines have it.
func TestNagiosLine(t *testing.T) {
	s := string(write(t, "nagios", Options{}))
	if strings.Count(s, "\n") != 1 || strings.Count(s, "|") != 1 {
		t.Errorf("not one line with one pipe: %q", s)
	}
	_, perf, _ := strings.Cut(s, " | ")
	for _, p := range strings.Fields(perf) {
		if !regexp.MustCompile(`^[a-z_]+=[0-9.]+s?;;;0$`).MatchString(p) {
			t.Errorf("performance data %q", p)
		}
	}
}

func TestExits(t *testing.T) {
	found := func(s trap.Severity) trap.Outcome { return trap.Outcome{Status: trap.Found, Severity: s} }
	unknown, clear, not := trap.Outcome{Status: trap.Unknown}, trap.Outcome{Status: trap.Clear}, trap.Outcome{Status: trap.NotApplicable}
	accepted, known := found(trap.Critical), found(trap.Critical)
	accepted.Accepted, known.Known = &trap.Acceptance{Reason: "x"}, true
	lapsed := found(trap.Critical)
	lapsed.Accepted = &trap.Acceptance{Reason: "x", Lapsed: "ended"}
	for _, c := range []struct {
		name         string
		outcomes     []trap.Outcome
		failOn       trap.Severity
		exit, nagios int
	}{
		{"nothing", nil, 0, 0, 0},
		{"clear", []trap.Outcome{clear, not}, 0, 0, 0},
		{"unknown", []trap.Outcome{clear, unknown}, 0, 4, 3},
		{"a status of the future is not clear", []trap.Outcome{{Status: "maybe"}}, 0, 4, 3},
		{"notice", []trap.Outcome{found(trap.Notice), unknown}, 0, 1, 1},
		{"notice below", []trap.Outcome{found(trap.Notice)}, trap.Warning, 0, 0},
		{"notice below, and unknown", []trap.Outcome{found(trap.Notice), unknown}, trap.Warning, 4, 3},
		{"warning", []trap.Outcome{found(trap.Warning)}, trap.Warning, 1, 1},
		{"warning below", []trap.Outcome{found(trap.Warning)}, trap.Critical, 0, 0},
		{"critical", []trap.Outcome{found(trap.Critical), unknown}, trap.Critical, 1, 2},
		{"accepted and known", []trap.Outcome{accepted, known}, 0, 0, 0},
		{"lapsed", []trap.Outcome{lapsed}, 0, 1, 2},
	} {
		var n Counts
		n.Add(trap.Result{Outcomes: c.outcomes})
		if got := n.Exit(c.failOn); got != c.exit {
			t.Errorf("%s: exit %d, want %d", c.name, got, c.exit)
		}
		if got := n.ExitNagios(c.failOn); got != c.nagios {
			t.Errorf("%s: nagios %d, want %d", c.name, got, c.nagios)
		}
	}
}

func TestCommand(t *testing.T) {
	for want, o := range map[string]trap.Outcome{
		"fettle fix a --on br0":   {Trap: "a", Subject: "br0", Fixable: true},
		"fettle fix a":            {Trap: "a", Fixable: true},
		"fettle fix a --on=-x":    {Trap: "a", Subject: "-x", Fixable: true},
		"fettle fix a --on 'a b'": {Trap: "a", Subject: "a b", Fixable: true},
		"fettle explain a":        {Trap: "a", Subject: "br0"},
	} {
		if got := Command(&o); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// A check that reached its limit: the option that raises it. What the check itself waited
// for has limits of its own.
func TestHintOfTime(t *testing.T) {
	for _, c := range []struct {
		kind         host.Kind
		reason, hint string
	}{
		{host.KindLive, "took too long (over 2s)", "give it longer: fettle check a --limit 8s; if it still does not end, look whether the " +
			"machine or a mount hangs"},
		{host.KindCapture, "took too long (over 30s)", "give it longer: fettle check a --limit 2m"},
		{host.KindLive, "took too long (over 100ms)", "give it longer: fettle check a --limit 1s; if it still does not end, look whether the " +
			"machine or a mount hangs"},
		{host.KindLive, "running rpm: took too long (over 2s)", "look whether the machine or a mount hangs, then: fettle check a"},
		{host.KindCapture, "took too long (over the hill)", ""},
	} {
		if got := hint(&Meta{Kind: c.kind}, &trap.Outcome{Trap: "a", Status: trap.Unknown, Reason: c.reason}); got != c.hint {
			t.Errorf("%s %s: %q, want %q", c.kind, c.reason, got, c.hint)
		}
	}
}

// TestHintOfRules: what stands for rules is no trap that can be checked.
func TestHintOfRules(t *testing.T) {
	o := &trap.Outcome{Trap: trap.NotLoaded, Status: trap.Unknown, Reason: "open /x: " + host.ErrDenied.Error()}
	if got := hint(&Meta{Kind: host.KindLive, Identity: host.Identity{EUID: 1}}, o); got != "run as root: sudo fettle check" {
		t.Error(got)
	}
}

// TestWhereToRun: what to run next must not be taken for a command for the
// machine that looks at another one.
func TestWhereToRun(t *testing.T) {
	o := &trap.Outcome{Trap: "a", Subject: "br0", Status: trap.Found, Fixable: true}
	denied := &trap.Outcome{Trap: "a", Status: trap.Unknown, Reason: "needs root: open /x: " + host.ErrDenied.Error()}
	for _, c := range []struct {
		m          Meta
		next, hint string
	}{
		{Meta{Kind: host.KindLive, Identity: host.Identity{EUID: 9}}, "fix: ", "run as root: sudo fettle check a"},
		{Meta{Kind: host.KindLive}, "fix: ", "root itself was refused: a container or a security module hides it"},
		{Meta{Kind: host.KindRoot, Host: "/mnt/a b", Identity: host.Identity{EUID: 9}}, "fix, once it runs: ", "run as root: sudo fettle " +
			"check a --root '/mnt/a b'"},
		{Meta{Kind: host.KindRoot}, "fix, once it runs: ", "root itself was refused: a container or a security module hides it"},
		{Meta{Kind: host.KindCapture, Identity: host.Identity{EUID: 9}}, "fix, on the host: ", "the capture was made without the right to " +
			"read it; capture again as root"},
	} {
		if got := next(&c.m, o); got != c.next {
			t.Errorf("%s: %q, want %q", c.m.Kind, got, c.next)
		}
		if got := hint(&c.m, denied); got != c.hint {
			t.Errorf("%s, user %d: %q, want %q", c.m.Kind, c.m.Identity.EUID, got, c.hint)
		}
	}
}
