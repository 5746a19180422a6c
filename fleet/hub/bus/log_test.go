package bus

import (
	"slices"
	"testing"
	"time"

	"fettle/internal/folded"
)

// TestLog: what the server warns of for each connection is logged once a minute.
func TestLog(t *testing.T) {
	var got []string
	at := time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)
	l := &logger{Log: folded.Log{To: func(s string) { got = append(got, s) }, Now: func() time.Time { return at }}}
	for range 3 {
		l.Warnf(`127.0.0.1:1 - cid:7 - "v1:go:emulated" - Readloop processing time: %v`, time.Second)
		l.Warnf(`127.0.0.1:2 - cid:8 - "v1:go:emulated" - Readloop processing time: %v`, 2*time.Second)
		l.Warnf("%s - %s%s", "127.0.0.1:1 - cid:7", "Slow Consumer Detected", "")
		l.Errorf("JetStream resource limits exceeded")
	}
	at = at.Add(folded.Each)
	l.Warnf(`127.0.0.1:3 - cid:9 - Readloop processing time: %v`, 3*time.Second)
	want := []string{
		`nats: 127.0.0.1:1 - cid:7 - ` +
			`"v1:go:emulated" - Readloop processing time: 1s`, "nats: 127.0.0.1:1 - cid:7 " +
			"- Slow Consumer Detected", "nats: JetStream resource limits exceeded",
		"nats: 127.0.0.1:3 - cid:9 - Readloop processing time: 3s (and 5 like this in between)",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
