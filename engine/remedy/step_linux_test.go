package remedy

import (
	"bytes"
	"encoding/json"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/net/ipv6"
	"golang.org/x/sys/unix"

	"fettle/engine/remedy/machine"
	"fettle/engine/remedy/step"
	"fettle/internal/means"
)

// TestSolicit: the neighbour hears one router solicitation as RFC 4861 §6.1.1
// wants it: type 133, code 0, hop limit 255, to ff02::2.
func TestSolicit(t *testing.T) {
	privately(t)
	must(t, "veth", netlink.LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "v0"}, PeerName: "v1"}))
	for _, n := range []string{"v0", "v1"} {
		must(t, n, machine.Linux{}.WriteValue("/proc/sys/net/ipv6/conf/"+n+"/accept_dad", "0"))
		// The kernel's own solicitations would be taken for ours.
		must(t, n, machine.Linux{}.WriteValue("/proc/sys/net/ipv6/conf/"+n+"/accept_ra", "0"))
		l, err := netlink.LinkByName(n)
		must(t, n, err)
		must(t, n, netlink.LinkSetUp(l))
	}
	peer, err := net.InterfaceByName("v1")
	must(t, "v1", err)
	c, err := net.ListenPacket("ip6:ipv6-icmp", "::")
	must(t, "listen", err)
	defer c.Close()
	p := ipv6.NewPacketConn(c)
	must(t, "join", p.JoinGroup(peer, &net.IPAddr{IP: net.IPv6linklocalallrouters}))
	must(t, "control", p.SetControlMessage(ipv6.FlagHopLimit|ipv6.FlagDst|ipv6.FlagInterface, true))
	var f ipv6.ICMPFilter
	f.SetAll(true)
	f.Accept(ipv6.ICMPTypeRouterSolicitation)
	must(t, "filter", p.SetICMPFilter(&f))

	st := &step.Site{Machine: machine.Linux{}}
	must(t, "solicit", step.SolicitRouter{Link: "v0"}.Apply(t.Context(), st, nil))
	must(t, "deadline", p.SetReadDeadline(time.Now().Add(means.Patience)))
	b := make([]byte, 1500)
	n, cm, _, err := p.ReadFrom(b)
	if err != nil {
		t.Fatalf("nothing was heard: %v", err)
	}
	if n < 8 || b[0] != 133 || b[1] != 0 || cm.HopLimit != 255 || !cm.Dst.Equal(net.IPv6linklocalallrouters) || cm.IfIndex != peer.Index {
		t.Errorf("heard % x, %v", b[:n], cm)
	}
	// What cannot be asked is noted: it is no reason to give a plan up.
	var noted []string
	st.Log = func(l string) { noted = append(noted, l) }
	if err := (step.SolicitRouter{Link: "nosuch"}).Apply(t.Context(), st, nil); err != nil || len(noted) != 1 {
		t.Errorf("a link that is not there: %v, noted %q", err, noted)
	}
}

// twin is a machine whose vm/dirty_bytes and vm/dirty_ratio are the kernel's:
// writing one zeroes the other, and 0 is refused (mm/page-writeback.c). The
// real ones are the whole machine's and left alone.
type twin struct {
	machine.Linux
	v map[string]string
}

func (m twin) ReadValue(name string) (string, error) { return m.v[filepath.Base(name)], nil }
func (m twin) WriteValue(name, value string) error {
	if value == "0" {
		return syscall.EINVAL
	}
	for k := range m.v {
		m.v[k] = "0"
	}
	m.v[filepath.Base(name)] = value
	return nil
}

func TestTwins(t *testing.T) {
	means.Root(t)
	for _, was := range []map[string]string{{"dirty_bytes": "0", "dirty_ratio": "20"}, {"dirty_bytes": "1048576", "dirty_ratio": "0"}} {
		for key, value := range map[string]string{"vm/dirty_bytes": "4096000", "vm/dirty_ratio": "35"} {
			m := twin{v: map[string]string{"dirty_bytes": was["dirty_bytes"], "dirty_ratio": was["dirty_ratio"]}}
			e := engineAt(t, filepath.Join(t.TempDir(), "state"))
			e.Machine = m
			applied(t, e, step.Sysctl{Key: key, Value: value})
			if m.v[filepath.Base(key)] != value {
				t.Fatalf("%s: %v", key, m.v)
			}
			if _, err := e.Undo(t.Context(), "", UndoOptions{}); err != nil {
				t.Errorf("%s from %v: %v", key, was, err)
			}
			if m.v["dirty_bytes"] != was["dirty_bytes"] || m.v["dirty_ratio"] != was["dirty_ratio"] {
				t.Errorf("%s: %v, not %v", key, m.v, was)
			}
		}
	}
}

