package proof

import (
	"bytes"
	"strings"

	"fettle/lab/sabotage"
	"fettle/remedy"
)

// Sabotages are plans that must be noticed.
var Sabotages = []sabotage.Sabotage{
	{Name: "accept-ra-0", Scenario: "forwarding-deafens", Spoil: func(steps []remedy.Step) ([]remedy.Step, error) {
		steps, err := sabotage.Replaced(func(s remedy.Sysctl) ([]remedy.Step, bool) {
			return []remedy.Step{remedy.Sysctl{Key: s.Key, Value: "0"}}, strings.HasSuffix(s.Key, "/accept_ra") || strings.HasSuffix(s.Key, ".accept_ra")
		})(steps)
		if err != nil {
			return nil, err
		}
		return sabotage.Replaced(func(f remedy.File) ([]remedy.Step, bool) {
			f.Content = bytes.ReplaceAll(f.Content, []byte("accept_ra=2"), []byte("accept_ra=0"))
			f.Content = bytes.ReplaceAll(f.Content, []byte("accept_ra = 2"), []byte("accept_ra = 0"))
			return []remedy.Step{f}, true
		})(steps)
	}},
	{Name: "only-kept", Scenario: "forwarding-deafens", Spoil: sabotage.Without(func(remedy.Sysctl) bool { return true })},
	{Name: "only-now", Scenario: "forwarding-deafens", Spoil: sabotage.Without(func(remedy.File) bool { return true })},
}
