package proof

import (
	"slices"

	"fettle/lab/sabotage"
	"fettle/remedy/step"
)

// Sabotages are plans that must be noticed.
var Sabotages = []sabotage.Sabotage{
	{Name: "fetched-alone", Scenario: "point-release", Spoil: sabotage.Without(func(c step.Command) bool { return slices.Contains(c.Do, "swap") })},
}
