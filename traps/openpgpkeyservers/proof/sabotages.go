package proof

import (
	"fettle/engine/remedy/step"
	"fettle/lab/sabotage"
)

// Sabotages are plans that must be noticed.
var Sabotages = []sabotage.Sabotage{
	{Name: "asks-nobody", Scenario: "dead-keyserver", Spoil: sabotage.Replaced(func(f step.File) ([]step.Step, bool) {
		f.Content = []byte("keyserver hkp://127.0.0.1:9\n") // a name that lives, where nobody answers
		return []step.Step{f}, true
	})},
}
