package keypath

import (
	"fmt"
	"time"

	"fettle/internal/ui"
)

// progress is one line on a terminal, for what takes longer than a second.
type progress struct {
	line  *ui.Progress
	what  string
	begun time.Time
	last  time.Time
}

func (p *progress) to(done, total int64) {
	now := time.Now()
	if p.begun.IsZero() {
		p.begun = now
	}
	if total == 0 || now.Sub(p.begun) < time.Second || now.Sub(p.last) < 200*time.Millisecond {
		return
	}
	p.last = now
	p.line.Show(fmt.Sprintf("%s: %d %%", p.what, 100*done/total))
}

func (p *progress) end() {
	if !p.last.IsZero() {
		p.line.End()
	}
}
