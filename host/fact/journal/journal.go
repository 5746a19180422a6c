// Package journal answers traps' questions about the log of this boot: which period was read,
// which lines match, and what to do if it cannot be read.
package journal

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"fettle/host"
	"fettle/internal/lazy"
	"fettle/internal/units"
)

// Kernel is what the kernel said. The error names the act that would let
// fettle look; so it is with the other parts.
func Kernel(ctx context.Context, h *host.Host) (host.Log, error) {
	return part(ctx, h, func(j *host.Journal) host.Log { return j.Kernel })
}

// Manager is what systemd said of its units.
func Manager(ctx context.Context, h *host.Host) (host.Log, error) {
	return part(ctx, h, func(j *host.Journal) host.Log { return j.Manager })
}

// Failed is what was said by and of units that have failed.
func Failed(ctx context.Context, h *host.Host) (host.Log, error) {
	return part(ctx, h, func(j *host.Journal) host.Log { return j.Failed })
}

// Recent are the last lines, whoever said them.
func Recent(ctx context.Context, h *host.Host) (host.Log, error) {
	return part(ctx, h, func(j *host.Journal) host.Log { return j.Recent })
}

func part(ctx context.Context, h *host.Host, of func(*host.Journal) host.Log) (host.Log, error) {
	j, err := h.Journal(ctx)
	if err != nil {
		return host.Log{}, unread(err)
	}
	l := of(&j)
	return l, unread(l.Err())
}

// unread adds to the reason why a log could not be read what would help.
func unread(err error) error {
	switch {
	case err == nil || errors.Is(err, host.ErrNotRunning):
		return err
	case errors.Is(err, host.ErrDenied):
		return fmt.Errorf("the log of this boot: run it as root: %w", err)
	case errors.Is(err, host.ErrNotCollected):
		return fmt.Errorf("the log of this boot: capture the host again, or have sos collect it (-o logs,kernel,systemd): %w", err)
	}
	return fmt.Errorf("the log of this boot: %w", err)
}

// Looked says over which time was looked: "since boot, 3 days ago", "in the
// last 2 h".
func Looked(l host.Log) string {
	d := l.Until.Sub(l.Since)
	switch {
	case l.Since.IsZero() || l.Lines == 0:
		return "in the log of this boot, which is empty"
	case d < time.Minute:
		d = time.Minute
	}
	if l.Cut {
		return "in the last " + units.Duration(d) + " (the log was not read further back)"
	}
	return "since the boot " + units.Duration(d) + " ago"
}

// Source says where a message was logged, and by whom.
func Source(l host.Log, m host.Message) string {
	if m.By != "kernel" && m.By != "" {
		return l.Source + " (" + m.By + ")"
	}
	return l.Source
}

// Said is a message with how often and when it was logged.
func Said(m host.Message) string {
	at := m.Last.Format("2006-01-02 15:04")
	if m.Count > 1 {
		return fmt.Sprintf("%s (%s, last %s)", m.Text, units.Count(m.Count, "time", "times"), at)
	}
	return m.Text + " (" + at + ")"
}

// Base is a unit's name without its kind: "nginx", "getty@tty1".
func Base(unit string) string {
	if i := strings.LastIndexByte(unit, '.'); i > 0 {
		return unit[:i]
	}
	return unit
}

var (
	stamp = lazy.Regexp(`^[\[(]?(?:\d{4}[-/]\d\d[-/]\d\d[T ])?\d\d:\d\d:\d\d(?:[.,]\d+)?(?: ?(?:Z|UTC|[+-]\d\d:?\d\d))?[\])]?:? *`)
	long  = lazy.Regexp(`\b(?:0x[0-9a-fA-F]+|\d{6,}|[0-9a-f]{12,})\b|\[\d+\]|\d+#\d+|(?:\bpid[ =]|\(PID )\d+`)
)

// Stable is a line without the time at its beginning, process numbers and
// other numbers that differ each time, so that it can be in a summary. Of a line with
// fields it is the message.
func Stable(text string) string {
	text = stamp().ReplaceAllString(strings.TrimSpace(message(text)), "")
	text = strings.Join(strings.Fields(long().ReplaceAllString(text, "…")), " ")
	if r := []rune(text); len(r) > 160 {
		text = string(r[:159]) + "…"
	}
	return text
}
