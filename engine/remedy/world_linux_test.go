package remedy

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"fettle/engine/remedy/machine"
	"fettle/engine/remedy/step"
	"fettle/host/acl"
	"fettle/internal/means"
)

// privately gives the test's thread mount and network namespaces of its own,
// with /sys showing the latter. The thread is never unlocked, and ends with
// the test.
func privately(t *testing.T) {
	t.Helper()
	means.Root(t)
	runtime.LockOSThread()
	if err := unix.Unshare(unix.CLONE_NEWNS | unix.CLONE_NEWNET); err != nil {
		t.Fatalf("namespaces of its own: %v", err)
	}
	for _, m := range []struct {
		src, dst, typ string
		flags         uintptr
	}{{"", "/", "", unix.MS_REC | unix.MS_PRIVATE}, {"sysfs", "/sys", "sysfs", 0}} {
		if err := unix.Mount(m.src, m.dst, m.typ, m.flags, ""); err != nil {
			t.Fatalf("mounting %s: %v", m.dst, err)
		}
	}
}

func tmpfs(t *testing.T, options string) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, options); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Unmount(dir, unix.MNT_DETACH) })
	return dir
}

func put(t *testing.T, name, content string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(name, mode); err != nil {
		t.Fatal(err)
	}
}

// accessList is an ACL of numeric ids as the attribute that holds it.
func accessList(t *testing.T, text string) []byte {
	t.Helper()
	a, err := acl.ParseText(text, acl.Names{})
	must(t, "ACL", err)
	return a.Xattr()
}

func must(t *testing.T, what string, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

const before = "one\ntwo\nthree\n"

// crashWorld makes the namespaces and everything that crashPlan changes.
func crashWorld(t *testing.T) (root, state string) {
	privately(t)
	root, state = filepath.Join(tmpfs(t, "mode=0755"), "r"), filepath.Join(tmpfs(t, "mode=0755"), "state")
	fillCrashWorld(t, root)
	return root, state
}

func fillCrashWorld(t *testing.T, root string) {
	etc := root + "/etc/"
	m := machine.Linux{}
	put(t, etc+"existing.conf", before, 0o640)
	must(t, "chown", os.Chown(etc+"existing.conf", 1000, 1001))
	list := accessList(t, "user::rw-,user:1234:r--,group::r--,mask::r--,other::---")
	for _, f := range []string{"existing.conf", "gone.conf", "hard.conf"} {
		if f != "existing.conf" {
			put(t, etc+f, before+f+"\n", 0o604)
		}
		must(t, "setfacl", m.SetXattr(machine.At(etc+f), "system.posix_acl_access", list))
		must(t, "setfattr", m.SetXattr(machine.At(etc+f), "user.note", []byte("keep \x00 me")))
		must(t, "setfattr", m.SetXattr(machine.At(etc+f), "user.empty", nil))
	}
	must(t, "symlink", os.Symlink("existing.conf", etc+"link.conf"))
	must(t, "link", os.Link(etc+"hard.conf", etc+"hard-too.conf"))
	put(t, etc+"source.conf", before, 0o644)
	put(t, etc+"bound.conf", "under the mount\n", 0o644)
	must(t, "bind", unix.Mount(etc+"source.conf", etc+"bound.conf", "", unix.MS_BIND, ""))
	put(t, etc+"perm.conf", before, 0o4755)
	must(t, "mkdir", os.MkdirAll(root+"/log", 0o755))
	put(t, root+"/bin/a.service.active", "", 0o644)
	put(t, root+"/bin/loaded", before, 0o644)

	must(t, "lo", netlink.LinkSetUp(&netlink.Device{LinkAttrs: netlink.LinkAttrs{Name: "lo", Index: 1}}))
	br := &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: "br0"}}
	must(t, "bridge", netlink.LinkAdd(br))
	for _, name := range []string{"d0", "d1"} {
		d := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: name}, PeerName: "p" + name}
		must(t, name, netlink.LinkAdd(d))
		for _, n := range []string{name, "p" + name} {
			must(t, n, m.WriteValue("/proc/sys/net/ipv6/conf/"+n+"/accept_dad", "0"))
			l, err := netlink.LinkByName(n)
			must(t, n, err)
			must(t, n, netlink.LinkSetUp(l))
		}
		if name == "d0" {
			must(t, "port", netlink.LinkSetMaster(d, br))
		} else {
			must(t, "macvlan", netlink.LinkAdd(&netlink.Macvlan{LinkAttrs: netlink.LinkAttrs{Name: "mv", ParentIndex: d.Index},
				Mode: netlink.MACVLAN_MODE_BRIDGE}))
		}
	}
	must(t, "forwarding", m.WriteValue("/proc/sys/net/ipv6/conf/d1/forwarding", "1"))
	must(t, "forwarding", m.WriteValue("/proc/sys/net/ipv4/conf/d1/forwarding", "1"))
}

func crashMachine(root string) machine.Machine {
	return machine.Linux{SystemctlPath: root + "/bin/systemctl"}
}

