// Package unitsfailed finds systemd units that have failed, and the line of
// the log that says why.
package unitsfailed

import (
	"context"
	_ "embed"
	"errors"
	"slices"
	"strings"
	"time"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/fact/container"
	"fettle/host/fact/journal"
	"fettle/internal/fnmatch"
)

//go:embed lore.md
var lore trap.Lore

// Trap is units-failed.
var Trap = trap.Trap{Lore: lore, Cost: trap.Instant, Limit: 30 * time.Second, Check: check, Plan: plan}

// maxUnits is of how many units the log is looked through.
const maxUnits = 50

func check(ctx context.Context, h *host.Host, r *trap.Report) error {
	if err := h.Systemd(ctx); errors.Is(err, host.ErrNoSystemd) {
		r.NotApplicable("", err.Error())
		return nil
	} else if err != nil {
		return err
	}
	troubled, err := h.TroubledUnits(ctx)
	if err != nil {
		return err
	}
	inside := container.Of(ctx, h) != ""
	var left, usual []string
	found := 0
	for _, u := range troubled {
		if u.ActiveState != "failed" {
			continue
		}
		if inside && hostOnly(u.Name) {
			left = append(left, u.Name)
			continue
		}
		if inside && hardware(u.Name) {
			usual = append(usual, u.Name)
			continue
		}
		found++
		if found <= maxUnits {
			r.Found(finding(ctx, h, u, inside))
		}
	}
	for _, name := range usual[:min(len(usual), maxUnits)] {
		r.Found(usualIn(name))
	}
	switch {
	case found > maxUnits:
		r.Found(trap.Finding{Subject: "(others)", Severity: trap.Warning, Summary: "more units have failed: systemctl --failed lists them"})
	case len(usual) > 0:
	case found == 0 && len(left) > 0:
		r.Clear("", "no unit has failed that could run in a container", trap.Ev("systemctl --failed", "%s", strings.Join(left, " ")))
	case found == 0:
		r.Clear("", "no unit has failed", trap.Ev("systemctl --failed", "none"))
	}
	return nil
}

// hostOnly are units that distributions start and that a container may not have.
func hostOnly(name string) bool {
	return oneOf(
		name,
		"sys-*.mount",
		"dev-hugepages.mount",
		"dev-mqueue.mount",
		"proc-sys-fs-binfmt_misc.*",
		"run-rpc_pipefs.mount",
		"systemd-udev*",
		"systemd-modules-load.service",
		"systemd-sysctl.service",
		"systemd-binfmt.service",
		"systemd-remount-fs.service",
		"modprobe@*.service",
		"kmod-static-nodes.service",
		"systemd-hwdb-update.service",
		"systemd-random-seed.service",
		"systemd-rfkill.*",
		"ldconfig.service",
		"systemd-networkd-wait-online.service",
		"systemd-journald-audit.socket",
		"auditd.service",
		"ifupdown-pre.service",
		"e2scrub_reap.service",
	)
}

// hardware are units of packages that drive disks, sensors or the machine: installed in a
// container, they fail in every one of its kind.
func hardware(name string) bool {
	return oneOf(
		name,
		"openipmi.service",
		"ipmievd.service",
		"multipathd.*",
		"iscsid.*",
		"open-iscsi.service",
		"lvm2-*",
		"mdmonitor.service",
		"mdadm*.service",
		"smartd.service",
		"smartmontools.service",
		"zfs-*",
		"nvmefc-*",
		"nvmf-*",
		"irqbalance.service",
		"thermald.service",
		"lm-sensors.service",
		"lm_sensors.service",
		"fancontrol.service",
		"acpid.*",
		"upower.service",
		"fwupd.service",
		"bolt.service",
		"mcelog.service",
		"rasdaemon.service",
		"ras-mc-ctl.service",
		"rngd.service",
		"rng-tools*.service",
		"kdump*.service",
		"kexec*.service",
		"console-setup.service",
		"keyboard-setup.service",
		"setvtrgb.service",
		"hwclock*.service",
	)
}

