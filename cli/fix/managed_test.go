package fix

import (
	"strings"
	"testing"

	"fettle/engine/remedy"
	"fettle/engine/remedy/step"
	"fettle/host/hosttest"
)

// TestOwnedNotes: one note for each owner, whatever trap planned it; files of nobody and
// running state have none.
func TestOwnedNotes(t *testing.T) {
	h := hosttest.New(t, "-- root/etc/a --\n# Ansible managed\n-- root/etc/b --\n# ansible managed\nx\n"+
		"-- root/etc/c --\n# managed by Puppet\n-- root/etc/d --\n# mine\n-- root/run/e --\n# Ansible managed\n")
	var plan remedy.Plan
	for _, f := range []string{"/etc/a", "/etc/b", "/etc/a", "/etc/c", "/etc/d", "/run/e", "/etc/new"} {
		plan.Steps = append(plan.Steps, step.File{Path: f})
	}
	got := ownedNotes(t.Context(), h, "some-trap", plan)
	const ansible = `/etc/a, /etc/b belong to Ansible (/etc/a:1: "# Ansible managed"): its next run takes this change back.`
	if len(got) != 2 || !strings.HasPrefix(got[0], ansible) || !strings.HasPrefix(got[1], "/etc/c belongs to Puppet (") ||
		!strings.Contains(got[0], "fettle fix some-trap --plan --format ansible writes") {
		t.Errorf("%q", got)
	}
}

// TestRecentRuns: of files that nothing shows to be anybody's, who may take them all the same.
func TestRecentRuns(t *testing.T) {
	const files = "-- root/etc/a --\nx\n-- root/etc/b --\n# managed by Puppet\n"
	run := func(mtime string) string { // by a clock that says 2026-01-02T03:04:05Z
		return "-- root/var/lib/puppet/state/last_run_summary.yaml --\n-- stat/var/lib/puppet/state/last_run_summary.yaml --\nmtime " +
			mtime + "\n" + files
	}
	of := func(text string, files ...string) string {
		var plan remedy.Plan
		for _, f := range files {
			plan.Steps = append(plan.Steps, step.File{Path: f})
		}
		return strings.Join(ownedNotes(t.Context(), hosttest.New(t, text), "some-trap", plan), "\n")
	}
	const said = "Puppet ran on this host 30 min ago (/var/lib/puppet/state/last_run_summary.yaml). Nothing shows whether it writes /etc/a;"
	if got := of(run("2026-01-02T02:34:05Z"), "/etc/a", "/etc/a"); !strings.HasPrefix(got, said) {
		t.Errorf("%q, want %q", got, said)
	}
	for what, got := range map[string]string{
		"a run of last year":              of(run("2025-01-02T02:34:05Z"), "/etc/a"),
		"no run":                          of(files, "/etc/a"),
		"only files whose owner is known": strings.ReplaceAll(of(run("2026-01-02T02:34:05Z"), "/etc/b"), "belongs to Puppet", ""),
	} {
		if strings.Contains(got, "ran on this host") {
			t.Errorf("%s: %q", what, got)
		}
	}
}
