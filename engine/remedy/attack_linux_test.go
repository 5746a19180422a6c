package remedy

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"fettle/engine/remedy/machine"
	"fettle/engine/remedy/step"
	"fettle/internal/means"
)

// A local user against root: he owns ~/.ssh, and at any instant he may put a
// link, another file or another folder in the place of any name in it. What is
// his to lose he may lose; what is root's must stay as it is, and secret.

const (
	anaID   = 65534 // nobody, whom every host has
	groupGG = 50    // staff
	secret  = "root:$6$the-secret-of-root"
)

// prey is what the attacker wants: a file that root alone may read, and a
// folder that only root may enter, in one file system with his home.
type prey struct {
	t         *testing.T
	top, home string
}

func newPrey(t *testing.T) prey {
	p := prey{t, tmpfs(t, "mode=0755"), ""}
	p.home = p.top + "/home/ana"
	put(t, p.top+"/etc/shadow", secret, 0o600)
	must(t, "root's folder", os.MkdirAll(p.top+"/root", 0o751))
	put(t, p.top+"/root/authorized_keys", secret, 0o600)
	put(t, p.home+"/.ssh/config", "Host a\n", 0o644)
	put(t, p.home+"/.ssh/other", "his own\n", 0o600)
	for _, n := range []string{"", "/.ssh", "/.ssh/config", "/.ssh/other"} {
		must(t, "chown", os.Chown(p.home+n, anaID, anaID))
	}
	must(t, "chmod", os.Chmod(p.home+"/.ssh", 0o777))
	return p
}

// roots is all that is root's: names, attributes, contents.
func (p prey) roots() map[string]string {
	p.t.Helper()
	w := map[string]string{}
	for _, dir := range []string{"/etc", "/root"} {
		err := filepath.WalkDir(p.top+dir, func(name string, _ fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			var st unix.Stat_t
			b, _ := os.ReadFile(name)
			err = unix.Lstat(name, &st)
			w[name] = fmt.Sprintf("mode %o owner %d:%d %s", st.Mode, st.Uid, st.Gid, b)
			return err
		})
		must(p.t, "walking", err)
	}
	return w
}

// leaked lists what holds the secret where the user can read it, or where
// fettle keeps it although it is of no file that it was to change.
func (p prey) leaked(state string) (out []string) {
	var shadow unix.Stat_t
	must(p.t, "stat", unix.Stat(p.top+"/etc/shadow", &shadow))
	for _, dir := range []string{p.home, state} {
		filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
			var st unix.Stat_t
			if err != nil || !d.Type().IsRegular() || unix.Lstat(name, &st) != nil || st.Ino == shadow.Ino {
				return nil // his own hard link to it shows him nothing new
			}
			if b, _ := os.ReadFile(name); bytes.Contains(b, []byte(secret)) {
				out = append(out, name)
			}
			return nil
		})
	}
	return out
}

// attacks are what he does to one name; any of them may fail.
func (p prey) attacks() map[string]func() {
	ssh := p.home + "/.ssh"
	victim := p.top + "/etc/shadow"
	each := func(pattern string, do func(name string)) func() {
		return func() {
			names, _ := filepath.Glob(pattern)
			for _, n := range names {
				os.Remove(n)
				do(n)
			}
		}
	}
	away := func(then func()) func() {
		return func() { os.Rename(ssh, p.home+"/was"); then() }
	}
	return map[string]func(){
		"config becomes a link":         each(ssh+"/config", func(n string) { os.Symlink(victim, n) }),
		"config becomes a hard link":    each(ssh+"/config", func(n string) { os.Link(victim, n) }),
		"config becomes a FIFO":         each(ssh+"/config", func(n string) { unix.Mkfifo(n, 0o666); os.Chown(n, anaID, anaID) }),
		"config becomes a new link":     func() { os.Remove(ssh + "/config"); os.Symlink(p.top+"/etc/ld.so.preload", ssh+"/config") },
		"the temporary file, a link":    each(ssh+"/.fettle-*", func(n string) { os.Symlink(victim, n) }),
		"the temporary file, hard link": each(ssh+"/.fettle-*", func(n string) { os.Link(victim, n) }),
		".ssh becomes a link to /root":  away(func() { os.Symlink(p.top+"/root", ssh) }),
		".ssh becomes a link to /etc":   away(func() { os.Symlink(p.top+"/etc", ssh) }),
		".ssh is another folder of his": away(func() { os.Mkdir(ssh, 0o777); os.Chown(ssh, anaID, anaID); os.Link(victim, ssh+"/config") }),
	}
}

