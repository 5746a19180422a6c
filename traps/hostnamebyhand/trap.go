// Package hostnamebyhand finds a host name that was set until the next start.
package hostnamebyhand

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/fact/container"
)

//go:embed lore.md
var lore trap.Lore

// Trap is hostname-by-hand.
var Trap = trap.Trap{Lore: lore, Cost: trap.Instant, Check: check}

const (
	file = "/etc/hostname"             // hostname(5)
	live = "/proc/sys/kernel/hostname" // proc_sys_kernel(5)
)

func check(ctx context.Context, h *host.Host, r *trap.Report) error {
	if !h.Running() {
		return host.ErrNotRunning
	}
	if container.Of(ctx, h) != "" {
		r.NotApplicable("", "the container engine names it")
		return nil
	}
	now, err := h.ReadString(ctx, live)
	if err != nil {
		return err
	}
	now = strings.TrimSpace(now)
	text, err := h.ReadString(ctx, file)
	if host.IsAbsent(err) {
		r.NotApplicable("", "without /etc/hostname the network names the host")
		return nil
	}
	if err != nil {
		return err
	}
	static := name(text)
	switch short, _, _ := strings.Cut(static, "."); {
	case static == "", short == "localhost":
		r.NotApplicable("", "/etc/hostname leaves the name to the network")
	case same(static, now):
		r.Clear("", "is called what /etc/hostname says")
	default:
		r.Found(trap.Finding{
			Subject: now, Severity: trap.Warning, Lost: "the name " + now,
			Summary:  fmt.Sprintf("was set as the host's name until the next start: after a restart it is called %s", static),
			ByHand:   "if it is wanted: hostnamectl set-hostname " + now + ", and correct /etc/hosts",
			Evidence: []trap.Evidence{trap.Ev(live, "%s", now), trap.Ev(file, "%s", static)},
		})
	}
	return nil
}

// name is the first line that is not a comment.
func name(text string) string {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			return line
		}
	}
	return ""
}

// same tells whether two names are of one host: one may have its domain.
func same(a, b string) bool {
	first, _, _ := strings.Cut(a, ".")
	second, _, _ := strings.Cut(b, ".")
	return strings.EqualFold(first, second)
}
