package proof

import (
	"fettle/lab/sabotage"
	"fettle/remedy"
)

// Sabotages are plans that must be noticed.
var Sabotages = []sabotage.Sabotage{
	{Name: "not-started", Scenario: "cause-gone", Spoil: sabotage.Replaced(func(remedy.Unit) ([]remedy.Step, bool) {
		return []remedy.Step{remedy.Unit{Act: "daemon-reload"}}, true // systemd reads its files, and starts nothing
	})},
}
