package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Generated mistakes are tried without copying the source: go test -overlay puts
// the changed file in the place of the one on disk.

// grave are the packages where people's data or access depend on the code.
var grave = []string{
	"engine/remedy", "engine/remedy/machine", "engine/remedy/step", "fleet/agent", "fleet/agent/spool", "fleet/hub/bus", "fleet/hub/ingest",
	"fleet/hub/join", "fleet/hub/store", "fleet/hub/web/login", "host/confine", "host/redact", "tools/netboot/renew", "tools/totp",
}

// further are tests of a package in another one, as arguments of go test: they run where
// its own notice nothing.
var further = map[string][]string{
	"cli/app": scripts, "cli/check": scripts, "cli/fix": scripts, "engine/run": scripts,
	"engine/remedy/machine": {"./engine/remedy"}, "engine/remedy/step": {"./engine/remedy"}, "host/confine": {"./engine/run"},
}

var scripts = []string{"./cli", "-run", "^TestScripts$"}

// children are packages of which much runs in processes that the tests start: coverage
// does not see it, so their tests run for each mistake, wherever it is.
var children = []string{"engine/run", "host/confine", "lab/guest"}

// Of 100 generated mistakes that compile, so many must be noticed.
const (
	enoughGrave = 90
	enoughElse  = 75
)

// equivalents are mistakes that change nothing, with the reason, a line each:
// "FILE: WHAT: LINE # REASON".
const equivalents = "internal/mutate/testdata/equivalent.txt"

// generation is how mistakes are made and tried.
type generation struct {
	pkgs   []string // folders
	sample int      // so many of each package; 0: all
	turn   int      // which of the samples
	limit  time.Duration
	log    io.Writer
	budget time.Duration // of CPU time, after which no further mistake is tried; 0: none
	spent  time.Duration // of CPU time, by compiler and tests
}

// score is how a package fared.
type score struct {
	pkg                                       string
	noticed, missed, hung, invalid, left, all int
	survivors                                 []string
}

func (s *score) percent() int {
	if n := s.noticed + s.missed + s.hung; n > 0 {
		return 100 * s.noticed / n
	}
	return 100
}

func (s *score) wanted() int {
	if slices.Contains(grave, s.pkg) {
		return enoughGrave
	}
	return enoughElse
}

func (g *generation) run(ctx context.Context, w io.Writer) error {
	same, err := readEquivalents(equivalents)
	if err != nil {
		return err
	}
	var short []string
	fmt.Fprintf(w, "| package | made | noticed | missed | hung | change nothing | of 100 | wanted |\n|---|---|---|---|---|---|---|---|\n")
	for _, pkg := range g.pkgs {
		s, err := g.try(ctx, filepath.ToSlash(filepath.Clean(pkg)), same)
		if err != nil {
			return err
		}
		fmt.Fprintf(
			w,
			"| %s | %d | %d | %d | %d | %d | %d | %d |\n",
			s.pkg,
			s.all,
			s.noticed,
			s.missed,
			s.hung,
			s.left,
			s.percent(),
			s.wanted(),
		)
		for _, m := range s.survivors {
			fmt.Fprintf(g.log, "NOT NOTICED %s\n", m)
		}
		if s.percent() < s.wanted() {
			short = append(short, s.pkg)
		}
		if s.left*20 > s.all && s.left > 1 {
			return fmt.Errorf("%s: %d of %d mistakes are called equivalent: more than 5 in 100", s.pkg, s.left, s.all)
		}
	}
	if len(short) > 0 {
		return fmt.Errorf("too few generated mistakes are noticed in %s", strings.Join(short, ", "))
	}
	return nil
}

// try makes the mistakes of one package and runs its tests with each.
func (g *generation) try(ctx context.Context, pkg string, same map[string]string) (*score, error) {
	s := &score{pkg: pkg}
	tests := []string{"./" + pkg}
	covered, err := g.coverage(ctx, pkg)
	if err != nil {
		return nil, err
	}
	all, err := mutantsOf(ctx, pkg)
	if err != nil {
		return nil, err
	}
	for _, m := range chosen(all, g.sample, g.turn) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if g.budget > 0 && g.spent > g.budget {
			break
		}
		s.all++
		if _, ok := same[m.id()]; ok {
			s.left++
			continue
		}
		src, err := os.ReadFile(m.file)
		if err != nil {
			return nil, err
		}
		changed := m.apply(src)
		how := missed
		switch {
		case !valid(changed):
			how = stale
		case m.ran == 0 || covered.has(m.file, m.ran) || slices.Contains(children, pkg):
			how = g.goTest(ctx, m.file, changed, tests)
		default: // no test runs it, and it is none if it does not compile
			how = g.goTest(ctx, m.file, changed, append([]string{"-run", "^$"}, tests...))
		}
		if more := further[pkg]; more != nil && how == missed {
			how = g.goTest(ctx, m.file, changed, more)
		}
		switch how {
		case noticed:
			s.noticed++
		case stale:
			s.invalid++
			s.all--
		case hung:
			s.hung++
			s.survivors = append(s.survivors, "(it hangs) "+m.place())
		default:
			s.missed++
			s.survivors = append(s.survivors, m.place())
		}
	}
	return s, nil
}

