package traptest

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fettle/engine/remedy"
	"fettle/engine/remedy/step"
	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/hosttest"
)

// A failing golden host shows what differs, and the command that accepts it.
func TestDiffers(t *testing.T) {
	got := differs("TestGolden/trapped", "testdata/trapped.txtar, section want", "a\nb\nc", "a\nB\nc")
	for _, want := range []string{
		"testdata/trapped.txtar, section want differs:\n", " a\n-b\n+B\n c\n",
		"FETTLE_UPDATE=1 go test ./engine/trap/traptest -run '^TestGolden$'",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in:\n%s", want, got)
		}
	}
}

// The update changes the sections that differ, adds those that are missing, and
// leaves every other byte.
func TestRewrite(t *testing.T) {
	const before = "hostname: a\nwhat this host is\n-- root/etc/a --\n x \n\n-- plan --\n-- want --\n\nclear: b\n"
	for _, c := range []struct{ want, plan, after string }{
		{"clear: b", "", before},
		{"clear: c", "/etc/a: set\n  1. do", "hostname: a\nwhat this host is\n-- root/etc/a --\n x \n\n" +
			"-- plan --\n/etc/a: set\n  1. do\n-- want --\nclear: c\n"},
	} {
		file := filepath.Join(t.TempDir(), "a.txtar")
		if err := os.WriteFile(file, []byte(before), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := rewrite(file, map[string]string{"want": c.want, "plan": c.plan}); err != nil {
			t.Fatal(err)
		}
		if got, _ := os.ReadFile(file); string(got) != c.after {
			t.Errorf("%q becomes\n%q, want\n%q", c.want, got, c.after)
		}
	}
	file := filepath.Join(t.TempDir(), "b.txtar")
	os.WriteFile(file, []byte("-- root/a --\nx\n"), 0o644)
	if err := rewrite(file, map[string]string{"want": "clear: b"}); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(file); string(got) != "-- root/a --\nx\n-- want --\nclear: b\n" {
		t.Errorf("a missing section: %q", got)
	}
}

// A plan is held with its diff and its title, and where there is none, with the reason.
func TestPlans(t *testing.T) {
	tr := &trap.Trap{Plan: func(_ context.Context, _ *host.Host, f trap.Finding) (remedy.Plan, error) {
		if f.Subject == "/etc/b" {
			return remedy.Plan{}, remedy.Refuse("it is a link")
		}
		return remedy.Plan{Title: "set a", Steps: []step.Step{step.File{Path: f.Subject, Was: []byte("a=1\n"), Content: []byte("a=2\n")}}}, nil
	}}
	got := Plans(t, tr, hosttest.New(t, ""), []trap.Outcome{
		{Status: trap.Clear, Subject: "/etc/0"}, {Status: trap.Found, Subject: "/etc/a"}, {Status: trap.Found, Subject: "/etc/b"},
	})
	for _, want := range []string{"/etc/a: set a\n", "-a=1\n", "+a=2\n", "/etc/b: no plan: it is a link\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in:\n%s", want, got)
		}
	}
	if strings.Contains(got, "/etc/0") {
		t.Errorf("a clear subject has no plan:\n%s", got)
	}
	found := []trap.Outcome{{Status: trap.Found, Severity: trap.Notice, Subject: "/etc/a"}}
	for has, want := range map[string]int{"": 1, "/etc/a: set b": 1, Plans(t, tr, hosttest.New(t, ""), found): 0} {
		kept := map[string]string{"want": "found notice /etc/a:", "plan": has}
		bad := sectionsDiffer("TestGolden", "a.txtar", kept, sections(t, tr, hosttest.New(t, ""), found, kept))
		if len(bad) != want {
			t.Errorf("kept plan %q: %d sections differ, want %d: %s", has, len(bad), want, bad)
		}
	}
	if _, asked := sections(t, tr, hosttest.New(t, ""), found, map[string]string{"want": ""})["plan"]; asked {
		t.Error("a golden host without the section gets a plan")
	}
}
