package report

import (
	_ "embed"

	"fettle/engine/trap"
)

//go:embed notasbefore.md
var notAsBefore trap.Lore

// NotAsBefore is what a start of the host took away: no trap that is checked, but channels and
// hubs name it like one. fettle after finds it.
var NotAsBefore = &trap.Trap{Lore: notAsBefore}
