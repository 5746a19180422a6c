// Package traptest tests traps on golden hosts: one txtar file a host (see
// hosttest), with what must be said of it in its section "want".
package traptest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/hosttest"
)

// Golden runs tr over every testdata/*.txtar and compares what it says, line
// for line, with the file's section "want":
//
//	found warning br0: the summary
//	clear br1: the summary
//	unknown br2: the reason
//	not-applicable: the reason
//
// What findings say beyond that, their detail and evidence, is compared with
// testdata/said/NAME.txt. With FETTLE_UPDATE=1 in the environment these files are
// written anew: read them before they are committed.
//
// Every trap needs at least a healthy, a trapped and an incomplete host.
func Golden(t *testing.T, tr *trap.Trap) {
	t.Helper()
	files, _ := filepath.Glob("testdata/*.txtar")
	for _, must := range []string{"healthy", "trapped", "incomplete"} {
		if !strings.Contains(strings.Join(files, "\n"), must) {
			t.Errorf("no testdata/%s*.txtar: every trap shows a healthy, a trapped and an incomplete host", must)
		}
	}
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), ".txtar"), func(t *testing.T) {
			src, extra := hosttest.Load(t, f)
			_, network := extra["network"]
			outcomes := Run(t, tr, host.New(src), trap.Options{Network: network})
			got := Lines(outcomes)
			if want := strings.TrimSpace(extra["want"]); got != want {
				t.Errorf("check said:\n%s\n\nwant:\n%s", got, want)
			}
			for _, o := range outcomes {
				for _, e := range o.Evidence {
					if e.Source == "" {
						t.Errorf("%s: evidence from nothing: %q: %q", o.Subject, e.Source, e.Value)
					}
				}
			}
			compareSaid(t, f, said(outcomes))
		})
	}
}

// said is all that the findings say.
func said(outcomes []trap.Outcome) string {
	var b strings.Builder
	for _, o := range outcomes {
		if o.Status != trap.Found {
			continue
		}
		fmt.Fprintf(&b, "%s: %s\n", o.Subject, o.Summary)
		for line := range strings.Lines(strings.TrimSpace(string(o.Detail) + "\n" + string(o.ByHand))) {
			b.WriteString("    " + strings.TrimRight(line, "\n") + "\n")
		}
		for _, e := range o.Evidence {
			fmt.Fprintf(&b, "  - %s: %s\n", e.Source, e.Value)
		}
	}
	return b.String()
}

// compareSaid compares what findings of a golden host say with what is kept.
func compareSaid(t *testing.T, golden, got string) {
	t.Helper()
	if got == "" {
		return
	}
	file := filepath.Join("testdata", "said", strings.TrimSuffix(filepath.Base(golden), ".txtar")+".txt")
	if os.Getenv("FETTLE_UPDATE") == "1" {
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(got), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v; FETTLE_UPDATE=1 makes it: read it then", err)
	}
	if got != string(want) {
		t.Errorf("findings say:\n%s\n%s has:\n%s", got, file, want)
	}
}

// Run runs one check, with options if any are given, and returns its outcomes.
func Run(t testing.TB, tr *trap.Trap, h *host.Host, opt ...trap.Options) []trap.Outcome {
	t.Helper()
	var out []trap.Outcome
	trap.Run(t.Context(), h, []*trap.Trap{tr}, append(opt, trap.Options{})[0], func(r trap.Result) { out = r.Outcomes })
	return out
}

// Lines writes outcomes as a golden file's "want" does.
func Lines(outcomes []trap.Outcome) string {
	var b strings.Builder
	for _, o := range outcomes {
		b.WriteString(string(o.Status))
		if o.Status == trap.Found {
			b.WriteString(" " + o.Severity.String())
		}
		if o.Subject != "" {
			b.WriteString(" " + o.Subject)
		}
		fmt.Fprintf(&b, ": %s%s\n", o.Summary, o.Reason)
	}
	return strings.TrimSpace(b.String())
}
