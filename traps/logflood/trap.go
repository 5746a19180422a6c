// Package logflood finds one message that fills the log.
package logflood

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/fact/journal"
	"fettle/internal/units"
)

//go:embed lore.md
var lore trap.Lore

// Trap is log-flood.
var Trap = trap.Trap{Lore: lore, Cost: trap.Instant, Limit: 30 * time.Second, Check: check}

// What a flood is: so many lines of one message, or of a few of one program, such a part of all, and so
// many a second.
const (
	lines     = 2000
	part      = 0.5
	aSecond   = 1.0
	manyTimes = 10.0
	together  = 3   // messages of one program
	most      = 0.8 // that part of all are these: a mail server's connects and disconnects are less
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
	for _, f := range floods(l) {
		rate := float64(f.count) / max(l.Until.Sub(l.Since).Seconds(), 1)
		share := part
		if len(f.messages) > 1 {
			share = most
		}
		if f.count < lines || float64(f.count) < share*float64(l.Lines) || rate < aSecond {
			continue
		}
		found = true
		r.Found(f.finding(l, rate))
	}
	if !found {
		r.Clear("", "no message floods the log", trap.Ev(l.Source, "%s %s", units.Count(l.Lines, "line", "lines"), journal.Looked(l)))
	}
	return nil
}

// flood is what one program says most often: a loop may say some lines each time.
type flood struct {
	who      string
	messages []host.Message
	count    int
}

func floods(l host.Log) []*flood {
	var out []*flood
	for _, m := range l.Messages { // the most frequent first
		who := m.Unit
		if who == "" || strings.HasPrefix(who, "user@") || strings.HasSuffix(who, ".scope") {
			who = m.By
		}
		i := slices.IndexFunc(out, func(f *flood) bool { return f.who == who })
		if i < 0 {
			i = len(out)
			out = append(out, &flood{who: who})
		}
		if f := out[i]; len(f.messages) < together && (len(f.messages) != 1 || float64(f.count) < part*float64(l.Lines)) {
			f.messages = append(f.messages, m)
			f.count += m.Count
		}
	}
	return out
}

func (fl *flood) finding(l host.Log, rate float64) trap.Finding {
	who, m := fl.who, fl.messages[0]
	text := []rune(journal.Stable(m.Shape()))
	if len(text) > 90 {
		text = append(text[:89], '…')
	}
	what := "one message: " + string(text)
	if len(fl.messages) > 1 { // which of them is the most frequent changes
		what = "the same few messages, over and over"
	}
	f := trap.Finding{Subject: who, Severity: trap.Notice, Summary: "floods the log with " + what,
		Detail: trap.Prose(
			fmt.Sprintf("%d of the last %d lines, %.0f a second; at that pace %.1f million lines a day", fl.count, l.Lines, rate, rate*86400/1e6),
		),
		ByHand: "fix what it complains about; until then LogRateLimitIntervalSec= and LogRateLimitBurst= in a drop-in of " + who}
	switch {
	case m.By == "kernel":
		f.ByHand = "fix what it complains about; a firewall's LOG rule takes a limit (-m limit, limit rate)"
	case m.By == "audit":
		f.ByHand = "fix what it complains about; auditctl -l lists the rules that log, and a rule -a never,exclude -F msgtype= leaves a type out"
	case !strings.HasSuffix(who, ".service"):
		f.ByHand = "fix what it complains about; until then a lower log level of " + who
	}
	if rate >= manyTimes {
		f.Severity = trap.Warning
	}
	for _, m := range fl.messages {
		f.Evidence = append(f.Evidence, trap.Ev(journal.Source(l, m), "%s", journal.Said(m)))
	}
	for _, s := range l.Messages {
		if s.By == "systemd-journald" && strings.HasPrefix(s.Text, "Suppressed ") {
			f.Evidence = append(f.Evidence, trap.Ev(journal.Source(l, s), "%s", journal.Said(s)))
		}
	}
	return f
}
