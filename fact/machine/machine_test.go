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
	for name, c := range map[string]struct {
		text string
		want Facts
	}{
		"guest": {"kind: live\n" + debian + "-- root/proc/uptime --\n93784.51 1.0\n-- root/sys/class/dmi/id/sys_vendor --\nQEMU\n" +
			"-- root/sys/fs/cgroup/system.slice/docker-" + id + ".scope/cgroup.procs --\n1\n-- root/sys/fs/cgroup/system.slice/ssh.service/cgroup.procs --\n2\n",
			Facts{"Debian 12", "KVM guest", 93784 * time.Second, []Containers{{"Docker", 1}}}},
		"hardware": {"kind: live\n" + debian + "-- root/sys/class/dmi/id/sys_vendor --\nDell Inc.\n-- root/sys/class/dmi/id/product_name --\nPowerEdge R640\n",
			Facts{Distribution: "Debian 12", Kind: "Dell Inc. PowerEdge R640"}},
		"container": {"kind: live\n" + debian + "-- root/run/systemd/container --\nlxc\n", Facts{Distribution: "Debian 12", Kind: "LXC container"}},
		"capture":   {debian + "-- root/proc/uptime --\n5.0 1.0\n", Facts{Distribution: "Debian 12"}},
		"nothing":   {"kind: live\n", Facts{}},
	} {
		if got := Read(t.Context(), hosttest.New(t, c.text)); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}
