package host

import (
	"strings"
	"testing"
)

// TestOwnerOf: paths as systemd, docker, podman, Kubernetes' runtimes, LXC and
// nspawn make them, from their sources and from reports of their users. ID
// stands for 64 hexadecimal digits.
func TestOwnerOf(t *testing.T) {
	const id, short = "4f797c539e6c745de61a93ca3ff892358ecbcaccd8414d5db545c38428142970", "4f797c539e6c"
	for _, c := range []struct{ cgroup, want string }{
		// systemd's own, version 2
		{"0::/init.scope", "unit init.scope"},
		{"0::/", ""},
		{"", ""},
		{"0::/system.slice/ssh.service", "unit ssh.service"},
		{"0::/system.slice/system-getty.slice/getty@tty1.service", "unit getty@tty1.service"},
		{"0::/system.slice/system-postgresql.slice/postgresql@15-main.service", "unit postgresql@15-main.service"},
		{"0::/system.slice/docker.service", "unit docker.service"},
		{"0::/system.slice/containerd.service", "unit containerd.service"},
		{"0::/system.slice/k3s.service", "unit k3s.service"},
		{"0::/system.slice/snap.lxd.daemon.service", "unit snap.lxd.daemon.service"},
		{"0::/system.slice/lxc-monitord.service", "unit lxc-monitord.service"},
		{"0::/system.slice/systemd-udevd.service/udev", "unit systemd-udevd.service"},
		{"0::/user.slice/user-1000.slice/session-3.scope", "unit session-3.scope"},
		{"0::/user.slice/user-1000.slice/user@1000.service/init.scope", "unit user@1000.service"},
		{"0::/user.slice/user-1000.slice/user@1000.service/app.slice/app-gnome-firefox-4242.scope", "unit user@1000.service"},
		{"0::/user.slice/user-1000.slice/user@1000.service/app.slice/snap.firefox.firefox-0a1b.scope", "unit user@1000.service"},
		{"0::/user.slice/user-1000.slice/user@1000.service/app.slice/app-flatpak-org.mozilla.firefox-77.scope", "unit user@1000.service"},
		{"0::/foo.service", "unit foo.service"},
		{"0::/../../sshd", ""},
		// systemd's own, version 1 and hybrid
		{"12:pids:/system.slice/ssh.service\n1:name=systemd:/system.slice/ssh.service", "unit ssh.service"},
		{"2:cpu,cpuacct:/\n1:name=systemd:/user.slice/user-0.slice/" +
			"session-1.scope\n0::/user.slice/user-0.slice/session-1.scope", "unit session-1.scope"},
		{"4:memory:/system.slice/cron.service", ""}, // no hierarchy of systemd's
		{"1:name=openrc:/sshd", ""},
		// as ps prints them
		{"12:cpu,cpuacct:/system.slice/cron.service,3:pids:/system.slice/cron.service,1:name=systemd:/system.slice/cron.service,0::/" +
			"system.slice/cron.service", "unit cron.service"},
		{"4:cpu,cpuacct:/docker/ID,1:name=systemd:/docker/ID", "docker/" + short},
		{"0::/user.slice/user-1000.slice/user@1000.service/init.scope", "unit user@1000.service"},
		// docker
		{"0::/system.slice/docker-ID.scope", "docker/" + short},
		{"0::/docker/ID", "docker/" + short},
		{"0::/docker/ID/system.slice/ssh.service", "docker/" + short + " ssh.service"},
		{"0::/docker/ID/init.scope", "docker/" + short + " init.scope"},
		{"0::/docker/ID/docker/ID", "docker/" + short},
		{"0::/my.slice/docker-ID.scope", "docker/" + short},
		{"0::/system.slice/docker-ID.scope/init.scope", "docker/" + short + " init.scope"},
		{"11:memory:/docker/ID\n1:name=systemd:/docker/ID\n0::/system.slice/containerd.service", "docker/" + short},
		{"10:net_prio:/ID\n9:perf_event:/ID", "container/" + short},
		{"0::/docker/buildkit/ID", "docker/" + short},
		{"0::/system.slice/docker-ce.service", "unit docker-ce.service"},
		{"0::/system.slice/docker-abc.scope", "unit docker-abc.scope"}, // no container's number
		// podman
		{"0::/machine.slice/libpod-ID.scope", "podman/" + short},
		{"0::/machine.slice/libpod-ID.scope/container", "podman/" + short},
		{"0::/machine.slice/libpod-ID.scope/container/system.slice/nginx.service", "podman/" + short + " nginx.service"},
		{"0::/machine.slice/libpod-conmon-ID.scope", "podman/" + short},
		{"0::/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-ID.scope/container", "podman/" + short},
		{"0::/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-conmon-ID.scope", "podman/" + short},
		{"0::/user.slice/user-1000.slice/user@1000.service/user.slice/podman-4711.scope", "unit user@1000.service"},
		{"0::/system.slice/web.service/libpod-payload-ID", "podman/" + short},
		{"0::/system.slice/web.service/runtime", "unit web.service"},
		{"0::/libpod_parent/libpod-ID", "podman/" + short},
		// Kubernetes
		{"0::/kubepods.slice/kubepods-burstable.slice/" +
			"kubepods-burstable-pod0d137909_8596_495c_92b3_048a901457b2.slice/cri-containerd-ID.scope", "containerd/" + short},
		{"0::/kubepods.slice/kubepods-besteffort.slice/" +
			"kubepods-besteffort-pod5759a1ae_36ca_48a8_b20a_b0b5c8a90fb8.slice/docker-ID.scope", "docker/" + short},
		{"0::/kubepods.slice/kubepods-pod1.slice/crio-ID.scope", "crio/" + short},
		{"0::/kubepods.slice/kubepods-pod1.slice/crio-ID.scope/container", "crio/" + short},
		{"0::/kubepods.slice/kubepods-pod1.slice/crio-conmon-ID.scope", "crio/" + short},
		{"13:freezer:/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-poda5c1f8d5.slice/crio-ID.scope\n1:name=systemd:/" +
			"kubepods.slice/kubepods-burstable.slice/kubepods-burstable-poda5c1f8d5.slice/crio-ID.scope", "crio/" + short},
		{"0::/kubepods/besteffort/pod91a8fc3a-0ecf-48b4-81bf-78a7275d348c/ID", "kubernetes/" + short},
		{"0::/kubepods/pod91a8fc3a-0ecf-48b4-81bf-78a7275d348c/ID", "kubernetes/" + short},
		{"0::/k8s.io/ID", "container/" + short},
		{"0::/system.slice/containerd.service/kubepods-burstable-pod1e597579.slice:cri-containerd:ID", "containerd/" + short},
		{"0::/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod1.slice/cri-containerd-ID.scope", "containerd/" + short},
		{"0::/docker/ID/kubelet.slice/kubelet-kubepods.slice/cri-containerd-ID.scope", "docker/" + short},
		{"0::/system.slice/kubelet.service", "unit kubelet.service"},
		{"0::/system.slice/nerdctl-ID.scope", "nerdctl/" + short},
		{"0::/ecs/5e0a1b2c3d4e/ID", "ecs/" + short},
		{"0::/ecs/ID", "ecs/" + short},
		{"0::/docker/name", "docker/name"},
		{"0::/docker", ""},
		{"0::/docker/buildkit", "docker/buildkit"},
		{"0::/docker/x.slice", ""},
		{"0::/a/podx/name", ""}, // no container's number
		{"0::/.slice:cri-containerd:ID", ""},
		{"4:cpu,cpuacct:/a.service,b,1:name=systemd:/system.slice/cron.service", "unit cron.service"},
		{"1:name=systemd:/system.slice/a,2x.service", "unit a,2x.service"}, // a comma and no hierarchy
		// LXC, LXD, Incus, Proxmox VE, libvirt
		{"0::/lxc.payload.web1/system.slice/ssh.service", "lxc/web1 ssh.service"},
		{"0::/lxc.payload.web1/init.scope", "lxc/web1 init.scope"},
		{"0::/lxc.payload.web1", "lxc/web1"},
		{"0::/lxc.payload.my.box/system.slice/cron.service", "lxc/my.box cron.service"},
		{"0::/lxc.payload/web1/system.slice/ssh.service", "lxc/web1 ssh.service"},
		{"0::/lxc.payload.web1/user.slice/user-1000.slice/user@1000.service/init.scope", "lxc/web1 user@1000.service"},
		{"0::/lxc.payload.web1/docker/ID", "lxc/web1"},
		{"0::/lxc.monitor.web1", "lxc/web1"},
		{"12:devices:/lxc/x1/system.slice/snapd.service\n9:hugetlb:/" +
			"lxc/x1\n1:name=systemd:/lxc/x1/system.slice/snapd.service", "lxc/x1 snapd.service"},
		{"0::/lxc/101/ns/system.slice/postfix.service", "lxc/101 postfix.service"},
		{"0::/lxc/101/ns", "lxc/101"},
		{"0::/lxc/101/.lxc/system.slice/x.service", "lxc/101 x.service"},
		{"0::/user.slice/user-1000.slice/session-2.scope/lxc.payload.dev/system.slice/a.service", "lxc/dev a.service"},
		{`0::/machine.slice/machine-lxc\x2d123\x2dweb.scope`, "libvirt-lxc/123-web"},
		{`0::/machine.slice/machine-qemu\x2d3\x2dvm1.scope/libvirt/emulator`, `unit machine-qemu\x2d3\x2dvm1.scope`},
		{`0::/machine.slice/machine-qemu\x2d3\x2dvm1.scope`, `unit machine-qemu\x2d3\x2dvm1.scope`},
		// systemd-nspawn
		{"0::/machine.slice/systemd-nspawn@deb12.service/payload/system.slice/ssh.service", "nspawn/deb12 ssh.service"},
		{"0::/machine.slice/systemd-nspawn@deb12.service/payload/init.scope", "nspawn/deb12 init.scope"},
		{"0::/machine.slice/systemd-nspawn@deb12.service/supervisor", "unit systemd-nspawn@deb12.service"},
		{"1:name=systemd:/machine.slice/systemd-nspawn@deb12.service/system.slice/ssh.service", "nspawn/deb12 ssh.service"},
		{"1:name=systemd:/machine.slice/systemd-nspawn@deb12.service", "unit systemd-nspawn@deb12.service"},
		{`0::/machine.slice/machine-my\x2dbox.scope/payload/system.slice/cron.service`, "nspawn/my-box cron.service"},
		{`0::/machine.slice/machine-my\x2dbox.scope/supervisor`, `unit machine-my\x2dbox.scope`},
		// nothing of all that
		{"0::/a/b/c", ""},
		{"no line of a cgroup file", ""},
		{"0::relative", ""},
	} {
		o := OwnerOf(strings.ReplaceAll(c.cgroup, "ID", id))
		got := strings.TrimSpace(o.Container + " " + o.Inside)
		if o.Unit != "" {
			got = "unit " + o.Unit
		}
		if got != c.want || o.Unit != "" && o.Container != "" {
			t.Errorf("%s:\n got %q\nwant %q", c.cgroup, got, c.want)
		}
	}
}