// sshPlans are what a trap may want of a user's folder.
func sshPlans(p prey) map[string]Plan {
	ssh := p.home + "/.ssh"
	return map[string]Plan{
		"mode and file": {Steps: []step.Step{
			step.Perm{Path: ssh, Mode: 0o700, UID: -1, GID: -1},
			step.File{Path: ssh + "/config", Was: []byte("Host a\n"), Content: []byte("Host b\n")},
			step.Perm{Path: ssh + "/config", Mode: 0o600, UID: anaID, GID: anaID},
		}},
		"new file": {Steps: []step.Step{
			step.File{Path: ssh + "/new.d/config", Content: []byte("Host b\n"), Mode: 0o600},
			step.Perm{Path: ssh + "/new.d/config", Mode: -1, UID: anaID, GID: anaID},
			step.Remove{Path: ssh + "/other", Was: []byte("his own\n")},
			step.ACL{Path: ssh + "/config", Access: "user::rw-,user:1234:r--,group::r--,mask::r--,other::---"},
		}},
	}
}

// interrupted calls strike before and after the nth act on the machine.
type interrupted struct {
	killer
	nth    int
	strike func()
	fired  bool
}

func newInterrupted(nth int, strike func()) *interrupted {
	i := &interrupted{nth: nth, strike: strike}
	i.killer = killer{Machine: here{}, before: func(n int) {
		if n == i.nth && !i.fired {
			i.fired = true
			i.strike()
		}
	}}
	return i
}

// TestAttackAtEachInstant plays every attack at the instants of applying and
// of undoing every plan: at one in three of them, another third for each
// attack, and at all with FETTLE_LONG=1 (make lab-long).
func TestAttackAtEachInstant(t *testing.T) {
	means.Short(t, "takes seconds")
	privately(t)
	means.Root(t)
	stride := 3
	if os.Getenv("FETTLE_LONG") != "" {
		stride = 1
	}
	played, refused := 0, 0
	for plan := range sshPlans(newPrey(t)) {
		for k, attack := range slices.Sorted(maps.Keys(newPrey(t).attacks())) {
			for undo := range 2 {
				for n, over := 1+k%stride, false; !over; n += stride {
					p := newPrey(t)
					state := filepath.Join(tmpfs(t, "mode=0755"), "state")
					store, err := OpenStoreAt(state)
					must(t, "store", err)
					m := newInterrupted(n, p.attacks()[attack])
					e := &Engine{Store: store, Machine: m}
					if undo == 1 {
						e.Machine = here{}
					}
					h := Head{Plan: sshPlans(p)[plan]}
					h.Seen, err = Survey(e.Machine, h.Plan)
					must(t, "survey", err)
					was := p.roots()
					c, err := e.Apply(t.Context(), h, nil)
					if undo == 1 {
						must(t, "apply", err)
						e.Machine = m
						_, err = e.Undo(t.Context(), c.ID, UndoOptions{Force: n%2 == 0})
					}
					where := fmt.Sprintf("%s, %s at instant %d (undo %d; %v)", plan, attack, n, undo, err)
					same(t, where, was, p.roots())
					if l := p.leaked(state); len(l) > 0 {
						t.Errorf("%s: root's secret is in %v", where, l)
					}
					over = !m.fired
					played++
					if err != nil {
						refused++
					}
					unix.Unmount(p.top, unix.MNT_DETACH)
					unix.Unmount(filepath.Dir(state), unix.MNT_DETACH)
				}
			}
		}
	}
	if played < 100 || refused < played/8 {
		t.Errorf("only %d attacks were played, %d of them refused", played, refused)
	}
	t.Logf("%d attacks, of which fettle refused %d and did its work in spite of the others", played, refused)
}

