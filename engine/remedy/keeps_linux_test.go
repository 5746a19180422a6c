package remedy

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"fettle/engine/remedy/machine"
	"fettle/engine/remedy/step"
)

// What a step may change of a file, beside what it is for.
const (
	keepsAll     = ""        // nothing
	newTime      = "time"    // its modification time: it was written
	newModeOwner = "mode"    // mode and owner, which the step is for
	newACL       = "acl"     // its ACLs and the mode that goes with them
	gone         = "gone"    // it is deleted
	renamed      = "renamed" // it is as it was, under its name with ".new"
)

// TestKeeps: whatever the kind of step, a file keeps its mode, owner, ACL, extended
// attributes, time, hard links and the symlinks to it, but for what the step is there
// to change; and undo leads back to all of them.
func TestKeeps(t *testing.T) {
	privately(t)
	was, will := []byte(before), []byte("one\n2\nthree\n")
	cases := []struct {
		kind, name string
		changes    string
		hard       string // what a step on a file with hard links says instead
		steps      func(file string) []step.Step
	}{
		{"file", "change", newTime, "", func(f string) []step.Step {
			return []step.Step{step.File{Path: f, Content: will, Was: was}}
		}},
		{"file", "rename", renamed, "hard links", func(f string) []step.Step {
			return []step.Step{step.File{Path: f + ".new", Content: was, Like: f}, step.Remove{Path: f, Was: was}}
		}},
		{"remove", "", gone, "hard links", func(f string) []step.Step { return []step.Step{step.Remove{Path: f, Was: was}} }},
		{"perm", "", newModeOwner, "", func(f string) []step.Step {
			return []step.Step{step.Perm{Path: f, Mode: 0o2640, UID: 9, GID: 10}}
		}},
		{"acl", "", newACL, "", func(f string) []step.Step {
			return []step.Step{step.ACL{Path: f, Access: "u::rw-,u:77:rw-,g::r--,m::rw-,o::---"}}
		}},
		{"sysctl", "", keepsAll, "", func(string) []step.Step {
			return []step.Step{step.Sysctl{Key: "net/ipv4/ip_forward", Value: "1"}}
		}},
		{"sysfs", "", keepsAll, "", func(string) []step.Step {
			return []step.Step{step.Sysfs{Path: "/sys/class/net/lo/tx_queue_len", Value: "512"}}
		}},
		{"unit", "", keepsAll, "", func(string) []step.Step { return []step.Step{step.Unit{Name: "a.service", Act: "start"}} }},
		{"link-mtu", "", keepsAll, "", func(string) []step.Step { return []step.Step{step.LinkMTU{Link: "lo", MTU: 9000}} }},
		{"solicit-router", "", keepsAll, "", func(string) []step.Step { return []step.Step{step.SolicitRouter{Link: "lo"}} }},
		{"check", "", keepsAll, "", func(f string) []step.Step { return []step.Step{step.Check{Run: []string{"/usr/bin/test", "-e", f}}} }},
		{"command", "", keepsAll, "", func(string) []step.Step {
			return []step.Step{step.Command{Do: []string{"/usr/bin/true"}, Undo: []string{"/usr/bin/true"}}}
		}},
	}
	var tried []string
	for _, c := range cases {
		tried = append(tried, c.kind)
		for _, guise := range []string{"plain", "private", "hard", "symlink"} {
			t.Run(strings.Join([]string{c.kind, c.name, guise}, " "), func(t *testing.T) {
				root := filepath.Join(tmpfs(t, "mode=0755"), "r")
				file, aim := keptFile(t, root, guise)
				put(t, root+"/bin/systemctl", fakeSystemctl(root), 0o755)
				old := attributesOf(t, root)
				e := engineAt(t, filepath.Join(tmpfs(t, "mode=0755"), "state"))
				e.Machine = here{machine.Linux{SystemctlPath: root + "/bin/systemctl"}}
				if guise == "symlink" && (c.changes == gone || c.changes == renamed) {
					aim = file // a symlink itself is not deleted
				}
				_, err := e.Apply(t.Context(), Head{Trap: "demo", Plan: Plan{Title: "demo", Steps: c.steps(aim)}}, nil)
				if guise == "hard" && c.hard != "" {
					if err == nil || !strings.Contains(err.Error(), c.hard) {
						t.Errorf("a file with two names: %v", err)
					}
					same(t, "after the refusal", old, attributesOf(t, root))
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				same(t, "after apply", expected(old, file, c.changes), expected(attributesOf(t, root), file, c.changes))
				if c.changes == gone || c.changes == renamed {
					if _, err := os.Lstat(file); err == nil {
						t.Error("the old name is still there")
					}
				}
				if _, err := e.Undo(t.Context(), "", UndoOptions{}); err != nil {
					t.Fatal(err)
				}
				same(t, "after undo", old, attributesOf(t, root))
			})
		}
	}
	if left := slices.DeleteFunc(step.Kinds(), func(k string) bool { return slices.Contains(tried, k) }); len(left) > 0 {
		t.Errorf("kinds of steps that this table lacks: %v", left)
	}
}

// keptFile makes a file with all that can be lost of one. A step aims at aim.
func keptFile(t *testing.T, root, guise string) (file, aim string) {
	file = root + "/etc/kept.conf"
	aim = file
	put(t, file, before, 0o604)
	must(t, "chown", os.Chown(file, 7, 8))
	m := machine.Linux{}
	if guise == "private" {
		must(t, "chmod", os.Chmod(file, 0o600))
	} else {
		list := accessList(t, "user::rw-,user:1234:r--,group::r--,mask::r--,other::r--")
		must(t, "setfacl", m.SetXattr(machine.At(file), "system.posix_acl_access", list))
	}
	must(t, "setfattr", m.SetXattr(machine.At(file), "user.note", []byte("keep \x00 me")))
	switch guise {
	case "hard":
		must(t, "link", os.Link(file, root+"/etc/second-name"))
	case "symlink":
		aim = root + "/etc/link.conf"
		must(t, "symlink", os.Symlink("kept.conf", aim))
	}
	then := time.Date(2019, 5, 6, 7, 8, 9, 123456789, time.UTC)
	must(t, "touch", os.Chtimes(file, then, then))
	return file, aim
}

func fakeSystemctl(root string) string {
	return "#!/bin/sh\ncase $1 in start) touch " + root + "/bin/on ;; stop) rm -f " + root + "/bin/on ;;\n" +
		"show) ;; is-active) test -e " + root + "/bin/on && echo active || { echo inactive; exit 3; } ;; is-enabled) echo static ;; esac\n"
}

// attributesOf reads all below root/etc: by name, what each file is, its inode's names
// and its time among it.
func attributesOf(t *testing.T, root string) map[string]string {
	t.Helper()
	w := map[string]string{}
	inodes := map[uint64]string{}
	must(t, "walk", filepath.WalkDir(root+"/etc", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
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
		w[p+" content"] = fmt.Sprintf("%q", img.Content)
		w[p+" mode"] = fmt.Sprintf("%04o", img.Mode)
		w[p+" owner"] = fmt.Sprintf("%d:%d", img.UID, img.GID)
		w[p+" time"] = time.Unix(0, img.ModNS).UTC().Format(time.RFC3339Nano)
		for _, k := range slices.Sorted(maps.Keys(img.Xattrs)) {
			w[p+" "+k] = fmt.Sprintf("%x", img.Xattrs[k])
		}
		st, err := d.Info()
		if err != nil {
			return err
		}
		if first := inodes[st.Sys().(*syscall.Stat_t).Ino]; first != "" {
			w[p+" same as"] = first
		} else {
			inodes[st.Sys().(*syscall.Stat_t).Ino] = p
		}
		return nil
	}))
	return w
}

// expected leaves out of a file's attributes what a step may change.
func expected(all map[string]string, file, changes string) map[string]string {
	out := map[string]string{}
	for k, v := range all {
		name, what, _ := strings.Cut(k, " ")
		switch {
		case changes == gone && name == file:
			continue
		case changes == renamed && strings.HasPrefix(name, file):
			k = strings.Replace(k, file+".new", file, 1)
		case what == "", what == "same as":
		case changes == newTime && (what == "time" || what == "content"),
			changes == newModeOwner && (what == "mode" || what == "owner" || strings.HasPrefix(what, "system.posix_acl")),
			changes == newACL && (what == "mode" || strings.HasPrefix(what, "system.posix_acl")):
			continue
		}
		out[k] = v
	}
	return out
}
