package sshcontrolsockets

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"fettle/engine/remedy"
	"fettle/engine/remedy/machine"
	"fettle/engine/trap"
	"fettle/host/hosttest"
	"fettle/internal/means"
)

// TestApplied: the file that the remedy makes is the user's, who can read it;
// what others could write to is closed; undo leads back.
func TestApplied(t *testing.T) {
	means.Root(t)
	const nobody = 65534
	home := filepath.Join(t.TempDir(), "home")
	ssh := home + "/.ssh"
	if err := errors.Join(os.Chmod(filepath.Dir(filepath.Dir(home)), 0o755), os.Mkdir(home, 0o755), os.Mkdir(ssh, 0o700),
		os.Chmod(ssh, 0o777), os.Chown(home, nobody, nobody), os.Chown(ssh, nobody, nobody)); err != nil {
		t.Fatal(err)
	}
	h := hosttest.New(t, "-- root/etc/passwd --\nana:x:65534:65534::"+home+":/bin/sh\n-- root/etc/group --\nnogroup:x:65534:\n"+
		"-- stat"+ssh+" --\nmode 0777 type dir uid 65534\n")
	f, err := Trap.Choose(trap.Finding{Subject: "ana"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan(t.Context(), h, f)
	if err != nil {
		t.Fatal(err)
	}
	store, err := remedy.OpenStoreAt(filepath.Join(t.TempDir(), "state"))
	if err != nil {
		t.Fatal(err)
	}
	e := &remedy.Engine{Store: store, Machine: machine.New()}
	if _, err := e.Apply(t.Context(), remedy.Head{Plan: p}, nil); err != nil {
		t.Fatal(err)
	}
	for name, mode := range map[string]os.FileMode{ssh: 0o700, ssh + "/config": 0o600} {
		st, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if o := st.Sys().(*syscall.Stat_t); st.Mode().Perm() != mode || o.Uid != nobody || o.Gid != nobody {
			t.Errorf("%s is %04o of %d:%d", name, st.Mode().Perm(), o.Uid, o.Gid)
		}
	}
	cat := exec.Command(means.Tool(t, "cat"), ssh+"/config")
	cat.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	if out, err := cat.CombinedOutput(); err != nil {
		t.Errorf("the user cannot read it: %v: %s", err, out)
	}
	if _, err := e.Undo(t.Context(), "", remedy.UndoOptions{}); err != nil {
		t.Fatal(err)
	}
	st, err := os.Stat(ssh)
	if err != nil || st.Mode().Perm() != 0o777 {
		t.Errorf("after undo: %v %v", st.Mode(), err)
	}
	if _, err := os.Stat(ssh + "/config"); err == nil {
		t.Error("after undo config is still there")
	}
}
