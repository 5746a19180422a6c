package keypath

import (
	"fmt"
	"io"
	"time"

	"fettle/internal/ui"
)

// progress is one line on a terminal, for what takes longer than a second.
type progress struct {
	out   io.Writer
	what  string
	begun time.Time
	last  time.Time
}

func (p *progress) to(done, total int64) {
	now := time.Now()
	if p.begun.IsZero() {
		p.begun = now
	}
	if total == 0 || now.Sub(p.begun) < time.Second || now.Sub(p.last) < 200*time.Millisecond || !ui.IsTerminal(p.out) {
		return
	}
	p.last = now
	fmt.Fprintf(p.out, "\r%s: %d %%\x1b[K", p.what, 100*done/total)
}

func (p *progress) end() {
	if !p.last.IsZero() {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}
