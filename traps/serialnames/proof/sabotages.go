package proof

import (
	"fettle/engine/remedy/step"
	"fettle/lab/sabotage"
)

// Sabotages are plans that must be noticed.
var Sabotages = []sabotage.Sabotage{
	{Name: "not-reloaded", Scenario: "rule-not-applied", Spoil: sabotage.Replaced(func(c step.Command) ([]step.Step, bool) {
		return nil, c.Do[1] == "trigger" // udev knows the rule, and applies it to nothing
	})},
}
