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
	const ansible = `/etc/a, /etc/b belongs to Ansible (/etc/a:1: "# Ansible managed"): its next run takes this change back.`
	if len(got) != 2 || !strings.HasPrefix(got[0], ansible) || !strings.HasPrefix(got[1], "/etc/c belongs to Puppet (") ||
		!strings.Contains(got[0], "fettle fix some-trap --plan --format ansible writes") {
		t.Errorf("%q", got)
	}
}
