package proof

import (
	"fettle/engine/remedy/step"
	"fettle/lab/sabotage"
)

// Sabotages are plans that must be noticed.
var Sabotages = []sabotage.Sabotage{
	{Name: "switched-off", Scenario: "slow-scan", Spoil: sabotage.Also(step.Sysfs{Path: dir + "run", Value: "0"})},
	{Name: "not-kept", Scenario: "slow-scan", Spoil: sabotage.Without(func(step.File) bool { return true })},
	{Name: "pages-given-back", Scenario: "slow-scan", Spoil: sabotage.Also(step.Sysfs{Path: dir + "run", Value: "2"})},
}
