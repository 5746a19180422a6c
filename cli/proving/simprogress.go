package proving

import (
	"fmt"
	"sync"
	"time"

	"fettle/internal/ui"
)

// simProgress tells on a terminal how far a simulation is.
type simProgress struct {
	line  *ui.Progress
	mu    sync.Mutex
	start time.Time
	last  time.Time
}

func (a program) newSimProgress() *simProgress {
	return &simProgress{line: ui.NewProgress(a.Stderr), start: time.Now()}
}

func (p *simProgress) at(done, all int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Since(p.last) < 200*time.Millisecond {
		return
	}
	p.last = time.Now()
	left := time.Duration(float64(time.Since(p.start)) * float64(all-done) / float64(max(done, 1)))
	p.line.Show(fmt.Sprintf("simulating: %d of %d million requests, %v left", done/1e6, all/1e6, left.Round(time.Second)))
}

func (p *simProgress) clear() {
	if !p.last.IsZero() {
		p.line.End()
	}
}
