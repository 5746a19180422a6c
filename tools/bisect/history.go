package bisect

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
)

// History is the line of commits in which the figure moved: the good end first.
type History struct {
	Repo    string // the repository's top folder, or the bare repository
	GitDir  string // its common git folder
	Commits []Commit
}

// Commit is one of them.
type Commit struct {
	Hash    string   `json:"commit"`
	Subject string   `json:"subject"`
	Parents []string `json:"-"`
}

// Short is the hash as people write it.
func (c Commit) Short() string { return c.Hash[:min(12, len(c.Hash))] }

// tip is the last commit of a line.
func (h *History) tip() Commit { return h.Commits[len(h.Commits)-1] }

// Older tells which of two revisions is the older one: true where the second is an
// ancestor of the first.
func Older(ctx context.Context, repo, first, second string) bool {
	_, err := git(ctx, repo, "merge-base", "--is-ancestor", second+"^{commit}", first+"^{commit}")
	return err == nil
}

// ReadHistory lists the commits after good up to bad along first parents
// (git-rev-list(1)), good itself at the front.
func ReadHistory(ctx context.Context, repo, good, bad string) (*History, error) {
	h := &History{Repo: repo}
	dir, err := git(ctx, repo, "rev-parse", "--path-format=absolute", "--git-common-dir")
	if err != nil {
		return nil, fmt.Errorf("opening the repository %s: %w", repo, err)
	}
	h.GitDir = strings.TrimSpace(dir)
	from, err := revision(ctx, h, good)
	if err != nil {
		return nil, err
	}
	to, err := revision(ctx, h, bad)
	if err != nil {
		return nil, err
	}
	if from == to {
		return nil, fmt.Errorf("%s and %s are the same commit: there is nothing between them", good, bad)
	}
	if _, err := git(ctx, repo, "merge-base", "--is-ancestor", from, to); err != nil {
		return nil, fmt.Errorf("%s is not an ancestor of %s: neither comes after the other, or the newer was "+
			"named as the older; bisect from their merge base (git merge-base)", good, bad)
	}
	return h, h.fill(ctx, from, to)
}

// fill lists the commits of a line: from, and along first parents what follows
// it up to to.
func (h *History) fill(ctx context.Context, from, to string) error {
	out, err := git(ctx, h.Repo, "log", "--first-parent", "--reverse", "--format=%H%x00%P%x00%s", from+".."+to)
	if err != nil {
		return fmt.Errorf("listing the commits of %s..%s: %w", from, to, err)
	}
	first, err := git(ctx, h.Repo, "log", "-1", "--format=%H%x00%P%x00%s", from)
	if err != nil {
		return err
	}
	for line := range strings.Lines(first + out) {
		part := strings.Split(strings.TrimSuffix(line, "\n"), "\x00")
		if len(part) == 3 {
			h.Commits = append(h.Commits, Commit{Hash: part[0], Subject: part[2], Parents: strings.Fields(part[1])})
		}
	}
	return h.fromGood(ctx)
}

// fromGood leaves out commits that do not have the good end in them: where that
// lies on a branch, the line of first parents goes past it until it is merged.
func (h *History) fromGood(ctx context.Context) error {
	good, after := h.Commits[0].Hash, h.Commits[1:]
	if len(after) == 0 || slices.Contains(after[0].Parents, good) {
		return nil
	}
	var err error
	n := sort.Search(len(after), func(i int) bool {
		_, not := git(ctx, h.Repo, "merge-base", "--is-ancestor", good, after[i].Hash)
		if not != nil {
			err = ctx.Err()
		}
		return not == nil
	})
	h.Commits = slices.Delete(h.Commits, 1, 1+n)
	return err
}

// revision resolves a name to a commit's hash.
func revision(ctx context.Context, h *History, name string) (string, error) {
	out, err := git(ctx, h.Repo, "rev-parse", "--verify", "--quiet", "--end-of-options", name+"^{commit}")
	if err == nil {
		return strings.TrimSpace(out), nil
	}
	if _, statErr := os.Stat(filepath.Join(h.GitDir, "shallow")); statErr == nil {
		return "", fmt.Errorf("%s is no commit of this shallow clone; get the rest with git fetch --unshallow", name)
	}
	return "", fmt.Errorf("%s is no commit of %s", name, h.Repo)
}
