package sshslowlogin

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/hosttest"
)

// TestOlder: D-Bus and logind start together; a D-Bus that is much younger was
// restarted.
func TestOlder(t *testing.T) {
	for name, c := range map[string]struct {
		logind, bus string // when each started, in hundredths of a second
		want        string
	}{
		"at boot":      {"900", "1900", "clear "},
		"restarted":    {"900", "1901", "found D-Bus was restarted"},
		"logind anew":  {"90000", "900", "clear "},
		"not readable": {"900", "x", "unknown "},
	} {
		stat := func(pid int, comm, start string) string {
			return fmt.Sprintf("-- root/proc/%d/stat --\n%[1]d (%s) S 1 0 0 0 -1 0 0 0 0 0 1 1 0 0 20 0 1 0 %s 1 1\n", pid, comm, start)
		}
		h := hosttest.New(t, "kind: live\n"+stat(70, "systemd-logind", c.logind)+stat(71, "dbus-daemon", c.bus))
		older := trap.Trap{Lore: lore, Check: func(ctx context.Context, h *host.Host, r *trap.Report) error {
			(&facts{h: h}).older(ctx, r, host.Unit{MainPID: 70}, host.Unit{MainPID: 71}, nil)
			return nil
		}}
		got := ""
		trap.Run(t.Context(), h, []*trap.Trap{&older}, trap.Options{Parallel: 1}, func(r trap.Result) {
			for _, o := range r.Outcomes {
				got += fmt.Sprint(o.Status, " ", o.Summary)
			}
		})
		if !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %s; want %s", name, got, c.want)
		}
	}
}
