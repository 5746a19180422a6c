// Package mountbyhand finds file systems that somebody mounted by hand.
package mountbyhand

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/fact/container"
	"fettle/host/fact/mount"
	"fettle/host/fact/netstart"
	"fettle/host/fact/startup"
	"fettle/host/format/fstab"
)

//go:embed lore.md
var lore trap.Lore

// Trap is mount-by-hand.
var Trap = trap.Trap{Lore: lore, Cost: trap.Instant, Check: check}

func check(ctx context.Context, h *host.Host, r *trap.Report) error {
	if !h.Running() {
		return host.ErrNotRunning
	}
	if container.Of(ctx, h) != "" {
		r.NotApplicable("", "the container engine mounts its folders")
		return nil
	}
	us, err := startup.Units(ctx, h)
	if startup.WithoutManager(ctx, h, err) {
		r.NotApplicable("", startup.NoManager)
		return nil
	}
	if err != nil {
		return err
	}
	text, err := h.ReadFile(ctx, "/proc/self/mountinfo")
	if err != nil {
		return err
	}
	all := host.ParseMountinfo(string(text))
	for _, m := range all {
		if m.Point == "/" && m.Type == "overlay" {
			r.NotApplicable("", "the initramfs assembles the root file system, and mounts more for it")
			return nil
		}
	}
	s, err := netstart.Read(ctx, h)
	if err != nil {
		return err
	}
	table, err := fstab.Read(ctx, h)
	if err != nil {
		return err
	}
	return judge(r, all, mount.Automounts(string(text)), us, table, s)
}

func judge(r *trap.Report, all []host.MountInfo, auto []string, us []startup.Unit, table []fstab.Entry, s *netstart.Start) error {
	found := false
	for _, m := range all {
		if mount.Passing(m) || others(m, auto) || comesBack(m, us, table, s) {
			continue
		}
		found = true
		if s.Runs("pacemakerd") {
			r.Unknown(m.Point, fmt.Errorf("nothing mounts it at boot, but pacemaker may"))
			continue
		}
		if s.Unread != nil {
			r.Unknown(m.Point, fmt.Errorf("whether something mounts it at boot is not known: %w", s.Unread))
			continue
		}
		severity := trap.Warning
		if m.Type == "tmpfs" {
			severity = trap.Notice
		}
		r.Found(trap.Finding{
			Subject: m.Point, Severity: severity, Lost: "the mount " + m.Point,
			Summary:  "was mounted by hand: nothing mounts it at boot",
			ByHand:   "if it is wanted, add a line to /etc/fstab: " + line(m, all),
			Evidence: []trap.Evidence{trap.Ev("/proc/self/mountinfo", "%s on %s type %s", source(m), m.Point, m.Type)},
		})
	}
	if !found {
		r.Clear("", "what is mounted, something mounts again at boot")
	}
	return nil
}

// storages are folders in which the host's manager of virtual machines mounts what its own configuration names: pvestatd
// (Proxmox VE), vdsm (oVirt), OpenStack's nova-compute and cinder-volume.
var storages = []string{"/mnt/pve/", "/rhev/data-center/mnt/", "/var/lib/nova/mnt/", "/var/lib/cinder/mnt/"}

// others tells whether a program mounts it when it starts, or a user has.
func others(m host.MountInfo, auto []string) bool {
	switch {
	case m.Point == "/", m.Type == "zfs", m.Type == "overlay", strings.HasPrefix(m.Type, "fuse"):
		return true
	case strings.HasPrefix(m.Point, "/media/"), strings.HasPrefix(m.Point, "/run/"), strings.HasPrefix(m.Point, "/sysroot"):
		return true // udisks(8); programs; ostree
	case slices.ContainsFunc(storages, func(dir string) bool { return strings.HasPrefix(m.Point, dir) }):
		return true
	}
	return mount.Automounted(m, auto)
}

// comesBack tells whether a unit, fstab, or a file that runs at boot names it. The unit of a mount that
// systemd only saw has no file (systemd 252, src/core/mount.c, mount_setup_new_unit).
func comesBack(m host.MountInfo, us []startup.Unit, table []fstab.Entry, s *netstart.Start) bool {
	name := mount.Unit(m.Point)
	for i := range us {
		if u := &us[i]; u.ID == name && (u.FragmentPath != "" || len(u.TriggeredBy) > 0) {
			return true
		}
	}
	return s.Mentions(m.Point) != "" || slices.ContainsFunc(table, func(e fstab.Entry) bool { return e.Mount == m.Point })
}

// bind tells whether a part of a file system is mounted, and not its root.
func bind(m host.MountInfo) bool {
	return m.Root != "/" && m.Type != "btrfs" && m.Type != "nfs" && m.Type != "nfs4"
}

func source(m host.MountInfo) string {
	if bind(m) {
		return m.Root
	}
	return m.Device
}

// line is how fstab(5) would have it. Of a bind mount the kernel tells the folder within its file
// system, which is its path only on the root file system.
func line(m host.MountInfo, all []host.MountInfo) string {
	if bind(m) {
		folder := "FOLDER"
		if slices.ContainsFunc(all, func(o host.MountInfo) bool {
			return o.Point == "/" && o.Root == "/" && o.Major == m.Major && o.Minor == m.Minor
		}) {
			folder = m.Root
		}
		return fmt.Sprintf("%s %s none bind 0 0", folder, m.Point)
	}
	return fmt.Sprintf("%s %s %s defaults,nofail 0 0", m.Device, m.Point, m.Type)
}
