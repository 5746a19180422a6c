package renew

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// staged is a stage beside a served tree, as fetch leaves it.
func staged(t *testing.T, root string) (stage string) {
	t.Helper()
	stage = filepath.Join(root, ".fettle-netboot-y")
	unpacked(t, stage, "new", true, noted)
	return stage
}

// What fails in an exchange is an error, and what is served stays one tree.
func TestSwapFails(t *testing.T) {
	for name, c := range map[string]struct {
		back  bool // the new tree is served, and is to go
		spoil func(root, stage string) error
		want  string
	}{
		"no stage": {spoil: func(_, stage string) error { return os.RemoveAll(stage) }, want: "no such file"},
		"no note": {
			spoil: func(_, stage string) error { return os.Remove(filepath.Join(stage, noteName)) },
			want:  "no such file",
		},
		"changed since": {
			spoil: func(_, stage string) error { return os.WriteFile(filepath.Join(stage, rel, "linux"), nil, 0o644) },
			want:  "fetch it again",
		},
		"the old tree is gone": {
			back:  true,
			spoil: func(_, stage string) error { return os.RemoveAll(filepath.Join(stage, "debian-installer")) },
			want:  "exchanging " + rel + " in ROOT and ROOT/.fettle-netboot-y: ",
		},
		"nothing is served": {
			spoil: func(root, _ string) error { return os.RemoveAll(filepath.Join(root, rel)) },
			want:  "no such file",
		},
	} {
		root := lay(t, "old")
		stage, serves := staged(t, root), "old"
		if c.back {
			if err := Swap(root, stage, true); err != nil {
				t.Fatal(err)
			}
			serves = "new"
		}
		if err := c.spoil(root, stage); err != nil {
			t.Fatal(err)
		}
		if err := Swap(root, stage, !c.back); err == nil || !strings.Contains(strings.ReplaceAll(err.Error(), root, "ROOT"), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if b, err := os.ReadFile(filepath.Join(root, rel, "linux")); err == nil && string(b) != "kernel "+serves {
			t.Errorf("%s: it serves %q", name, b)
		}
	}
}

// A tree that never had a version.info can be swapped, too.
func TestSwapWithoutVersion(t *testing.T) {
	root := lay(t, "old")
	if err := os.Remove(filepath.Join(root, version)); err != nil {
		t.Fatal(err)
	}
	stage := staged(t, root)
	for _, forward := range []bool{true, false} {
		if err := Swap(root, stage, forward); err != nil {
			t.Fatal(err)
		}
		if done, err := Swapped(root, stage); done != forward || err != nil {
			t.Errorf("forward %t: swapped %t, %v", forward, done, err)
		}
	}
}
