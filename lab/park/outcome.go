package park

import (
	"cmp"
	"slices"
)

// Outcome is what fettle said of one subject of one trap.
type Outcome struct {
	Trap     string `json:"trap"`
	Subject  string `json:"subject"`
	Status   string `json:"status"`
	Severity string `json:"severity"`
	Summary  string `json:"summary"`
	Reason   string `json:"reason"`
}

// Match is a trap that fettle why sees in a text, with the lines that say so.
type Match struct {
	Trap  string   `json:"trap"`
	Lines []string `json:"lines"`
}

// document is fettle's JSON report, as far as the park reads it.
type document struct {
	Results []struct {
		Trap     string    `json:"trap"`
		Outcomes []Outcome `json:"outcomes"`
	} `json:"results"`
}

// read reads a report's outcomes, in an order that does not depend on the run.
func read(file string) ([]Outcome, error) {
	var d document
	if err := readJSON(file, &d); err != nil {
		return nil, err
	}
	var all []Outcome
	for _, r := range d.Results {
		for _, o := range r.Outcomes {
			o.Trap = r.Trap
			all = append(all, o)
		}
	}
	slices.SortFunc(all, func(a, b Outcome) int { return cmp.Or(cmp.Compare(a.Trap, b.Trap), cmp.Compare(a.Subject, b.Subject)) })
	return all, nil
}

// count counts the outcomes of a status.
func count(all []Outcome, status string) int {
	n := 0
	for _, o := range all {
		if o.Status == status {
			n++
		}
	}
	return n
}
