// Package traptest tests traps on golden hosts: one txtar file a host (see
// hosttest), with what must be said of it in its section "want".
package traptest

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"fettle/engine/remedy"
	"fettle/engine/remedy/step"
	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/hosttest"
	"fettle/internal/ui"
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
// testdata/said/NAME.txt. A file with a section "plan", which may be empty at
// first, holds what fettle fix would do about each finding: the whole plan with
// its diffs, or why there is none.
//
// With FETTLE_UPDATE=1 in the environment all these are written again: read them
// before they are committed.
//
// Each file, table and command that a check asks for is denied once, on a host with findings and on
// one without.
//
// Every trap needs at least a healthy, a trapped and an incomplete host.
func Golden(t *testing.T, tr *trap.Trap) {
	t.Helper()
	files, _ := filepath.Glob("testdata/*.txtar")
	complete(t, tr, files)
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), ".txtar"), func(t *testing.T) { golden(t, tr, f) })
	}
	tried := map[string]bool{}
	for _, f := range files {
		refused(t, tr, f, tried)
	}
}

// complete tells what every trap must have.
func complete(t testing.TB, tr *trap.Trap, files []string) {
	t.Helper()
	if tr.Limit > 0 && tr.Limit < time.Second {
		t.Errorf("a limit of %s: a busy host takes longer to answer", tr.Limit)
	}
	for _, must := range []string{"healthy", "trapped", "incomplete"} {
		if !strings.Contains(strings.Join(files, "\n"), must) {
			t.Errorf("no testdata/%s*.txtar: every trap shows a healthy, a trapped and an incomplete host", must)
		}
	}
}

func golden(t testing.TB, tr *trap.Trap, file string) {
	src, extra := hosttest.Load(t, file)
	_, network := extra["network"]
	h := host.New(src)
	outcomes := Run(t, tr, h, trap.Options{Network: network})
	for _, o := range outcomes {
		for _, e := range o.Evidence {
			if e.Source == "" {
				t.Errorf("%s: evidence from nothing: %q: %q", o.Subject, e.Source, e.Value)
			}
		}
	}
	got := sections(t, tr, h, outcomes, extra)
	if update() {
		if err := rewrite(file, got); err != nil {
			t.Fatal(err)
		}
		extra = got
	}
	for _, bad := range sectionsDiffer(t.Name(), file, extra, got) {
		t.Error(bad)
	}
	compareSaid(t, file, said(outcomes))
}

// sections are those that a golden host has or must have, as they should be.
func sections(t testing.TB, tr *trap.Trap, h *host.Host, outcomes []trap.Outcome, has map[string]string) map[string]string {
	t.Helper()
	out := map[string]string{"want": Lines(outcomes)}
	if _, asked := has["plan"]; asked {
		out["plan"] = strings.TrimSpace(Plans(t, tr, h, outcomes))
	}
	return out
}

// Plans is what fettle fix would do about each finding, as it shows it.
func Plans(t testing.TB, tr *trap.Trap, h *host.Host, outcomes []trap.Outcome) string {
	t.Helper()
	var b strings.Builder
	for _, o := range outcomes {
		if o.Status != trap.Found {
			continue
		}
		if tr.Plan == nil {
			t.Errorf("%s has no Plan: the section \"plan\" of its golden hosts cannot be filled", tr.ID())
			return ""
		}
		plan, err := tr.Plan(t.Context(), h, o)
		text := remedy.Text(plan, remedy.TextOptions{Width: 100, All: true})
		if err != nil {
			text = ui.Wrap(err.Error(), 100, "no plan: ", "  ")
		}
		fmt.Fprintf(&b, "%s: %s\n", o.Subject, text)
	}
	return b.String()
}

// sectionsDiffer compares sections of a golden host with what they should hold.
func sectionsDiffer(test, file string, has, got map[string]string) (bad []string) {
	for _, section := range slices.Sorted(maps.Keys(got)) {
		if want := strings.TrimSpace(has[section]); got[section] != want {
			bad = append(bad, differs(test, file+", section "+section, want, got[section]))
		}
	}
	return bad
}

// rewrite puts sections into a golden host's file, and leaves the rest of it.
func rewrite(file string, sections map[string]string) error {
	old, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	ar := txtar.Parse(old)
	for _, name := range slices.Backward(slices.Sorted(maps.Keys(sections))) {
		i := slices.IndexFunc(ar.Files, func(f txtar.File) bool { return f.Name == name })
		if i < 0 {
			i = len(ar.Files)
			ar.Files = append(ar.Files, txtar.File{Name: name})
		}
		if strings.TrimSpace(string(ar.Files[i].Data)) != sections[name] {
			ar.Files[i].Data = []byte(sections[name] + "\n")
		}
	}
	if now := txtar.Format(ar); !bytes.Equal(now, old) {
		return os.WriteFile(file, now, 0o644)
	}
	return nil
}

func update() bool { return os.Getenv("FETTLE_UPDATE") == "1" }

// differs is what a failing golden host says: a diff, and the command that
// accepts it, typed at the top of the repository.
func differs(test, what, want, got string) string {
	test, _, _ = strings.Cut(test, "/")
	return fmt.Sprintf("%s differs:\n%s\nIf the new text is right, write it with this, and read what it changed:\n"+
		"  FETTLE_UPDATE=1 go test %s -run '^%s$'",
		what, step.Diff("kept", "now", []byte(want+"\n"), []byte(got+"\n")), tested(), test)
}

// tested is the package under test, as go test is given it at the top of the
// repository: tests run in their package's folder.
func tested() string {
	dir, err := os.Getwd()
	if err != nil {
		return "."
	}
	for top := dir; ; top = filepath.Dir(top) {
		if _, err := os.Stat(filepath.Join(top, "go.mod")); err == nil {
			rel, _ := filepath.Rel(top, dir)
			return "./" + filepath.ToSlash(rel)
		}
		if top == filepath.Dir(top) {
			return "."
		}
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
func compareSaid(t testing.TB, golden, got string) {
	t.Helper()
	if got == "" {
		return
	}
	file := filepath.Join("testdata", "said", strings.TrimSuffix(filepath.Base(golden), ".txtar")+".txt")
	if update() {
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(got), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Error(differs(t.Name(), file, strings.TrimSuffix(string(want), "\n"), strings.TrimSuffix(got, "\n")))
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
		fmt.Fprintf(&b, ": %s%s\n", o.Summary, o.Reason+o.Next())
	}
	return strings.TrimSpace(b.String())
}
