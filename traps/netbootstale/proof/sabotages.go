package proof

import (
	"slices"

	"fettle/engine/remedy/step"
	"fettle/lab/sabotage"
)

// Sabotages are plans that must be noticed.
var Sabotages = []sabotage.Sabotage{
	{
		Name:     "fetched-alone",
		Scenario: "point-release",
		Spoil:    sabotage.Without(func(c step.Command) bool { return slices.Contains(c.Do, "swap") }),
	},
}
