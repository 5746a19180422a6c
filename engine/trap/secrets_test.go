package trap_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"fettle/engine/trap"
	"fettle/host"
)

// TestNoSecretLeaves: whatever a check quotes, and whatever another host reports, no part of an
// outcome shows a secret; where it stands is shown.
func TestNoSecretLeaves(t *testing.T) {
	const cron = "0 3 * * * gpg --passphrase hunter2 --recv-keys 1"
	check := &trap.Trap{Lore: "---\nid: quotes\ntitle: quotes\n---\n", Check: func(_ context.Context, _ *host.Host, r *trap.Report) error {
		ev := []trap.Evidence{trap.Ev("netlink", "mtu 1500"), trap.Ev("/var/spool/cron/crontabs/root:3", "%s", cron),
			trap.Ev("/etc/fstab:2", "/dev/a /b ecryptfs key=hunter2 0 0"), trap.Ev("/etc/sysctl.d/a.conf:1",
				"net.ipv4.tcp_fastopen_key = hunter2")}
		r.Found(trap.Finding{Subject: "a", Severity: trap.Warning, Summary: "app failed: password=hunter2 was refused", Evidence: ev,
			Detail: "it ran sshpass -p hunter2 ssh x", ByHand: "look at https://a:hunter2@b/"})
		r.Clear("b", "token=hunter2", ev...)
		r.NotApplicable("c", "pin=hunter2", ev...)
		r.Unknown("d", errors.New("curl -u a:hunter2 https://b: refused"), ev...)
		if ev[1].Value != cron {
			t.Error("the check's own evidence is changed")
		}
		return nil
	}}
	trap.Run(t.Context(), host.New(nil), []*trap.Trap{check}, trap.Options{}, func(res trap.Result) {
		for _, all := range []trap.Result{res, trap.Receive(check, trap.Result{Outcomes: []trap.Outcome{{Subject: "e", Status: trap.Clear,
			Evidence: []trap.Evidence{{Source: "/etc/crontab:1", Value: cron}}}}})} {
			b, err := json.Marshal(all)
			if err != nil || strings.Contains(string(b), "hunter2") || !strings.Contains(string(b), "--passphrase redacted --recv-keys 1") {
				t.Errorf("%v %s", err, b)
			}
		}
		if len(res.Outcomes) != 4 || res.Outcomes[0].Evidence[0].Value != "mtu 1500" {
			t.Errorf("%+v", res.Outcomes)
		}
	})
}
