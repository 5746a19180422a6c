package journal

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"fettle/host"
	"fettle/host/hosttest"
)

// TestUnread: what nobody could look at is told with what would help.
func TestUnread(t *testing.T) {
	const table = "-- table/journal --\n"
	for text, want := range map[string]struct {
		says string
		is   error
	}{
		table + `{"kernel":{"source":"dmesg","lines":1},"manager":{"source":"dmesg"},` +
			`"failed":{"source":"dmesg"},"recent":{"source":"dmesg"}}`: {},
		table + "{}":                   {"the log of this boot: capture the host again, or have sos collect it", host.ErrNotCollected},
		"-- denied/table/journal --\n": {"the log of this boot: run it as root: ", host.ErrDenied},
		"-- uncollected/table/journal --\n": {"the log of this boot: capture the host again, or have sos collect it",
			host.ErrNotCollected},
		table + `{"kernel":{"missing":"broken"},"manager":{"missing":"broken"},"failed":{"missing":"broken"},"recent":{"missing":"broken"}}`: {
			"the log of this boot: broken", nil},
	} {
		for name, read := range map[string]func(context.Context, *host.Host) (host.Log, error){"kernel": Kernel, "manager": Manager,
			"failed": Failed, "recent": Recent} {
			l, err := read(t.Context(), hosttest.New(t, text+"\n"))
			if want.says == "" && (err != nil || l.Source != "dmesg" || l.Lines > 0 != (name == "kernel")) ||
				want.says != "" && (err == nil || !strings.HasPrefix(err.Error(), want.says) || want.is != nil && !errors.Is(err, want.is)) {
				t.Errorf("%s of %s: %+v, %v; want %s", name, text, l, err, want.says)
			}
		}
	}
	if err := unread(host.ErrNotRunning); err != host.ErrNotRunning {
		t.Error(err)
	}
}

func TestLooked(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for want, l := range map[string]host.Log{
		"in the log of this boot, which is empty":             {Lines: 1, Until: now},
		"since the boot 1 min 1 s ago":                        {Lines: 1, Since: now.Add(-61 * time.Second), Until: now},
		"since the boot 1 min ago":                            {Lines: 1, Since: now.Add(-2 * time.Second), Until: now},
		"in the last 2 h (the log was not read further back)": {Lines: 1, Since: now.Add(-2 * time.Hour), Until: now, Cut: true},
	} {
		if got := Looked(l); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		if got := Looked(host.Log{Since: l.Since, Until: now}); got != "in the log of this boot, which is empty" {
			t.Errorf("of no lines: %q", got)
		}
	}
}

func TestSaid(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, c := range []struct {
		m                  host.Message
		source, said, base string
	}{
		{host.Message{By: "kernel", Text: "x", Last: at, Unit: "a@b.service"}, "dmesg", "x (2026-01-02 03:04)", "a@b"},
		{host.Message{Text: "x", Count: 1, Last: at, Unit: "a"}, "dmesg", "x (2026-01-02 03:04)", "a"},
		{host.Message{By: "sshd", Text: "x", Count: 2, Last: at, Unit: ".a"}, "dmesg (sshd)", "x (2 times, last 2026-01-02 03:04)", ".a"},
	} {
		source, said, base := Source(host.Log{Source: "dmesg"}, c.m), Said(c.m), Base(c.m.Unit)
		if source != c.source || said != c.said || base != c.base {
			t.Errorf("%q, %q, %q; want %q, %q, %q", source, said, base, c.source, c.said, c.base)
		}
	}
}

func TestStableIsShort(t *testing.T) {
	for n, want := range map[int]string{160: strings.Repeat("ä", 160), 161: strings.Repeat("ä", 159) + "…"} {
		if got := Stable(strings.Repeat("ä", n)); got != want {
			t.Errorf("%d: %q", n, got)
		}
	}
}
