package proof

import (
	"fettle/engine/remedy/step"
	"fettle/lab/sabotage"
)

// Sabotages are plans that must be noticed.
var Sabotages = []sabotage.Sabotage{
	{Name: "ports-first", Scenario: "port-raises-mtu", Alone: true, Spoil: sabotage.Made(portsFirst)},
	{Name: "bridge-left-down", Scenario: "port-raises-mtu", Spoil: sabotage.Also(step.Command{
		Do: []string{"/usr/sbin/ip", "link", "set", "br0", "down"}, Undo: []string{"/usr/sbin/ip", "link", "set", "br0", "up"}})},
	{Name: "port-left-as-it-is", Scenario: "port-raises-mtu", Spoil: sabotage.Without(func(l step.LinkMTU) bool { return !l.Bridge })},
}
