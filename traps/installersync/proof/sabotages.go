package proof

import (
	"slices"

	"fettle/engine/remedy/step"
	"fettle/lab/sabotage"
)

// Sabotages are plans that must be noticed.
var Sabotages = []sabotage.Sabotage{
	{Name: "database-alone", Scenario: "left-behind", Spoil: sabotage.Replaced(func(c step.Command) ([]step.Step, bool) {
		if !slices.Contains(c.Do, "--rename") {
			return nil, false
		}
		c.Do = slices.Clone(c.Do)
		c.Do[slices.Index(c.Do, "--rename")] = "--no-rename" // dpkg-divert is content; there is no dpkg
		c.Probe = nil
		return []step.Step{c}, true
	})},
}
