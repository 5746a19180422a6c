package bisect

import (
	"context"
	"errors"
	"slices"
	"strings"

	"fettle/tools/bisect/belief"
)

// Branch is a line of commits that a merge brought, and what was found on it.
type Branch struct {
	History *History // from where it left the other side, up to its tip
	Result  *Result  // no change in it: the merge itself, or both sides together
	Why     string   // it could not be looked at
}

// byItself is the probability that a merge moved the figure and no commit that
// it brought did: a conflict resolved by hand, or two sides that go together
// badly.
const byItself = 0.1

// merges are the places of merges that moved the figure, each sure to be the one.
func (r *Result) merges(h *History) []int {
	var list []int
	for _, c := range r.Verdict.Changes {
		if r.Sure && c.First == c.Last && len(h.Commits[c.Last].Parents) > 1 {
			list = append(list, c.Last)
		}
	}
	return list
}

// descend looks for the changes inside the merges that a line's result names.
func (s *session) descend(ctx context.Context, h *History, r *Result, prior belief.Prior, risk float64) error {
	r.Brought = map[int][]Branch{}
	lines := 0
	for _, at := range r.merges(h) {
		branches, err := h.brought(ctx, at)
		if err != nil {
			return err
		}
		r.Brought[at] = branches
		lines += len(branches)
	}
	prior.None, prior.Levels = max(prior.None, byItself), nil
	for _, at := range r.Merges() {
		for i := range r.Brought[at] {
			b := &r.Brought[at][i]
			var err error
			b.Result, err = s.hunt(ctx, b.History, prior, risk/float64(lines))
			var end *EndError
			if errors.As(err, &end) {
				b.Why, err = end.Error(), nil
			}
			if err != nil {
				return err
			}
			r.Sure = r.Sure && b.Result != nil && b.Result.Sure
		}
	}
	r.Total = s.runs()
	return nil
}

// brought are the lines by which commits came to a merge that the commit before
// it on this line does not have.
func (h *History) brought(ctx context.Context, at int) ([]Branch, error) {
	before := h.Commits[at-1].Hash
	var list []Branch
	for _, p := range h.Commits[at].Parents {
		if p == before {
			continue
		}
		base, err := h.leaves(ctx, before, p)
		if err != nil {
			return nil, err
		}
		if base == p {
			continue // an ancestor: it brings nothing
		}
		line := &History{Repo: h.Repo, GitDir: h.GitDir}
		if err := line.fill(ctx, base, p); err != nil {
			return nil, err
		}
		if len(line.Commits) > 1 {
			list = append(list, Branch{History: line})
		}
	}
	return list, nil
}

// leaves is the commit at which a branch left a line; a branch of no common
// history (git-merge(1), --allow-unrelated-histories) begins at its first commit.
func (h *History) leaves(ctx context.Context, line, tip string) (string, error) {
	if out, err := git(ctx, h.Repo, "merge-base", line, tip); err == nil {
		return strings.TrimSpace(out), nil
	}
	out, err := git(ctx, h.Repo, "rev-list", "--first-parent", "--max-parents=0", tip)
	if err != nil {
		return "", err
	}
	roots := strings.Fields(out)
	if len(roots) == 0 {
		return tip, nil
	}
	return roots[0], nil
}

// Confidence is the probability that all is right that a result says, of the
// merges' branches too.
func (r *Result) Confidence() float64 {
	all := r.Verdict.Confidence
	for _, branches := range r.Brought {
		for _, b := range branches {
			if b.Result != nil {
				all *= b.Result.Confidence()
			}
		}
	}
	return all
}

// Merges are the places of the merges that were looked into, in order.
func (r *Result) Merges() []int {
	var list []int
	for at := range r.Brought {
		list = append(list, at)
	}
	slices.Sort(list)
	return list
}
