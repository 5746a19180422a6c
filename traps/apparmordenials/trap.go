// Package apparmordenials finds programs that AppArmor denies what they ask
// for, by their profiles.
package apparmordenials

import (
	"context"
	_ "embed"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"fettle/engine/message"
	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/fact/container"
	"fettle/host/fact/journal"
	"fettle/internal/lazy"
	"fettle/internal/sorted"
	"fettle/internal/units"
)

//go:embed lore.md
var lore trap.Lore

// Trap is apparmor-denials.
var Trap = trap.Trap{Lore: lore, Cost: trap.Instant, Limit: 30 * time.Second, Check: check}

// From how many denials of one profile on they count, and count for more.
const (
	some = 3
	many = 100
)

const module = "/sys/module/apparmor/parameters/enabled"

func check(ctx context.Context, h *host.Host, r *trap.Report) error {
	if container.Of(ctx, h) != "" {
		r.NotApplicable("", "a container has no AppArmor log of its own: the host has it")
		return nil
	}
	switch on, err := h.ReadString(ctx, module); {
	case host.IsAbsent(err):
		r.NotApplicable("", "this kernel has no AppArmor")
		return nil
	case err == nil && on != "Y":
		r.NotApplicable("", "AppArmor is off", trap.Ev(module, "%s", on))
		return nil
	}
	l, err := journal.Kernel(ctx, h)
	if err != nil {
		return err
	}
	found := 0
	for _, p := range profiles(l) {
		if p.count < some {
			continue
		}
		found++
		r.Found(p.finding(l))
	}
	switch taken, err := auditdTakes(ctx, h); {
	case found > 0:
	case err != nil:
		return err
	case taken:
		r.Unknown("", errors.New("auditd takes AppArmor's messages, and journald does not listen to them: see ausearch -m AVC -ts boot"))
	default:
		r.Clear("", "AppArmor denies nothing that matters", trap.Ev(l.Source, "%s", journal.Looked(l)))
	}
	return nil
}

// auditdTakes tells that the denials are in /var/log/audit alone: the kernel prints what
// no daemon takes, and journald hears the rest by a socket that not all distributions enable.
func auditdTakes(ctx context.Context, h *host.Host) (bool, error) {
	const daemon, socket = "auditd.service", "systemd-journald-audit.socket"
	us, err := h.Units(ctx, daemon, socket)
	if errors.Is(err, host.ErrNoSystemd) || errors.Is(err, host.ErrNotCollected) {
		return false, nil
	}
	return us[daemon].ActiveState == "active" && us[socket].ActiveState != "active", err
}

// lxc are the containers of LXC, Proxmox, LXD and Incus, which make a profile for each.
const lxc = "containers of LXC"

func subject(profile string) string {
	for _, p := range []string{"lxc-", "lxd-", "incus-", ":lxd-", ":incus-"} {
		if strings.HasPrefix(profile, p) {
			return lxc
		}
	}
	return profile
}

var (
	denied   = sync.OnceValue(func() *message.Set { return message.MustSet(lore.Messages()) })
	field    = lazy.Regexp(`\b(profile|name|comm|capname|requested_mask|peer)=(?:"([^"]*)"|([0-9A-F]+)\b)`)
	harmless = []string{
		"net_admin",
		"sys_ptrace",
		"dac_read_search",
		"dac_override",
		"sys_nice",
		"perfmon",
		"bpf",
		"sys_admin",
		"sys_resource",
		"sys_rawio",
		"syslog",
		"checkpoint_restore",
	}
)

// profile is what one profile denied.
type profile struct {
	name     string
	count    int
	messages []host.Message
}

func profiles(l host.Log) []*profile {
	var out []*profile
	// A kernel whose audit lines journald reads a second time has each twice.
	kernel := slices.ContainsFunc(l.Messages, func(m host.Message) bool { return m.By == "kernel" && operation(m.Text) != "" })
	for _, m := range l.Messages {
		op := operation(m.Text)
		if op == "" {
			continue
		}
		f := map[string]string{}
		for _, g := range field().FindAllStringSubmatch(m.Text, -1) {
			if f[g[1]] == "" {
				f[g[1]] = g[2] + g[3]
			}
		}
		if kernel && m.By != "kernel" || f["profile"] == "" || innocent(op, f) {
			continue
		}
		name := subject(f["profile"])
		i := slices.IndexFunc(out, func(p *profile) bool { return p.name == name })
		if i < 0 {
			i = len(out)
			out = append(out, &profile{name: name})
		}
		out[i].count += m.Count
		out[i].messages = append(out[i].messages, m)
	}
	sorted.By(out, func(a, b *profile) int { return strings.Compare(a.name, b.name) })
	return out
}

// operation is what was denied by a line; empty where nothing was.
func operation(text string) string {
	for _, h := range denied().Said("kernel", text) {
		return h.Field("word")
	}
	return ""
}

// innocent are denials that programs live with: what libraries try without success,
// and snaps, whose profiles are made so.
func innocent(op string, f map[string]string) bool {
	switch p := f["profile"]; {
	case strings.HasPrefix(p, "snap."),
		strings.HasPrefix(p, "snap-"),
		strings.HasPrefix(p, "/snap/"),
		p == "unprivileged_userns",
		strings.HasPrefix(p, "ubuntu_pro_"):
		return true
	case op == "open" && (strings.HasSuffix(f["name"], "bin/") || p == "rsyslogd" && f["name"] == "/run/systemd/sessions/"):
		return true // ntpd lists the folders of programs, rsyslogd the sessions
	case op == "capable":
		return slices.Contains(harmless, f["capname"])
	}
	return op == "ptrace"
}

func (p *profile) finding(l host.Log) trap.Finding {
	f := trap.Finding{Subject: p.name, Severity: trap.Notice, Summary: "AppArmor denies requests of programs with this profile",
		Detail: trap.Prose(units.Count(p.count, "denial", "denials") + " " + journal.Looked(l)),
		ByHand: "aa-logprof shows each denial, and adds what should be allowed to the profile"}
	switch {
	case p.name == lxc:
		f.ByHand = "where services in a container fail with status=226/NAMESPACE, allow nesting (Proxmox: pct set ID --features nesting=1; " +
			"LXD, Incus: security.nesting=true); otherwise nothing"
	case p.count >= many:
		f.Severity = trap.Warning
	}
	for _, m := range p.messages[max(0, len(p.messages)-5):] {
		f.Evidence = append(f.Evidence, trap.Ev(journal.Source(l, m), "%s", journal.Said(m)))
	}
	return f
}