// TestAttackWhileTheQuestionIsOpen: what the plan saw is what is changed, or
// nothing is.
func TestAttackWhileTheQuestionIsOpen(t *testing.T) {
	privately(t)
	for attack := range newPrey(t).attacks() {
		if strings.Contains(attack, "temporary") {
			continue
		}
		p := newPrey(t)
		e := engineAt(t, filepath.Join(t.TempDir(), "state"))
		h := Head{Plan: sshPlans(p)["mode and file"]}
		var err error
		h.Seen, err = Survey(e.Machine, h.Plan)
		must(t, "survey", err)
		was := p.roots()
		p.attacks()[attack]()
		if _, err = e.Apply(t.Context(), h, nil); err == nil {
			t.Errorf("%s: it was applied", attack)
		} else {
			t.Logf("%s: %v", attack, err)
		}
		same(t, attack, was, p.roots())
		if _, err = Survey(e.Machine, h.Plan); strings.Contains(attack, "a link") && !errors.As(err, new(*machine.Untrusted)) {
			t.Errorf("%s: planned anew: %v", attack, err)
		}
	}
}

// TestHisFile: what is made in a user's folder is his, in his group, and so
// is what undo brings back.
func TestHisFile(t *testing.T) {
	privately(t)
	p := newPrey(t)
	e := engineAt(t, filepath.Join(t.TempDir(), "state"))
	ssh := p.home + "/.ssh"
	applied(
		t,
		e,
		step.File{Path: ssh + "/new.d/config", Content: []byte("x"), Mode: 0o600},
		step.Remove{Path: ssh + "/other", Was: []byte("his own\n")},
	)
	his := func(name string, mode uint32) {
		t.Helper()
		img, err := machine.Linux{}.Look(name, false)
		if err != nil || img.UID != anaID || img.GID != anaID || img.Mode != mode || !img.Foreign {
			t.Errorf("%s: %+v %v", name, img, err)
		}
	}
	his(ssh+"/new.d", 0o755)
	his(ssh+"/new.d/config", 0o600)
	if _, err := e.Undo(t.Context(), "", UndoOptions{}); err != nil {
		t.Error(err)
	}
	his(ssh+"/other", 0o600)
	if _, err := os.Stat(ssh + "/new.d"); err == nil {
		t.Error("the new folder is still there")
	}
}

// TestGroupHeIsNotIn: a user's file may have a group that he could not give it;
// it keeps that group, through the change and through its undo.
func TestGroupHeIsNotIn(t *testing.T) {
	privately(t)
	p := newPrey(t)
	e := engineAt(t, filepath.Join(t.TempDir(), "state"))
	name := p.home + "/.ssh/other"
	must(t, "group", os.Chown(name, anaID, 0))
	has := func(content string) {
		t.Helper()
		img, err := machine.Linux{}.Look(name, false)
		b, rerr := os.ReadFile(name)
		if err != nil || rerr != nil || img.UID != anaID || img.GID != 0 || string(b) != content {
			t.Errorf("%+v %q %v %v", img, b, err, rerr)
		}
	}
	has("his own\n")
	applied(t, e, step.File{Path: name, Was: []byte("his own\n"), Content: []byte("changed\n")})
	has("changed\n")
	if _, err := e.Undo(t.Context(), "", UndoOptions{}); err != nil {
		t.Error(err)
	}
	has("his own\n")
}

