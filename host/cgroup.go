package host

import (
	"strconv"
	"strings"
)

// Owner is whom a process belongs to, read from its control group.
type Owner struct {
	// Unit is the unit of the host's own systemd; empty where there is none, and
	// in a container.
	Unit string
	// Container names a container as MANAGER/NAME: docker/4f797c539e6c, lxc/web1.
	Container string
	// Inside is the unit of the container's own systemd.
	Inside string
}

// SeenFrom is the owner as somebody sees it who lives in a container himself, as
// process 1 there does: what runs in that container is the host's own to him.
func (o Owner) SeenFrom(home string) Owner {
	if home != "" && o.Container == home {
		return Owner{Unit: o.Inside}
	}
	return o
}

// OwnerOf reads /proc/PID/cgroup (cgroups(7)), or the same lines joined by
// commas, as ps prints them. A container in any hierarchy counts: where cgroups
// of version 1 are managed without systemd (docker's driver cgroupfs), the
// unified hierarchy still shows the unit of the daemon.
func OwnerOf(cgroup string) Owner {
	var unit string
	for _, path := range cgroupPaths(cgroup) {
		o := ownerAt(path.name)
		if o.Container != "" {
			return o
		}
		if path.systemd && unit == "" {
			unit = o.Unit
		}
	}
	return Owner{Unit: unit}
}

// cgroupPath is the place of a process in one hierarchy; systemd's are the
// unified one and name=systemd.
type cgroupPath struct {
	name    string
	systemd bool
}

func cgroupPaths(text string) []cgroupPath {
	var out []cgroupPath
	for line := range strings.Lines(text) {
		for line = strings.TrimSuffix(line, "\n"); line != ""; {
			var one string
			one, line = cutHierarchy(line)
			f := strings.SplitN(one, ":", 3)
			if len(f) == 3 && strings.HasPrefix(f[2], "/") {
				out = append(out, cgroupPath{f[2], f[1] == "" || f[1] == "name=systemd"})
			}
		}
	}
	return out
}

// cutHierarchy cuts a line of ps before the next hierarchy's number: commas
// also are between controllers.
func cutHierarchy(line string) (one, rest string) {
	for i := 0; i < len(line); i++ {
		if line[i] != ',' {
			continue
		}
		n := i + 1
		for n < len(line) && line[n] >= '0' && line[n] <= '9' {
			n++
		}
		if n > i+1 && n < len(line) && line[n] == ':' {
			return line[:i], line[i+1:]
		}
	}
	return line, ""
}

// ownerAt reads one path from the outside in: the outermost service or scope
// below nothing but slices is the host's unit, unless what it holds is a
// container. What lies deeper in a unit belongs to somebody else: a user's
// manager (user@1000.service/init.scope), a systemd in a container.
func ownerAt(path string) Owner {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	unit := ""
	for i, p := range parts {
		if c, used := containerAt(parts[i:]); c != "" {
			return Owner{Container: c, Inside: insideOf(parts[i+used:])}
		}
		if unit == "" && slicesOnly(parts[:i]) && (strings.HasSuffix(p, ".service") || strings.HasSuffix(p, ".scope")) {
			unit = p
		}
	}
	return Owner{Unit: unit}
}

func slicesOnly(parts []string) bool {
	for _, p := range parts {
		if !strings.HasSuffix(p, ".slice") {
			return false
		}
	}
	return true
}

// insideOf is the unit in a container whose own groups begin at parts: after
// what some managers put between ("container" of crun, "ns" of Proxmox VE,
// "payload" of systemd-nspawn).
func insideOf(parts []string) string {
	for len(parts) > 0 && (parts[0] == "container" || parts[0] == "ns" || parts[0] == "payload" || strings.HasPrefix(parts[0], ".lxc")) {
		parts = parts[1:]
	}
	if len(parts) == 0 {
		return ""
	}
	return ownerAt("/" + strings.Join(parts, "/")).Unit
}

// scopes are the names that managers give to the scope of one container,
// before its number of 64 hexadecimal digits (systemd's driver).
var scopes = []struct{ prefix, manager string }{
	{
		"docker-",
		"docker",
	}, {"libpod-conmon-", "podman"}, {"libpod-payload-", "podman"}, {"libpod-", "podman"}, {"crio-conmon-", "crio"}, {"crio-", "crio"},
	{"cri-containerd-", "containerd"}, {"nerdctl-", "nerdctl"}, {"buildah-", "buildah"},
}

// keepers are the groups below which a manager keeps one group a container
// (the driver cgroupfs, and managers that do without systemd).
var keepers = map[string]string{
	"docker":        "docker",
	"libpod_parent": "podman",
	"lxc":           "lxc",
	"lxc.payload":   "lxc",
	"lxc.monitor":   "lxc",
	"ecs":           "ecs",
	"mesos":         "mesos",
	"buildkit":      "buildkit",
	"garden":        "garden",
}

