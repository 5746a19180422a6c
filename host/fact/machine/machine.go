// Package machine describes the kind of host that is checked: its distribution,
// hardware or virtual machine, uptime, and the containers that it runs.
package machine

import (
	"cmp"
	"context"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"fettle/host"
	"fettle/host/fact/container"
	"fettle/host/fact/process"
	"fettle/host/format/osrelease"
)

// Facts are what could be read of it; what could not be is empty.
type Facts struct {
	Distribution string        `json:"distribution,omitempty"` // "Debian 12"
	Kind         string        `json:"kind,omitempty"`         // "KVM guest", "Docker container", "Dell Inc. PowerEdge R640"
	Up           time.Duration `json:"up_ns,omitempty"`
	Containers   []Containers  `json:"containers,omitempty"`
}

// Containers are those of one engine that run.
type Containers struct {
	Engine string `json:"engine"` // "Docker", "Podman", "LXC", "nspawn"
	Count  int    `json:"count"`
}

// Read reads the facts. Nothing that fails is an error: they are for people.
func Read(ctx context.Context, h *host.Host) Facts {
	var f Facts
	if release, err := osrelease.Read(ctx, h); err == nil {
		f.Distribution = release.Name()
	}
	switch h.Kind() {
	case host.KindLive:
		f.Containers = containers(ctx, h)
		f.Up = uptime(ctx, h)
	case host.KindSosreport: // has no tree of cgroups, and a list of processes already
		f.Containers = inhabited(ctx, h)
		if container.Of(ctx, h) == "" { // when a container was started it does not tell
			f.Up = uptime(ctx, h)
		}
	default:
		return f
	}
	f.Kind = kind(ctx, h)
	return f
}

// uptime is since the kernel's start, a container's since that of its init.
func uptime(ctx context.Context, h *host.Host) time.Duration {
	s, _ := h.ReadString(ctx, "/proc/uptime")
	first, _, _ := strings.Cut(s, " ")
	seconds, _ := strconv.ParseFloat(first, 64)
	if !(seconds > 0 && seconds <= 1e9) { // nor is it NaN
		return 0
	}
	if container.Of(ctx, h) != "" {
		seconds = max(0, seconds-initStart(ctx, h).Seconds())
	}
	return time.Duration(seconds) * time.Second
}

// initStart is when process 1 began, after the kernel's start; 0 where the uptime
// is the container's own already, as some engines give it (LXCFS).
func initStart(ctx context.Context, h *host.Host) time.Duration {
	if mounts, err := h.ReadString(ctx, "/proc/self/mountinfo"); err != nil || strings.Contains(mounts, " /proc/uptime ") {
		return 0
	}
	s, _ := process.ReadStat(ctx, h, 1)
	return s.Start
}

// kind tells a container from a virtual machine and from hardware.
func kind(ctx context.Context, h *host.Host) string {
	if engine := inside(ctx, h); engine != "" {
		return engine + " container"
	}
	vendor, _ := h.ReadString(ctx, "/sys/class/dmi/id/sys_vendor")
	product, _ := h.ReadString(ctx, "/sys/class/dmi/id/product_name")
	vendor, product = strings.TrimSpace(vendor), strings.TrimSpace(product)
	for _, v := range hypervisors {
		if strings.Contains(vendor+" "+product, v.dmi) {
			return v.name + " guest"
		}
	}
	if t, err := h.ReadString(ctx, "/sys/hypervisor/type"); err == nil && strings.TrimSpace(t) == "xen" {
		return "Xen guest"
	}
	if vendor != "" {
		return strings.TrimSpace(vendor + " " + product)
	}
	if cpu, err := h.ReadString(ctx, "/proc/cpuinfo"); err == nil && strings.Contains(cpu, " hypervisor ") {
		return "virtual machine"
	}
	return ""
}

// hypervisors are known by what they put into DMI, as systemd-detect-virt
// knows them (systemd, src/basic/virt.c, detect_vm_dmi_vendor()).
var hypervisors = []struct{ dmi, name string }{
	{"KVM", "KVM"}, {"OpenStack", "KVM"}, {"QEMU", "KVM"}, {"KubeVirt", "KVM"}, {"Amazon EC2", "EC2"}, {"VMware", "VMware"},
	{"VMW", "VMware"}, {"innotek GmbH", "VirtualBox"}, {"VirtualBox", "VirtualBox"}, {"Xen", "Xen"}, {"Bochs", "Bochs"},
	{"Parallels", "Parallels"}, {"BHYVE", "bhyve"}, {"Microsoft Corporation Virtual Machine", "Hyper-V"},
	{"Google Compute Engine", "Google Compute Engine"}, {"Hetzner", "KVM"}, {"Apple Virtualization", "Apple Virtualization"},
}