// hung is a mistake with which the tests do not end: they should fail with a message.
const hung = "HANGS"

func (m *mutant) place() string { return fmt.Sprintf("%s:%d: %s: %s", m.file, m.line, m.what, m.text) }

// mutantsOf are those of the files that are built here, without tests.
func mutantsOf(ctx context.Context, pkg string) ([]*mutant, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-f", "{{range .GoFiles}}{{.}}\n{{end}}", "./"+pkg).Output()
	if err != nil {
		return nil, fmt.Errorf("go list ./%s: %w", pkg, err)
	}
	var all []*mutant
	for _, name := range strings.Fields(string(out)) {
		file := filepath.Join(pkg, name)
		src, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		found, err := sites(file, src)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// chosen are n of the mistakes, other ones at each turn until all had theirs; 0: all.
func chosen(all []*mutant, n, turn int) []*mutant {
	if n == 0 || n >= len(all) {
		return all
	}
	mixed := slices.Clone(all)
	slices.SortFunc(mixed, func(a, b *mutant) int {
		ha, hb := hashed(a.id()), hashed(b.id())
		switch {
		case ha < hb:
			return -1
		case ha > hb:
			return 1
		}
		return a.off - b.off
	})
	var out []*mutant
	for i := range n {
		out = append(out, mixed[(turn*n+i)%len(mixed)])
	}
	return out
}

func hashed(s string) uint64 {
	h := fnv.New64a()
	io.WriteString(h, s)
	return h.Sum64()
}

// goTest runs the tests with one file changed.
func (g *generation) goTest(ctx context.Context, file string, changed []byte, tests []string) string {
	dir, err := os.MkdirTemp("", "fettle-mutant-")
	if err != nil {
		return stale
	}
	defer os.RemoveAll(dir)
	abs, err := filepath.Abs(file)
	if err != nil {
		return stale
	}
	instead := filepath.Join(dir, filepath.Base(file))
	overlay, _ := json.Marshal(map[string]map[string]string{"Replace": {abs: instead}})
	if errors.Join(os.WriteFile(instead, changed, 0o600), os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o600)) != nil {
		return stale
	}
	ctx, cancel := context.WithTimeout(ctx, g.limit+2*time.Minute) // for the compiler
	defer cancel()
	args := append(
		[]string{"test", "-short", "-failfast", "-vet=off", "-timeout", g.limit.String(), "-overlay", filepath.Join(dir, "overlay.json")},
		tests...)
	out, err := g.combined(exec.CommandContext(ctx, "go", args...))
	switch {
	case err == nil:
		return missed
	case bytes.Contains(out, []byte("[build failed]")) || bytes.Contains(out, []byte("[setup failed]")):
		return stale
	case bytes.Contains(out, []byte("panic: test timed out")) || ctx.Err() != nil:
		return hung
	}
	return noticed
}

// combined runs a program, and counts its CPU time.
func (g *generation) combined(cmd *exec.Cmd) ([]byte, error) {
	out, err := cmd.CombinedOutput()
	if st := cmd.ProcessState; st != nil {
		g.spent += st.UserTime() + st.SystemTime()
	}
	return out, err
}

// readEquivalents reads the list of mistakes that change nothing.
func readEquivalents(name string) (map[string]string, error) {
	b, err := os.ReadFile(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	n := 0
	for line := range strings.Lines(string(b)) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		id, why, ok := strings.Cut(line, " # ")
		if !ok || strings.TrimSpace(why) == "" {
			return nil, fmt.Errorf("%s:%d: expected \"FILE: WHAT: LINE # REASON\"", name, n)
		}
		out[id] = why
	}
	return out, nil
}
