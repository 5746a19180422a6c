package proof

import (
	"fettle/engine/remedy/step"
	"fettle/lab/sabotage"
)

// Sabotages are plans that must be noticed.
var Sabotages = []sabotage.Sabotage{
	{
		Name:     "configuration-stays-root's",
		Scenario: "login-for-each-command",
		Spoil:    sabotage.Also(step.Perm{Path: "/home/ana/.ssh/config", Mode: 0o600, UID: 0, GID: 0}),
	},
}
