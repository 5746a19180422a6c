package proof

import (
	"fettle/engine/remedy/step"
	"fettle/lab/sabotage"
)

// Sabotages are plans that must be noticed.
var Sabotages = []sabotage.Sabotage{
	{Name: "sshd-not-reloaded", Scenario: "silent-resolver", Alone: true, // it is measured
		Spoil: sabotage.Without(func(u step.Unit) bool { return u.Act == "reload" })},
}