// containerAt tells which container parts begin with, and how many of them
// name it.
func containerAt(parts []string) (name string, used int) {
	p := parts[0]
	bare := strings.TrimSuffix(p, ".scope")
	for _, s := range scopes {
		if id, ok := strings.CutPrefix(bare, s.prefix); ok && isContainerID(id) {
			return s.manager + "/" + id[:12], 1
		}
	}
	for _, prefix := range []string{"lxc.payload.", "lxc.monitor."} {
		if n, ok := strings.CutPrefix(p, prefix); ok && n != "" {
			return "lxc/" + n, 1
		}
	}
	if slice, cri, ok := strings.Cut(p, ".slice:"); ok && slice != "" { // containerd told to use both drivers
		if manager, id, ok := strings.Cut(cri, ":"); ok && isContainerID(id) {
			return strings.TrimPrefix(manager, "cri-") + "/" + id[:12], 1
		}
	}
	switch {
	case isContainerID(p): // docker on a host without systemd
		return "container/" + p[:12], 1
	case strings.HasPrefix(p, "systemd-nspawn@") && strings.HasSuffix(p, ".service"):
		return nspawnAt(parts, strings.TrimSuffix(strings.TrimPrefix(p, "systemd-nspawn@"), ".service"))
	case strings.HasPrefix(p, "machine-") && strings.HasSuffix(p, ".scope"):
		return machineAt(parts, strings.TrimPrefix(bare, "machine-"))
	case len(parts) > 1 && strings.HasPrefix(parts[1], "pod") && p != "" && len(parts) > 2 && isContainerID(parts[2]): // kubepods/podUID/ID
		return "kubernetes/" + parts[2][:12], 3
	case len(parts) == 1:
		return "", 0
	}
	manager := keepers[p]
	if manager == "" {
		return "", 0
	}
	n := 1
	for n+1 < len(parts) && keepers[parts[n]] != "" { // docker/buildkit/ID
		n++
	}
	id := parts[n]
	if strings.HasSuffix(id, ".slice") || strings.HasSuffix(id, ".scope") || strings.HasSuffix(id, ".service") {
		return "", 0
	}
	if manager == "ecs" && n+1 < len(parts) { // ecs/TASK/ID
		n++
		id = parts[n]
	}
	if plain := strings.TrimPrefix(id, "libpod-"); isContainerID(plain) {
		id = plain[:12]
	}
	return manager + "/" + id, n + 1
}

// nspawnAt: the process that keeps the container is the unit's own; what it
// runs lies below payload, or with cgroups of version 1 below the unit.
func nspawnAt(parts []string, name string) (string, int) {
	if len(parts) == 1 || parts[1] == "supervisor" {
		return "", 0
	}
	return "nspawn/" + UnescapeUnit(name), 1
}

// machineAt is what systemd-machined keeps: containers of nspawn and of libvirt.
// The process of a virtual machine is one of the host's.
func machineAt(parts []string, name string) (string, int) {
	name = UnescapeUnit(name)
	if strings.HasPrefix(name, "qemu-") || len(parts) > 1 && parts[1] == "supervisor" {
		return "", 0
	}
	if n, ok := strings.CutPrefix(name, "lxc-"); ok { // libvirt's number and name
		return "libvirt-lxc/" + n, 1
	}
	return "nspawn/" + name, 1
}

// UnescapeUnit undoes the escapes in a unit's name, as \x2d for a hyphen. A hyphen
// that stands for a slash, as in the unit of a path, is left alone (systemd-escape(1)).
func UnescapeUnit(name string) string {
	var b strings.Builder
	for i := 0; i < len(name); i++ {
		if esc := name[i:]; len(esc) >= 4 && esc[:2] == `\x` {
			if c, err := strconv.ParseUint(esc[2:4], 16, 8); err == nil {
				b.WriteByte(byte(c))
				i += 3
				continue
			}
		}
		b.WriteByte(name[i])
	}
	return b.String()
}

// UnitPath is the path that a unit is named after: /proc/fs/nfsd of proc-fs-nfsd.mount, as
// systemd-escape --unescape --path has it.
func UnitPath(name string) string {
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		name = name[:i]
	}
	return "/" + UnescapeUnit(strings.Trim(strings.ReplaceAll(name, "-", "/"), "/"))
}

// isContainerID reports whether s is what OCI's runtimes call a container by: 64
// hexadecimal digits.
func isContainerID(s string) bool {
	return len(s) == 64 && strings.Trim(s, "0123456789abcdef") == ""
}