// blind does not see mount points, as kernels before 5.8 do not show them.
type blind struct{ here }

func (m blind) Look(name string, content bool) (machine.Image, error) {
	i, err := m.here.Look(name, content)
	i.Mount = false
	return i, err
}

// TestBusy: a rename that fails with EBUSY ends in writing in place.
func TestBusy(t *testing.T) {
	privately(t)
	dir := t.TempDir()
	put(t, dir+"/source", "old\n", 0o644)
	put(t, dir+"/bound", "under\n", 0o644)
	must(t, "bind", unix.Mount(dir+"/source", dir+"/bound", "", unix.MS_BIND, ""))
	t.Cleanup(func() { unix.Unmount(dir+"/bound", 0) })
	e := engineAt(t, filepath.Join(t.TempDir(), "state"))
	e.Machine = blind{}
	applied(t, e, step.File{Path: dir + "/bound", Was: []byte("old\n"), Content: []byte("new\n")})
	if read(t, dir+"/source") != "new\n" {
		t.Errorf("source says %q", read(t, dir+"/source"))
	}
	if _, err := e.Undo(t.Context(), "", UndoOptions{}); err != nil || read(t, dir+"/source") != "old\n" {
		t.Errorf("%v, source says %q", err, read(t, dir+"/source"))
	}
	if left, _ := filepath.Glob(dir + "/.fettle*"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestSystemctl: the real systemctl enables and disables, which needs no
// running systemd; what needs one is refused beforehand.
func TestSystemctl(t *testing.T) {
	privately(t)
	means.Tool(t, "systemctl")
	must(t, "units", unix.Mount("tmpfs", "/etc/systemd/system", "tmpfs", 0, ""))
	put(t, "/etc/systemd/system/demo.service", "[Service]\nExecStart=/bin/true\n[Install]\nWantedBy=multi-user.target\n", 0o644)
	e := engineAt(t, filepath.Join(t.TempDir(), "state"))
	const link = "/etc/systemd/system/multi-user.target.wants/demo.service"
	applied(t, e, step.Unit{Name: "demo.service", Act: "enable"})
	if _, err := os.Lstat(link); err != nil {
		t.Error(err)
	}
	if _, err := e.Undo(t.Context(), "", UndoOptions{}); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(link); err == nil {
		t.Error("still enabled after undo")
	}
	if _, booted := (machine.Linux{}).Systemctl(); !booted {
		_, err := e.Apply(t.Context(), Head{Plan: Plan{Steps: []step.Step{step.Unit{Name: "demo.service", Act: "reload"}}}}, nil)
		if err == nil || !strings.Contains(err.Error(), "this host does not run systemd; nothing was changed") {
			t.Errorf("reload without systemd: %v", err)
		}
	}
	for _, bad := range []string{"", "--all", "../x", "a b"} {
		if err := (step.Unit{Name: bad, Act: "enable"}).Possible(e.Machine); err == nil {
			t.Errorf("%q passes for a unit", bad)
		}
	}
}

// TestTimer: where systemd runs, the guard is a timer of its, and the boot
// unit is one that systemd can read.
func TestTimer(t *testing.T) {
	privately(t)
	dir := t.TempDir()
	must(t, "mkdir", os.Mkdir(dir+"/units", 0o755))
	put(
		t,
		dir+"/systemd-run",
		"#!/bin/sh\nprintf '%s\\n' \"$@\" > "+dir+"/args\ncp "+dir+"/state/changes/0001/journal.jsonl "+dir+"/then\n",
		0o755,
	)
	put(t, dir+"/systemctl", "#!/bin/sh\necho \"$@\" >> "+dir+"/said\n", 0o755)
	put(t, dir+"/a", "old\n", 0o644)
	e := engineAt(t, dir+"/state")
	e.Machine = here{machine.Linux{SystemctlPath: dir + "/systemctl"}}
	e.Guard = Guard{Units: dir + "/units", SystemdRun: dir + "/systemd-run"}
	head := Head{
		ConfirmWithin: 90 * time.Second,
		Plan:          Plan{Steps: []step.Step{step.File{Path: dir + "/a", Was: []byte("old\n"), Content: []byte("new\n")}}},
	}
	c, err := e.Apply(t.Context(), head, nil)
	if err != nil {
		t.Fatal(err)
	}
	args := read(t, dir+"/args")
	for _, want := range []string{"--unit=fettle-undo-0001\n", "--on-active=90s\n", "--setenv=FETTLE_STATE=" + e.Store.Dir + "\n",
		"--\n" + e.Store.Dir + "/changes/0001/fettle\nundo\n--unconfirmed\n0001\n"} {
		if !strings.Contains(args, want) {
			t.Errorf("systemd-run was not given %q:\n%s", want, args)
		}
	}
	if g := strings.Join(c.Guards(), "; "); g != "systemd timer fettle-undo-0001.timer; boot unit fettle-undo-0001-boot.service" {
		t.Errorf("guards: %s", g)
	}
	if to, err := os.Readlink(dir + "/units/sysinit.target.wants/fettle-undo-0001-boot.service"); err != nil ||
		to != "../fettle-undo-0001-boot.service" {
		t.Errorf("the boot unit is not wanted: %q %v", to, err)
	}
	// The guard finds its deadline in the journal, however early it fires.
	if then := read(t, dir+"/then"); !strings.Contains(then, `"event":"armed"`) || !strings.Contains(then, `"deadline":"`) {
		t.Errorf("when the timer was set, the journal said:\n%s", then)
	}
	// Before anything is set up from the files that it puts back.
	unit := read(t, dir+"/units/fettle-undo-0001-boot.service")
	_, order, _ := strings.Cut(unit, "\nBefore=")
	order, _, _ = strings.Cut(order, "\n")
	for _, want := range []string{"systemd-sysctl.service", "network-pre.target", "sysinit.target"} {
		if !slices.Contains(strings.Fields(order), want) {
			t.Errorf("the boot unit comes before %q, not before %s", order, want)
		}
	}
	// In the boot in which it was armed the boot unit does nothing.
	if err := e.UndoUnconfirmed(t.Context(), "0001", time.Time{}, true, func() {}); err != nil || read(t, dir+"/a") != "new\n" {
		t.Errorf("the boot unit in the same boot: %v, a says %q", err, read(t, dir+"/a"))
	}
	bin := means.Tool(t, "systemd-analyze")
	if out, err := exec.Command(bin, "verify", dir+"/units/fettle-undo-0001-boot.service").CombinedOutput(); err != nil ||
		strings.Contains(string(out), "fettle-undo-0001") {
		t.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}
	// A kill while it confirms must not leave a change that nothing guards and
	// that counts as unconfirmed.
	e.Store.hook = func(point string) {
		if point == "before journal confirmed 0" && !strings.Contains(read(t, dir+"/units/fettle-undo-0001-boot.service"), "ExecStart") {
			t.Error("the guards are gone before the journal says that the change is confirmed")
		}
	}
	if _, err := e.Confirm(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	if s := read(t, dir+"/said"); !strings.Contains(s, "stop fettle-undo-0001.timer") {
		t.Errorf("systemctl was told %q", s)
	}
	if left, _ := filepath.Glob(dir + "/units/*"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if err := e.UndoUnconfirmed(t.Context(), "0001", time.Time{}, false, func() {}); err != nil || read(t, dir+"/a") != "new\n" {
		t.Errorf("the timer fired after confirming: %v, a says %q", err, read(t, dir+"/a"))
	}
}

// TestArmFails: what cannot be armed is not begun.
func TestArmFails(t *testing.T) {
	privately(t)
	dir := t.TempDir()
	must(t, "mkdir", os.MkdirAll(dir+"/ro", 0o755))
	must(t, "ro", unix.Mount("tmpfs", dir+"/ro", "tmpfs", unix.MS_RDONLY, ""))
	t.Cleanup(func() { unix.Unmount(dir+"/ro", unix.MNT_DETACH) })
	put(t, dir+"/systemd-run", "#!/bin/sh\n", 0o755)
	put(t, dir+"/systemctl", "#!/bin/sh\n", 0o755)
	e := engineAt(t, filepath.Join(t.TempDir(), "state"))
	e.Machine = here{machine.Linux{SystemctlPath: dir + "/systemctl"}}
	e.Guard = Guard{Units: dir + "/ro", SystemdRun: dir + "/systemd-run"}
	head := Head{ConfirmWithin: time.Minute, Plan: Plan{Steps: []step.Step{step.File{Path: dir + "/a", Content: []byte("new\n")}}}}
	c, err := e.Apply(t.Context(), head, nil)
	if err == nil || !strings.Contains(err.Error(), "could not be armed") || c.Phase() != TakenBack {
		t.Errorf("apply said %v", err)
	}
	if _, err := os.Stat(dir + "/a"); err == nil {
		t.Error("the change was begun")
	}
}

// TestResolve: symlinks are followed, also to where nothing is yet.
func TestResolve(t *testing.T) {
	dir := t.TempDir()
	must(t, "dir", os.MkdirAll(dir+"/real/sub", 0o755))
	for name, to := range map[string]string{"rel": "real/sub", "abs": dir + "/real", "up": "real/../real/sub/../new", "loop": "loop",
		"dangling": "nowhere/x"} {
		must(t, name, os.Symlink(to, dir+"/"+name))
	}
	for in, want := range map[string]string{"/rel/a": "/real/sub/a", "/abs/sub": "/real/sub", "/up": "/real/new",
		"/dangling": "/nowhere/x", "/abs/../x": "/x", "/none/such": "/none/such"} {
		if got, err := (machine.Linux{}).Resolve(dir + in); err != nil || got != dir+want {
			t.Errorf("%s: %s, %v; want %s", in, strings.TrimPrefix(got, dir), err, want)
		}
	}
	for _, bad := range []string{dir + "/loop", "relative"} {
		if got, err := (machine.Linux{}).Resolve(bad); err == nil {
			t.Errorf("%s: %s", bad, got)
		}
	}
	// A symlink that appears between look and act is not followed.
	must(t, "victim", os.WriteFile(dir+"/real/victim", []byte("x"), 0o644))
	_, create := machine.Linux{}.Create(dir+"/abs/new", nil)
	for what, err := range map[string]error{
		"overwrite": machine.Linux{}.Overwrite(machine.At(dir+"/abs/victim"), nil),
		"unlink":    machine.Linux{}.Unlink(machine.At(dir + "/abs/victim")),
		"create":    create, "chmod": machine.Linux{}.Chmod(machine.At(dir+"/abs"), 0o777),
		"last": machine.Linux{}.Overwrite(machine.At(dir+"/rel"), nil),
	} {
		if err == nil {
			t.Errorf("%s went through a symlink", what)
		}
	}
}

// TestText is what the admin reads before saying yes.
func TestText(t *testing.T) {
	got := Text(Plan{Title: "pin br0's MTU", CutsConnection: true, Notes: []string{"Pings \x1b[31mmay be lost."}, Steps: []step.Step{
		step.File{Path: "/etc/net", Was: []byte("a\nmtu 9000\nb\n"), Content: []byte("a\nmtu 1500\x1b]0;x\a\nb\n")},
		step.File{Path: "/etc/key", Was: []byte("psk"), Content: []byte("psk2"), Secret: true},
		step.LinkMTU{Link: "br0", MTU: 1500, Bridge: true},
	}}, TextOptions{Width: 80})
	want := `pin br0's MTU

  1. change /etc/net
     undo: exact
       --- /etc/net
       +++ /etc/net
       @@ -1,3 +1,3 @@
        a
       -mtu 9000
       +mtu 1500\x1b]0;x\x07
        b

  2. change /etc/key
     undo: exact
       --- /etc/key
       +++ /etc/key
       not shown, because it is secret: 3 bytes become 4 bytes

  3. set the running MTU of br0 to 1500 bytes
     undo: the MTU is restored; the bridge no longer follows its ports until it
       is created again
       # ip link set dev br0 mtu 1500

Note: Pings \x1b[31mmay be lost.
Note: This can cut your connection to the host. It is undone automatically
      unless you confirm it in time.
`
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	if b, err := json.Marshal(got); err != nil || strings.Contains(string(b), `\u001b`) {
		t.Errorf("an escape sequence came through: %s %v", b, err)
	}
}

// TestDiesWhileArming: a fix that was killed with its deadline journaled and
// no guard standing by is armed anew before it is resumed.
func TestDiesWhileArming(t *testing.T) {
	privately(t)
	dir := t.TempDir()
	must(t, "mkdir", os.Mkdir(dir+"/units", 0o755))
	put(t, dir+"/systemd-run", "#!/bin/sh\necho >> "+dir+"/armed\n", 0o755)
	put(t, dir+"/systemctl", "#!/bin/sh\n", 0o755)
	e := engineAt(t, filepath.Join(t.TempDir(), "state"))
	e.Machine = here{machine.Linux{SystemctlPath: dir + "/systemctl"}}
	e.Guard = Guard{Units: dir + "/units", SystemdRun: dir + "/systemd-run"}
	plan := Plan{Steps: []step.Step{step.File{Path: dir + "/a", Content: []byte("new\n")}}}
	c, err := e.Store.create(Head{Format: 1, ConfirmWithin: time.Minute, Plan: plan})
	must(t, "create", err)
	boot, err := e.Machine.BootID()
	must(t, "boot", err)
	must(t, "armed", c.append(Record{Event: evArmed, Boot: boot, Deadline: time.Now().Add(time.Minute)}))
	if c, err = e.Resume(t.Context(), "", nil); err != nil || len(c.Guards()) != 2 || read(t, dir+"/armed") != "\n" ||
		read(t, dir+"/a") != "new\n" {
		t.Errorf("resume: %v, guards %v, a %q", err, c.Guards(), read(t, dir+"/a"))
	}
	// One whose time is over must not go on.
	c, err = e.Store.create(
		Head{Format: 1, ConfirmWithin: time.Minute, Plan: Plan{Steps: []step.Step{step.File{Path: dir + "/b", Content: []byte("new\n")}}}},
	)
	must(t, "create", err)
	must(t, "armed", c.append(Record{Event: evArmed, Boot: boot, Deadline: time.Now().Add(-time.Second), Guards: []string{"x"}}))
	if _, err = e.Resume(t.Context(), "", nil); err == nil || !strings.Contains(err.Error(), "fettle undo 0002") {
		t.Errorf("resume after the deadline: %v", err)
	}
	if _, err := os.Stat(dir + "/b"); err == nil {
		t.Error("it went on")
	}
}

// TestFileLooksAgain: what was written between the look and the act is left.
func TestFileLooksAgain(t *testing.T) {
	privately(t)
	dir := t.TempDir()
	put(t, dir+"/a", "old\n", 0o644)
	s := step.File{Path: dir + "/a", Was: []byte("old\n"), Content: []byte("new\n")}
	items, err := s.Items(t.Context(), machine.Linux{})
	must(t, "look", err)
	put(t, dir+"/a", "the admin's\n", 0o644)
	if err := s.Apply(t.Context(), &step.Site{Machine: machine.Linux{}, Temp: ".tmp"}, items); !errors.As(err, new(*machine.Changed)) ||
		read(t, dir+"/a") != "the admin's\n" {
		t.Errorf("%v, a says %q", err, read(t, dir+"/a"))
	}
}

// TestCapabilities: a program that may bind low ports still may, after its file
// was replaced, and after that was undone.
func TestCapabilities(t *testing.T) {
	privately(t)
	dir := tmpfs(t, "mode=0755")
	put(t, dir+"/a", "old\n", 0o755)
	// VFS_CAP_REVISION_2 with cap_net_bind_service permitted and effective
	// (include/uapi/linux/capability.h).
	want := []byte{1, 0, 0, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
	must(t, "setcap", machine.Linux{}.SetXattr(machine.At(dir+"/a"), "security.capability", want))
	e := engineAt(t, filepath.Join(t.TempDir(), "state"))
	check := func(when string) {
		t.Helper()
		got := make([]byte, 64)
		n, err := unix.Getxattr(dir+"/a", "security.capability", got)
		if err != nil || !bytes.Equal(got[:n], want) {
			t.Errorf("%s: %x, %v", when, got[:max(n, 0)], err)
		}
	}
	applied(t, e, step.File{Path: dir + "/a", Was: []byte("old\n"), Content: []byte("new\n")})
	check("replaced")
	_, err := e.Undo(t.Context(), "", UndoOptions{})
	must(t, "undo", err)
	check("undone")
}

// TestDefaultSpreads: conf/default changes the interfaces that have no address
// yet (devinet_copy_dflt_conf(), net/ipv4/devinet.c), and one that has got one
// meanwhile no longer follows it back.
func TestDefaultSpreads(t *testing.T) {
	privately(t)
	e := engineAt(t, filepath.Join(t.TempDir(), "state"))
	veth := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "v0"}, PeerName: "v1"}
	must(t, "veth", netlink.LinkAdd(veth))
	const of = "/proc/sys/net/ipv4/conf/v0/rp_filter"
	was := strings.TrimSpace(read(t, of))
	applied(t, e, step.Sysctl{Key: "net/ipv4/conf/default/rp_filter", Value: map[string]string{"0": "2", "2": "1"}[was]})
	if now := strings.TrimSpace(read(t, of)); now == was {
		t.Fatalf("v0 did not follow default: %s", now)
	}
	addr, err := netlink.ParseAddr("192.0.2.1/24")
	must(t, "address", err)
	must(t, "address", netlink.AddrAdd(veth, addr))
	if _, err := e.Undo(t.Context(), "", UndoOptions{}); err != nil || strings.TrimSpace(read(t, of)) != was {
		t.Errorf("undo: %v; v0 says %s, not %s", err, strings.TrimSpace(read(t, of)), was)
	}
}

// TestForwardingSpreads: turning forwarding on for all, by either of the key's
// two names, turns it on for each interface, and redirects off
// (inet_forward_change(), net/ipv4/devinet.c). Undo leads each back: also one that
// had forwarded before.
func TestForwardingSpreads(t *testing.T) {
	privately(t)
	must(t, "veth", netlink.LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "v0"}, PeerName: "v1"}))
	const conf = "/proc/sys/net/ipv4/conf/"
	files := []string{conf + "v0/forwarding", conf + "v1/forwarding", conf + "default/forwarding",
		conf + "v0/accept_redirects", conf + "v1/accept_redirects", conf + "all/accept_redirects", conf + "default/accept_redirects"}
	stand := func() (out []string) {
		for _, f := range files {
			out = append(out, f+" "+strings.TrimSpace(read(t, f)))
		}
		return out
	}
	must(t, "v1 forwards", os.WriteFile(files[1], []byte("1"), 0))
	must(t, "no redirects", os.WriteFile(conf+"all/accept_redirects", []byte("0"), 0))
	was := stand()
	for _, key := range []string{"net/ipv4/ip_forward", "net/ipv4/conf/all/forwarding"} {
		e := engineAt(t, filepath.Join(t.TempDir(), "state"))
		applied(t, e, step.Sysctl{Key: key, Value: "1"})
		if now := stand(); slices.Equal(now, was) {
			t.Fatalf("%s changed nothing else: %q", key, now)
		}
		if _, err := e.Undo(t.Context(), "", UndoOptions{}); err != nil || !slices.Equal(stand(), was) {
			t.Errorf("%s undone: %v\n%q, not\n%q", key, err, stand(), was)
		}
	}
}

