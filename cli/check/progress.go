package check

import (
	"fmt"
	"sync"
	"time"

	"fettle/cli/app"
	"fettle/engine/trap"
	"fettle/internal/ui"
)

// showAfter is how long a run may take before it shows how far it is.
const showAfter = time.Second

// progress shows on a terminal how far a long run is, and what it waits for.
type progress struct {
	mu    sync.Mutex
	line  *ui.Progress
	traps []*trap.Trap
	done  int
	slow  bool
	timer *time.Timer
}

func newProgress(a *app.App, traps []*trap.Trap) *progress {
	p := &progress{line: ui.NewProgress(a.Stderr), traps: traps}
	p.timer = time.AfterFunc(showAfter, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.slow = true
		p.show()
	})
	return p
}

// next counts a trap whose result has come.
func (p *progress) next() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done++
	p.show()
}

func (p *progress) show() {
	if p.slow && p.done < len(p.traps) {
		p.line.Show(fmt.Sprintf("%d of %d checks done, waiting for %s", p.done, len(p.traps), p.traps[p.done].ID()))
	}
}

// end removes the line.
func (p *progress) end() {
	p.timer.Stop()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.slow {
		p.line.End()
	}
	p.slow = false
}
