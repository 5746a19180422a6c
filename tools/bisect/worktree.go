package bisect

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// worktree is a checkout of its own, below the hunt's folder: the user's tree
// is never touched.
type worktree struct{ repo, dir string }

// addWorktree makes one, or takes over what a killed hunt left.
func addWorktree(ctx context.Context, h *History, dir string) (*worktree, error) {
	w := &worktree{h.Repo, dir}
	if _, err := os.Lstat(dir); err == nil {
		if err := w.ours(ctx, h); err != nil {
			return nil, fmt.Errorf("%s is not a worktree that a hunt left (%w); remove it", dir, err)
		}
		return w, nil
	}
	if _, err := git(ctx, h.Repo, "worktree", "prune"); err != nil {
		return nil, err
	}
	if _, err := git(ctx, h.Repo, "worktree", "add", "--force", "--detach", "--no-checkout", dir, h.Commits[0].Hash); err != nil {
		return nil, fmt.Errorf("adding a worktree at %s: %w", dir, err)
	}
	return w, nil
}

// ours tells a worktree of this repository from anything else, such as a link
// to a tree that somebody works in: what is not committed there would be lost.
func (w *worktree) ours(ctx context.Context, h *History) error {
	if err := ownFolder(w.dir); err != nil {
		return err
	}
	out, err := git(ctx, w.dir, "rev-parse", "--path-format=absolute", "--git-common-dir", "--show-toplevel")
	if err != nil {
		return err
	}
	if want := h.GitDir + "\n" + w.dir + "\n"; out != want {
		return errors.New("it belongs to another repository")
	}
	return nil
}

// checkout brings a commit into the worktree, submodules too. What builds
// left there and git ignores stays: an incremental build needs it.
func (w *worktree) checkout(ctx context.Context, hash string) error {
	os.Remove(filepath.Join(w.gitDir(ctx), "index.lock")) // of a killed hunt
	if _, err := git(ctx, w.dir, "checkout", "--force", "--detach", "--quiet", hash); err != nil {
		return fmt.Errorf("checking out %s: %w", hash, err)
	}
	if _, err := git(ctx, w.dir, "clean", "-ffdq"); err != nil {
		return fmt.Errorf("cleaning the worktree: %w", err)
	}
	if _, err := os.Stat(filepath.Join(w.dir, ".gitmodules")); err != nil {
		return nil
	}
	if _, err := git(ctx, w.dir, "submodule", "update", "--init", "--recursive", "--force", "--quiet"); err != nil {
		return fmt.Errorf("updating submodules: %w", err)
	}
	return nil
}

// ignored are those of these names that git ignores here.
func (w *worktree) ignored(ctx context.Context, names []string) ([]string, error) {
	out, err := gitWith(ctx, w.dir, strings.NewReader(strings.Join(names, "\x00")+"\x00"), "check-ignore", "-z", "--stdin")
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 1 {
		return nil, nil // none
	}
	return splitNUL(out), err
}

func (w *worktree) gitDir(ctx context.Context) string {
	dir, err := git(ctx, w.dir, "rev-parse", "--absolute-git-dir")
	if err != nil {
		return w.dir
	}
	return dir[:len(dir)-1]
}

// remove gives the worktree back.
func (w *worktree) remove(ctx context.Context) error {
	_, err := git(ctx, w.repo, "worktree", "remove", "--force", "--force", w.dir)
	return err
}
