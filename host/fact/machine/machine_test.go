package machine

import (
	"reflect"
	"testing"
	"time"

	"fettle/host/hosttest"
)

const debian = "-- root/etc/os-release --\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n"

func TestRead(t *testing.T) {
	id := "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	const lxc = "kind: live\n-- root/run/systemd/container --\nlxc\n-- root/proc/uptime --\n1000.5 1.0\n" +
		"-- root/proc/1/stat --\n1 (init) S 0 1 1 0 -1 4194560 1 1 1 1 1 1 1 1 20 0 1 0 90000 1 1\n"
	for name, c := range map[string]struct {
		text string
		want Facts
	}{
		"guest": {"kind: live\n" + debian + "-- root/proc/uptime --\n93784.51 1.0\n-- root/sys/class/dmi/id/sys_vendor --\nQEMU\n" +
			"-- root/sys/fs/cgroup/system.slice/docker-" + id + ".scope/cgroup.procs --\n1\n-- " +
			"root/sys/fs/cgroup/system.slice/ssh.service/cgroup.procs --\n2\n" +
			"-- root/sys/fs/cgroup/system.slice/docker-f" + id[1:] + ".scope/cgroup.events --\npopulated 0\nfrozen 0\n",
			Facts{"Debian 12", "KVM guest", 93784 * time.Second, []Containers{{"Docker", 1}}}},
		"node": {"kind: live\n" + debian + "-- root/sys/fs/cgroup/kubepods.slice/kubepods-pod1.slice/cgroup.procs --\n-- " +
			"root/sys/fs/cgroup/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod2.slice/x --\n" +
			"-- root/sys/fs/cgroup/" +
			"kubepods.slice/kubepods-besteffort.slice/x --\n", Facts{Distribution: "Debian 12", Containers: []Containers{{"Kubernetes pods", 2}}}},
		"hardware": {"kind: live\n" + debian + "-- root/sys/class/dmi/id/sys_vendor --\nDell Inc.\n-- root/sys/class/dmi/id/product_name " +
			"--\nPowerEdge R640\n",
			Facts{Distribution: "Debian 12", Kind: "Dell Inc. PowerEdge R640"}},
		"container": {"kind: live\n" + debian + "-- root/run/systemd/container --\nlxc\n",
			Facts{Distribution: "Debian 12", Kind: "LXC container"}},
		"container's uptime": {"kind: live\n" + debian + "-- root/run/systemd/container --\nsystemd-nspawn\n-- root/proc/uptime --\n1000.5 " +
			"1.0\n-- root/proc/self/mountinfo --\n1 0 0:1 / / rw - overlay overlay rw\n" +
			"-- root/proc/1/stat --\n1 (sys (t) d) S 0 1 1 0 " +
			"-1 4194560 1 1 1 1 1 1 1 1 20 0 1 0 90000 1 1\n", Facts{"Debian 12", "nspawn container", 100 * time.Second, nil}},
		"sosreport": {"kind: sosreport\n" + debian + "-- root/proc/uptime --\n93784.51 0.00\n-- root/sys/class/dmi/id/sys_vendor --\nQEMU\n" +
			"-- table/processes --\n" + `[{"pid":1,"comm":"systemd"},{"pid":7,"comm":"pod","container":"crio/1"},{"pid":8,"comm":"etcd",` +
			`"container":"crio/1"},` +
			`{"pid":9,"comm":"x","container":"docker/2"},{"pid":10,"comm":"x","container":"docker/3"}]` + "\n",
			Facts{"Debian 12", "KVM guest", 93784 * time.Second, []Containers{{"CRI-O", 1}, {"Docker", 2}}}},
		"sosreport of a container": {"kind: sosreport\n" + debian + "-- root/proc/uptime --\n93784.51 " +
			"0.00\n-- root/run/systemd/container --\nlxc\n",
			Facts{Distribution: "Debian 12", Kind: "LXC container"}},
		"capture": {debian + "-- root/proc/uptime --\n5.0 1.0\n", Facts{Distribution: "Debian 12"}},
		"engines": {"kind: live\n-- root/sys/fs/cgroup/system.slice/ssh.service/x --\n-- root/sys/fs/cgroup/system.slice/docker-1.scope/" +
			"cgroup.events --\npopulated 1\n-- root/sys/fs/cgroup/docker/" + id + "/x --\n-- root/sys/fs/cgroup/machine.slice/" +
			"systemd-nspawn@a.service/x --\n-- root/sys/fs/cgroup/lxc.payload.a/x --\n",
			Facts{Containers: []Containers{{"Docker", 2}, {"nspawn", 1}, {"LXC", 1}}}},
		"Xen": {"kind: live\n-- root/sys/hypervisor/type --\nxen\n", Facts{Kind: "Xen guest"}},
		"on a hypervisor": {"kind: live\n-- root/sys/hypervisor/type --\nx\n-- root/proc/cpuinfo --\nflags : fpu hypervisor lm\n",
			Facts{Kind: "virtual machine"}},
		"no hypervisor":       {"kind: live\n-- root/proc/cpuinfo --\nflags : fpu lm\n", Facts{}},
		"uptime of 30 years":  {"kind: live\n-- root/proc/uptime --\n1e9 0\n", Facts{Up: 1e9 * time.Second}},
		"uptime of more":      {"kind: live\n-- root/proc/uptime --\n1e10 0\n", Facts{}},
		"uptime before 0":     {"kind: live\n-- root/proc/uptime --\n-5 0\n", Facts{}},
		"uptime of no number": {"kind: live\n-- root/proc/uptime --\nnan 0\n", Facts{}},
		"LXCFS": {lxc + "-- root/proc/self/mountinfo --\n1 0 0:1 / / rw - a a rw\n2 1 0:2 /proc/uptime /proc/uptime rw - a a rw\n",
			Facts{Kind: "LXC container", Up: 1000 * time.Second}},
		"mounts are not shown": {lxc, Facts{Kind: "LXC container", Up: 1000 * time.Second}},
		"nothing":              {"kind: live\n", Facts{}},
	} {
		if got := Read(t.Context(), hosttest.New(t, c.text)); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}