// usualIn says the same of each, so that they are one entry.
func usualIn(name string) trap.Finding {
	return trap.Finding{
		Subject: name, Severity: trap.Notice,
		Summary:  "units that need hardware or the kernel to themselves fail here, as in every container",
		ByHand:   "systemctl mask each of them, or remove their packages from the container",
		Evidence: []trap.Evidence{trap.Ev("systemctl --failed", "%s failed", name)},
	}
}

func oneOf(name string, patterns ...string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return fnmatch.Match(p, name) })
}

// grave are units without which a host becomes unreachable or unusable.
func grave(name string) bool {
	return oneOf(
		name,
		"ssh.service",
		"ssh.socket",
		"sshd.service",
		"sshd.socket",
		"dropbear.service",
		"networking.service",
		"dhcpcd.service",
		"NetworkManager.service",
		"systemd-networkd.service",
		"wicked.service",
		"dbus.service",
		"dbus-broker.service",
		"systemd-logind.service",
		"systemd-journald.service",
		"systemd-resolved.service",
		"sssd.service",
	)
}

// slight are units whose failure costs little.
func slight(name string) bool {
	return oneOf(
		name,
		"*.scope",
		"run-*",
		"user@*.service",
		"user-runtime-dir@*.service",
		"*-wait-online.service",
		"fwupd-refresh.service",
		"motd-news.service",
		"apt-news.service",
		"esm-cache.service",
		"ua-auto-attach.service",
		"ua-reboot-cmds.service",
		"man-db.service",
		"systemd-coredump@*.service",
		"NetworkManager-dispatcher.service",
		"app-*.service",
		"dnf-makecache.service",
		"packagekit*.service",
		"plocate-updatedb.service",
		"mlocate-updatedb.service",
		"update-notifier-*.service",
		"apport-autoreport.service",
		"whoopsie.service",
		"casper-md5check.service",
		"mcelog.service", // which knows Intel's processors alone
		// Colours, fonts and keys of a console that a host without a screen may not have.
		"setvtrgb.service",
		"console-setup.service",
		"keyboard-setup.service",
		"systemd-vconsole-setup.service",
		"plymouth-*.service",
	)
}

func finding(ctx context.Context, h *host.Host, u host.Unit, inside bool) trap.Finding {
	f := trap.Finding{Subject: u.Name, Severity: trap.Warning,
		Evidence: []trap.Evidence{trap.Ev("systemctl --failed", "%s %s failed", u.Name, u.LoadState)}}
	switch {
	case grave(u.Name):
		f.Severity = trap.Critical
	case slight(u.Name) || u.LoadState == "not-found":
		f.Severity = trap.Notice
	}
	f.Summary, f.Evidence = reason(ctx, h, u.Name, f.Evidence)
	if inside && slices.ContainsFunc(f.Evidence, func(e trap.Evidence) bool { return strings.Contains(e.Value, "226/NAMESPACE") }) {
		f.Detail = "systemd may not mount what the service is to see of its own: the container's host must allow nesting (Proxmox: pct set " +
			"ID --features nesting=1; LXD, Incus: security.nesting=true)"
	}
	if u.LoadState == "not-found" {
		f.Summary = "failed, and its unit file is gone: systemd still remembers it"
		f.ByHand = "systemctl reset-failed " + u.Name
	} else if ok, _ := startable(ctx, h, u.Name); !ok {
		f.ByHand = "journalctl -b -u " + u.Name + "; fix the cause, then systemctl restart " + u.Name
	}
	return f
}

// reason is the summary: the line of the log that says why, where there is one.
func reason(ctx context.Context, h *host.Host, name string, ev []trap.Evidence) (string, []trap.Evidence) {
	l, err := journal.Failed(ctx, h)
	if err != nil {
		return "has failed; why is not known", append(ev, trap.Ev("why is not known", "%s", host.Reason(err)))
	}
	said := of(l, name)
	why := telling(said)
	if why == nil {
		return "has failed", append(ev, trap.Ev(l.Source, "no line about it %s", journal.Looked(l)))
	}
	for _, m := range said[max(0, len(said)-8):] {
		ev = append(ev, trap.Ev(journal.Source(l, m), "%s", journal.Said(m)))
	}
	text := journal.Stable(why.Text)
	if ofSystemd(*why) {
		text = strings.TrimPrefix(text, name+": ")
	}
	return "failed: " + text, ev
}
