package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// grave are the packages where people's data or access depend on the code.
var grave = []string{
	"engine/remedy", "engine/remedy/machine", "engine/remedy/step", "fleet/agent", "fleet/agent/spool", "fleet/hub/bus", "fleet/hub/ingest",
	"fleet/hub/join", "fleet/hub/store", "fleet/hub/web/login", "host/confine", "host/redact", "tools/netboot/renew", "tools/totp",
}

// further are tests of a package in another one: they run where its own notice nothing.
func further(pkg string) []suite {
	switch {
	case strings.HasPrefix(pkg, "cli/"), pkg == "engine/run":
		return []suite{{folder: "cli", names: "^TestScripts$", parts: "testdata/script/*.txtar"}}
	case pkg == "engine/remedy/machine", pkg == "engine/remedy/step":
		return []suite{{folder: "engine/remedy", names: "."}}
	case pkg == "host/confine":
		return []suite{{folder: "engine/run", names: "."}}
	}
	return nil
}

// importers are the tests of the packages that import one, which stand for its own where it has none.
func importers(ctx context.Context, pkg string) ([]suite, error) {
	const each = `{{$p := .ImportPath}}{{$n := .Module.Path}}{{range .Imports}}{{.}} {{$n}} {{$p}}{{"\n"}}{{end}}`
	out, err := exec.CommandContext(ctx, "go", "list", "-f", each, "./...").Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	var all []suite
	for line := range strings.Lines(string(out)) {
		imported, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		module, importer, _ := strings.Cut(rest, " ")
		if imported == module+"/"+pkg {
			all = append(all, suite{folder: path.Clean(strings.TrimPrefix(strings.TrimPrefix(importer, module), "/")), names: "."})
		}
	}
	return all, nil
}

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
}

// score is how a package fared.
type score struct {
	pkg                              string
	noticed, missed, hung, left, all int
	survivors                        []string
	spent                            time.Duration // of CPU time, by compiler and tests
}

func (s *score) tried() int { return s.noticed + s.missed + s.hung }

func (s *score) percent() int {
	if n := s.tried(); n > 0 {
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
		fmt.Fprintf(w, "| %s | %d | %d | %d | %d | %d | %d | %d |\n",
			s.pkg, s.all, s.noticed, s.missed, s.hung, s.left, s.percent(), s.wanted())
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
	others := further(pkg)
	if own, _ := filepath.Glob(filepath.Join(pkg, "*_test.go")); own == nil && others == nil {
		var err error
		if others, err = importers(ctx, pkg); err != nil {
			return nil, err
		}
	}
	p, err := build(ctx, pkg, others...)
	if err != nil {
		return nil, err
	}
	defer p.remove()
	if err := p.asItIs(ctx, g.limit); err != nil {
		return nil, err
	}
	s := &score{pkg: pkg}
	for _, m := range chosen(p.mutants, g.sample, g.turn) {
		if g.budget > 0 && p.spent > g.budget {
			break
		}
		s.all++
		if _, ok := same[m.id()]; ok {
			s.left++
			continue
		}
		switch how := p.try(ctx, m, g.limit); how {
		case noticed:
			s.noticed++
		case hung:
			s.hung++
			s.survivors = append(s.survivors, "(it hangs) "+m.place())
		default:
			s.missed++
			s.survivors = append(s.survivors, m.place())
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	s.spent = p.spent
	return s, nil
}

// chosen are n of the mistakes, other ones at each turn until all had theirs; 0: all.
func chosen(all []*mutant, n, turn int) []*mutant {
	if n == 0 || n >= len(all) {
		return all
	}
	mixed := slices.Clone(all)
	slices.SortFunc(mixed, func(a, b *mutant) int {
		return cmp.Or(cmp.Compare(hashed(a.id()), hashed(b.id())), cmp.Compare(a.n, b.n))
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
