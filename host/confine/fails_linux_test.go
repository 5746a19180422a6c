package confine

import (
	"strings"
	"testing"

	"fettle/host"
	"fettle/internal/means"
)

const confining = "capget,capset,unshare,mount,prctl,seccomp,landlock_create_ruleset,landlock_add_rule,landlock_restrict_self"

// weighs tells calls that matter from the question for the kernel's version of Landlock, and from
// what Landlock does as well where there is some.
func weighs(call string) bool {
	return !strings.Contains(call, "(NULL, 0,") && (ABI() == 0 || !strings.Contains(call, "MS_REMOUNT"))
}

// TestEachCallFails: whatever the kernel refuses while a thread is confined is an error, after
// which no command runs.
func TestEachCallFails(t *testing.T) {
	var spec host.CommandSpec
	means.Failing(t, confining, weighs, func() { spec = host.CommandSpec{Isolated: true, Write: []string{t.TempDir()}} },
		func() error { return confineFor(spec, ABI()) })
}

// TestEachCallOfSelfFails: so it is for a process that confines itself.
func TestEachCallOfSelfFails(t *testing.T) {
	means.Failing(t, confining, weighs, func() {}, func() error {
		_, err := Self(Rules{Read: []string{"/"}})
		return err
	})
}
