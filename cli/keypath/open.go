package keypath

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"fettle/internal/files"
	"fettle/internal/ui"
	"fettle/tools/keypath"
)

func join(words []string) string { return strings.Join(words, ", ") }

// open indexes the keyrings and the files among args.
func (v *verb) open(args []string) (*keypath.Web, map[string]string, error) {
	p, err := v.policy()
	if err != nil {
		return nil, nil, err
	}
	rings := slices.Clone(v.keyrings)
	files := map[string]string{} // argument: path
	for _, a := range append(slices.Clone(args), roots(v.trust)...) {
		if st, err := os.Stat(a); err == nil && st.Mode().IsRegular() {
			path, err := filepath.Abs(a)
			if err != nil {
				return nil, nil, v.Usagef("%w", err)
			}
			files[a] = path
		}
	}
	if len(rings) == 0 {
		if rings, err = v.own(); err != nil {
			return nil, nil, err
		}
	}
	for _, path := range files {
		rings = append(rings, path)
	}
	if v.network {
		kept, err := v.client().Kept()
		if err != nil {
			return nil, nil, v.Failf("%w", err)
		}
		rings = append(rings, kept...)
	}
	if len(rings) == 0 && !v.network {
		return nil, nil, v.Usagef("no keyring: neither gpg nor sq has one in your home directory; name one with --keyring FILE")
	}
	w, err := v.web(rings, p)
	return w, files, err
}

// own finds the user's keyrings.
func (v *verb) own() ([]string, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return nil, v.Usagef("no keyring: %w; name one with --keyring FILE", err)
	}
	gnupg := os.Getenv("GNUPGHOME")
	if gnupg == "" {
		gnupg = filepath.Join(home, ".gnupg")
	}
	store := os.Getenv("XDG_DATA_HOME")
	if store == "" {
		store = filepath.Join(home, ".local/share")
	}
	var out []string
	for _, p := range []string{filepath.Join(gnupg, "pubring.kbx"), filepath.Join(gnupg, "pubring.gpg"), filepath.Join(store, "pgp.cert.d")} {
		if _, err := os.Stat(p); err == nil {
			out = append(out, p)
		}
	}
	if _, err := os.Stat(filepath.Join(gnupg, "public-keys.d/pubring.db")); err == nil && len(out) == 0 {
		return nil, v.Usagef("gpg's keys are kept by keyboxd: gpg --export > keys.gpg, and --keyring keys.gpg")
	}
	return out, nil
}

func roots(trust []string) (out []string) {
	for _, t := range trust {
		key, _ := splitDepth(t)
		out = append(out, key)
	}
	return out
}

// splitDepth splits KEY=DEPTH; a depth that is none is part of the key.
func splitDepth(t string) (string, int) {
	if i := strings.LastIndexByte(t, '='); i > 0 {
		if n, err := strconv.Atoi(t[i+1:]); err == nil {
			return t[:i], n
		}
	}
	return t, 0
}

// web is the index of the keyrings, kept or made, under the policy.
func (v *verb) web(rings []string, p keypath.Policy) (*keypath.Web, error) {
	sources, err := keypath.Sources(v.ctx, rings)
	if err != nil {
		return nil, v.Usagef("%w", err)
	}
	file, err := v.indexFile(sources)
	if err != nil {
		return nil, err
	}
	x, err := keypath.Load(file, sources)
	if err == nil {
		return keypath.NewWeb(x, p), nil
	}
	bar := progress{line: ui.NewProgress(v.Stderr), what: "reading keyrings"}
	x, err = keypath.Build(v.ctx, sources, bar.to)
	bar.end()
	if err != nil {
		return nil, v.Usagef("%w", err)
	}
	if x.Keys == 0 && !v.network {
		return nil, v.Usagef("there is no key in %s", ui.Visible(join(rings)))
	}
	if err := x.Save(file); err != nil {
		fmt.Fprintf(v.Stderr, "fettle: %v; the next run reads the keyrings again\n", err)
	}
	return keypath.NewWeb(x, p), nil
}