// inside is the engine of the container that this host is, or "".
func inside(ctx context.Context, h *host.Host) string {
	name := container.Of(ctx, h)
	if name == "" {
		return ""
	}
	return cmp.Or(engines[name], "Linux")
}

var engines = map[string]string{"docker": "Docker", "podman": "Podman", "lxc": "LXC", "lxc-libvirt": "libvirt LXC",
	"systemd-nspawn": "nspawn", "rkt": "rkt", "wsl": "WSL", "proot": "proot", "pouch": "Pouch"}

// places are where engines put the cgroups of their containers; one name there
// that fits is one container, or one pod of them (kubelet with the driver systemd).
var places = []struct{ engine, dir, pattern string }{
	{"Docker", "/sys/fs/cgroup/system.slice", "docker-*.scope"},
	{"Docker", "/sys/fs/cgroup/docker", "????????????????????????????????????????????????????????????????"},
	{"Podman", "/sys/fs/cgroup/machine.slice", "libpod-????????????????????????????????????????????????????????????????.scope"},
	{"nspawn", "/sys/fs/cgroup/machine.slice", "systemd-nspawn@*.service"},
	{"libvirt guests", "/sys/fs/cgroup/machine.slice", "machine-qemu*.scope"},
	{"Kubernetes pods", "/sys/fs/cgroup/kubepods.slice", "kubepods-pod*.slice"},
	{"Kubernetes pods", "/sys/fs/cgroup/kubepods.slice/kubepods-burstable.slice", "kubepods-burstable-pod*.slice"},
	{"Kubernetes pods", "/sys/fs/cgroup/kubepods.slice/kubepods-besteffort.slice", "kubepods-besteffort-pod*.slice"},
	{"LXC", "/sys/fs/cgroup", "lxc.payload.*"},
	{"LXC", "/sys/fs/cgroup/lxc.payload", "*"},
}

func containers(ctx context.Context, h *host.Host) []Containers {
	var out []Containers
	for _, p := range places {
		entries, err := h.ReadDir(ctx, p.dir)
		if err != nil {
			continue
		}
		n := 0
		for _, e := range entries {
			if ok, _ := path.Match(p.pattern, e.Name); ok && e.Type.IsDir() && !empty(ctx, h, path.Join(p.dir, e.Name)) {
				n++
			}
		}
		if n == 0 {
			continue
		}
		if i := len(out) - 1; i >= 0 && out[i].Engine == p.engine {
			out[i].Count += n
			continue
		}
		out = append(out, Containers{p.engine, n})
	}
	return out
}

// keepers are the engines by the names that a process's container has.
var keepers = map[string]string{
	"docker":      "Docker",
	"podman":      "Podman",
	"crio":        "CRI-O",
	"containerd":  "containerd",
	"kubernetes":  "Kubernetes",
	"lxc":         "LXC",
	"nspawn":      "nspawn",
	"libvirt-lxc": "libvirt LXC",
}

// inhabited are the containers that processes live in.
func inhabited(ctx context.Context, h *host.Host) []Containers {
	ps, err := h.Processes(ctx)
	if err != nil {
		return nil
	}
	seen, counts := map[string]bool{}, map[string]int{}
	for _, p := range ps {
		keeper, _, _ := strings.Cut(p.Container, "/")
		if engine := keepers[keeper]; engine != "" && !seen[p.Container] {
			seen[p.Container] = true
			counts[engine]++
		}
	}
	var out []Containers
	for _, engine := range slices.Sorted(maps.Keys(counts)) {
		out = append(out, Containers{engine, counts[engine]})
	}
	return out
}

// empty reports whether a cgroup of version 2 says that it has no process: what
// was killed may leave its folder behind.
func empty(ctx context.Context, h *host.Host, dir string) bool {
	s, err := h.ReadString(ctx, path.Join(dir, "cgroup.events"))
	return err == nil && strings.Contains(s, "populated 0")
}
