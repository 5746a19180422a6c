package ssh

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"
	"time"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/internal/jsondoc"
	"fettle/internal/means"
	"fettle/report"
)

// TestScripts: what is sent is read alike by every login shell, and data is
// never part of it unchecked.
func TestScripts(t *testing.T) {
	for _, s := range []string{runIt, sudoIt, keepIt} {
		if strings.ContainsAny(s, "'!\\\n`") {
			t.Errorf("holds what some shell reads differently: %s", s)
		}
		if out, err := exec.Command("/bin/sh", "-n", "-c", s).CombinedOutput(); err != nil {
			t.Errorf("%s: %s", s, out)
		}
	}
	if _, err := remote(runIt, "ab", []string{"check", "--limit=10s", "a.b:c/d,e@f%g+h"}); err != nil {
		t.Error(err)
	}
	for _, a := range []string{"", "a b", "$(x)", "a;b", "'", "a\nb", "ü", "*"} {
		if c, err := remote(runIt, "ab", []string{a}); err == nil {
			t.Errorf("argument %q was passed on: %s", a, c)
		}
	}
}

func TestNeed(t *testing.T) {
	if s, m, ok := need(97, "banner\n"+needed+" Linux aarch64\n"); !ok || s != "Linux" || goarch(m) != "arm64" {
		t.Error(s, m, ok)
	}
	if _, _, ok := need(0, needed+" Linux aarch64\n"); ok {
		t.Error("exit 0 needs nothing")
	}
	for m, want := range map[string]string{"x86_64": "amd64", "armv7l": "arm", "i686": "386", "vax": ""} {
		if goarch(m) != want {
			t.Errorf("%s: %s", m, goarch(m))
		}
	}
}

// lines is a good report in jsonl.
func lines(t testing.TB) []string {
	took := time.Second
	var out []string
	for _, l := range []report.Line{
		{Type: "begin", Format: "fettle-report", Schema: jsondoc.Version, Meta: &report.Meta{Host: "h", Kind: host.KindLive}},
		{Type: "result", Result: &trap.Result{Trap: "x", Outcomes: []trap.Outcome{{Trap: "x", Status: trap.Found, Severity: trap.Warning}}}},
		{Type: "end", Counts: &report.Counts{}, Took: &took},
	} {
		b, err := json.Marshal(l)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(b))
	}
	return out
}

func TestStream(t *testing.T) {
	l := lines(t)
	for _, c := range []struct {
		name, in, err string
		types         string
		ended         bool
	}{
		{"whole", strings.Join(l, "\n"), "", "begin result end", true},
		{"banner before", "Welcome\n{\"type\":\"end\"}\n" + strings.Join(l, "\n"), "", "begin result end", true},
		{"noise after", strings.Join(l, "\n") + "\nbye\n{}\n", "", "begin result end", true},
		{"cut off", l[0] + "\n" + l[1], "", "begin result", false},
		{"cut in a line", l[0] + "\n" + l[1][:20], "no JSON", "begin", false},
		{"noise within", l[0] + "\nWelcome\n" + l[1], "no JSON", "begin", false},
		{"newer", strings.Replace(l[0], `"schema":1`, `"schema":99`, 1), "version 99", "", false},
		{"empty result", l[0] + "\n{\"type\":\"result\"}", "neither more nor less", "begin", false},
		{"a result that ends", l[0] + "\n" + strings.Replace(l[1], `"type":"result"`, `"type":"end"`, 1), "neither more nor less", "begin",
			false},
		{"begins twice", l[0] + "\n{\"type\":\"begin\",\"schema\":1}", "begins twice", "begin", false},
		{"nothing", "", "", "", false},
		{"banner without end", strings.Repeat("x\n", maxLines+1), "lines", "", false},
	} {
		var s stream
		var types []string
		err := s.read(strings.NewReader(c.in), func(l report.Line) { types = append(types, l.Type) })
		if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) || strings.Join(types, " ") != c.types ||
			s.ended != c.ended {
			t.Errorf("%s: %v, %v, ended %v", c.name, types, err, s.ended)
		}
	}
}

func TestFuzz(t *testing.T) { means.Fuzz(t) }

func FuzzStream(f *testing.F) {
	f.Add(strings.Join(lines(f), "\n"))
	f.Add("{\"type\":\"begin\",\"format\":\"fettle-report\",\"schema\":1,\"meta\":{}}\n{\"type\":\"end\"}")
	f.Fuzz(func(t *testing.T, in string) {
		var s stream
		begun := false
		s.read(strings.NewReader(in), func(l report.Line) {
			if begun == (l.Type == "begin") || l.Type == "begin" && l.Meta == nil || (l.Type == "result") != (l.Result != nil) {
				t.Fatalf("passed on %+v", l)
			}
			begun = true
		})
		if s.ended && !begun {
			t.Fatal("ended without having begun")
		}
	})
}
