package traps

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"fettle/engine/remedy"
	"fettle/engine/remedy/step"
	"fettle/engine/trap"
	"fettle/engine/trap/traptest"
	"fettle/host"
	"fettle/host/hosttest"
)

// TestPlansWaitAndGuard: testdata/plans.txt tells of each plan that the golden hosts lead to how long
// its fix waits for its effect, and whether it is undone unless somebody confirms that the host can still be
// reached: what no diff shows. FETTLE_UPDATE=1 writes it again.
func TestPlansWaitAndGuard(t *testing.T) {
	var got []string
	for _, tr := range whole() {
		if tr.Plan == nil {
			continue
		}
		for _, name := range goldenFiles(t, tr) {
			src, extra := hosttest.Load(t, name)
			_, network := extra["network"]
			h := host.New(src)
			for _, o := range traptest.Run(t, tr, h, trap.Options{Network: network}) {
				if o.Status != trap.Found {
					continue
				}
				if p, err := tr.Plan(t.Context(), h, o); err == nil {
					fromTheHost(t, name+": "+o.ID(), h, p)
					guard := map[bool]string{true: ", to be confirmed"}[p.CutsConnection]
					got = append(got, fmt.Sprintf("%s: waits %s%s", o.ID(), p.Settle, guard))
				}
			}
		}
	}
	slices.Sort(got)
	got = slices.Compact(got)
	const file = "testdata/plans.txt"
	if os.Getenv("FETTLE_UPDATE") == "1" {
		if err := os.WriteFile(file, []byte(strings.Join(got, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(strings.TrimSpace(string(b)), "\n")
	for _, line := range got {
		if !slices.Contains(want, line) {
			t.Errorf("%s does not say: %s", file, line)
		}
	}
	for _, line := range want {
		if !slices.Contains(got, line) {
			t.Errorf("%s says, and no golden host leads to it: %s", file, line)
		}
	}
}

// fromTheHost wants each file of a plan to be taken for what it says when its step comes: else the step
// refuses, and the whole change is rolled back.
func fromTheHost(t *testing.T, of string, h *host.Host, p remedy.Plan) {
	t.Helper()
	says, commanded := map[string][]byte{}, false
	for _, s := range p.Steps {
		var was, then []byte
		switch s := s.(type) {
		case step.File:
			was, then = s.Was, s.Content
		case step.Remove:
			was = s.Was
		case step.Command:
			commanded = true // it may make a file
			continue
		default:
			continue
		}
		name := step.Target(s)
		now, before := says[name]
		if !before {
			b, err := h.ReadFile(t.Context(), name)
			if err != nil && (commanded || !host.IsAbsent(err)) {
				continue
			}
			now = b
		}
		if !bytes.Equal(was, now) {
			t.Errorf("%s: the plan takes %s for\n%s\nand it says then\n%s", of, name, was, now)
		}
		says[name] = then
	}
}
