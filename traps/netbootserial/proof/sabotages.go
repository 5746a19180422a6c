package proof

import (
	"bytes"

	"fettle/engine/remedy/step"
	"fettle/lab/sabotage"
)

// Sabotages are plans that must be noticed.
var Sabotages = []sabotage.Sabotage{
	{Name: "another-port", Scenario: "bios", Spoil: sabotage.Replaced(func(f step.File) ([]step.Step, bool) {
		for from, to := range map[string]string{"ttyS1": "ttyS0", "serial 1 ": "serial 0 ", "--unit=1": "--unit=0"} {
			f.Content = bytes.ReplaceAll(f.Content, []byte(from), []byte(to)) // the check is content: all agree
		}
		return []step.Step{f}, true
	})},
}
