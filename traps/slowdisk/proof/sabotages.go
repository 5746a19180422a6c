package proof

import (
	"slices"

	"fettle/engine/remedy/step"
	"fettle/lab/sabotage"
)

// Sabotages: the array is measured, and nothing is taken out; the quick half of a mirror is
// taken out, not the slow one.
var Sabotages = []sabotage.Sabotage{
	{Name: "measured-alone", Scenario: "mirror", Spoil: sabotage.Without(func(step.Command) bool { return true })},
	{Name: "the-other-half", Scenario: "mirror", Alone: true, Spoil: sabotage.Replaced(func(s step.Command) ([]step.Step, bool) {
		s.Do, s.Undo = other(s.Do), other(s.Undo)
		return []step.Step{s}, true
	})},
}

func other(argv []string) []string {
	argv = slices.Clone(argv)
	for i, a := range argv {
		if a == "/dev/dm-1" {
			argv[i] = "/dev/dm-0"
		}
	}
	return argv
}
