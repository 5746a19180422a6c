package hub

import (
	"testing"
	"time"
)

func TestMoment(t *testing.T) {
	now := time.Date(2026, 11, 29, 3, 30, 0, 0, time.Local)
	for s, want := range map[string]time.Time{
		"24h":              now.Add(-24 * time.Hour),
		"02:00":            time.Date(2026, 11, 29, 2, 0, 0, 0, time.Local),
		"22:00":            time.Date(2026, 11, 28, 22, 0, 0, 0, time.Local), // the last time that it was so late
		"2026-12-01 02:00": time.Date(2026, 12, 1, 2, 0, 0, 0, time.Local),
	} {
		if got, err := moment(now, s); err != nil || !got.Equal(want) {
			t.Errorf("%s: %v, %v", s, got, err)
		}
	}
	for _, s := range []string{"", "soon", "-1h", "25:00", "2026-12-01"} {
		if got, err := moment(now, s); err == nil {
			t.Errorf("%q is taken for %v", s, got)
		}
	}
}

// TestNoPage: a hub may have no page at all.
func TestNoPage(t *testing.T) {
	p := page{listen: "none"}
	if err := p.read(t.TempDir()); err != nil || p.listen != "" || p.listener != nil {
		t.Errorf("%+v, %v", p, err)
	}
}
