package proofs

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"fettle/engine/trap"
	"fettle/traps"
	rulesproof "fettle/traps/rules/proof"
)

const tableFile = "../../docs/traps.md"

const tableHead = `# All traps

One line for each trap that fettle knows. ` + "`fettle explain TRAP`" + ` tells the rest. The table is made from the traps
themselves: FETTLE_UPDATE=1 go test ./traps/proofs -run TestTable

- *worst*: the most severe finding among its samples.
- *bites*: now (fettle check), at the next start (fettle before reboot), at the upgrade (fettle before upgrade),
  with new versions of packages (fettle before update).
- *proved by*: the lab (walked into and out of on throwaway kernels), its remedy (played there, the condition by
  samples), a program (which was seen to do it, by hand), samples (hosts written down, which hold the condition).
- *fix*: fettle has a remedy, which it can undo; else a finding says what to do.
- *confirmed*: what it was last seen with, in the words of its lore.

| trap | worst | bites | proved by | fix | since | confirmed |
|---|---|---|---|---|---|---|
`

// TestTable: docs/traps.md lists the traps as they are.
func TestTable(t *testing.T) {
	want := tableHead
	proofs := map[string]Proof{}
	for _, p := range All() {
		proofs[p.Trap.ID()] = p
	}
	for _, tr := range traps.All() {
		a, err := tr.Lore.Article()
		if err != nil {
			t.Fatal(err)
		}
		sure := howSure(a.Body)
		proved := "samples"
		switch {
		case len(proofs[a.ID].Scenarios) > 0:
			proved = "the lab"
		case rulesproof.Rules()[a.ID]:
			proved = "its remedy"
		}
		if strings.HasPrefix(sure, "Seen") && proved != "the lab" {
			proved = strings.TrimPrefix(proved+", a program", "samples, ")
		}
		fix := "by hand"
		if tr.Plan != nil {
			fix = "yes"
		}
		bites := strings.Join(a.Horizon, ", ")
		if bites == "" {
			bites = "now"
		}
		want += fmt.Sprintf("| `%s` | %s | %s | %s | %s | %s | %s |\n", a.ID, worst(t, a.ID), bites, proved, fix, cell(a.Since), cell(sure))
	}
	if os.Getenv("FETTLE_UPDATE") != "" {
		if err := os.WriteFile(tableFile, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(tableFile)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Error("docs/traps.md differs from what the traps say; this writes it: make lists")
	}
}

var foundForm = regexp.MustCompile(`(?m)^found (critical|warning|notice)\b`)

// worst is the highest severity that the trap's samples expect.
func worst(t *testing.T, id string) string {
	var best trap.Severity
	name := "-"
	for _, dir := range []string{"../rules/" + id, "../" + strings.ReplaceAll(id, "-", "") + "/testdata"} {
		files, _ := filepath.Glob(dir + "/*.txtar")
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range foundForm.FindAllStringSubmatch(string(b), -1) {
				for s := range trap.Critical + 1 {
					if s.String() == m[1] && s >= best {
						best, name = s, m[1]
					}
				}
			}
		}
	}
	return name
}

var sureForm = regexp.MustCompile(`(?s)# How sure\n+(.+?[^.0-9]\.)(?:\s|$)`)

// howSure is the first sentence of what the lore says of itself; empty: it says nothing.
func howSure(body string) string {
	if m := sureForm.FindStringSubmatch(body); m != nil {
		return m[1]
	}
	return ""
}

// cell is a text on one line of a table.
func cell(s string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(s), " "), "|", `\|`)
}
