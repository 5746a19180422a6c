package proofs

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"fettle/lab"
	"fettle/traps"
)

// unproven are traps with a remedy that no scenario fixes, and why.
var unproven = map[string]string{
	"conntrack-table-full":    oneValue,
	"dirty-memory-large":      oneValue,
	"elasticsearch-map-count": oneValue,
	"fstrim-not-scheduled":    "a rule that enables one timer; remedy/unit-steps proves the step",
	"inotify-instances-few":   oneValue,
	"listen-queue-overflow":   oneValue,
	"neighbour-table-full":    oneValue,
	"redis-overcommit":        oneValue,
	"tcp-tw-recycle":          oneValue,
}

const oneValue = "a rule that sets one value of sysctl(8), whose samples hold the check, and whose step remedy's tests hold"

// A remedy is proven: some scenario walks into the trap and out of it.
func TestRemediesAreProven(t *testing.T) {
	byTrap := map[string]Proof{}
	for _, p := range All() {
		byTrap[p.Trap.ID()] = p
	}
	for _, tr := range traps.All() {
		fixed := slices.ContainsFunc(byTrap[tr.ID()].Scenarios, func(s lab.Scenario) bool { return !s.Innocent && !s.Unfixable && len(s.Steps) == 0 })
		_, excused := unproven[tr.ID()]
		switch {
		case tr.Plan != nil && !fixed && !excused:
			t.Errorf("%s has a remedy that no scenario in its folder proof applies", tr.ID())
		case excused && (fixed || tr.Plan == nil):
			t.Errorf("%s needs no excuse for a remedy without proof", tr.ID())
		}
	}
}

// Every folder of a trap is in the list of traps, and every proof in that of proofs.
func TestNoFolderIsForgotten(t *testing.T) {
	for list, pattern := range map[string]string{"../all.go": "../*/trap.go", "all.go": "../*/proof"} {
		imported := imports(t, list)
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %d folders, %v", pattern, len(found), err)
		}
		for _, f := range found {
			if st, err := os.Stat(f); err == nil && !st.IsDir() {
				f = filepath.Dir(f)
			}
			if pkg := "fettle/traps/" + strings.TrimPrefix(f, "../"); !slices.Contains(imported, pkg) {
				t.Errorf("%s does not list %s", list, pkg)
			}
		}
	}
}

func imports(t *testing.T, file string) []string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, i := range f.Imports {
		s, _ := strconv.Unquote(i.Path.Value)
		out = append(out, s)
	}
	return out
}
