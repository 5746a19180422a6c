// Package journalaccess finds persistent journals that the members of adm,
// wheel or systemd-journal cannot read, or will not be able to.
package journalaccess

import (
	_ "embed"

	"fettle/engine/trap"
)

//go:embed lore.md
var lore string

// Trap is journal-access.
var Trap = trap.Trap{
	Lore:  trap.Lore(lore),
	Cost:  trap.Instant,
	Check: check,
	Plan:  plan,
}