// advised is a machine with KSM's advisor, whose scan-time sets pages_to_scan
// (advisor_mode_store(), mm/ksm.c of Linux 6.8). The real one is the whole
// machine's.
type advised struct {
	here
	v map[string]string
}

func (m advised) ReadValue(name string) (string, error) { return m.v[filepath.Base(name)], nil }
func (m advised) WriteValue(name, value string) error {
	m.v[filepath.Base(name)] = value
	if filepath.Base(name) == "advisor_mode" && value == "scan-time" {
		m.v["pages_to_scan"] = "500"
	}
	return nil
}

func TestAdvisor(t *testing.T) {
	privately(t)
	m := advised{v: map[string]string{"advisor_mode": "none", "pages_to_scan": "1234"}}
	e := engineAt(t, filepath.Join(t.TempDir(), "state"))
	e.Machine = m
	applied(
		t,
		e,
		step.Sysfs{Path: "/sys/kernel/mm/ksm/advisor_mode", Value: "scan-time", Drifting: []string{"/sys/kernel/mm/ksm/pages_to_scan"}},
	)
	m.v["pages_to_scan"] = "777" // the advisor's own doing
	if _, err := e.Undo(t.Context(), "", UndoOptions{}); err != nil || m.v["pages_to_scan"] != "1234" || m.v["advisor_mode"] != "none" {
		t.Errorf("undo: %v, %v", err, m.v)
	}
}
