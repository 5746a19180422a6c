package remedy

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"fettle/engine/remedy/machine"
	"fettle/engine/remedy/step"
	"fettle/internal/means"
)

// scriptPlan has a step of every kind that a script can be run with here, and
// contents that would break a careless script.
func scriptPlan(dir string) Plan {
	return Plan{Title: "mend\n$(touch /owned) `x`", Notes: []string{"a\nrm -rf /"}, Steps: []step.Step{
		step.File{Path: dir + "/it's $HOME", Was: []byte("old\n"), Content: []byte("$(id) `id` \\ 'x' \"y\"\nFETTLE\n\tend\n")},
		step.File{Path: dir + "/new.d/deep/raw", Content: []byte("no newline at the end, \x00 and \xff"), Mode: 0o640},
		step.File{Path: dir + "/empty", Was: []byte("x"), Content: []byte{}},
		step.File{Path: dir + "/hard", Was: []byte("old\n"), Content: []byte("new\n")},
		step.File{Path: dir + "/new.d/gone", Content: []byte("bye\n"), Like: dir + "/gone", Secret: true},
		step.Remove{Path: dir + "/gone", Was: []byte("bye\n")},
		step.Perm{Path: dir + "/perm", Mode: 0o4711, UID: 3, GID: -1},
		step.ACL{Path: dir + "/perm", Access: "user::rwx,user:12:r--,group::r-x,mask::r-x,other::---"},
		step.ACL{Path: dir + "/listed", Access: "none"},
		step.ACL{Path: dir, Default: "user::rwx,group::r-x,other::---"},
		step.Sysctl{Key: "net/ipv6/conf/all/forwarding", Value: "1"},
		step.Sysctl{Key: "net/ipv4/ip_forward", Value: "1"},
		step.Sysfs{Path: "/sys/class/net/v0/tx_queue_len", Value: "77"},
		step.LinkMTU{Link: "v0", MTU: 1400},
		step.SolicitRouter{Link: "v0"},
		step.Command{
			Do:      []string{"/usr/bin/touch", dir + "/made by command"},
			Undo:    []string{"/usr/bin/rm", dir + "/made by command"},
			Require: []string{"/usr/bin/true"},
		},
	}}
}

func scriptWorld(t *testing.T) string {
	privately(t)
	dir := tmpfs(t, "mode=0755") + "/w"
	put(t, dir+"/it's $HOME", "old\n", 0o604)
	put(t, dir+"/empty", "x", 0o644)
	put(t, dir+"/hard", "old\n", 0o644)
	must(t, "link", os.Link(dir+"/hard", dir+"/hard too"))
	put(t, dir+"/gone", "bye\n", 0o620)
	must(t, "chown", os.Chown(dir+"/gone", 7, 8))
	must(t, "xattr", machine.Linux{}.SetXattr(machine.At(dir+"/gone"), "user.note", []byte("keep")))
	put(t, dir+"/perm", "", 0o640)
	put(t, dir+"/listed", "", 0o640)
	must(t, "xattr", machine.Linux{}.SetXattr(machine.At(dir+"/it's $HOME"), "user.note", []byte("keep")))
	must(
		t,
		"ACL",
		machine.Linux{}.SetXattr(
			machine.At(dir+"/listed"),
			"system.posix_acl_access",
			accessList(t, "user::rw-,user:5:rwx,group::---,mask::rwx,other::---"),
		),
	)
	must(t, "veth", netlink.LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "v0"}, PeerName: "d0"}))
	for _, n := range []string{"v0", "d0"} {
		must(t, n, machine.Linux{}.WriteValue("/proc/sys/net/ipv6/conf/"+n+"/accept_dad", "0"))
		l, err := netlink.LinkByName(n)
		must(t, n, err)
		must(t, n, netlink.LinkSetUp(l))
	}
	must(t, "tmp", unix.Mount("tmpfs", "/var/backups", "tmpfs", 0, ""))
	return dir
}

// TestScriptRuns: the shell script does what fettle does, its undo.sh leads
// back, and a second run stops because the files are no longer the plan's.
func TestScriptRuns(t *testing.T) {
	dir := scriptWorld(t)
	was := world(t, dir, true)
	p := scriptPlan(dir)
	text, err := Script(p)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "mend.sh")
	put(t, name, text, 0o644)

	e := engineAt(t, filepath.Join(t.TempDir(), "state"))
	if _, err := e.Apply(t.Context(), Head{Plan: p}, nil); err != nil {
		t.Fatal(err)
	}
	mended := world(t, dir, true)
	if _, err := e.Undo(t.Context(), "", UndoOptions{}); err != nil {
		t.Fatal(err)
	}
	same(t, "fettle's own undo", was, world(t, dir, true))

	if out, err := exec.Command("/bin/sh", name).CombinedOutput(); err != nil {
		t.Fatalf("the script: %v\n%s", err, out)
	}
	same(t, "the script against fettle", mended, world(t, dir, true))
	if out, err := exec.Command("/bin/sh", name).CombinedOutput(); err == nil || !strings.Contains(string(out), "since the plan was made") {
		t.Errorf("the script again: %v\n%s", err, out)
	}
	undos, _ := filepath.Glob("/var/backups/fettle.*/undo.sh")
	for _, u := range undos { // of the second run it has nothing to do
		if out, err := exec.Command("/bin/sh", u).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s\n%s", u, err, out, read(t, u))
		}
	}
	now := world(t, dir, true)
	for _, k := range []string{dir + "/new.d", dir + "/new.d/deep"} { // a script leaves new folders
		delete(now, k)
	}
	same(t, "the script's undo", was, now)
	if _, err := os.Stat("/owned"); err == nil {
		t.Error("data in the plan was run")
	}
}

