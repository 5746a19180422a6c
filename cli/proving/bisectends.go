package proving

import (
	"cmp"
	"context"
	"slices"

	"fettle/cli/app"
	"fettle/tools/bisect"
)

// ends fills in the older and the newer end and what they are called. --good and
// --bad may come in either order: whoever looks for a fix has the bad one first.
// With the ends, the levels of --levels change places.
func (f *bisectFlags) ends(ctx context.Context) (bisect.Terms, error) {
	none := bisect.Terms{}
	named, judged := f.old != "" || f.new != "", f.good != "" || f.bad != ""
	switch {
	case named && judged:
		return none, app.Usagef("the ends are --old and --new, or --good and --bad: use one pair")
	case named && f.old == "", named && f.new == "", judged && f.good == "", judged && f.bad == "", !named && !judged:
		return none, app.Usagef("%s is missing: a hunt needs both ends (--old and --new, or --good and --bad)", f.missingEnd())
	case f.run == "" && f.measure == "":
		return none, app.Usagef("--run is missing: a hunt needs --run or --measure")
	case (f.termOld != "" || f.termNew != "") && (f.termGood != "" || f.termBad != ""):
		return none, app.Usagef("--term-old and --term-new, or --term-good and --term-bad: use one pair")
	}
	if named {
		return bisect.Terms{Good: cmp.Or(f.termOld, f.termGood, "old"), Bad: cmp.Or(f.termNew, f.termBad, "new")}, nil
	}
	good, bad := cmp.Or(f.termGood, "good"), cmp.Or(f.termBad, "bad")
	if bisect.Older(ctx, f.repo, f.good, f.bad) && !bisect.Older(ctx, f.repo, f.bad, f.good) {
		f.old, f.new = f.bad, f.good
		slices.Reverse(f.levels)
		return bisect.Terms{Good: cmp.Or(f.termOld, bad), Bad: cmp.Or(f.termNew, good)}, nil
	}
	f.old, f.new = f.good, f.bad
	return bisect.Terms{Good: cmp.Or(f.termOld, good), Bad: cmp.Or(f.termNew, bad)}, nil
}

func (f *bisectFlags) missingEnd() string {
	switch {
	case f.old == "" && f.new != "":
		return "--old"
	case f.new == "" && f.old != "":
		return "--new"
	case f.bad == "" && f.good != "":
		return "--bad"
	}
	return "--good"
}
