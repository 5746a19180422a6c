package park

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// TestCommitted reads every recipe and what is expected of it.
func TestCommitted(t *testing.T) {
	recipes, err := Recipes(os.DirFS("hosts"))
	if err != nil {
		t.Fatal(err)
	}
	if len(recipes) < 15 {
		t.Errorf("%d hosts: a park has fifteen", len(recipes))
	}
	for _, r := range recipes {
		own, _, err := Expectations(os.DirFS("expected"), r.Name)
		if err != nil {
			t.Error(err)
		}
		for _, x := range own.Found {
			if r.Fresh && x.Severity != "notice" {
				t.Errorf("%s is fresh, and %s is expected as %s", r.Name, x.Trap, x.Severity)
			}
		}
	}
	files, _ := os.ReadDir("expected")
	for _, f := range files {
		name := strings.TrimSuffix(f.Name(), ".yaml")
		if name != "common" && !slices.ContainsFunc(recipes, func(r Recipe) bool { return r.Name == name }) {
			t.Errorf("expected/%s is of no host", f.Name())
		}
	}
}

func TestJudge(t *testing.T) {
	own := Expected{
		Found: []Expectation{
			{Trap: "a", On: "x*", Severity: "warning", Why: "w"},
			{Trap: "b", Severity: "notice", In: []string{"machine"}, Why: "w"},
		},
	}
	common := Expected{Clear: []Expectation{{Trap: "c", Why: "w"}}, Unknown: []Expectation{{Trap: "a", In: []string{"sosreport"}, Why: "w"}}}
	found := Outcome{Trap: "a", Subject: "x1", Status: "found", Severity: "warning"}
	for name, c := range map[string]struct {
		look string
		all  []Outcome
		want string // in the error; "" is none
	}{
		"as expected":     {"container", []Outcome{found, {Trap: "c", Status: "clear"}, {Trap: "z", Status: "not-applicable"}}, ""},
		"another finding": {"container", []Outcome{found, {Trap: "z", Status: "found", Severity: "notice"}}, "found: - {trap: z"},
		"graver": {"container", []Outcome{found, {Trap: "a", Subject: "x2", Status: "found",
			Severity: "critical"}}, "critical"},
		"an unjustified clear":     {"container", []Outcome{found, {Trap: "d", Status: "clear"}}, "clear: - {trap: d"},
		"another unknown":          {"container", []Outcome{found, {Trap: "a", Status: "unknown"}}, "unknown: - {trap: a"},
		"not found":                {"container", nil, "not found: a"},
		"clear for found":          {"container", []Outcome{{Trap: "a", Subject: "x1", Status: "clear"}}, "not found: a"},
		"could not be seen":        {"sosreport", []Outcome{{Trap: "a", Status: "unknown"}}, ""},
		"another trap's":           {"sosreport", []Outcome{{Trap: "b", Status: "unknown"}}, "not found: a"},
		"a trap's of another look": {"container", []Outcome{{Trap: "a", Subject: "q", Status: "unknown"}}, "not found: a"},
		"of another look":          {"machine", []Outcome{found}, "not found: b"},
	} {
		err := Judge(c.look, c.all, own, common)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSame(t *testing.T) {
	live := []Outcome{{Trap: "a", Subject: "x", Status: "found", Severity: "notice"}}
	if err := Same(live, live); err != nil {
		t.Error(err)
	}
	for _, other := range [][]Outcome{nil, {{Trap: "a", Subject: "x", Status: "clear"}}, append(live, Outcome{Trap: "b", Status: "unknown"})} {
		if Same(live, other) == nil {
			t.Errorf("%v is not the same", other)
		}
	}
}

func TestSameRedacted(t *testing.T) {
	live := []Outcome{{Trap: "a", Subject: "x", Status: "found", Severity: "notice"}, {Trap: "a", Subject: "y", Status: "clear"}}
	if err := SameRedacted(live, []Outcome{{Trap: "a", Subject: "w2", Status: "clear"},
		{Trap: "a", Subject: "w1", Status: "found", Severity: "notice"}}); err != nil {
		t.Error(err)
	}
	gone := Outcome{Trap: "a", Subject: "w2", Status: "unknown", Reason: "redaction left out lines of it"}
	if err := SameRedacted(live, []Outcome{live[0], gone}); err != nil {
		t.Error(err)
	}
	for _, other := range [][]Outcome{live[:1], {gone, gone}, append([]Outcome{{Trap: "b", Status: "unknown"}}, live...),
		{{Trap: "a", Status: "found", Severity: "warning"}, live[1]}} {
		if SameRedacted(live, other) == nil {
			t.Errorf("%v is not the same", other)
		}
	}
}

func TestQuiet(t *testing.T) {
	own := Expected{Why: []Expectation{{Trap: "a", In: []string{"container"}, Why: "w"}}}
	m := []Match{{Trap: "a", Lines: []string{"l"}}}
	if Quiet("container", m, own) != nil || Quiet("container", nil, own) != nil {
		t.Error("what is expected of a journal is refused")
	}
	if Quiet("machine", m, own) == nil || Quiet("container", m, Expected{}) == nil {
		t.Error("what nobody expects of a journal passes")
	}
}

func TestTable(t *testing.T) {
	got := Table([]Row{{Host: "web", Look: "container", Lines: 4, Found: 1, Unknown: 2, Cleared: 30}, {Host: "web", Look: "sosreport"}})
	if !strings.Contains(got, "| web | container | 4 | 1 | 2 | 30 |\n| web | sosreport | - | 0 | 0 | 0 |") {
		t.Error(got)
	}
}