// crashPlan holds every kind of step, and files in every guise.
func crashPlan(root string) Plan {
	etc := root + "/etc/"
	after := []byte("one\n2\nthree\nfour\n")
	return Plan{Title: "every kind of step", Steps: []step.Step{
		step.File{Path: etc + "link.conf", Content: after, Was: []byte(before)},
		step.File{Path: etc + "new.d/sub/drop.conf", Content: after, Mode: 0o600},
		step.File{Path: etc + "hard.conf", Content: after, Was: []byte(before + "hard.conf\n")},
		step.File{Path: etc + "bound.conf", Content: after, Was: []byte(before)},
		step.File{Path: etc + "came.conf", Content: []byte(before + "gone.conf\n"), Like: etc + "gone.conf"},
		step.Remove{Path: etc + "gone.conf", Was: []byte(before + "gone.conf\n")},
		step.Perm{Path: etc + "perm.conf", Mode: 0o2750, UID: 7, GID: 8},
		step.Perm{Path: etc + "existing.conf", Mode: 0o600, UID: -1, GID: -1}, // a second step on one file
		step.ACL{
			Path:    root + "/log",
			Access:  "user::rwx,group::r-x,group:4:r-x,mask::r-x,other::---",
			Default: "u::rwx,g::r-x,g:4:r-x,m::r-x,o::---",
		},
		step.ACL{Path: etc + "existing.conf", Access: "none"},
		step.Sysctl{Key: "net/ipv4/ip_forward", Value: "1"},
		step.Sysctl{Key: "net/ipv6/conf/all/forwarding", Value: "1"},
		step.Sysctl{Key: "net/ipv6/conf/all/disable_ipv6", Value: "0"},
		step.Sysctl{Key: "net/ipv4/conf/default/rp_filter", Value: "2"},
		step.Sysfs{Path: "/sys/class/net/d0/tx_queue_len", Value: "512"},
		step.LinkMTU{Link: "d0", MTU: 1400}, // the bridge follows its port
		step.LinkMTU{Link: "d1", MTU: 1400}, // the macvlan is clamped
		step.SolicitRouter{Link: "d1"},
		step.Command{
			Do:    []string{"/usr/bin/touch", root + "/made"},
			Undo:  []string{"/usr/bin/rm", root + "/made"},
			Probe: []string{"/usr/bin/test", "-e", root + "/made"},
		},
		step.Check{Run: []string{"/usr/bin/test", "-e", root + "/made"}},
		step.Unit{Name: "a.service", Act: "stop"},
		step.Unit{Name: "b.service", Act: "start"},
		step.Unit{Name: "a.service", Act: "enable"},
		step.Unit{Name: "a.service", Act: "reload"},
	}}
}

// world reads all that must come back: the tree with attributes, the network
// sysctls (some 900; unless all is asked for, only those that the plan or a
// kernel that follows it may touch), the links.
func world(t *testing.T, root string, all bool) map[string]string {
	t.Helper()
	w := map[string]string{}
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.Type() == fs.ModeSymlink {
			to, err := os.Readlink(p)
			w[p] = "-> " + to
			return err
		}
		img, err := (machine.Linux{}).Look(p, true)
		if err != nil {
			return err
		}
		w[p] = fmt.Sprintf("%s %04o %d:%d links %d %q", img.Type, img.Mode, img.UID, img.GID, img.Links, img.Content)
		if img.Type == machine.Regular {
			for _, k := range slices.Sorted(maps.Keys(img.Xattrs)) {
				w[p] += fmt.Sprintf(" %s=%x", k, img.Xattrs[k])
			}
		}
		if img.Type == machine.Folder {
			for _, k := range slices.Sorted(maps.Keys(img.Xattrs)) {
				w[p] += fmt.Sprintf(" %s=%x", k, img.Xattrs[k])
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	column := "*"
	if !all {
		column = "[fadrm][ociptu]*" // forwarding, accept_…, disable_ipv6, rp_filter, mtu
	}
	keys, _ := filepath.Glob("/proc/sys/net/ipv[46]/conf/*/" + column)
	keys = append(keys, "/proc/sys/net/ipv4/ip_forward", "/sys/class/net/d0/tx_queue_len")
	for _, k := range keys {
		if b, err := os.ReadFile(k); err == nil { // stable_secret says EIO until it is set
			w[k] = strings.TrimSpace(string(b))
		}
	}
	links, err := (machine.Linux{}).Links()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range links {
		w["mtu "+l.Name] = fmt.Sprint(l.MTU)
	}
	return w
}

func diffWorlds(a, b map[string]string) []string {
	var out []string
	keys := slices.Sorted(maps.Keys(a))
	for k := range b {
		if _, ok := a[k]; !ok {
			keys = append(keys, k)
		}
	}
	for _, k := range keys {
		_, ina := a[k]
		_, inb := b[k]
		if strings.HasPrefix(k, "/proc/sys/") && ina != inb {
			continue // one of the two did not read all
		}
		if a[k] != b[k] {
			out = append(out, fmt.Sprintf("%s:\n  %s\n  %s", k, a[k], b[k]))
		}
	}
	return out
}

func same(t *testing.T, where string, want, got map[string]string) {
	t.Helper()
	if d := diffWorlds(want, got); len(d) > 0 {
		t.Errorf("%s, not as it should be (wanted, then found):\n%s", where, strings.Join(d, "\n"))
	}
}

// machineAt has the systemctl and the boot id that stand beside a world.
func machineAt(root string) machine.Linux {
	return machine.Linux{SystemctlPath: root + "/bin/systemctl", BootIDFile: filepath.Join(filepath.Dir(root), "boot")}
}
