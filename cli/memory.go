package cli

import (
	"runtime"
	"runtime/debug"
)

// delayFirstCollection puts the first garbage collection off until the heap is 12 MiB
// instead of 4: most runs end before that, and check with all traps needs a
// third less time. From then on memory is collected as always.
func delayFirstCollection() {
	usual := debug.SetGCPercent(300)
	// The finalizer runs after the first collection. Smaller objects share a
	// block, and with it their life (runtime.SetFinalizer).
	runtime.SetFinalizer(new([16]byte), func(*[16]byte) { debug.SetGCPercent(usual) })
}
