package proving

import (
	"fmt"
	"sync"
	"time"

	"fettle/internal/ui"
)

// simProgress tells on a terminal how far a simulation is.
type simProgress struct {
	a     program
	mu    sync.Mutex
	start time.Time
	last  time.Time
	on    bool
}

func (a program) newSimProgress() *simProgress {
	return &simProgress{a: a, start: time.Now(), on: ui.IsTerminal(a.Stderr)}
}

func (p *simProgress) at(done, all int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.on || time.Since(p.last) < 200*time.Millisecond {
		return
	}
	p.last = time.Now()
	left := time.Duration(float64(time.Since(p.start)) * float64(all-done) / float64(max(done, 1)))
	line := fmt.Sprintf("simulating: %d of %d million requests, %v left", done/1e6, all/1e6, left.Round(time.Second))
	fmt.Fprintf(p.a.Stderr, "\r%s\x1b[K", ui.Cut(line, ui.Width(p.a.Stderr)-1))
}

func (p *simProgress) clear() {
	if p.on && !p.last.IsZero() {
		fmt.Fprint(p.a.Stderr, "\r\x1b[K")
	}
}
