package proof

import (
	"fettle/lab/sabotage"
	"fettle/remedy"
)

// Sabotages are plans that must be noticed.
var Sabotages = []sabotage.Sabotage{
	{Name: "stopped", Scenario: "service-runs-replaced-program", Spoil: acting("stop")},
	{Name: "writer-stopped", Scenario: "service-holds-deleted-log", Spoil: acting("stop")},
}

// acting does something else than a restart.
func acting(act string) func([]remedy.Step) ([]remedy.Step, error) {
	return sabotage.Replaced(func(u remedy.Unit) ([]remedy.Step, bool) {
		return []remedy.Step{remedy.Unit{Name: u.Name, Act: act}}, u.Act == "restart"
	})
}
