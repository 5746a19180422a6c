package proof

import (
	"strings"

	"fettle/engine/remedy/step"
	"fettle/lab/sabotage"
)

// Sabotages are plans that must be noticed.
var Sabotages = []sabotage.Sabotage{
	{Name: "another-value", Scenario: "by-hand", Spoil: sabotage.Replaced(func(s step.Sysctl) ([]step.Step, bool) {
		s.Value = "12"
		return []step.Step{s}, true
	})},
	{Name: "first-word-alone", Scenario: "several-words", Spoil: sabotage.Replaced(func(s step.Sysctl) ([]step.Step, bool) {
		s.Value, _, _ = strings.Cut(s.Value, " ")
		return []step.Step{s}, true
	})},
}
