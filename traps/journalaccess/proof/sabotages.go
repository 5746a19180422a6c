package proof

import (
	"strings"

	"fettle/engine/remedy/step"
	"fettle/lab/sabotage"
)

// Sabotages are plans that must be noticed.
var Sabotages = []sabotage.Sabotage{
	{Name: "world-readable", Scenario: "made-by-mkdir", Spoil: opened(0o005)},
	{Name: "world-writable", Scenario: "made-by-mkdir", Spoil: opened(0o007)},
	{Name: "folder-alone", Scenario: "made-by-mkdir", Spoil: sabotage.Without(func(a step.ACL) bool { return a.Path != top })},
}

// opened gives everybody these rights to all that is changed: by its mode, and
// by the entry "other" of its ACL.
func opened(bits int) func([]step.Step) ([]step.Step, error) {
	rights := []byte("---")
	for i, r := range "rwx" {
		if bits&(4>>i) != 0 {
			rights[i] = byte(r)
		}
	}
	return func(steps []step.Step) ([]step.Step, error) {
		steps, err := sabotage.Replaced(func(p step.Perm) ([]step.Step, bool) {
			p.Mode |= bits
			return []step.Step{p}, true
		})(steps)
		if err != nil {
			return nil, err
		}
		return sabotage.Replaced(func(a step.ACL) ([]step.Step, bool) {
			a.Access = strings.Replace(a.Access, "other::---", "other::"+string(rights), 1)
			return []step.Step{a}, true
		})(steps)
	}
}
