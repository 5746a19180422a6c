package confine

import (
	"strings"
	"testing"

	"fettle/host"
	"fettle/internal/means"
)

const confining = "capget,capset,unshare,mount,prctl,seccomp,landlock_create_ruleset,landlock_add_rule,landlock_restrict_self"

// weighs tells calls that matter from the question for the kernel's version of Landlock.
func weighs(call string) bool { return !strings.Contains(call, "(NULL, 0,") }

// TestEachCallFails: whatever the kernel refuses while a thread is confined is an error, after
// which no command runs.
func TestEachCallFails(t *testing.T) {
	var spec host.CommandSpec
	more := func(call string) bool { // Landlock makes up for what was not mounted anew
		return weighs(call) && (ABI() == 0 || !strings.Contains(call, "MS_REMOUNT"))
	}
	means.Failing(t, confining, more, func() { spec = host.CommandSpec{Isolated: true, Write: []string{t.TempDir()}} },
		func() error { return confineFor(spec, ABI()) })
}

// TestEachMountFails: without Landlock no mount may stay writable.
func TestEachMountFails(t *testing.T) {
	weighs := func(call string) bool {
		return !strings.Contains(call, "MS_REMOUNT") || strings.Contains(call, `"/dev`)
	}
	means.Failing(t, "mount", weighs, func() {}, func() error {
		_, err := isolate(0)
		return err
	})
}

// TestEachCallOfSelfFails: so it is for a process that confines itself.
func TestEachCallOfSelfFails(t *testing.T) {
	means.Failing(t, confining, weighs, func() {}, func() error {
		_, err := Self(Rules{Read: []string{"/"}})
		return err
	})
}