// folder is where indexes and fetched keys are kept.
func (v *verb) folder() (string, error) {
	dir := v.cache
	if dir == "" {
		base, err := os.UserCacheDir()
		if err != nil {
			return "", v.Usagef("no place for the index: %w; name one with --cache DIR", err)
		}
		dir = filepath.Join(base, "fettle/keypath")
	}
	if err := files.Make(dir, 0o700); err != nil {
		fmt.Fprintf(v.Stderr, "fettle: %v; nothing is kept for the next run\n", err)
	}
	return dir, v.mine(dir)
}

// mine refuses a folder in which somebody else could put keys, indexes, or
// links in their place.
func (v *verb) mine(dir string) error {
	st, err := os.Stat(dir)
	if err != nil {
		return nil // it could not be made: nothing is kept
	}
	if sys, ok := st.Sys().(*syscall.Stat_t); ok && int(sys.Uid) != os.Geteuid() || st.Mode().Perm()&0o022 != 0 {
		return v.Usagef("the folder %s belongs to another user, or others can write to it; name one of yours with --cache DIR", dir)
	}
	return nil
}

// indexFile is one a set of keyrings: it is replaced when they change.
func (v *verb) indexFile(sources []keypath.Source) (string, error) {
	dir, err := v.folder()
	if err != nil {
		return "", err
	}
	h := sha256.New()
	for _, s := range sources {
		path, err := filepath.Abs(s.Path)
		if err != nil {
			path = s.Path
		}
		fmt.Fprintf(h, "%s\n", path)
	}
	return filepath.Join(dir, fmt.Sprintf("%x.index", h.Sum(nil)[:12])), nil
}

// question is a query with the words in which it was put.
type question struct {
	keypath.Query
}

// question finds the keys that the arguments name.
func (v *verb) question(w *keypath.Web, args []string, files map[string]string) (question, error) {
	q := question{keypath.Query{MaxLength: v.longest}}
	to, err := v.key(w, args[len(args)-1], files)
	if err != nil {
		return q, err
	}
	q.To = to
	for _, a := range args[:len(args)-1] {
		k, err := v.key(w, a, files)
		if err != nil {
			return q, err
		}
		q.Roots = append(q.Roots, keypath.Root{Key: k})
	}
	for _, t := range v.trust {
		text, depth := splitDepth(t)
		if depth < 0 {
			return q, v.Usagef("--trust %s: a depth must not be negative", t)
		}
		k, err := v.key(w, text, files)
		if err != nil {
			return q, err
		}
		q.Roots = append(q.Roots, keypath.Root{Key: k, Depth: depth})
	}
	for _, r := range q.Roots {
		if r.Key == q.To {
			return q, v.Usagef("%s is both ends: a key needs no path to itself", ui.Visible(w.Title(q.To)))
		}
	}
	return q, nil
}

// key finds the one key that an argument names.
func (v *verb) key(w *keypath.Web, arg string, files map[string]string) (keypath.Key, error) {
	hits := w.Find(arg)
	if path, ok := files[arg]; ok {
		hits = w.In(path)
	}
	switch {
	case len(hits) == 1:
		return hits[0], nil
	case len(hits) == 0 && files[arg] != "":
		return 0, v.Usagef("%s contains no usable key", ui.Visible(arg))
	case len(hits) == 0:
		return 0, v.Usagef("no key for %s among the %d keys read%s", ui.Quote(arg), w.Keys, hint(v.network))
	}
	var b strings.Builder
	for _, k := range hits[:min(len(hits), 10)] {
		fmt.Fprintf(&b, "\n    %s  %s", w.Fingerprint(k), ui.Visible(ui.Cut(w.FirstName(k), 60)))
	}
	if len(hits) > 10 {
		b.WriteString("\n    …")
	}
	return 0, v.Usagef("%s is the name of %d keys; give a fingerprint:%s", ui.Quote(arg), len(hits), b.String())
}

func hint(network bool) string {
	if network {
		return ", nor on the keyservers"
	}
	return "; --network asks keyservers"
}
