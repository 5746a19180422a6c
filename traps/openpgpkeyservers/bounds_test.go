package openpgpkeyservers

import (
	"fmt"
	"strings"
	"testing"

	"fettle/engine/trap"
	"fettle/engine/trap/traptest"
	"fettle/host/hosttest"
)

// TestOneUserIsNotAll: a user's file of 400,000 keyservers makes that file
// unknown; the others are judged.
func TestOneUserIsNotAll(t *testing.T) {
	var many strings.Builder
	for i := range 400_000 {
		fmt.Fprintf(&many, "keyserver k%d.pgp.net\n", i)
	}
	h := hosttest.New(
		t,
		"-- root/etc/passwd --\nann:x:1001:1001::/home/ann:/bin/sh\nbob:x:1002:1002::/home/bob:/bin/sh\n-- root/etc/group --\nroot:x:0:\n"+
			"-- root/home/ann/.gnupg/gpg.conf --\n"+many.String()+"-- root/home/bob/.gnupg/gpg.conf --\nkeyserver keys.gnupg.net\n",
	)
	got := map[string]trap.Status{}
	for _, o := range traptest.Run(t, &Trap, h) {
		got[o.Subject] = o.Status
	}
	if got["/home/ann/.gnupg/gpg.conf"] != trap.Unknown || got["/home/bob/.gnupg/gpg.conf"] != trap.Found {
		t.Errorf("%v", got)
	}
}
