package notify

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"fettle/engine/trap"
	"fettle/internal/config"
	"fettle/internal/files"
	"fettle/internal/journald"
	"fettle/report"
	"fettle/report/accept"
)

// Run is a run of check, as found: without the marks of --new.
type Run struct {
	Meta    report.Meta
	Traps   []*trap.Trap
	Results []trap.Result
	Took    time.Duration
}

// Sender has the programs and places through which messages go.
type Sender struct {
	Sendmail string // sendmail(8)
	Curl     string // curl(1)
	Journal  string // journald's socket for entries

	Timeout time.Duration // how long one channel may take
}

// System is the sender of a usual system.
func System() Sender {
	return Sender{Sendmail: "/usr/sbin/sendmail", Curl: "/usr/bin/curl", Journal: journald.Socket, Timeout: time.Minute}
}

// limited is the time that one channel has.
func (s Sender) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, s.Timeout, fmt.Errorf("took longer than %s", s.Timeout))
}

// Tell tells each channel what changed since it was last told, and keeps in the
// state folder what it was told. A channel that fails does not keep the others
// from being told; all that failed is in the error.
func (s Sender) Tell(ctx context.Context, state string, channels []config.Channel, r Run) error {
	var failed []error
	for i := range channels {
		if err := s.tell(ctx, state, &channels[i], r); err != nil {
			failed = append(failed, fmt.Errorf("telling %s: %w", channels[i].Title(), err))
		}
	}
	return errors.Join(failed...)
}

func (s Sender) tell(ctx context.Context, state string, c *config.Channel, r Run) error {
	sum := sha256.Sum256([]byte(c.Name()))
	least, _ := trap.ParseSeverity(c.Severity) // none given: the least there is
	seen, err := accept.OpenSeen(filepath.Join(state, "told", hex.EncodeToString(sum[:8])), string(r.Meta.Kind), r.Meta.Host, r.Meta.Started)
	if err != nil {
		return err
	}
	results := marked(seen, r.Results, least)
	if c.Kind() == "alertmanager" { // its alerts end where the finding is hidden or regraded, too
		for i := range results {
			results[i].Resolved = append(results[i].Resolved, superseded(seen, &r.Results[i], least)...)
		}
	}
	ctx, cancel := s.limited(ctx)
	defer cancel()
	if err := s.send(ctx, c, messageOf(r.Meta, results), results, r); err != nil {
		return err
	}
	return seen.Save()
}

// marked are the findings that concern a channel, with the marks of what it was
// told before. What is accepted or too slight is no finding there; it is not
// resolved either.
func marked(seen *accept.Seen, results []trap.Result, least trap.Severity) []trap.Result {
	var out []trap.Result
	for _, r := range results {
		open := map[string]bool{}
		for i := range r.Outcomes {
			if r.Outcomes[i].Status == trap.Found {
				open[r.Outcomes[i].Subject] = true
			}
		}
		r.Outcomes = slices.DeleteFunc(slices.Clone(r.Outcomes), func(o trap.Outcome) bool {
			return o.Status == trap.Found && (o.Hidden() || o.Severity < least)
		})
		r.Resolved = nil
		seen.Mark(&r)
		r.Resolved = slices.DeleteFunc(r.Resolved, func(was trap.Resolved) bool { return open[was.Subject] })
		out = append(out, r)
	}
	return out
}

func (s Sender) send(ctx context.Context, c *config.Channel, m *Message, results []trap.Result, r Run) error {
	switch c.Kind() {
	case "textfile": // holds what is, so it is written each time
		return textfile(c.Textfile, r)
	case "alertmanager": // alerts end unless they are renewed
		return s.alerts(ctx, c, r.Meta, results)
	}
	if m.Empty() {
		return nil
	}
	return s.deliver(ctx, c, m)
}

func (s Sender) deliver(ctx context.Context, c *config.Channel, m *Message) error {
	switch c.Kind() {
	case "mail":
		return s.mail(ctx, c, m)
	case "webhook":
		return s.webhook(ctx, c, m)
	case "journal":
		return s.journal(m)
	}
	return fmt.Errorf("cannot send to a channel of kind %q", c.Kind())
}

// Test sends a message without findings through every channel that sends
// messages; the others are listed.
func (s Sender) Test(ctx context.Context, channels []config.Channel, m report.Meta, done func(title string, err error)) {
	msg := messageOf(m, nil)
	msg.Text = msg.Host + ": a test message of fettle notify"
	for i := range channels {
		c := &channels[i]
		ctx, cancel := s.limited(ctx)
		var err error
		switch c.Kind() {
		case "textfile":
			err = files.Makeable(filepath.Dir(c.Textfile))
		case "alertmanager":
			err = s.testAlertmanager(ctx, c)
		default:
			err = s.deliver(ctx, c, msg)
		}
		cancel()
		done(c.Title(), err)
	}
}
