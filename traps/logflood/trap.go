// Package logflood finds one message that fills the log.
package logflood

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"time"

	"fettle/fact/journal"
	"fettle/host"
	"fettle/internal/units"
	"fettle/trap"
)

//go:embed lore.md
var lore trap.Lore

// Trap is log-flood.
var Trap = trap.Trap{Lore: lore, Cost: trap.Instant, Limit: 30 * time.Second, Check: check}

// What a flood is: so many lines of one message, such a part of all, and so
// many a second.
const (
	lines     = 2000
	part      = 0.5
	aSecond   = 1.0
	manyTimes = 10.0
)

func check(ctx context.Context, h *host.Host, r *trap.Report) error {
	l, err := journal.Recent(ctx, h)
	if errors.Is(err, host.ErrNoSystemd) {
		r.NotApplicable("", "no journal is kept here")
		return nil
	}
	if err != nil {
		return err
	}
	found := false
	for _, m := range l.Messages {
		rate := float64(m.Count) / max(l.Until.Sub(l.Since).Seconds(), 1)
		if m.Count < lines || float64(m.Count) < part*float64(l.Lines) || rate < aSecond {
			continue
		}
		found = true
		r.Found(finding(l, m, rate))
	}
	if !found {
		r.Clear("", "no message floods the log", trap.Ev(l.Source, "%s %s", units.Count(l.Lines, "line", "lines"), journal.Looked(l)))
	}
	return nil
}

func finding(l host.Log, m host.Message, rate float64) trap.Finding {
	who := m.Unit
	if who == "" || strings.HasPrefix(who, "user@") || strings.HasSuffix(who, ".scope") {
		who = m.By
	}
	text := []rune(journal.Stable(m.Shape()))
	if len(text) > 90 {
		text = append(text[:89], '…')
	}
	f := trap.Finding{Subject: who, Severity: trap.Notice, Summary: "floods the log with one message: " + string(text),
		Detail: trap.Prose(fmt.Sprintf("%d of the last %d lines, %.0f a second; at that pace %.0f million lines a day", m.Count, l.Lines, rate, rate*86400/1e6)),
		ByHand: "fix what it complains about; until then LogRateLimitIntervalSec= and LogRateLimitBurst= in a drop-in of " + who}
	if m.By == "kernel" {
		f.ByHand = "fix what it complains about; a firewall's LOG rule takes a limit (-m limit, limit rate)"
	}
	if rate >= manyTimes {
		f.Severity = trap.Warning
	}
	f.Evidence = append(f.Evidence, trap.Ev(journal.Source(l, m), "%s", journal.Said(m)))
	for _, s := range l.Messages {
		if s.By == "systemd-journald" && strings.HasPrefix(s.Text, "Suppressed ") {
			f.Evidence = append(f.Evidence, trap.Ev(journal.Source(l, s), "%s", journal.Said(s)))
		}
	}
	return f
}
