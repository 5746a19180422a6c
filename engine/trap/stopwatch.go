package trap

import (
	"sync"
	"time"
)

// stopwatch runs out after a limit, and stands still while a check waits for a
// table: on a busy machine that is not the check's own time.
type stopwatch struct {
	out chan struct{} // closed when it has run out

	mu      sync.Mutex
	left    time.Duration
	since   time.Time // it has been running since
	waiting int       // how many wait
	timer   *time.Timer
}

func newStopwatch(limit time.Duration) *stopwatch {
	w := &stopwatch{out: make(chan struct{}), left: limit, since: time.Now()}
	w.timer = time.AfterFunc(limit, sync.OnceFunc(func() { close(w.out) }))
	return w
}

// wait stops it until the function that it returns is called.
func (w *stopwatch) wait() (over func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.waiting++; w.waiting == 1 && w.timer.Stop() {
		w.left -= time.Since(w.since)
	}
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.waiting--; w.waiting == 0 {
			w.since = time.Now()
			w.timer.Reset(max(w.left, 0))
		}
	}
}
