package means

import (
	"testing"
	"time"
)

// Patience is after how long a test calls something hung, or stuck in what it
// should not have waited for: no test asserts less, for machines that run
// tests are slow now and then. What must not be waited for takes longer.
const Patience = 40 * time.Second

// Ends has a test end within Patience, also where it waits for a lock, which no context
// bounds: else all tests of the package end, with the name of the one and where it waits.
func Ends(t testing.TB) {
	over := time.AfterFunc(Patience, func() { panic(t.Name() + " hangs: it has not ended after " + Patience.String()) })
	t.Cleanup(func() { over.Stop() })
}