func TestScriptIsClean(t *testing.T) {
	bin := means.Tool(t, "shellcheck")
	p := scriptPlan("/tmp/w")
	p.Steps = append(
		p.Steps,
		step.Unit{Name: "a.service", Act: "restart"},
		step.Unit{Act: "daemon-reload"},
		step.Unit{Name: "a.service", Act: "enable"},
		step.Unit{Name: "a.service", Act: "stop"},
		step.Sysctl{Key: "vm/dirty_bytes", Value: "1048576"},
		step.ACL{Path: "/a", Default: "none"},
	)
	for name, p := range map[string]Plan{"all": p,
		"one": {Title: "one", Steps: []step.Step{step.Sysctl{Key: "net/ipv4/conf/eth0.5/rp_filter", Value: "1"}}}} {
		text, err := Script(p)
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(bin, "-s", "sh", "-")
		cmd.Stdin = strings.NewReader(text)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: shellcheck: %v\n%s", name, err, out)
		}
	}
	if _, err := Script(Plan{Steps: []step.Step{step.File{Path: "/a", Secret: true}}}); err == nil {
		t.Error("a secret was written into a script")
	}
}

func TestPlaybookSyntax(t *testing.T) {
	bin := means.Tool(t, "ansible-playbook")
	p := scriptPlan("/tmp/w")
	p.Steps[1] = step.File{Path: "/tmp/w/jinja", Content: []byte("{{ lookup('pipe', 'touch /owned') }}\n{% raw %}\n")}
	p.Steps = append(
		p.Steps,
		step.Unit{Name: "a.service", Act: "restart"},
		step.Unit{Act: "daemon-reload"},
		step.Unit{Name: "a.service", Act: "enable"},
	)
	text, err := Playbook(p)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "mend.yml")
	put(t, name, text, 0o644)
	if out, err := exec.Command(bin, "--syntax-check", "-i", "localhost,", name).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s\n%s", err, out, text)
	}
	if _, err := Playbook(Plan{Steps: []step.Step{step.File{Path: "/a", Content: []byte{0}}}}); err == nil {
		t.Error("content that is not text was written into a playbook")
	}
}

