package lab

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Checked is a check that must say so of each subject, and find no other: the words in
// which it is told to people are no part of what is proven. Statuses are those of the
// JSON report; the subject "*" is any.
func Checked(trap string, want map[string]string) Act {
	e := &Expect{Run: []string{"fettle", "check", trap, "--format", "json"}, Outcomes: want}
	for _, status := range want {
		switch {
		case status == "found":
			e.Status = 1
		case status == "unknown" && e.Status == 0:
			e.Status = 4
		}
	}
	return Act{Expect: e}
}

// Nothing is what Checked wants of a check that finds nothing, and looked everywhere.
var Nothing = map[string]string{}

// Mended is fettle fix with these arguments, which must say that it fixed the finding.
func Mended(args ...string) Act {
	return Act{Expect: &Expect{Run: append(append([]string{"fettle", "fix"}, args...), "--format", "json"), Result: "mended"}}
}

// said is the part of fettle's documents that scenarios judge.
type said struct {
	Result  string `json:"result"`
	Results []struct {
		Trap     string `json:"trap"`
		Outcomes []struct{ Subject, Status, Summary, Reason string }
	} `json:"results"`
}

// Judge compares a document that fettle printed with what is wanted of it.
func (e *Expect) Judge(out string) error {
	if e.Outcomes == nil && e.Result == "" {
		return nil
	}
	start := strings.LastIndex("\n"+out, "\n{") // the plan and warnings come before it
	if start < 0 {
		return fmt.Errorf("expected a JSON document")
	}
	var doc said
	if err := json.NewDecoder(strings.NewReader(out[start:])).Decode(&doc); err != nil {
		return fmt.Errorf("expected a JSON document: %w", err)
	}
	if e.Result != "" {
		if doc.Result != e.Result {
			return fmt.Errorf("result %q, expected %q", doc.Result, e.Result)
		}
		return nil
	}
	met := map[string]bool{}
	for _, r := range doc.Results {
		for _, o := range r.Outcomes {
			want, named := e.Outcomes[o.Subject]
			if !named && e.Outcomes["*"] == o.Status {
				met["*"] = true
				continue
			}
			if named && want == o.Status {
				met[o.Subject] = true
				continue
			}
			if named || o.Status == "found" || o.Status == "unknown" {
				return fmt.Errorf("%s %q: %s%s; expected %q", o.Status, o.Subject, o.Summary, o.Reason, want)
			}
		}
	}
	for _, subject := range slices.Sorted(maps.Keys(e.Outcomes)) {
		if !met[subject] {
			return fmt.Errorf("expected %q to be %s, and it was not looked at", subject, e.Outcomes[subject])
		}
	}
	return nil
}
