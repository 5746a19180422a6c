package proof

import (
	"fettle/engine/remedy/step"
	"fettle/lab/sabotage"
	"fettle/traps/mdadmbadblocks/steps"
)

// Sabotages are plans that must be noticed.
var Sabotages = []sabotage.Sabotage{
	{Name: "member-left-out", Scenario: "raid1", Spoil: sabotage.Also(step.Command{
		Do: []string{
			"/usr/sbin/mdadm",
			"/dev/md0",
			"--fail",
			"/dev/loop1",
		}, Undo: []string{"/usr/sbin/mdadm", "/dev/md0", "--remove", "/dev/loop1"}})},
	{Name: "bitmap-left", Scenario: "no-bitmap", Spoil: sabotage.Without(func(b steps.Bitmap) bool { return !b.Internal })},
}
