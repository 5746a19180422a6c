package check

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"fettle/cli/app"
	"fettle/engine/trap"
	"fettle/fleet/ssh"
	"fettle/internal/jsondoc"
	"fettle/report"
	"fettle/report/history"
)

// run is one run over two hosts, of which one may give no report.
func fleetRun(t *testing.T, opt checkOptions, summary map[string]string) string {
	t.Helper()
	var out bytes.Buffer
	state, err := newFleetHosts(&app.App{}, opt.out)
	if err != nil {
		t.Fatal(err)
	}
	r := newFleetReport(&out, opt, trap.Notice, nil, len(summary))
	for _, host := range []string{"web1", "root@web2"} {
		took := time.Second
		res := trap.Result{Trap: "alpha", Outcomes: []trap.Outcome{{Trap: "alpha", Subject: "x", Status: trap.Clear}}}
		if s := summary[host]; s != "" {
			res.Outcomes[0] = trap.Outcome{Trap: "alpha", Subject: "x", Status: trap.Found, Severity: trap.Warning, Summary: s}
		}
		events := []ssh.Event{
			{
				Host: host,
				Line: report.Line{
					Type:   "begin",
					Format: report.DocumentFormat,
					Schema: jsondoc.Version,
					Meta:   &report.Meta{Host: host, Started: time.Now()},
					Traps:  []report.TrapInfo{{ID: "alpha"}},
				},
			},
			{Host: host, Line: report.Line{Type: "result", Result: &res}},
			{Host: host, Line: report.Line{Type: "end", Took: &took}},
		}
		if summary[host] == "cut off" {
			events[2] = ssh.Event{Host: host, Err: errors.New(host + ": the report was cut off")}
		}
		for _, e := range events {
			if err := state.event(&e); err != nil {
				t.Fatal(err)
			}
			if e.Line.Result != nil {
				r.counts.Add(*e.Line.Result)
			}
			if err := r.event(e); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := r.End(time.Second); err != nil {
		t.Fatal(err)
	}
	if err := state.save(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestFleetRemembers: what a host was shown to have is known the next time, gone is
// resolved, and a host that gave no whole report is remembered as it was.
func TestFleetRemembers(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("STATE_DIRECTORY", dir)
	var o checkOptions
	o.out.format, o.out.fresh, o.out.record = "text", true, true
	for i, c := range []struct {
		web1, web2 string
		want       string
	}{
		{"it is so", "it is so", "2 found (2 warning)"},
		{"it is so", "cut off", "1 found (1 warning)"}, // what was cut off is counted as far as it came
		{"", "it is so", "0 found; 1 clear, 0 not applicable, 0 unknown, 1 known, 1 resolved"},
		{"it is so", "", "1 found (1 warning); 1 clear, 0 not applicable, 0 unknown, 1 resolved"},
	} {
		got := fleetRun(t, o, map[string]string{"web1": c.web1, "root@web2": c.web2})
		if !strings.Contains(got, c.want) {
			t.Errorf("run %d: want %q in\n%s", i+1, c.want, got)
		}
		time.Sleep(5 * time.Millisecond) // runs are named by the millisecond
	}
	for host, want := range map[string]int{"web1": 4, "root@web2": 3} {
		if names, err := history.In(app.HostState(dir, host)).Names(); err != nil || len(names) != want {
			t.Errorf("%s: %v, %v recorded", host, names, err)
		}
	}
}

// TestFleetForms: the forms are whole with hosts and without any.
func TestFleetForms(t *testing.T) {
	t.Setenv("STATE_DIRECTORY", t.TempDir())
	var o checkOptions
	o.out.format = "json"
	var d fleetDocument
	text := fleetRun(t, o, map[string]string{"web1": "<b>&", "root@web2": "cut off"})
	if err := json.Unmarshal([]byte(text), &d); err != nil || len(d.Hosts) != 2 || d.Counts.Found != 2 || d.Took == 0 ||
		d.Hosts[1].Reason == "" ||
		d.Hosts[0].Report == nil {
		t.Errorf("%v: %+v", err, d)
	}
	whole := strings.Builder{}
	if err := jsondoc.Encode(&whole, d, "  "); err != nil || whole.String() != text {
		t.Errorf("written piece by piece it differs:\n%s", text)
	}
	var none strings.Builder
	if err := newFleetReport(&none, o, trap.Notice, nil, 0).End(0); err != nil || json.Unmarshal([]byte(none.String()), &d) != nil ||
		len(d.Hosts) != 0 {
		t.Errorf("no host: %v\n%s", err, none.String())
	}

	o.out.format = "csv"
	rows, err := csv.NewReader(strings.NewReader(fleetRun(t, o, map[string]string{"web1": "=cmd()\x1b", "root@web2": ""}))).ReadAll()
	if err != nil || len(rows) != 2 || rows[1][0] != "web1" || rows[1][7] != `'=cmd()\x1b` {
		t.Errorf("%v: %q", err, rows)
	}

	o.out.format = "html"
	page := fleetRun(t, o, map[string]string{"web1": "<script>alert(1)</script>", "root@web2": "cut off"})
	for _, want := range []string{"<h1>2 hosts</h1>", "&lt;script&gt;", `<td class="warning">W</td>`, "1 gave no report", "web1 (x)",
		"the report was cut off", "Content-Security-Policy"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	if strings.Contains(page, "<script") {
		t.Error("a script is on the page")
	}
}
