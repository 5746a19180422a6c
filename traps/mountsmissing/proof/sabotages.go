package proof

import (
	"fettle/engine/remedy/step"
	"fettle/lab/sabotage"
)

// Sabotages are plans that must be noticed.
var Sabotages = []sabotage.Sabotage{
	{Name: "not-mounted", Scenario: "never-mounted", Spoil: sabotage.Replaced(func(step.Unit) ([]step.Step, bool) {
		return []step.Step{step.Unit{Act: "daemon-reload"}}, true // systemd reads its files, and mounts nothing
	})},
	{Name: "fstab-not-read-again", Scenario: "added-since", Alone: true, // systemd has read it by then, once the story was played
		Spoil: sabotage.Without(func(u step.Unit) bool { return u.Act == "daemon-reload" })},
	{Name: "not-read-again", Scenario: "edited-since", Alone: true,
		Spoil: sabotage.Without(func(u step.Unit) bool { return u.Act == "daemon-reload" })},
}
