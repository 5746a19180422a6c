package means

import (
	"net"
	"testing"
	"time"
)

// Dial connects to a server that the test has started and that may not listen yet: a socket's file is there from
// bind(2) on, and refuses until listen(2). It fails the test after Patience.
func Dial(t testing.TB, network, addr string) net.Conn {
	t.Helper()
	for end := time.Now().Add(Patience); ; time.Sleep(20 * time.Millisecond) {
		c, err := net.Dial(network, addr)
		if err == nil {
			return c
		}
		if time.Now().After(end) {
			t.Fatalf("nobody answers: %v", err)
		}
	}
}
