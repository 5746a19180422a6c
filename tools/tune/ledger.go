package tune

import "time"

// ledger is ksmd's CPU time over the last minute.
type ledger struct {
	at  []time.Time
	cpu []time.Duration
}

// add enters a reading. Those that a minute does not need are dropped: the
// last one before it stays.
func (l *ledger) add(at time.Time, cpu time.Duration) {
	l.at, l.cpu = append(l.at, at), append(l.cpu, cpu)
	n := 0
	for n+1 < len(l.at) && at.Sub(l.at[n+1]) >= window {
		n++
	}
	if n > 0 {
		l.at = append(l.at[:0], l.at[n:]...)
		l.cpu = append(l.cpu[:0], l.cpu[n:]...)
	}
}

// lastMinute is the CPU time since the last reading that is at least a minute
// old.
func (l *ledger) lastMinute() time.Duration {
	if len(l.at) == 0 {
		return 0
	}
	return l.cpu[len(l.cpu)-1] - l.cpu[0]
}