func FuzzOwnerOf(f *testing.F) {
	f.Add("0::/lxc/101/ns/system.slice/postfix.service")
	f.Add("12:cpu,cpuacct:/docker/x,1:name=systemd:/docker/y")
	f.Add("0::/machine.slice/systemd-nspawn@.service/payload")
	f.Fuzz(func(t *testing.T, s string) {
		o := OwnerOf(s)
		if o.Unit != "" && o.Container != "" || o.Inside != "" && o.Container == "" {
			t.Errorf("%q: %+v", s, o)
		}
	})
}

func TestUnitPath(t *testing.T) {
	for unit, want := range map[string]string{"proc-fs-nfsd.mount": "/proc/fs/nfsd", "-.mount": "/",
		`srv-my\x2ddata.mount`: "/srv/my-data", "dev-sda1.swap": "/dev/sda1"} {
		if got := UnitPath(unit); got != want {
			t.Errorf("%s: %s, want %s", unit, got, want)
		}
	}
}

func TestUnescapeUnit(t *testing.T) {
	for name, want := range map[string]string{`my\x2dbox`: "my-box", `a-b`: "a-b", `\x2`: `\x2`, `\xzz`: `\xzz`, `b\xc3\xbc`: "bü"} {
		if got := UnescapeUnit(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// TestSeenFrom: in a container its own units are the host's, and those of others stay a container's.
func TestSeenFrom(t *testing.T) {
	inside, plain := Owner{Container: "lxc/a", Inside: "ssh.service"}, Owner{Unit: "cron.service"}
	for _, c := range []struct {
		o    Owner
		home string
		want Owner
	}{{inside, "lxc/a", Owner{Unit: "ssh.service"}}, {inside, "lxc/b", inside}, {inside, "", inside}, {plain, "", plain},
		{plain, "lxc/a", plain}} {
		if got := c.o.SeenFrom(c.home); got != c.want {
			t.Errorf("%+v seen from %q: %+v, want %+v", c.o, c.home, got, c.want)
		}
	}
}
