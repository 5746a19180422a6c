package remedy

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"

	"fettle/engine/remedy/machine"
	"fettle/engine/remedy/step"
)

func applied(t *testing.T, e *Engine, steps ...step.Step) *Change {
	t.Helper()
	c, err := e.Apply(t.Context(), Head{Trap: "demo", Plan: Plan{Title: "demo", Steps: steps}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestUndoRefuses: what the admin changed since is left alone and shown; with
// force it is written over.
func TestUndoRefuses(t *testing.T) {
	privately(t)
	dir := t.TempDir()
	e := engineAt(t, filepath.Join(t.TempDir(), "state"))
	put(t, dir+"/a", "1\n2\n3\n", 0o644)
	put(t, dir+"/b", "b\n", 0o644)
	c := applied(t, e,
		step.File{Path: dir + "/a", Was: []byte("1\n2\n3\n"), Content: []byte("1\ntwo\n3\n")},
		step.File{Path: dir + "/b", Was: []byte("b\n"), Content: []byte("B\n")})
	put(t, dir+"/a", "1\ntwo\n3\nmine\n", 0o644)

	_, err := e.Undo(t.Context(), c.ID, UndoOptions{})
	var cf *Conflicts
	if !errors.As(err, &cf) || len(cf.List) != 1 || !strings.Contains(err.Error(), "undo --force "+c.ID) {
		t.Fatalf("undo said %v", err)
	}
	d := cf.List[0].Diff()
	for _, want := range []string{"what fettle changed", "\n-2\n+two\n", "what was changed since", "\n+mine\n"} {
		if !strings.Contains(d, want) {
			t.Errorf("the diff lacks %q:\n%s", want, d)
		}
	}
	if read(t, dir+"/b") != "B\n" {
		t.Error("a refused undo undid a part")
	}

	// The rollback that nobody watches takes back the rest.
	e2 := engineAt(t, e.Store.Dir)
	c, err = e2.Undo(t.Context(), c.ID, UndoOptions{Skip: true})
	if err != nil || len(c.Left()) != 1 || read(t, dir+"/b") != "b\n" || read(t, dir+"/a") != "1\ntwo\n3\nmine\n" {
		t.Errorf("skipping: %v, left %v, a %q, b %q", err, c.Left(), read(t, dir+"/a"), read(t, dir+"/b"))
	}

	c = applied(t, e, step.File{Path: dir + "/a", Was: []byte("1\ntwo\n3\nmine\n"), Content: []byte("x\n")})
	put(t, dir+"/a", "y\n", 0o600)
	if _, err = e.Undo(t.Context(), c.ID, UndoOptions{Force: true}); err != nil || read(t, dir+"/a") != "1\ntwo\n3\nmine\n" {
		t.Errorf("force: %v, a %q", err, read(t, dir+"/a"))
	}
}

// TestUndoSecret: the content of a private file is in no diff.
func TestUndoSecret(t *testing.T) {
	privately(t)
	dir := t.TempDir()
	e := engineAt(t, filepath.Join(t.TempDir(), "state"))
	put(t, dir+"/key", "psk=hunter2\n", 0o600)
	c := applied(t, e, step.File{Path: dir + "/key", Was: []byte("psk=hunter2\n"), Content: []byte("psk=hunter2\nmtu=1\n")})
	put(t, dir+"/key", "psk=hunter3\n", 0o600)
	_, err := e.Undo(t.Context(), c.ID, UndoOptions{})
	var cf *Conflicts
	if !errors.As(err, &cf) {
		t.Fatal(err)
	}
	if d := cf.List[0].Diff(); strings.Contains(d, "hunter") || !strings.Contains(d, "not shown") {
		t.Errorf("diff:\n%s", d)
	}
	if d := (step.File{Path: "/k", Was: []byte("hunter2"), Content: []byte("hunter3"), Secret: true}).Diff(); strings.Contains(d, "hunter") {
		t.Errorf("diff:\n%s", d)
	}
}

// TestUndoOrder: the earlier of two changes of one file names the later one.
func TestUndoOrder(t *testing.T) {
	privately(t)
	dir := t.TempDir()
	e := engineAt(t, filepath.Join(t.TempDir(), "state"))
	put(t, dir+"/a", "0\n", 0o644)
	first := applied(t, e, step.File{Path: dir + "/a", Was: []byte("0\n"), Content: []byte("1\n")})
	second := applied(t, e, step.File{Path: dir + "/a", Was: []byte("1\n"), Content: []byte("2\n")})
	if _, err := e.Undo(t.Context(), first.ID, UndoOptions{}); err == nil || !strings.Contains(err.Error(), "fettle undo "+second.ID) {
		t.Errorf("undo of the first said %v", err)
	}
	for range 2 {
		if _, err := e.Undo(t.Context(), "", UndoOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if read(t, dir+"/a") != "0\n" {
		t.Errorf("a says %q", read(t, dir+"/a"))
	}
	if c, err := e.Undo(t.Context(), "", UndoOptions{}); c != nil || err != nil {
		t.Errorf("with nothing to undo: %v %v", c, err)
	}
}

// TestRefusals: a plan made from what is no longer so changes nothing.
func TestRefusals(t *testing.T) {
	privately(t)
	dir := t.TempDir()
	e := engineAt(t, filepath.Join(t.TempDir(), "state"))
	put(t, dir+"/a", "admin's\n", 0o644)
	put(t, dir+"/one", "x", 0o644)
	must(t, "link", os.Link(dir+"/one", dir+"/two"))
	must(t, "symlink", os.Symlink("/dev/null", dir+"/masked"))
	for name, s := range map[string]step.Step{
		"changed":   step.File{Path: dir + "/a", Was: []byte("old\n"), Content: []byte("new\n")},
		"appeared":  step.File{Path: dir + "/a", Content: []byte("new\n")},
		"vanished":  step.File{Path: dir + "/b", Was: []byte("old\n"), Content: []byte("new\n")},
		"masked":    step.File{Path: dir + "/masked", Content: []byte("new\n")},
		"a folder":  step.File{Path: dir, Content: []byte("new\n")},
		"hard link": step.Remove{Path: dir + "/one", Was: []byte("x")},
		"no key":    step.Sysctl{Key: "net/ipv6/conf/nosuch/forwarding", Value: "1"},
		"escape":    step.Sysctl{Key: "../../etc/passwd", Value: "1"},
		"sysfs":     step.Sysfs{Path: "/sys/../etc/passwd", Value: "1"},
		"no link":   step.LinkMTU{Link: "nosuch", MTU: 1400},
		"relative":  step.Command{Do: []string{"rm", "-rf", "/"}},
		"bad ACL":   step.ACL{Path: dir, Access: "user::rwx"},
	} {
		good := step.File{Path: dir + "/first", Content: []byte("x")}
		_, err := e.Apply(t.Context(), Head{Plan: Plan{Steps: []step.Step{good, s}}}, nil)
		if err == nil || !strings.Contains(err.Error(), "nothing was changed") {
			t.Errorf("%s: %v", name, err)
		} else {
			t.Logf("%s: %v", name, err)
		}
		if _, err := os.Stat(dir + "/first"); err == nil {
			t.Fatalf("%s: the step before it was taken", name)
		}
	}
	if ids, _ := e.Store.IDs(); len(ids) > 0 {
		t.Errorf("changes %v", ids)
	}
	if _, err := e.Apply(t.Context(), Head{Plan: Plan{Steps: []step.Step{step.Command{
		Do: []string{"/usr/bin/touch", dir + "/done"}, Require: []string{"/usr/bin/false"}}}}}, nil); err == nil ||
		!strings.Contains(err.Error(), "precondition") {
		t.Errorf("precondition: %v", err)
	}
	if _, err := os.Stat(dir + "/done"); err == nil {
		t.Error("the command ran without its precondition")
	}
}

// TestEarlierBoot: what ended with its boot is reported, not put back; files are.
func TestEarlierBoot(t *testing.T) {
	privately(t)
	dir := t.TempDir()
	boot := dir + "/boot_id"
	put(t, boot, "boot-1\n", 0o644)
	put(t, dir+"/a", "old\n", 0o644)
	e := engineAt(t, filepath.Join(t.TempDir(), "state"))
	e.Machine = machine.Linux{BootIDFile: boot}
	const key = "net/ipv4/conf/lo/rp_filter"
	must(t, "sysctl", e.Machine.WriteValue("/proc/sys/"+key, "0"))
	c := applied(t, e, step.File{Path: dir + "/a", Was: []byte("old\n"), Content: []byte("new\n")}, step.Sysctl{Key: key, Value: "2"})
	put(t, boot, "boot-2\n", 0o644)
	c, err := e.Undo(t.Context(), c.ID, UndoOptions{})
	if err != nil || len(c.Left()) != 1 || !strings.Contains(c.Left()[0], "earlier boot") {
		t.Fatalf("undo: %v, left %v", err, c.Left())
	}
	if read(t, dir+"/a") != "old\n" || strings.TrimSpace(read(t, "/proc/sys/"+key)) != "2" {
		t.Errorf("a %q, sysctl %q", read(t, dir+"/a"), read(t, "/proc/sys/"+key))
	}
}

// TestSysctlConflict: an interface that the admin set after all/forwarding is
// left as he wants it.
func TestSysctlConflict(t *testing.T) {
	privately(t)
	e := engineAt(t, filepath.Join(t.TempDir(), "state"))
	must(t, "veth", netlink.LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "v0"}, PeerName: "v1"}))
	c := applied(t, e, step.Sysctl{Key: "net/ipv6/conf/all/forwarding", Value: "1"})
	if got := strings.TrimSpace(read(t, "/proc/sys/net/ipv6/conf/v0/forwarding")); got != "1" {
		t.Fatalf("v0/forwarding is %s: this kernel does not spread all/forwarding", got)
	}
	must(t, "admin", e.Machine.WriteValue("/proc/sys/net/ipv6/conf/v0/forwarding", "0"))
	// v0 is as it was before: no conflict. Now something that never was:
	must(t, "admin", e.Machine.WriteValue("/proc/sys/net/ipv6/conf/v1/forwarding", "2"))
	_, err := e.Undo(t.Context(), c.ID, UndoOptions{})
	var cf *Conflicts
	if !errors.As(err, &cf) || len(cf.List) != 1 || cf.List[0].Now.Path != "/proc/sys/net/ipv6/conf/v1/forwarding" {
		t.Fatalf("undo said %v", err)
	}
	if d := cf.List[0].Diff(); !strings.Contains(d, "before:  0") || !strings.Contains(d, "fettle:  1") ||
		!strings.Contains(d, "now:     2") {
		t.Errorf("diff:\n%s", d)
	}
	// An interface that is gone is no obstacle.
	l, err := netlink.LinkByName("v0")
	must(t, "link", err)
	must(t, "delete", netlink.LinkDel(l))
	if _, err := e.Undo(t.Context(), c.ID, UndoOptions{}); err != nil {
		t.Errorf("undo after the interface went away: %v", err)
	}
}

// TestLock: the second fettle says who is at work, or waits.
func TestLock(t *testing.T) {
	privately(t)
	dir := t.TempDir()
	e := engineAt(t, filepath.Join(t.TempDir(), "state"))
	unlock, err := e.Store.Lock(t.Context(), "fettle fix demo", false)
	if err != nil {
		t.Fatal(err)
	}
	plan := Plan{Steps: []step.Step{step.File{Path: dir + "/a", Content: []byte("x")}}}
	_, err = e.Apply(t.Context(), Head{Plan: plan}, nil)
	var held *Held
	if !errors.As(err, &held) || !strings.Contains(err.Error(), "fettle fix demo") {
		t.Errorf("the second said %v", err)
	}
	waited := make(chan struct{})
	go func() { <-waited; unlock() }()
	e.Wait = true
	close(waited)
	if _, err = e.Apply(t.Context(), Head{Plan: plan}, func(context.Context) error { return nil }); err != nil {
		t.Errorf("the one that waits said %v", err)
	}
}

func TestStoreIsRootsAlone(t *testing.T) {
	privately(t)
	for _, c := range []struct {
		name      string
		dir, kept os.FileMode // of the folder and of changes in it
		owner     int         // of the folder that both are in
		want      string
	}{
		{"as fettle makes it", 0o700, 0o700, 0, ""},
		{"as check --new or systemd made it first", 0o755, 0o700, 0, ""},
		{"contents that all may read", 0o755, 0o755, 0, "0700"},
		{"a folder that a group may write to", 0o775, 0o700, 0, "only root may write to"},
		{"in a user's folder", 0o700, 0o700, 65534, "where users other than root can rename"},
	} {
		up := filepath.Join(t.TempDir(), "up")
		must(t, "mkdir", os.MkdirAll(up+"/state/changes", 0o700))
		must(t, "chmod", os.Chmod(up+"/state/changes", c.kept))
		must(t, "chmod", os.Chmod(up+"/state", c.dir))
		must(t, "chown", os.Chown(up, c.owner, -1))
		if _, err := OpenStoreAt(up + "/sta\nte"); err == nil || !strings.Contains(err.Error(), "control character") {
			t.Errorf("a newline in the path: %v", err)
		}
		if _, err := OpenStoreAt(up + "/state"); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// TestAppendAfterTear: a new line does not stick to half of an old one,
// however long that is.
func TestAppendAfterTear(t *testing.T) {
	privately(t)
	e := engineAt(t, filepath.Join(t.TempDir(), "state"))
	c := applied(t, e, step.File{Path: t.TempDir() + "/a", Content: []byte("x")})
	name := filepath.Join(e.Store.folder(c.ID), "journal.jsonl")
	whole := read(t, name)
	f, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
	must(t, "open", err)
	_, err = f.WriteString(`{"event":"done","why":"` + strings.Repeat("x", 5000))
	must(t, "write", err)
	must(t, "close", f.Close())
	c, err = e.Store.Change(c.ID)
	must(t, "reading a torn journal", err)
	must(t, "append", c.append(Record{Event: evNote, Why: "after"}))
	got := read(t, name)
	if !strings.HasPrefix(got, whole) || strings.Count(got, "\n") != strings.Count(whole, "\n")+1 || strings.Contains(got, "xxx") ||
		!strings.HasSuffix(got, "}\n") {
		t.Errorf("the journal is now:\n%.300s…", strings.TrimPrefix(got, whole))
	}
}

// TestResumeInAnotherBoot: a running value that was set before the power cut
// is set again; its file was not lost.
func TestResumeInAnotherBoot(t *testing.T) {
	privately(t)
	dir := t.TempDir()
	boot := dir + "/boot_id"
	put(t, boot, "boot-1\n", 0o644)
	e := engineAt(t, filepath.Join(t.TempDir(), "state"))
	m := here{machine.Linux{BootIDFile: boot}}
	e.Machine = m
	const key = "net/ipv4/conf/lo/rp_filter"
	must(t, "sysctl", m.WriteValue("/proc/sys/"+key, "0"))
	// fettle dies after its second step, before it could say that all is applied.
	dies := errors.New("the power went")
	plan := Plan{Steps: []step.Step{step.Sysctl{Key: key, Value: "2"}, step.File{Path: dir + "/a", Content: []byte("new\n")}}}
	func() {
		defer func() {
			if r := recover(); r != nil && r != dies {
				panic(r)
			}
		}()
		e.Apply(t.Context(), Head{Plan: plan}, func(context.Context) error { panic(dies) })
	}()
	put(t, boot, "boot-2\n", 0o644)
	must(t, "boot", m.WriteValue("/proc/sys/"+key, "0"))
	e2 := engineAt(t, e.Store.Dir)
	e2.Machine = m
	c, err := e2.Resume(t.Context(), "", nil)
	if err != nil || c == nil || c.Phase() != Applied || strings.TrimSpace(read(t, "/proc/sys/"+key)) != "2" {
		t.Errorf("resume: %v %v, the value is %q", c, err, read(t, "/proc/sys/"+key))
	}
}
