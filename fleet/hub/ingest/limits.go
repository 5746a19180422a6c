package ingest

import (
	"strings"
	"time"
)

// An agent sends some messages an hour, and a backlog at one a second. Who
// sends more is not listened to; who goes on is shut out.
const (
	perSecond = 2.0
	burst     = 64.0
	floodAt   = 500 // messages over the limit within floodSpan
	floodSpan = time.Minute
	maxWhy    = 200 // bytes kept of what was wrong with a message
)

type allowance int

const (
	within allowance = iota
	over
	flood
)

// bucket is what an agent may send.
type bucket struct {
	level float64 // messages sent of late
	last  time.Time
	over  int // messages over the limit since
	since time.Time
}

// badness counts messages that no agent would send.
type badness struct {
	n    int
	last string
}

// limits hold agents that sent of late to their allowance.
type limits struct {
	buckets map[string]*bucket
	swept   time.Time
	bads    map[string]badness
}

func newLimits() *limits { return &limits{buckets: map[string]*bucket{}, bads: map[string]badness{}} }

func (l *limits) take(agent string, at time.Time) allowance {
	l.sweep(at)
	b := l.buckets[agent]
	if b == nil {
		b = &bucket{last: at}
		l.buckets[agent] = b
	}
	if at.After(b.last) {
		b.level, b.last = max(0, b.level-at.Sub(b.last).Seconds()*perSecond), at
	}
	if b.level < burst {
		b.level++
		return within
	}
	if at.Sub(b.since) > floodSpan {
		b.over, b.since = 0, at
	}
	if b.over++; b.over == floodAt {
		return flood
	}
	return over
}

// sweep forgets agents that have been quiet for long enough to have their whole
// allowance again.
func (l *limits) sweep(at time.Time) {
	if at.Sub(l.swept) < floodSpan {
		return
	}
	l.swept = at
	for agent, b := range l.buckets {
		if at.Sub(b.last) > floodSpan {
			delete(l.buckets, agent)
		}
	}
}

func (l *limits) bad(agent string, why error) {
	text := why.Error()
	if len(text) > maxWhy {
		text = strings.ToValidUTF8(text[:maxWhy], "")
	}
	l.bads[agent] = badness{l.bads[agent].n + 1, text}
}

// takeBad hands over what was counted.
func (l *limits) takeBad() map[string]badness {
	out := l.bads
	l.bads = map[string]badness{}
	return out
}
