package bisect

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"fettle/internal/means"
	"fettle/tools/bisect/belief"
)

// attacked is a repository of four commits, and a hunt in it.
func attacked(t *testing.T) (dir string, hashes []string, h *Hunt) {
	t.Helper()
	dir, hashes = repository(t, speeds(4, map[int]string{0: "10", 2: "20"}))
	return dir, hashes, hunt(t, dir, hashes, Command{Run: "cat speed"})
}

func write(t *testing.T, name, text string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

// A hook starts git, and git tells it where the user's work tree is.
func TestTheUsersWorkTreeIsNotTakenFromTheEnvironment(t *testing.T) {
	dir, _, _ := attacked(t)
	write(t, filepath.Join(dir, "speed"), "not committed", 0o644)
	t.Setenv("GIT_DIR", filepath.Join(dir, ".git"))
	t.Setenv("GIT_WORK_TREE", dir)
	t.Setenv("GIT_INDEX_FILE", filepath.Join(dir, ".git/index"))
	// revisions by name: the helpers' git would follow the variables too
	h, err := ReadHistory(context.Background(), dir, "main~3", "main")
	if err != nil {
		t.Fatal(err)
	}
	r, err := (&Hunt{History: h, Command: Command{Run: "git rev-parse --show-toplevel >&2; cat speed", Limit: 1 << 36},
		Confidence: 0.95, Prior: belief.One, MaxRuns: 40}).Run(context.Background())
	if err != nil || len(r.Runs) == 0 {
		t.Fatal(r, err)
	}
	if b, _ := os.ReadFile(filepath.Join(dir, "speed")); string(b) != "not committed" {
		t.Errorf("the user's file holds %q now", b)
	}
	if b, _ := os.ReadFile(filepath.Join(dir, ".git/HEAD")); string(b) != "ref: refs/heads/main\n" {
		t.Errorf("HEAD is now %q", b)
	}
}

func TestHooksAreNotRun(t *testing.T) {
	dir, _, h := attacked(t)
	ran := filepath.Join(t.TempDir(), "ran")
	write(t, filepath.Join(dir, ".git/hooks/post-checkout"), "#!/bin/sh\necho >> "+ran+"\n", 0o755)
	if _, err := h.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("a hook of the repository was run")
	}
}

// What a repository that came as an archive may hold where the hunt keeps its things.
func TestPlantedFolders(t *testing.T) {
	other, _ := repository(t, speeds(2, map[int]string{0: "1"}))
	for what, plant := range map[string]func(hunt string) error{
		"a link for the folder": func(hunt string) error { return os.Symlink(other, hunt) },
		"a link for the logs": func(hunt string) error {
			return os.Symlink(other, filepath.Join(hunt, "logs"))
		},
		"a link for the journal": func(hunt string) error {
			return os.Symlink(filepath.Join(other, "speed"), filepath.Join(hunt, "journal.jsonl"))
		},
		"a FIFO for the journal":        func(hunt string) error { return syscall.Mkfifo(filepath.Join(hunt, "journal.jsonl"), 0o600) },
		"a link to the user's own tree": func(hunt string) error { return os.Symlink("../..", filepath.Join(hunt, "tree-0")) },
		"another's tree": func(hunt string) error {
			return exec.Command("git", "-C", other, "worktree", "add", "-q", "--detach", filepath.Join(hunt, "tree-0")).Run()
		},
	} {
		t.Run(what, func(t *testing.T) {
			write(t, filepath.Join(other, "speed"), "not committed", 0o644)
			dir, _, h := attacked(t)
			write(t, filepath.Join(dir, "speed"), "not committed", 0o644)
			folder := filepath.Join(dir, ".git/fettle-bisect")
			if what != "a link for the folder" {
				if err := os.Mkdir(folder, 0o700); err != nil {
					t.Fatal(err)
				}
			}
			if err := plant(folder); err != nil {
				t.Fatal(err)
			}
			if _, err := h.Run(context.Background()); err == nil {
				t.Error("the hunt took what was planted for its own")
			}
			for _, tree := range []string{other, dir} {
				if b, _ := os.ReadFile(filepath.Join(tree, "speed")); string(b) != "not committed" {
					t.Errorf("a file that was not committed holds %q now", b)
				}
			}
		})
	}
}

// Under sudo, git trusts the repositories of who called it; then his hooks,
// filters and configuration would be root's.
func TestRootInTheRepositoryOfAnother(t *testing.T) {
	means.Root(t) // to give a repository away
	dir, hashes, _ := attacked(t)
	for _, name := range []string{dir, filepath.Join(dir, ".git")} {
		if err := os.Chown(name, 4242, 4242); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("SUDO_UID", "4242")
	_, err := ReadHistory(context.Background(), dir, hashes[0], hashes[3])
	if err == nil || !strings.Contains(err.Error(), "dubious ownership") {
		t.Errorf("reading it as root: %v", err)
	}
}

// Figures whose squares overflow would make every probability not a number.
func TestImmenseFigures(t *testing.T) {
	for _, text := range []string{"1e308", "-1e200", "1e-320", "NaN", "Inf", "0x1p1023"} {
		var f figure
		f.Write([]byte(text + "\n"))
		if v, err := f.value(); err == nil {
			t.Errorf("%s was taken for %g", text, v)
		}
	}
	dir, _, h := attacked(t)
	if _, err := h.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, ".git/fettle-bisect/journal.jsonl")
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	write(t, name, strings.ReplaceAll(string(b), `"figure":20`, `"figure":1e308`), 0o600)
	if _, err := h.Run(context.Background()); err == nil || !strings.Contains(err.Error(), "is damaged") {
		t.Errorf("a journal with immense figures: %v", err)
	}
}

// A subject may hold anything but a newline.
func TestHostileSubject(t *testing.T) {
	dir, _, _ := attacked(t)
	cmd := exec.Command("git", "-C", dir, "-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-q", "--allow-empty",
		"-F", "-")
	cmd.Stdin = strings.NewReader("\x1b]0;title\a\rgit bisect \u009b2J\u202e\n")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	h, err := ReadHistory(context.Background(), dir, "main~2", "main")
	if err != nil {
		t.Fatal(err)
	}
	if log := (&Result{}).GitLog(h, Terms{"good", "bad"}); strings.ContainsAny(log, "\x1b\a\r\u009b\u202e") ||
		!strings.Contains(log, `\x1b]0`) {
		t.Errorf("%q", log)
	}
}
