// Package traps is the one list of all traps. A new trap is a folder here and
// a line below.
package traps

import (
	"fettle/trap"
	"fettle/traps/bridgemtu"
	"fettle/traps/deletedopenfiles"
	"fettle/traps/journalaccess"
	"fettle/traps/ksmscanrate"
	"fettle/traps/mdadmbadblocks"
	"fettle/traps/raforwarding"
)

// All lists the traps in the order in which check shows them.
func All() []*trap.Trap {
	return []*trap.Trap{
		&deletedopenfiles.Trap,
		&ksmscanrate.Trap,
		&bridgemtu.Trap,
		&raforwarding.Trap,
		&journalaccess.Trap,
		&mdadmbadblocks.Trap,
	}
}
