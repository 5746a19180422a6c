// Package mount distinguishes the admin's mounts from those of the kernel, systemd, containers
// and sessions.
package mount

import (
	"fmt"
	"slices"
	"strings"

	"fettle/host"
)

// virtual are file systems that the kernel, systemd, containers and users' sessions mount.
var virtual = []string{"proc", "sysfs", "cgroup", "cgroup2", "devpts", "devtmpfs", "mqueue", "hugetlbfs", "debugfs", "tracefs",
	"securityfs", "pstore", "bpf", "configfs", "fusectl", "efivarfs", "binfmt_misc", "ramfs", "autofs", "nsfs", "rpc_pipefs", "nfsd",
	"squashfs", "fuse.gvfsd-fuse", "fuse.portal", "fuse.lxcfs", "selinuxfs"}

// managed are folders below which others than the admin mount.
var managed = []string{"/proc/", "/sys/", "/dev/", "/run/credentials/", "/run/user/", "/run/systemd/", "/run/docker/", "/run/netns/",
	"/run/containerd/", "/run/lock/", "/var/lib/docker/", "/var/lib/containers/", "/var/lib/containerd/", "/var/lib/kubelet/", "/snap/",
	"/var/snap/", "/var/lib/lxcfs/", "/var/lib/snapd/", "/var/lib/ceph/", "/var/named/chroot/", "/var/lib/named/",
	"/var/lib/incus/", "/var/lib/lxd/", "/var/lib/schroot/", "/var/cache/pbuilder/"}

// Passing reports whether a mount comes and goes with a program, and is nobody's loss.
func Passing(m host.MountInfo) bool {
	if slices.Contains(virtual, m.Type) || m.Point == "/run" {
		return true
	}
	return slices.ContainsFunc(managed, func(dir string) bool { return strings.HasPrefix(m.Point+"/", dir) })
}

// Automounts are the mount points of autofs in proc_pid_mountinfo(5), those among them on which it has mounted what it
// is there for.
func Automounts(text string) (points []string) {
	for m := range host.EachMount(text) {
		if m.Type == "autofs" {
			points = append(points, m.Point)
		}
	}
	return points
}

// Automounted reports whether a mount is there because somebody asked for it: it comes again when somebody does.
func Automounted(m host.MountInfo, points []string) bool {
	return slices.ContainsFunc(points, func(p string) bool { return m.Point == p || strings.HasPrefix(m.Point, p+"/") })
}

// Unit is the name that systemd gives the unit of a mount point (systemd.unit(5), "String
// Escaping for Inclusion in Unit Names").
func Unit(point string) string {
	p := strings.Trim(point, "/")
	if p == "" {
		return "-.mount"
	}
	var b strings.Builder
	for i := range len(p) {
		switch c := p[i]; {
		case c == '/':
			b.WriteByte('-')
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == ':', c == '_', c == '.' && i > 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, `\x%02x`, c)
		}
	}
	return b.String() + ".mount"
}
