package proof

import (
	"fettle/lab/sabotage"
	"fettle/remedy"
)

// Sabotages are plans that must be noticed.
var Sabotages = []sabotage.Sabotage{
	{Name: "not-reloaded", Scenario: "rule-not-applied", Spoil: sabotage.Replaced(func(c remedy.Command) ([]remedy.Step, bool) {
		return nil, c.Do[1] == "trigger" // udev knows the rule, and applies it to nothing
	})},
}
