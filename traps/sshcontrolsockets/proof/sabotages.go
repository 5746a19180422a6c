package proof

import (
	"fettle/lab/sabotage"
	"fettle/remedy"
)

// Sabotages are plans that must be noticed.
var Sabotages = []sabotage.Sabotage{
	{Name: "configuration-stays-root's", Scenario: "login-for-each-command", Spoil: sabotage.Without(func(p remedy.Perm) bool { return p.UID > 0 })},
}
