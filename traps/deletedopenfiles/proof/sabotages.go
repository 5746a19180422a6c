package proof

import (
	"fettle/engine/remedy/step"
	"fettle/lab/sabotage"
	"fettle/traps/deletedopenfiles/steps"
)

// Sabotages are plans that must be noticed.
var Sabotages = []sabotage.Sabotage{
	{Name: "stopped", Scenario: "service-runs-replaced-program", Spoil: acting("stop")},
	{Name: "not-copied", Scenario: "service-holds-deleted-log", Spoil: sabotage.Without(func(steps.CopyOut) bool { return true })},
	{Name: "writer-stopped", Scenario: "service-holds-deleted-log", Spoil: acting("stop")},
}

// acting does something else than a restart.
func acting(act string) func([]step.Step) ([]step.Step, error) {
	return sabotage.Replaced(func(u step.Unit) ([]step.Step, bool) {
		return []step.Step{step.Unit{Name: u.Name, Act: act}}, u.Act == "restart"
	})
}
