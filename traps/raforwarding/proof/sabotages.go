package proof

import (
	"bytes"
	"strings"

	"fettle/engine/remedy/step"
	"fettle/lab/sabotage"
)

// Sabotages are plans that must be noticed.
var Sabotages = []sabotage.Sabotage{
	{Name: "accept-ra-0", Scenario: "forwarding-deafens", Spoil: func(steps []step.Step) ([]step.Step, error) {
		steps, err := sabotage.Replaced(func(s step.Sysctl) ([]step.Step, bool) {
			return []step.Step{step.Sysctl{Key: s.Key, Value: "0"}}, strings.HasSuffix(s.Key, "/accept_ra") || strings.HasSuffix(s.Key, ".accept_ra")
		})(steps)
		if err != nil {
			return nil, err
		}
		return sabotage.Replaced(func(f step.File) ([]step.Step, bool) {
			f.Content = bytes.ReplaceAll(f.Content, []byte("accept_ra=2"), []byte("accept_ra=0"))
			f.Content = bytes.ReplaceAll(f.Content, []byte("accept_ra = 2"), []byte("accept_ra = 0"))
			return []step.Step{f}, true
		})(steps)
	}},
	{Name: "only-kept", Scenario: "forwarding-deafens", Spoil: sabotage.Without(func(step.Sysctl) bool { return true })},
	{Name: "only-now", Scenario: "forwarding-deafens", Spoil: sabotage.Without(func(step.File) bool { return true })},
}
