package remedy

import (
	"fettle/remedy/machine"
	"os"
)

// What steps, journals and their users call by these names.
type (
	Machine = machine.Machine
	Image   = machine.Image
	Linux   = machine.Linux
	Link    = machine.Link
	Output  = machine.Output
	Changed = machine.Changed
)

// NewMachine is the running machine.
func NewMachine() Machine { return Linux{BootIDFile: os.Getenv("FETTLE_BOOT_ID_FILE")} }

const (
	Absent  = machine.Absent
	Regular = machine.Regular
	Folder  = machine.Folder
	Other   = machine.Other
)
