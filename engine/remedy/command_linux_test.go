package remedy

import (
	"errors"
	"os"
	"strings"
	"testing"

	"fettle/engine/remedy/machine"
	"fettle/engine/remedy/step"
)

// A program opens paths by itself: whoever can rename on the way, or write
// below, can lead root's writes elsewhere while it works.
func TestCommandsNeedGroundOfRootsAlone(t *testing.T) {
	privately(t)
	top := tmpfs(t, "mode=0755")
	for name, c := range map[string]struct {
		prepare func(served string) error
		at      string // the place that the refusal names, below top; empty: not refused
	}{
		"root's alone":          {func(string) error { return nil }, ""},
		"a group may write":     {func(d string) error { return errors.Join(os.Chown(d, 0, groupGG), os.Chmod(d, 0o2775)) }, "/served"},
		"everybody, sticky":     {func(d string) error { return os.Chmod(d, 0o1777) }, "/served"},
		"all of it is a user's": {func(d string) error { return os.Chown(d, anaID, anaID) }, "/served"},
		"a folder below":        {func(d string) error { return os.Chmod(d+"/installer/amd64", 0o775) }, "/served/installer/amd64"},
		"a file below": {func(d string) error { return os.Chown(d+"/installer/amd64/linux", anaID, 0) },
			"/served/installer/amd64/linux"},
		"an ACL": {func(d string) error { return setACL(t, d+"/installer", "u::rwx,u:65534:rwx,g::r-x,m::rwx,o::r-x") },
			"/served/installer"},
		"a link of somebody else's": {func(d string) error { return errors.Join(os.Chmod(top, 0o777), os.Symlink("/etc", d+"/x")) }, "/served"},
	} {
		t.Run(name, func(t *testing.T) {
			served := top + "/served"
			put(t, served+"/installer/amd64/linux", "kernel", 0o644)
			t.Cleanup(func() { os.RemoveAll(served); os.Chmod(top, 0o755) })
			must(t, "preparing", c.prepare(served))
			for what, s := range map[string]step.Command{
				"the folder":    {Do: []string{"/bin/touch", served}},
				"a new name":    {Do: []string{"/bin/touch", served + "/new/below"}},
				"an option":     {Do: []string{"/bin/touch", "--reference=" + served, "/dev/null"}},
				"undo's target": {Do: []string{"/bin/true"}, Undo: []string{"/bin/touch", served}},
			} {
				err := s.Possible(machine.New())
				want := c.at != "" && (what != "a new name" || c.at == "/served")
				if (err != nil) != want {
					t.Errorf("%s: refused: %v", what, err)
				}
				if want && !strings.Contains(err.Error(), top+c.at) {
					t.Errorf("%s: the refusal does not name %s: %v", what, c.at, err)
				}
			}
		})
	}
	prog := top + "/bin/tool"
	put(t, prog, "#!/bin/sh\n", 0o755)
	must(t, "chown", os.Chown(prog, anaID, 0))
	if err := (step.Command{Do: []string{prog}}).Possible(machine.New()); err == nil {
		t.Error("a program that a user can rewrite is run as root")
	}
}

// The ground is looked at again right before the command runs and before its undo.
func TestCommandLooksAgainBeforeItActs(t *testing.T) {
	privately(t)
	top := tmpfs(t, "mode=0755")
	put(t, top+"/served/file", "", 0o644)
	s := step.Command{Do: []string{"/bin/touch", top + "/served/made"}, Undo: []string{"/bin/rm", top + "/served/made"}}
	must(t, "chmod", os.Chmod(top+"/served", 0o777))
	site := &step.Site{Machine: machine.New()}
	if err := s.Apply(t.Context(), site, nil); err == nil {
		t.Error("applied")
	}
	if _, err := os.Stat(top + "/served/made"); err == nil {
		t.Error("the command ran")
	}
	if err := s.Invert(t.Context(), site); err == nil {
		t.Error("undone")
	}
}

func setACL(t *testing.T, name, text string) error {
	return machine.New().SetXattr(machine.At(name), "system.posix_acl_access", accessList(t, text))
}
