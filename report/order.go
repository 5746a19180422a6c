package report

import (
	"cmp"
	"slices"

	"fettle/engine/trap"
	"fettle/internal/sorted"
)

// rank is where an outcome is in a report: findings that count, the
// most severe first, then those that do not, then what is not known, then the rest.
func rank(o *trap.Outcome) int {
	switch {
	case o.Status == trap.Found && !o.Hidden():
		return 10 + int(o.Severity)
	case o.Status == trap.Found:
		return 5 + int(o.Severity)
	case o.Status == trap.Clear:
		return 1
	case o.Status == trap.NotApplicable:
		return 0
	}
	return 4 // unknown, or what a newer fettle may say
}

// worstFirst orders results, and the outcomes of each, by rank; what is alike
// stays in the order in which it came.
func worstFirst(results []trap.Result) []trap.Result {
	out := slices.Clone(results)
	worst := func(r trap.Result) int {
		most := -1
		for i := range r.Outcomes {
			most = max(most, rank(&r.Outcomes[i]))
		}
		return most
	}
	for i := range out {
		out[i].Outcomes = slices.Clone(out[i].Outcomes)
		sorted.By(out[i].Outcomes, func(a, b trap.Outcome) int { return cmp.Compare(rank(&b), rank(&a)) })
	}
	sorted.By(out, func(a, b trap.Result) int { return cmp.Compare(worst(b), worst(a)) })
	return out
}

// outcomesWorstFirst are the outcomes of results, each trap's together among those of
// the same rank.
func outcomesWorstFirst(results []trap.Result) []*trap.Outcome {
	var out []*trap.Outcome
	for i := range results {
		for k := range results[i].Outcomes {
			out = append(out, &results[i].Outcomes[k])
		}
	}
	sorted.By(out, func(a, b *trap.Outcome) int { return cmp.Compare(rank(b), rank(a)) })
	return out
}
