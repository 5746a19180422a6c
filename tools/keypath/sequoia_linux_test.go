package keypath

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"fettle/internal/means"
)

// TestConfirmedBySequoia: whom some have signed, as keypath has it, beside sq-wot,
// Sequoia's web of trust, with each of them as its root. Sequoia takes SHA-1 in
// signatures of before 2013, and none that are older than the ends' own: but for those, keypath
// without SHA-1 finds nothing that sq-wot does not, and
// with it all that sq-wot does.
func TestConfirmedBySequoia(t *testing.T) {
	means.Long(t, "lets sq-wot read Debian's keyring ten times")
	sqwot := means.Tool(t, "sq-wot")
	if _, err := os.Stat(debian); err != nil {
		means.Missing(t, "needs the package debian-keyring")
	}
	now := time.Now()
	strict, lenient := debianWeb(t, Policy{Now: now}), debianWeb(t, Policy{Now: now, AllowSHA1: true, AllowShort: true})
	r := rand.New(rand.NewPCG(3, 4))
	roots, hops, earlier, theirs, refused := 0, 0, 0, 0, 0
	for roots < 10 {
		from := Key(r.IntN(strict.Keys))
		if !strict.State(from).Live() {
			continue
		}
		cmd := exec.Command(sqwot, "--keyring", debian, "-r", upper(strict, from), "list")
		var errs strings.Builder
		cmd.Stderr = &errs
		out, err := cmd.Output()
		if err != nil && len(out)+errs.Len() == 0 && refused < 10 { // it takes no root that is bound by SHA-1 after 2013
			refused++
			continue
		}
		roots++
		if err != nil {
			t.Fatalf("sq-wot from %s: %v\n%s", upper(strict, from), err, errs.String())
		}
		all, direct := said(string(out), upper(strict, from))
		for k := range Key(strict.Keys) {
			if k == from {
				continue
			}
			name := upper(strict, k)
			if joins(strict, from, k) {
				hops++
				if !all[name] && early(strict, from, k) {
					earlier++
				} else if !all[name] {
					t.Errorf("%s signed %s, says keypath; sq-wot does not", upper(strict, from), name)
				}
			}
			if direct[name] {
				theirs++
				if !joins(lenient, from, k) {
					t.Errorf("%s signed %s, says sq-wot; keypath does not", upper(strict, from), name)
				}
			}
		}
	}
	t.Logf(
		"%d roots, and %d that sq-wot does not take: %d signatures of keypath's, of which %d are older than the ends' own and the others "+
			"sq-wot's too; %d of sq-wot's, all keypath's with SHA-1",
		roots,
		refused,
		hops,
		earlier,
		theirs,
	)
	if hops < 10 || theirs < 10 {
		t.Error("hardly anything was compared")
	}
}

// early tells whether a signature was made before all that the key has itself
// over the user id, or the signer over any of its own, of what is left: Sequoia
// takes none of those (Debian's keyring has the newest alone), GnuPG and keypath do.
func early(w *Web, from, to Key) bool {
	for e, s := range w.signers(to) {
		if s == from {
			h := w.Hop(e, s, to)
			return !bound(w, to, h.Made, h.Name) || !bound(w, from, h.Made, "")
		}
	}
	return false
}

// bound tells whether a key had signed a user id of its own by then; "" is any.
func bound(w *Web, k Key, by time.Time, name string) bool {
	return slices.ContainsFunc(w.State(k).names, func(n liveName) bool {
		return (name == "" || n.text() == name) &&
			slices.ContainsFunc(n.self, func(x signature) bool { return !x.Created.After(by) && !x.Hash.Weak() })
	})
}

// joins tells whether one key's signature on the other counts.
func joins(w *Web, from, to Key) bool {
	for e, s := range w.signers(to) {
		if s == from {
			return w.Hop(e, s, to).Valid()
		}
	}
	return false
}

var (
	boundExpr = regexp.MustCompile(`(?m)^\[✓\] ([0-9A-F]{40}) `)
	hopExpr   = regexp.MustCompile(`(?m)^  └ ([0-9A-F]{40}) `)
)

// said reads what sq-wot lists: the keys it authenticates, and those of them that
// the root itself signed.
func said(out, root string) (all, direct map[string]bool) {
	all, direct = map[string]bool{}, map[string]bool{}
	for block := range strings.SplitSeq(out, "\n\n") {
		if m := boundExpr.FindStringSubmatch(block); m != nil {
			all[m[1]] = true
		}
		if m := hopExpr.FindStringSubmatch(block); m != nil && strings.Contains(block, "◯ "+root) && strings.Count(block, "\n  │   ") == 1 {
			direct[m[1]] = true
		}
	}
	return all, direct
}
