package firstlook

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// incident is one of testdata/incidents.
type incident struct {
	name, line, log string
}

func incidents(t *testing.T) []incident {
	t.Helper()
	files, err := filepath.Glob("testdata/incidents/*.txt")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d incidents (%v)", len(files), err)
	}
	var out []incident
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		head, log, ok := strings.Cut(string(b), "\n---\n")
		_, line, ok2 := strings.Cut(head, "\nline: ")
		if !ok || !ok2 || !strings.Contains(log, line) || !strings.HasPrefix(head, "address: https://") {
			t.Fatalf("%s: no address, or no line that the log has", f)
		}
		out = append(out, incident{filepath.Base(f), line, log})
	}
	return out
}

// TestIncidents wants the line that a thread's answer pointed at among the first three groups,
// in four of five: alone, and among the lines of a healthy boot.
func TestIncidents(t *testing.T) {
	boot, err := os.ReadFile("../testdata/healthy/debian12-boot.log")
	if err != nil {
		t.Fatal(err)
	}
	for name, before := range map[string]string{"alone": "", "behind a healthy boot": string(boot) + "\n"} {
		all, right := 0, 0
		for _, in := range incidents(t) {
			all++
			r := looked(before + in.log)
			if slices.ContainsFunc(r.Groups[:min(3, len(r.Groups))], func(g Group) bool { return has(in, g) }) {
				right++
				continue
			}
			t.Logf("%s, %s: %q is not among the first three:\n%s", in.name, name, in.line, r.Text(80))
		}
		t.Logf("%s: %d of %d", name, right, all)
		if right*5 < all*4 {
			t.Errorf("%s: the line is among the first three groups in %d of %d", name, right, all)
		}
	}
}

// has reports whether the line is one of the group's.
func has(in incident, g Group) bool {
	var p parser
	for line := range strings.Lines(in.log) {
		r, ok := p.line([]byte(strings.TrimRight(line, "\n")))
		if ok && strings.Contains(line, in.line) && string(r.by) == g.By && fits(strings.Fields(g.Template), tokens(masked(nil, r.text))) {
			return true
		}
	}
	return false
}

func looked(log string) *Report {
	l := New()
	l.Write([]byte(log))
	return l.Report()
}
