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
	// cmdline has a name that comes before the file's as systemd.hostname=
	// (kernel-command-line(7)).
	cmdline = "/proc/cmdline"
)

// google are what gives the host the instance's name at each lease, whatever is
// in /etc/hostname (github.com/GoogleCloudPlatform/guest-configs).
var google = []string{"/usr/bin/google_set_hostname", "/etc/dhcp/dhclient-exit-hooks.d/google_set_hostname"}

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
	case strings.ContainsAny(static, "?$"): // hostname(5) of systemd 258
		r.NotApplicable("", "/etc/hostname is a pattern that systemd fills in")
	case same(static, now):
		r.Clear("", "is called what /etc/hostname says")
	default:
		other, err := renamed(ctx, h)
		if err != nil {
			return err
		}
		if other != "" {
			r.NotApplicable("", other)
			return nil
		}
		r.Found(trap.Finding{
			Subject: now, Severity: trap.Warning, Lost: "the name " + now,
			Summary:  fmt.Sprintf("was set as the host's name until the next start: after a restart it is called %s", static),
			ByHand:   "if it is wanted: hostnamectl set-hostname " + now + ", and correct /etc/hosts",
			Evidence: []trap.Evidence{trap.Ev(live, "%s", now), trap.Ev(file, "%s", static)},
		})
	}
	return nil
}

// renamed tells what names the host at each start, whatever /etc/hostname says.
func renamed(ctx context.Context, h *host.Host) (string, error) {
	for _, f := range google {
		there, err := h.Exists(ctx, f)
		if err != nil {
			return "", err
		}
		if there {
			return "Google Cloud names the host at each lease", nil
		}
	}
	args, err := h.ReadString(ctx, cmdline)
	if err != nil && !host.IsAbsent(err) {
		return "", err
	}
	for _, a := range strings.Fields(args) {
		if strings.HasPrefix(a, "systemd.hostname=") {
			return "the kernel command line names the host", nil
		}
	}
	return "", nil
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
