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
	rulesproof "fettle/traps/rules/proof"
)

// unproven are traps with a remedy that no scenario fixes, and why.
var unproven = map[string]string{
	"conntrack-table-full":     oneValue,
	"dirty-memory-large":       oneValue,
	"elasticsearch-map-count":  oneValue,
	"fstrim-not-scheduled":     "a rule that enables one timer; remedy/unit-steps proves the step",
	"inotify-instances-few":    oneValue,
	"neighbour-table-full":     oneValue,
	"kernel-without-initramfs": oneCommand,
	"letsencrypt-old-openssl":  oneCommand,
	"locale-not-generated":     oneCommand,
	"raid-check-never-run":     oneUnit,
	"raid-monitor-missing":     oneUnit,
	"resolv-conf-stub-dead":    oneUnit,
	"smart-not-watched":        oneUnit,
	"thp-always-database":      oneFile,
	"removeipc-database":       oneDropIn,
	"resolved-dnssec-fails":    oneDropIn,
	"wait-online-stuck":        "a rule that disables one unit, as undo does in rule-remedies/units; its samples hold the plan",
	"zfs-holes-in-copies":      oneFile,
	"redis-overcommit":         oneValue,
	"tcp-tw-recycle":           oneValue,
}

const oneValue = "a rule that sets one value of sysctl(8), whose samples hold the check, and whose step remedy's tests hold"

const (
	oneUnit    = "a rule that enables and starts one unit, as rule-remedies/units proves of three others; its samples hold the plan"
	oneDropIn  = "a rule that writes one drop-in and restarts its service, of which the lab's machines have none; its samples hold the plan"
	oneCommand = "a rule that runs the distribution's own command, which the lab's machines have not; its samples hold the plan"
	oneFile    = "a rule that writes one drop-in and one value below /sys, which the lab's kernels have not; its samples hold the plan"
)

// A remedy is proven: some scenario walks into the trap and out of it.
func TestRemediesAreProven(t *testing.T) {
	byTrap := map[string]Proof{}
	for _, p := range All() {
		byTrap[p.Trap.ID()] = p
	}
	for _, tr := range traps.All() {
		fixed := slices.ContainsFunc(
			byTrap[tr.ID()].Scenarios,
			func(s lab.Scenario) bool { return !s.Innocent && !s.Unfixable && len(s.Steps) == 0 },
		)
		fixed = fixed || rulesproof.Rules()[tr.ID()]
		_, excused := unproven[tr.ID()]
		switch {
		case tr.Plan != nil && !fixed && !excused:
			t.Errorf("%s has a remedy that no scenario applies: add one to its folder proof, or, "+
				"for a rule, an entry to traps/rules/proof/remedies.go",
				tr.ID())
		case excused && (fixed || tr.Plan == nil):
			t.Errorf("%s needs no excuse for a remedy without proof", tr.ID())
		}
	}
}

// unprobed are scenarios of a trap without a probe of reality, and why.
var unprobed = map[string]string{
	"zfs-write-distribution": "its experiment compares zpool's own counters with what is predicted",
}

// A scenario that walks into a trap is judged by somebody else than fettle: a
// probe shows the trap, and where the scenario has a fix, its end.
func TestRealityIsProbed(t *testing.T) {
	for _, p := range All() {
		for _, s := range p.Scenarios {
			if s.Innocent || len(s.Steps) > 0 || unprobed[p.Trap.ID()] != "" {
				continue
			}
			if !slices.ContainsFunc(s.Probes, func(pr lab.Probe) bool { return tells(pr, !s.Unfixable) }) {
				t.Errorf("%s/%s has no probe of reality that tells the trap from its end", p.Trap.ID(), s.Name)
			}
		}
	}
}

// tells whether a probe is not fettle's own word, and what it must show differs
// once the trap is mended.
func tells(p lab.Probe, fixed bool) bool {
	if p.Run[0] == "fettle" || p.Run[0] == "fettle-lab" {
		return false
	}
	if !fixed {
		return len(p.Want) > 0 && p.Want[0] != ""
	}
	return p.Ratio != 0 || len(p.Want) > 1 && p.Want[0] != "" && p.Want[1] != "" && p.Want[0] != p.Want[1]
}

// A trap whose remedy is proven has plans spoilt on purpose, of scenarios that it has.
func TestSabotages(t *testing.T) {
	for _, p := range All() {
		if p.Trap.Plan != nil && len(p.Sabotages) == 0 {
			t.Errorf("%s has a remedy and no plan spoilt on purpose", p.Trap.ID())
		}
		for _, s := range p.Sabotages {
			if !slices.ContainsFunc(p.Scenarios, func(sc lab.Scenario) bool {
				return sc.Name == s.Scenario && !sc.Innocent && !sc.Unfixable && len(sc.Steps) == 0
			}) {
				t.Errorf("%s: the sabotage %s is of no scenario with a fix: %q", p.Trap.ID(), s.Name, s.Scenario)
			}
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