// TestPlaybookRuns plays file steps on this host, in a folder of their own.
func TestPlaybookRuns(t *testing.T) {
	means.Short(t, "takes seconds")
	bin := means.Tool(t, "ansible-playbook")
	dir := t.TempDir()
	put(t, dir+"/a", "old\n", 0o604)
	put(t, dir+"/gone", "bye\n", 0o644)
	want := "{{ lookup('pipe', 'id') }} \"q\" 'q'\ttab\n"
	text, err := Playbook(Plan{Title: "t", Steps: []step.Step{
		step.File{Path: dir + "/a", Was: []byte("old\n"), Content: []byte(want)},
		step.File{Path: dir + "/n/b", Content: []byte("new\n"), Mode: 0o640},
		step.Remove{Path: dir + "/gone", Was: []byte("bye\n")},
		step.Perm{Path: dir + "/n", Mode: 0o711, UID: -1, GID: -1},
	}})
	if err != nil {
		t.Fatal(err)
	}
	put(t, dir+"/mend.yml", text, 0o644)
	run := func() (string, error) {
		cmd := exec.Command(bin, "-i", "localhost,", "-c", "local", "-e", "ansible_become=false", dir+"/mend.yml")
		cmd.Env = append(os.Environ(), "ANSIBLE_NOCOLOR=1", "ANSIBLE_LOCAL_TEMP="+dir+"/tmp", "ANSIBLE_REMOTE_TEMP="+dir+"/tmp")
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := run(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	a, err := machine.Linux{}.Look(dir+"/a", true)
	if err != nil || string(a.Content) != want || a.Mode != 0o604 {
		t.Errorf("a: %04o %q, %v", a.Mode, a.Content, err)
	}
	if b, err := (machine.Linux{}).Look(dir+"/n/b", true); err != nil || string(b.Content) != "new\n" || b.Mode != 0o640 {
		t.Errorf("b: %04o %q, %v", b.Mode, b.Content, err)
	}
	if _, err := os.Stat(dir + "/gone"); err == nil {
		t.Error("gone is still there")
	}
	if out, err := run(); err != nil || !strings.Contains(out, "changed=0 ") {
		t.Errorf("a second play is not without a change: %v\n%s", err, out)
	}
	put(t, dir+"/n/b", "another's\n", 0o640)
	if out, err := run(); err == nil || !strings.Contains(out, "assert") && !strings.Contains(out, "Assertion failed") {
		t.Errorf("a play went on over a file that somebody else changed: %v\n%s", err, out)
	}
	// A folder on the way is somebody else's, who made his file a link.
	put(t, dir+"/shadow", want, 0o600)
	must(t, "his folder", os.MkdirAll(dir+"/his/n", 0o755))
	must(t, "his folder", os.Chown(dir+"/his", anaID, anaID))
	must(t, "his link", os.Symlink(dir+"/shadow", dir+"/his/n/a"))
	if text, err = Playbook(Plan{Title: "t",
		Steps: []step.Step{step.Perm{Path: dir + "/his/n/a", Mode: 0o644, UID: anaID, GID: -1}}}); err != nil {
		t.Fatal(err)
	}
	put(t, dir+"/mend.yml", text, 0o644)
	out, err := run()
	img, lerr := machine.Linux{}.Look(dir+"/shadow", true)
	if err == nil || !strings.Contains(out, "others than root may write to") || !strings.Contains(out, "directory 65534 755 "+dir+"/his") ||
		lerr != nil ||
		img.UID != 0 ||
		img.Mode != 0o600 {
		t.Errorf("on a user's ground: %v, %+v %v\n%s", err, img, lerr, out)
	}
}

// TestScriptStopsWhereTheOldValueIsUnknown: what cannot be undone later, for
// want of the value before, is not done.
func TestScriptStopsWhereTheOldValueIsUnknown(t *testing.T) {
	means.Root(t)
	dir := t.TempDir()
	put(t, dir+"/bin/ip", "#!/bin/sh\ntouch "+dir+"/acted\n", 0o755)
	put(t, dir+"/bin/chmod", "#!/bin/sh\ntouch "+dir+"/acted\n", 0o755)
	for _, s := range []step.Step{step.LinkMTU{Link: "nolink0", MTU: 1400}, step.Perm{Path: dir + "/none", Mode: 0o600, UID: -1, GID: -1}} {
		text, err := Script(Plan{Title: "t", Steps: []step.Step{s}})
		must(t, "script", err)
		cmd := exec.Command("sh")
		cmd.Stdin = strings.NewReader(text)
		cmd.Env = []string{"PATH=" + dir + "/bin:" + os.Getenv("PATH"), "FETTLE_BACKUP=" + dir + "/backup"}
		out, err := cmd.CombinedOutput()
		if _, statErr := os.Stat(dir + "/acted"); err == nil || statErr == nil {
			t.Errorf("%T: went on (%v): %s", s, err, out)
		}
	}
}

// TestScriptStopsOnOthersGround: a script would act as root where somebody else
// may put a link at any moment; it does not begin there.
func TestScriptStopsOnOthersGround(t *testing.T) {
	privately(t)
	for attack := range newPrey(t).attacks() {
		p := newPrey(t)
		was := p.roots()
		ssh := p.home + "/.ssh"
		for _, s := range []step.Step{
			step.Perm{Path: ssh + "/config", Mode: 0o644, UID: anaID, GID: -1},
			step.File{Path: ssh + "/config", Was: []byte(secret), Content: []byte("x")},
			step.Remove{Path: ssh + "/config", Was: []byte(secret)},
			step.ACL{Path: ssh + "/config", Access: "user::rw-,user:1234:r--,group::r--,mask::r--,other::---"},
		} {
			if err := Exportable(machine.Linux{}, Plan{Steps: []step.Step{s}}); !errors.As(err, new(*Shared)) {
				t.Errorf("%s: exported: %v", s.Describe(), err)
			}
			text, err := Script(Plan{Title: "t", Steps: []step.Step{s}})
			must(t, "script", err)
			p.attacks()[attack]()
			ctx, cancel := context.WithTimeout(t.Context(), means.Patience) // of a FIFO it would read for ever
			defer cancel()
			cmd := exec.CommandContext(ctx, "sh")
			cmd.WaitDelay = time.Second
			cmd.Stdin = strings.NewReader(text)
			cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "FETTLE_BACKUP=" + p.top + "/backup"}
			out, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(string(out), "others than root may write to "+p.home) {
				t.Errorf("%s, %s: %v\n%s", attack, s.Describe(), err, out)
			}
			same(t, attack+", "+s.Describe(), was, p.roots())
		}
	}
	// Root's own ways are followed, through links and sticky folders.
	dir := t.TempDir()
	put(t, dir+"/real/a", "old\n", 0o600)
	must(t, "link", os.Symlink("real", dir+"/link"))
	text, err := Script(Plan{Title: "t", Steps: []step.Step{step.Perm{Path: dir + "/link/../link/a", Mode: 0o640, UID: -1, GID: -1}}})
	must(t, "script", err)
	cmd := exec.Command("sh")
	cmd.Stdin = strings.NewReader(text)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "FETTLE_BACKUP=" + dir + "/backup"}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("root's own link: %v\n%s", err, out)
	}
	if img, err := (machine.Linux{}).Look(dir+"/real/a", false); err != nil || img.Mode != 0o640 {
		t.Errorf("root's own link: %+v %v", img, err)
	}
}
