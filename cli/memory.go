package cli

import (
	"runtime"
	"runtime/debug"
)

// collectLate puts the first garbage collection off until the heap is 12 MiB
// instead of 4: most runs end before that, and check with all traps needs a
// third less time. From then on memory is collected as always.
func collectLate() {
	usual := debug.SetGCPercent(300)
	type sentinel struct{ self *sentinel }
	runtime.SetFinalizer(&sentinel{}, func(*sentinel) { debug.SetGCPercent(usual) }) // runs after the first collection
}
