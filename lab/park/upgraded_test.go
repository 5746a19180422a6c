package park

import (
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// TestUpgrades: the recipes can be read, and what is wrong with one is said.
func TestUpgrades(t *testing.T) {
	all, err := Upgrades(os.DirFS("upgrades"))
	if err != nil || len(all) < 6 {
		t.Fatal(len(all), err)
	}
	if !slices.ContainsFunc(all, func(u Upgraded) bool { return u.Innocent }) {
		t.Error("no host is innocent")
	}
	for text, want := range map[string]string{
		"about: x\n": "both needed",
		"about: x\ncases: [{name: a, trap: t}]\n":                                   "name and works",
		"about: x\ncases: [{name: a, works: \"true\"}]\n":                           "which trap",
		"about: x\ninnocent: true\ncases: [{name: a, trap: t, works: \"true\"}]\n":  "innocent",
		"about: x\ncases: [{name: a, trap: t, works: \"true\", prepares: \"x\"}]\n": "prepares",
	} {
		_, err := Upgrades(fstest.MapFS{"a.yaml": {Data: []byte(text)}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestWeigh: what broke and was not told, and what was told and works, are found.
func TestWeigh(t *testing.T) {
	u := &Upgraded{Name: "h", Cases: []Case{
		{Name: "hit", Trap: "a", On: "x", Units: []string{"x.service"}},
		{Name: "miss", Trap: "a", On: "y"},
		{Name: "false", Trap: "b"},
		{Name: "dead", Trap: "c"},
		{Name: "like", Trap: "d", Like: true},
	}}
	told := &Told{Verdict: "breaks", Stops: []string{"a:x", "b"}, Changes: []string{"e:z"}}
	for _, o := range []Outcome{{Trap: "a", Subject: "x"}, {Trap: "b"}, {Trap: "e", Subject: "z"}, {Trap: "f", Subject: "asks"}} {
		o.Status = "found"
		told.Report.Results = append(told.Report.Results, struct {
			Trap     string    `json:"trap"`
			Outcomes []Outcome `json:"outcomes"`
		}{o.Trap, []Outcome{o}})
	}
	before := map[string]bool{"hit": true, "miss": true, "false": true, "like": true}
	after := map[string]bool{"false": true, "like": true}
	r := Weigh(u, told, before, after, []string{"x.service", "y.service"})
	if cases, broke, known, wrong := r.Count(); cases != 5 || broke != 2 || known != 1 || wrong != 2 {
		t.Error(cases, broke, known, wrong)
	}
	got := strings.Join(r.Wrong(true), "\n")
	for _, want := range []string{"miss: broke, and was not told", "false: was told (b), and works", "dead: does not work before",
		"no case is about it: e on z", "y.service fails after", "innocent host"} {
		if !strings.Contains(got, want) {
			t.Errorf("not said: %s\n%s", want, got)
		}
	}
	if strings.Contains(got, "x.service") || strings.Contains(got, "like") {
		t.Error(got)
	}
	table := UpgradeTable([]Result{r})
	if !strings.Contains(table, "| h | 0 | 5 | 2 | 1 | 2 |") {
		t.Error(table)
	}
	if doc, err := PutTable("a\n\n"+upgradeHead+"|---|\n| old | 1 |\n\nb\n", table); err != nil || doc != "a\n\n"+table+"\nb\n" {
		t.Errorf("%v\n%s", err, doc)
	}
	if _, err := PutTable("a\n", table); err == nil {
		t.Error("a document without a table is no error")
	}
}
