package means

import (
	"os"
	"testing"
	"time"
)

// Patience is after how long a test calls something hung, or stuck in what it
// should not have waited for: no test asserts less, for machines that run
// tests are slow now and then. What must not be waited for takes longer. FETTLE_PATIENCE
// is another one: there is less where mistakes are put in, many of which tests wait for.
var Patience = patience(os.Getenv("FETTLE_PATIENCE"))

func patience(given string) time.Duration {
	if d, err := time.ParseDuration(given); err == nil && d > 0 {
		return d
	}
	return 40 * time.Second
}

// Ends has a test end within Patience, also where it waits for a lock, which no context
// bounds: else all tests of the package end, with the name of the one and where it waits.
func Ends(t testing.TB) {
	over := time.AfterFunc(Patience, func() { panic(t.Name() + " hangs: it has not ended after " + Patience.String()) })
	t.Cleanup(func() { over.Stop() })
}

// Within fails the test where an act goes on for longer than Patience: it waits for what does not come.
func Within(t testing.TB, what string, act func()) {
	t.Helper()
	ended := make(chan struct{})
	go func() { defer close(ended); act() }()
	select {
	case <-ended:
	case <-time.After(Patience):
		t.Fatalf("%s: it has not ended after %s", what, Patience)
	}
}
