package check

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fettle/cli/app"
	"fettle/engine/trap"
	"fettle/host"
	"fettle/internal/config"
	"fettle/report"
)

// shown is what a report on a host of this kind says, and the status it ends with.
func shown(t *testing.T, kind host.Kind, opt outputOptions, failOn trap.Severity, outcomes ...trap.Outcome) (string, error) {
	t.Helper()
	t.Setenv("STATE_DIRECTORY", t.TempDir())
	var b bytes.Buffer
	if opt.format == "" {
		opt.format = "text"
	}
	out, err := newOutput(&app.App{Stdout: &b, Stderr: &b}, opt, failOn)
	if err != nil {
		t.Fatal(err)
	}
	defer out.abandon()
	for i := range outcomes {
		outcomes[i].Trap = "alpha"
	}
	err = out.Begin(report.Meta{Host: "web1", Kind: kind, Started: time.Now()}, []*trap.Trap{{Lore: "---\nid: alpha\ntitle: Alpha\n---\n"}})
	err = errors.Join(err, out.Result(trap.Result{Trap: "alpha", Outcomes: outcomes}), out.End(time.Second))
	if err != nil {
		t.Fatal(err)
	}
	return b.String(), out.status()
}

// TestLeastSeverity: what is less severe than asked for is not told, and what is unknown always is.
func TestLeastSeverity(t *testing.T) {
	unknown := trap.Outcome{Subject: "odd", Status: trap.Unknown, Reason: "odd cannot be read"}
	all := []trap.Outcome{found(trap.Notice, "low"), found(trap.Warning, "mid"), found(trap.Critical, "high"), unknown}
	for severity, want := range map[string]string{
		"": "low mid high odd", "notice": "low mid high odd", "warning": "mid high odd", "critical": "high odd",
	} {
		got, _ := shown(t, host.KindCapture, outputOptions{severity: severity}, trap.Warning, slices.Clone(all)...)
		for _, subject := range []string{"low", "mid", "high", "odd"} {
			if told := strings.Contains(got, "it is "+subject) || strings.Contains(got, subject+" cannot"); told != strings.Contains(want, subject) {
				t.Errorf("from %q on, %s: %v\n%s", severity, subject, told, got)
			}
		}
	}
}

// TestStatus: what the exit status says of what was found.
func TestStatus(t *testing.T) {
	unknown := trap.Outcome{Subject: "odd", Status: trap.Unknown, Reason: "odd"}
	low, mid, high := found(trap.Notice, "x"), found(trap.Warning, "x"), found(trap.Critical, "x")
	for name, c := range map[string]struct {
		opt    outputOptions
		failOn trap.Severity
		of     []trap.Outcome
		want   int
	}{
		"nothing":                     {outputOptions{}, trap.Warning, nil, app.ExitOK},
		"a finding":                   {outputOptions{}, trap.Warning, []trap.Outcome{mid}, app.ExitFound},
		"a lesser one":                {outputOptions{}, trap.Warning, []trap.Outcome{low}, app.ExitOK},
		"unknown":                     {outputOptions{}, trap.Warning, []trap.Outcome{unknown}, app.ExitUnknown},
		"unknown, and tolerated":      {outputOptions{unknownOK: []string{"alpha"}}, trap.Warning, []trap.Outcome{unknown}, app.ExitOK},
		"unknown, and all tolerated":  {outputOptions{unknownOK: []string{config.AllTraps}}, trap.Warning, []trap.Outcome{unknown}, app.ExitOK},
		"unknown, another tolerated":  {outputOptions{unknownOK: []string{"beta"}}, trap.Warning, []trap.Outcome{unknown}, app.ExitUnknown},
		"a finding, for Nagios":       {outputOptions{format: "nagios"}, trap.Warning, []trap.Outcome{high}, 2},
		"a warning, for Nagios":       {outputOptions{format: "nagios"}, trap.Warning, []trap.Outcome{mid}, 1},
		"regraded by the admin":       {outputOptions{conf: graded("critical")}, trap.Critical, []trap.Outcome{low}, app.ExitFound},
		"regraded to less":            {outputOptions{conf: graded("notice")}, trap.Warning, []trap.Outcome{high}, app.ExitOK},
		"graded as what there is not": {outputOptions{conf: graded("odd")}, trap.Warning, []trap.Outcome{mid}, app.ExitFound},
	} {
		_, err := shown(t, host.KindCapture, c.opt, c.failOn, c.of...)
		got, status := app.ExitOK, new(app.Status)
		if errors.As(err, &status) {
			got = status.Code
		}
		if got != c.want {
			t.Errorf("%s: status %d, want %d", name, got, c.want)
		}
	}
}

func graded(severity string) *config.Config {
	return &config.Config{Severities: map[string]string{"alpha": severity}}
}

// TestAcceptedByFile: what the named file accepts is accepted, of this host and of others.
func TestAcceptedByFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "accepted.yaml")
	if err := os.WriteFile(file, []byte("- trap: alpha\n  subject: x\n  reason: known\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []host.Kind{host.KindLive, host.KindCapture} {
		for name, want := range map[string]int{file: app.ExitOK, "": app.ExitFound} {
			_, err := shown(t, kind, outputOptions{accepted: name}, trap.Warning, found(trap.Warning, "x"))
			if (err == nil) != (want == app.ExitOK) {
				t.Errorf("%s, accepted by %q: %v", kind, name, err)
			}
		}
	}
}

// TestFileIsWhole: a report that is given up leaves the file as it was; one that ends replaces it.
func TestFileIsWhole(t *testing.T) {
	file := filepath.Join(t.TempDir(), "report")
	os.WriteFile(file, []byte("before"), 0o600)
	out, err := newOutput(&app.App{}, outputOptions{format: "text", file: file}, trap.Warning)
	if err != nil {
		t.Fatal(err)
	}
	if err := out.Begin(report.Meta{Host: "web1"}, nil); err != nil {
		t.Fatal(err)
	}
	out.abandon()
	if b, _ := os.ReadFile(file); string(b) != "before" {
		t.Errorf("%q", b)
	}
	if said, _ := shown(t, host.KindCapture, outputOptions{file: file}, trap.Warning, found(trap.Warning, "x")); said != "" {
		t.Errorf("%q beside the file", said)
	}
	if b, _ := os.ReadFile(file); !strings.Contains(string(b), "it is x") {
		t.Errorf("%q", b)
	}
	if left, _ := os.ReadDir(filepath.Dir(file)); len(left) != 1 {
		t.Errorf("%v", left)
	}
}

// TestPluginError: an error is a line for a monitoring system, and stays as it is for people.
func TestPluginError(t *testing.T) {
	failed, found := app.Failf("no such host"), app.Exit(app.ExitFound, nil)
	for _, tt := range []struct {
		format string
		err    error
		said   string
		code   int
	}{
		{"nagios", failed, "FETTLE UNKNOWN - no such host\n", 3}, {"text", failed, "", app.ExitFailed},
		{"nagios", found, "", app.ExitFound}, {"nagios", nil, "", 0},
	} {
		var b bytes.Buffer
		err := pluginError(&app.App{Stdout: &b}, tt.format, tt.err)
		code, status := 0, new(app.Status)
		if errors.As(err, &status) {
			code = status.Code
		}
		if b.String() != tt.said || code != tt.code {
			t.Errorf("%s, %v: %q, status %d", tt.format, tt.err, b.String(), code)
		}
	}
}
