package container

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"fettle/host"
	"fettle/host/hosttest"
	"fettle/internal/means"
)

const mark = "-- link/proc/self/ns/pid --\npid:[4026531836]\n-- root/.dockerenv --\n-- root/proc/self/mountinfo --\n"

func TestOf(t *testing.T) {
	for sample, want := range map[string]string{
		"-- root/run/systemd/container --\nlxc\n":           "lxc",
		"-- root/.dockerenv --\n":                           "docker",
		"-- root/run/.containerenv --\nengine=\"podman\"\n": "podman",
		"-- link/proc/self/ns/pid --\npid:[4026532511]\n":   "container",
		"-- link/proc/self/ns/pid --\npid:[4026531836]\n":   "",
		"-- link/proc/self/ns/pid --\nhidden\n":             "",
		"hostname: web\n":                                   "",
		"incomplete: true\n":                                "",
		// A virtual machine made of docker's image, and a container in its host's PID namespace.
		mark + "1 0 8:1 / / rw - ext4 /dev/vda rw\n-- root/proc/1/mountinfo --\n1 0 8:1 / / rw - ext4 /dev/vda rw\n": "",
		mark + "2 0 8:1 / /x rw - ext4 /dev/vdb rw\n7 0 0:9 / / rw - overlay overlay rw\n-- root/proc/1/mountinfo --\n1 0 8:1 / / rw - ext4 " +
			"/dev/vda rw\n": "docker",
		"-- link/proc/self/ns/pid --\npid:[4026531836]\n-- root/.dockerenv --\n": "",
		mark + "1 0 8:1 /\n2 0 8:1 / / rw - ext4 /dev/vda rw\n":                  "", // whose root init has cannot be seen
		"-- root/run/systemd/container --\n\n-- root/.dockerenv --\n":            "docker",
		"kind: root\n-- root/run/systemd/container --\nlxc\n":                    "",
		"-- denied/run/systemd/container --\n-- root/.dockerenv --":              "docker",
	} {
		if got := Of(t.Context(), hosttest.New(t, sample)); got != want {
			t.Errorf("%q: %q, want %q", sample, got, want)
		}
	}
}

func TestNetworkGiven(t *testing.T) {
	for kind, want := range map[string]bool{"lxc": true, "systemd-nspawn": false, "": false} {
		if got := NetworkGiven(t.Context(), hosttest.New(t, "-- root/run/systemd/container --\n"+kind+"\n")); got != want {
			t.Errorf("%q: %v", kind, got)
		}
	}
}

// TestOfNamespace asks in a PID namespace that the kernel made.
func TestOfNamespace(t *testing.T) {
	if os.Getenv("CONTAINER_OF") != "" {
		src, err := host.NewLive()
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("of:%s:", Of(t.Context(), host.New(src)))
		return
	}
	means.Root(t)
	cmd := exec.Command(means.Tool(t, "unshare"), "--pid", "--fork", "--mount-proc", os.Args[0], "-test.run", "TestOfNamespace", "-test.v")
	cmd.Env = append(os.Environ(), "CONTAINER_OF=1")
	out, err := cmd.CombinedOutput()
	if err != nil || strings.Contains(string(out), "of::") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestHas(t *testing.T) {
	for key, want := range map[string]bool{"vm/swappiness": false, "kernel/pid_max": false, "fs/inotify/max_user_instances": false,
		"net/ipv4/ip_forward": true,
		"net/core/somaxconn":  true, "net/core/rmem_max": false, "net/netfilter/nf_conntrack_max": false, "kernel/shmmax": true,
		"kernel/sem": true, "net/ipv4/conf/all/rp_filter": true,
		"net/ipv4/neigh/default/gc_thresh3": false} {
		if Has(key) != want {
			t.Errorf("%s: %v", key, !want)
		}
	}
}

// TestHasInNamespace: what the kernel shows in a network namespace of its own,
// and lets be written there, is what Has says.
func TestHasInNamespace(t *testing.T) {
	means.Root(t)
	unshare := means.Tool(t, "unshare")
	for _, key := range []string{"net/ipv4/ip_forward", "net/core/somaxconn", "net/core/netdev_max_backlog", "net/core/rmem_default",
		"net/ipv4/neigh/default/gc_thresh3", "net/ipv4/conf/all/rp_filter"} {
		if _, err := os.Stat("/proc/sys/" + key); err != nil {
			continue
		}
		file := "/proc/sys/" + key
		err := exec.Command(unshare, "--net", "sh", "-c", `v=$(cat "$1") && echo "$v" >"$1"`, "sh", file).Run()
		if (err == nil) != Has(key) {
			t.Errorf("%s: written in a namespace: %v; Has says %v", key, err == nil, Has(key))
		}
	}
}
