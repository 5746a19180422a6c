// Command mutate puts deliberate mistakes into copies of the source, one at a
// time, and runs the tests that should notice. Each mistake is a patch beside the
// package it is of, in PKG/testdata/mutations/NN-name.patch:
//
//	# what it would do to a user
//	# test: arguments of go test
//	a unified diff
//
// It prints a table, and fails when fewer than 97 of 100 are noticed.
//
// With packages it makes mistakes by itself instead: bounds off by one, conditions upside
// down, errors dropped, arguments swapped, units of time mistaken, syncs, locks and closes
// left out. All of a package are written into one copy of it, each with a switch, and its
// tests are compiled once; they run once with each mistake that they come to. By their types
// only those are made that are Go, and of these all but what constants are declared as,
// which are one in 290. 90 of 100 must be noticed where people's data or access depend on
// the code, and 75 elsewhere.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// enough is how many of 100 mistakes must be noticed.
const enough = 97

func main() {
	only := flag.String("only", "", "run only the patches whose path matches this regular expression")
	jobs := flag.Int("j", max(1, runtime.NumCPU()/2), "copies that are worked on at once")
	sample := flag.Int("sample", 0, "with packages: make this many mistakes in each; 0 makes all")
	turn := flag.Int("turn", 0, "with -sample: which ones; after as many turns as it takes all had theirs")
	limit := flag.Duration("limit", 2*time.Minute, "with packages: how long tests may take, with a mistake or without")
	graves := flag.Bool("grave", false, "make mistakes in all packages on which data or access depend")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	pkgs := flag.Args()
	if *graves {
		pkgs = grave
	}
	do := func() error { return run(ctx, *only, *jobs) }
	if len(pkgs) > 0 {
		g := &generation{pkgs: pkgs, sample: *sample, turn: *turn, limit: *limit, log: os.Stderr}
		do = func() error { return g.run(ctx, os.Stdout) }
	}
	if err := do(); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, only string, jobs int) error {
	match, err := regexp.Compile(only)
	if err != nil {
		return fmt.Errorf("-only: %w", err)
	}
	all, err := find(".", match)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return fmt.Errorf("no patch in testdata/mutations matches %q", only)
	}
	trees := make([]string, min(jobs, len(all)))
	for i := range trees {
		if trees[i], err = copyTree(ctx); err != nil {
			return err
		}
		defer os.RemoveAll(trees[i])
	}
	results := tryAll(ctx, all, trees)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return report(os.Stdout, results)
}

// find reads all patches.
func find(root string, match *regexp.Regexp) ([]*mutation, error) {
	var all []*mutation
	out, err := exec.Command("git", "-C", root, "ls-files", "--cached", "--others", "--exclude-standard", "--",
		"*/testdata/mutations/*.patch").
		Output()
	if err != nil {
		return nil, fmt.Errorf("git ls-files: %w", err)
	}
	for name := range strings.Lines(string(out)) {
		name = strings.TrimSpace(name)
		if !match.MatchString(name) {
			continue
		}
		b, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return nil, err
		}
		m, err := parse(name, b)
		if err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return all, nil
}

// mutation is one mistake.
type mutation struct {
	name   string // of its patch
	effect string // what it would do to a user
	test   []string
	patch  []byte
}

func parse(name string, b []byte) (*mutation, error) {
	lines := strings.SplitN(string(b), "\n", 3)
	if len(lines) < 3 || !strings.HasPrefix(lines[0], "# ") {
		return nil, fmt.Errorf("%s:1: expected \"# what it would do to a user\"", name)
	}
	args, ok := strings.CutPrefix(lines[1], "# test: ")
	if !ok || strings.TrimSpace(args) == "" {
		return nil, fmt.Errorf("%s:2: expected \"# test: ARGUMENTS OF GO TEST\"", name)
	}
	if strings.ContainsAny(args, "'\"") {
		return nil, fmt.Errorf("%s:2: no shell reads the arguments: leave out the quotes", name)
	}
	if !strings.Contains(lines[2], "\n@@ ") {
		return nil, fmt.Errorf("%s:3: expected a unified diff", name)
	}
	return &mutation{name: name, effect: strings.TrimPrefix(lines[0], "# "), test: strings.Fields(args), patch: []byte(lines[2])}, nil
}