// TestHisRightsOnly: in a user's folder root does nothing that he could not.
func TestHisRightsOnly(t *testing.T) {
	privately(t)
	p := newPrey(t)
	put(t, p.home+"/roots", secret, 0o600)
	must(t, "folder", os.Mkdir(p.home+"/daemon", 0o755))
	must(t, "folder", os.Chown(p.home+"/daemon", 1, 1))
	for name, s := range map[string]step.Step{
		"root's file":          step.File{Path: p.home + "/roots", Was: []byte(secret), Content: []byte("x")},
		"root's file's mode":   step.Perm{Path: p.home + "/roots", Mode: 0o644, UID: -1, GID: -1},
		"away from himself":    step.Perm{Path: p.home + "/.ssh/other", Mode: -1, UID: 0, GID: 0},
		"another one's folder": step.File{Path: p.home + "/daemon/new", Content: []byte("x")},
	} {
		e := engineAt(t, filepath.Join(t.TempDir(), "state"))
		_, err := e.Apply(t.Context(), Head{Plan: Plan{Steps: []step.Step{s}}}, nil)
		if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "with whose rights fettle acts") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if img, err := (machine.Linux{}).Look(p.home+"/.ssh/other", false); err != nil || img.UID != anaID {
		t.Errorf("his own file: %+v %v", img, err)
	}
}

// TestGroupsFolder: where a group may write to root's folder there is no one
// user to be; what is changed, and put back, is the very file that was seen.
func TestGroupsFolder(t *testing.T) {
	privately(t)
	swaps := map[string]func(dir string){
		"a link":              func(d string) { os.Remove(d + "/a"); os.Symlink(d+"/roots", d+"/a") },
		"a hard link":         func(d string) { os.Remove(d + "/a"); os.Link(d+"/roots", d+"/a") },
		"another file's name": func(d string) { os.Rename(d+"/roots", d+"/a") },
	}
	for name, swap := range swaps {
		for undo := range 2 {
			for n, over := 0, false; !over; n++ {
				over = !groupAttack(t, fmt.Sprintf("%s, undo %d, instant %d", name, undo, n), swap, undo == 1, n)
			}
		}
	}
}

// groupAttack swaps before the nth act of applying, or of undoing. The file
// that a member of the group puts in the place of a looks as a should look.
func groupAttack(t *testing.T, where string, swap func(dir string), undo bool, n int) (fired bool) {
	t.Helper()
	dir := tmpfs(t, "mode=0755") + "/local"
	defer unix.Unmount(filepath.Dir(dir), unix.MNT_DETACH)
	plan := step.Perm{Path: dir + "/a", Mode: 0o644, UID: anaID, GID: -1}
	put(t, dir+"/a", "old\n", 0o600)
	if undo {
		plan = step.Perm{Path: dir + "/a", Mode: 0o600, UID: 0, GID: -1}
		must(t, "mode", errors.Join(os.Chmod(dir+"/a", 0o644), os.Chown(dir+"/a", anaID, -1)))
	}
	put(t, dir+"/roots", secret, 0o600)
	must(t, "group", errors.Join(os.Chown(dir, 0, groupGG), os.Chmod(dir, 0o2775)))
	m := newInterrupted(n, func() { swap(dir) })
	e := engineAt(t, filepath.Join(t.TempDir(), "state"))
	e.Log = nil
	if !undo {
		e.Machine = m
	}
	h := Head{Plan: Plan{Steps: []step.Step{plan}}}
	var err error
	h.Seen, err = Survey(e.Machine, h.Plan)
	must(t, "survey", err)
	if n == 0 && !undo { // while the question is open
		m.strike()
	}
	c, err := e.Apply(t.Context(), h, nil)
	if undo {
		must(t, "apply", err)
		e.Machine = m
		if n == 0 {
			m.strike()
		}
		_, err = e.Undo(t.Context(), c.ID, UndoOptions{})
	}
	filepath.WalkDir(dir, func(file string, d fs.DirEntry, _ error) error {
		var st unix.Stat_t
		if b, _ := os.ReadFile(file); d.Type().IsRegular() && string(b) == secret &&
			(unix.Lstat(file, &st) != nil || st.Uid != 0 || st.Mode&0o077 != 0) {
			t.Errorf("%s: %s is %o of %d (%v)", where, file, st.Mode, st.Uid, err)
		}
		return nil
	})
	return n == 0 || m.fired
}
