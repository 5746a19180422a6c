package means

import (
	"sync/atomic"
	"testing"

	"fettle/internal/asuser"
)

// Nobody is a user without any rights, whom every host has; Staff is a group.
const (
	Nobody = 65534
	Staff  = 50
)

// Attacker repeats an act until stop, with the rights to files of Nobody as a
// member of Staff: whatever he may not do fails. Stop tells how often it ran.
func Attacker(t *testing.T, act func()) (stop func() int) {
	t.Helper()
	Root(t)
	var over atomic.Bool
	rounds := make(chan int, 1)
	go func() {
		n := 0
		err := asuser.Do(Nobody, Nobody, []uint32{Staff}, func() error {
			for ; !over.Load(); n++ {
				act()
			}
			return nil
		})
		if err != nil {
			t.Errorf("becoming the attacker: %v", err)
		}
		rounds <- n
	}()
	stopped := false
	stop = func() int {
		if stopped {
			return 0
		}
		stopped = true
		over.Store(true)
		return <-rounds
	}
	t.Cleanup(func() { stop() })
	return stop
}
