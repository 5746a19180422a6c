package main

import (
	"os"
	"slices"
	"testing"
	"time"

	"fettle/internal/means"
)

// Each run makes a few mistakes in one grave package.
const (
	rotaMistakes = 6
	rotaBudget   = time.Minute // of CPU time; the compiler's counts
)

// slow are grave packages whose tests take longer than that by themselves.
var slow = []string{"engine/remedy", "engine/remedy/machine", "engine/remedy/step", "host/confine"}

// reached are the packages whose tests have reached the goal: they must keep it. Of the
// others what is not noticed is told, and no more.
var reached = []string{"fleet/agent/spool", "fleet/hub/join", "fleet/hub/web/login", "tools/totp"}

// TestRota makes mistakes in the package whose turn it is, by the number of commits. Of
// so few it is chance whether 90 of 100 are noticed. Fewer than half is none: that happens
// once in a thousand runs.
func TestRota(t *testing.T) {
	means.Short(t, "compiles a package for each of some mistakes")
	t.Chdir("../..")
	turn := means.Commits(t)
	pkgs := rotaPackages()
	pkg := pkgs[turn%len(pkgs)]
	same, err := readEquivalents(equivalents)
	if err != nil {
		t.Fatal(err)
	}
	g := &generation{sample: rotaMistakes, turn: turn / len(pkgs), limit: time.Minute, budget: rotaBudget, log: os.Stderr}
	s, err := g.try(t.Context(), pkg, same)
	if err != nil {
		t.Fatal(err)
	}
	tried := s.noticed + s.missed + s.hung
	t.Logf("%s: %d of %d mistakes are noticed, in %s of CPU time", pkg, s.noticed, tried, g.spent.Round(time.Second))
	for _, m := range s.survivors {
		t.Logf("not noticed: %s", m)
	}
	if slices.Contains(reached, pkg) && tried >= rotaMistakes/2 && 2*s.noticed < tried {
		t.Errorf("%s: %d of %d mistakes are noticed: go run ./internal/mutate %s", pkg, s.noticed, tried, pkg)
	}
}

// TestRotaPackages: what is called slow is grave, and the others have their turn.
func TestRotaPackages(t *testing.T) {
	if n := len(rotaPackages()); n != len(grave)-len(slow) {
		t.Errorf("%d packages have a turn: %d are grave, %d of them slow", n, len(grave), len(slow))
	}
}

// rotaPackages are the grave packages that have a turn.
func rotaPackages() []string {
	return slices.DeleteFunc(slices.Clone(grave), func(p string) bool { return slices.Contains(slow, p) })
}
