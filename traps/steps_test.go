package traps

import (
	"slices"
	"testing"

	"fettle/engine/remedy/step"
)

// TestTrapsKindsTouchNoFile: a file's mode, owner, ACL, attributes, time and links are
// kept by each kind of step in a table of engine/remedy. A trap's own kinds are not in
// it: they work on arrays and make new files. One that changed a file that is there
// would keep it as an item.
func TestTrapsKindsTouchNoFile(t *testing.T) {
	var own []string
	for _, kind := range step.Kinds() {
		s, err := step.Decode([]byte(`{"kind":"` + kind + `"}`))
		if err != nil {
			t.Fatal(err)
		}
		if slices.Contains([]string{"file", "remove", "perm", "acl", "sysctl", "sysfs", "unit", "link-mtu", "solicit-router", "check",
			"command"}, kind) {
			continue
		}
		own = append(own, kind)
		if _, keeps := s.(step.Keeper); keeps {
			t.Errorf("%s keeps items: what does it do to a file's mode, owner, ACL, attributes, time and links?", kind)
		}
	}
	if want := []string{"copy-out", "disk-pace", "md-bitmap", "md-readd"}; !slices.Equal(own, want) {
		t.Errorf("kinds of traps: %v, want %v", own, want)
	}
}
