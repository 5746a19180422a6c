package proof

import (
	"fettle/engine/remedy/step"
	"fettle/lab/sabotage"
)

// Sabotages are plans that must be noticed.
var Sabotages = []sabotage.Sabotage{
	{Name: "not-started", Scenario: "cause-gone", Spoil: sabotage.Replaced(func(step.Unit) ([]step.Step, bool) {
		return []step.Step{step.Unit{Act: "daemon-reload"}}, true // systemd reads its files, and starts nothing
	})},
}
