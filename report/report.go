// Package report writes what checks found: as text for people, and in the
// formats that other programs read.
package report

import (
	"time"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/fact/machine"
)

// Meta is what a report says of the run itself.
type Meta struct {
	Host     string        `json:"host"`
	Kind     host.Kind     `json:"kind"`
	Identity host.Identity `json:"identity"`
	Machine  machine.Facts `json:"machine"`
	Version  string        `json:"version"` // fettle's
	// Warning says how the checks were less confined than they should be.
	Warning string    `json:"warning,omitempty"`
	Started time.Time `json:"started"`
}

// Writer writes one run. Begin comes first, Result once per trap in the
// list's order as results settle, End last; a format that cannot stream
// writes everything in End.
type Writer interface {
	Begin(m Meta, traps []*trap.Trap) error
	Result(r trap.Result) error
	End(took time.Duration) error
}