// copyTree copies the source as it is, changes and all.
func copyTree(ctx context.Context) (string, error) {
	dir, err := os.MkdirTemp("", "fettle-mutate-")
	if err != nil {
		return "", err
	}
	list := exec.CommandContext(ctx, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	names, err := list.Output()
	if err != nil {
		return "", fmt.Errorf("git ls-files: %w", err)
	}
	for name := range bytes.SplitSeq(bytes.TrimRight(names, "\x00"), []byte{0}) {
		if err := copyFile(dir, string(name)); err != nil && !os.IsNotExist(err) { // one that is deleted
			return "", fmt.Errorf("copying the source: %w", err)
		}
	}
	return dir, nil
}

func copyFile(dir, name string) error {
	st, err := os.Lstat(name)
	if err != nil {
		return err
	}
	to := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	switch {
	case st.Mode().Type() == os.ModeSymlink:
		target, err := os.Readlink(name)
		if err != nil {
			return err
		}
		return os.Symlink(target, to)
	case !st.Mode().IsRegular():
		return nil
	}
	b, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	return os.WriteFile(to, b, st.Mode().Perm())
}

// How a mistake fared.
const (
	noticed  = "noticed"
	missed   = "NOT NOTICED"
	stale    = "STALE"   // the patch does not apply, or does not compile
	unsound  = "UNSOUND" // its tests fail, or are skipped, without it
	testTime = 20 * time.Minute
)

type result struct {
	*mutation
	how, said string
	took      time.Duration
}

func tryAll(ctx context.Context, all []*mutation, trees []string) []result {
	results := make([]result, len(all))
	next := make(chan int)
	var wg sync.WaitGroup
	for _, tree := range trees {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := range next {
				start := time.Now()
				how, said := all[i].try(ctx, tree)
				results[i] = result{all[i], how, said, time.Since(start)}
				fmt.Fprintf(os.Stderr, "%-11s %5.1f s  %s\n", how, time.Since(start).Seconds(), all[i].name)
			}
		}()
	}
	for i := range all {
		next <- i
	}
	close(next)
	wg.Wait()
	return results
}

// try runs the tests without the mistake (mostly from Go's cache), and with it.
func (m *mutation) try(ctx context.Context, tree string) (how, said string) {
	if out, err := m.goTest(ctx, tree); err != nil {
		return unsound, out
	} else if strings.Contains(out, "no tests to run") || !strings.Contains(out, "--- PASS") && strings.Contains(out, "--- SKIP") {
		return unsound, "nothing was tested: " + out
	}
	if err := m.apply(ctx, tree); err != nil {
		return stale, err.Error()
	}
	defer m.apply(context.WithoutCancel(ctx), tree, "-R")
	out, err := m.goTest(ctx, tree)
	switch {
	case err == nil:
		return missed, ""
	case strings.Contains(out, "[build failed]") || strings.Contains(out, "[setup failed]"):
		return stale, out
	}
	return noticed, out
}

func (m *mutation) apply(ctx context.Context, tree string, args ...string) error {
	cmd := exec.CommandContext(ctx, "git", append([]string{"apply", "--recount"}, args...)...)
	cmd.Dir, cmd.Stdin = tree, bytes.NewReader(m.patch)
	cmd.Env = append(os.Environ(), "GIT_DIR=/nonexistent", "GIT_CEILING_DIRECTORIES="+filepath.Dir(tree))
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("git apply: %w: %s", err, bytes.TrimSpace(out))
	}
	return nil
}

func (m *mutation) goTest(ctx context.Context, tree string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, testTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", append([]string{"test", "-v"}, m.test...)...)
	cmd.Dir = tree
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// report prints the table, and says whether enough was noticed.
func report(w *os.File, results []result) error {
	slices.SortStableFunc(results, func(a, b result) int { return strings.Compare(a.name, b.name) })
	n, broken := 0, 0
	for _, r := range results {
		fmt.Fprintf(w, "%-11s  %s\n             %s\n", r.how, r.name, r.effect)
		switch r.how {
		case noticed:
			n++
		case stale, unsound:
			broken++
			fmt.Fprintf(w, "             %s\n", lastLines(r.said, 5))
		}
	}
	fmt.Fprintf(w, "%d of %d mistakes are noticed.\n", n, len(results))
	switch {
	case broken > 0:
		return fmt.Errorf("%d patches do not apply, or their tests fail without them", broken)
	case n*100 < enough*len(results):
		return fmt.Errorf("fewer than %d of 100 mistakes are noticed", enough)
	}
	return nil
}

func lastLines(s string, n int) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n             ")
}
