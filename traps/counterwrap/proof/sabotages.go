package proof

import (
	"bytes"

	"fettle/engine/remedy/step"
	"fettle/lab/sabotage"
)

// Sabotages are plans that must be noticed.
var Sabotages = []sabotage.Sabotage{
	{Name: "target-left", Scenario: "mrtg-version-1", Spoil: sabotage.Replaced(func(f step.File) ([]step.Step, bool) {
		f.Content = bytes.Replace(f.Content, []byte(":::::2"), nil, 1)
		return []step.Step{f}, true
	})},
	{Name: "last-line-lost", Scenario: "munin-version-1", Spoil: sabotage.Replaced(func(f step.File) ([]step.Step, bool) {
		f.Content = f.Content[:bytes.LastIndexByte(f.Content, '\n')+1]
		return []step.Step{f}, true
	})},
}
