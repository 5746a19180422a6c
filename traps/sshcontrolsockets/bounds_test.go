package sshcontrolsockets

import (
	"fmt"
	"strings"
	"testing"

	"fettle/engine/trap"
	"fettle/engine/trap/traptest"
	"fettle/host/hosttest"
)

// TestOneUserIsNotAll: what one user's files hold too much of makes the trap
// unknown for that user; the others are judged.
func TestOneUserIsNotAll(t *testing.T) {
	const n = 700_000
	repeat := func(format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	for name, c := range map[string]struct {
		file, text string
		want       trap.Status
	}{
		"lines":         {"config", strings.Repeat("User x\n", n), trap.Unknown},
		"blocks":        {"config", repeat("Host h%d\n"), trap.Unknown},
		"control paths": {"config", strings.Repeat("ControlPath ~/x/%C\n", 10_000), trap.Unknown},
		"long":          {"config", strings.Repeat("User xxxxxxxxxxxxxxxxxxxxxxx\n", n), trap.Unknown},
		"empty lines":   {"config", strings.Repeat("\n", n), trap.Unknown},
		"known hosts":   {"known_hosts", repeat("h%d ssh-rsa A\n"), trap.Found},
	} {
		t.Run(name, func(t *testing.T) {
			h := hosttest.New(
				t,
				"-- root/etc/passwd --\nroot:x:0:0::/root:/bin/sh\nann:x:1001:1001::/home/ann:/bin/sh\nbob:x:1002:1002::/home/bob:/bin/sh\n"+
					"-- root/etc/group --\nroot:x:0:\n-- "+
					"root/home/bob/.ssh/config --\nControlPath relative-%C\n-- root/home/ann/.ssh/"+c.file+" --\n"+c.text,
			)
			got := map[string]trap.Status{}
			for _, o := range traptest.Run(t, &Trap, h) {
				got[o.Subject] = o.Status
			}
			if got["bob"] != trap.Found || got["ann"] != c.want || len(got) != 2 {
				t.Errorf("%v, want ann %s, and bob found", got, c.want)
			}
		})
	}
}
