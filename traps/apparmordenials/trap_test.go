package apparmordenials

import (
	"testing"

	"fettle/engine/trap/traptest"
	"fettle/host"
)

func TestGolden(t *testing.T) { traptest.Golden(t, &Trap) }

// TestTwice: where the kernel prints its audit lines and journald reads them too, each counts once.
func TestTwice(t *testing.T) {
	const line = `audit: type=1400 audit(1.1:3): apparmor="DENIED" operation="open" profile="/usr/bin/a" name="/srv/x" comm="x"`
	by := func(who, text string) host.Message { return host.Message{By: who, Text: text, Count: 2} }
	for name, c := range map[string]struct {
		messages []host.Message
		count    int
	}{
		"both":             {[]host.Message{by("kernel", line), by("audit", line)}, 2},
		"journald alone":   {[]host.Message{by("audit", line), by("audit", line)}, 4},
		"among others":     {[]host.Message{by("kernel", "eth0: link up"), by("audit", line)}, 2},
		"both, and others": {[]host.Message{by("audit", line), by("kernel", "eth0: link up"), by("kernel", line)}, 2},
	} {
		if got := profiles(host.Log{Messages: c.messages}); len(got) != 1 || got[0].count != c.count {
			t.Errorf("%s: %+v, want %d", name, got, c.count)
		}
	}
}
