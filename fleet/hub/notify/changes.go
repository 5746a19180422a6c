package notify

import (
	"context"
	"slices"
	"time"

	"fettle/engine/trap"
	"fettle/fleet/hub/store"
	"fettle/report"
	"fettle/report/notify"
)

// difference is how the present state differs from what a channel was sent.
type difference struct {
	new      []store.Tidings // to be sent
	resolved []store.Told
	milder   []store.Tidings // sent before as more severe: recorded, not sent
	dropped  []store.Told    // accepted, retired, not severe enough, routed elsewhere: recorded, not sent
	kept     []store.Told    // still so
}

func (d *difference) opened() []store.Tidings { return slices.Concat(d.new, d.milder) }
func (d *difference) ended() []store.Told     { return slices.Concat(d.resolved, d.dropped) }

// differs compares; hosts in maintenance are as they were.
func (n *Notifier) differs(ctx context.Context, c *Channel) (*difference, error) {
	now := n.Now()
	silent := n.silentSince(now)
	told, err := n.DB.Told(ctx, c.key(), silent)
	if err != nil {
		return nil, err
	}
	untold, err := n.DB.Untold(ctx, c.key(), c.least, silent)
	if err != nil {
		return nil, err
	}
	d, was := &difference{}, map[[3]string]int{}
	for _, t := range told {
		was[[3]string{t.Agent, t.Trap, t.Subject}] = t.Rank
		mine, expected, err := n.about(now, c, &t.Tidings)
		if err != nil {
			return nil, err
		}
		switch {
		case t.Hidden, !mine, t.Now > 0 && t.Now < c.least:
			d.dropped = append(d.dropped, t)
		case expected || t.Now > 0 || t.Blind:
			d.kept = append(d.kept, t)
		default:
			d.resolved = append(d.resolved, t)
		}
	}
	for _, t := range untold {
		if t.Trap == store.PackStopped {
			t.Host = n.Hub
		}
		mine, expected, err := n.about(now, c, &t)
		if err != nil {
			return nil, err
		}
		switch rank := was[[3]string{t.Agent, t.Trap, t.Subject}]; {
		case !mine || expected:
		case t.Rank < rank:
			d.milder = append(d.milder, t)
		default:
			d.new = append(d.new, t)
		}
	}
	return d, nil
}

// about tells whether a channel is to be told, and whether changes there are expected now.
func (n *Notifier) about(now time.Time, c *Channel, t *store.Tidings) (mine, expected bool, err error) {
	if mine, err = c.matches(t); err != nil {
		return false, false, err
	}
	for i := range n.Settings.Maintenance {
		w := &n.Settings.Maintenance[i]
		// What a restart took away is told with the window's other restarts.
		if w.open(now) || t.Trap == report.NotAsBefore.ID() && w.open(now.Add(-restartGrace)) {
			in, err := w.matches(t)
			if expected = expected || in; err != nil {
				return false, false, err
			}
		}
	}
	return mine, expected, nil
}

// changes tells a channel for people what is new and what is resolved.
func (n *Notifier) changes(ctx context.Context, c *Channel, st store.ChannelState) error {
	d, err := n.differs(ctx, c)
	if err != nil {
		return err
	}
	now := n.Now()
	if q := c.Quiet; q != nil && q.span.holds(now) {
		d.resolved = nil
		d.new = slices.DeleteFunc(d.new, func(t store.Tidings) bool { return q.rank == 0 || t.Rank < q.rank })
	}
	loud := len(d.new)+len(d.resolved) > 0
	switch {
	case !loud && len(d.milder)+len(d.dropped) == 0 && st.Waiting.IsZero():
		return nil
	case !loud:
		st.Waiting = time.Time{}
		return n.DB.Tell(ctx, c.key(), st, d.milder, d.dropped)
	case st.Waiting.IsZero() && c.gather > 0:
		st.Waiting = now
		return n.DB.Tell(ctx, c.key(), st, nil, nil)
	case now.Sub(st.Waiting) < c.gather && !now.Before(st.Waiting): // else the clock was set back
		return nil
	}
	groups, err := n.DB.Groups(ctx, c.scope())
	if err != nil {
		return err
	}
	return n.enqueue(ctx, c, st, n.message(now, d, c.counts(groups)), d)
}

func (n *Notifier) message(now time.Time, d *difference, counts report.Counts) *notify.Message {
	var opened, over []notify.Change
	for _, t := range d.new {
		opened = append(opened, change(&t))
	}
	for _, t := range d.resolved {
		c := change(&t.Tidings)
		switch t.Trap {
		case store.HostSilent:
			c.Summary = "its agent reports again"
		case store.HostCloned:
			c.Summary = "one machine uses its key again"
		case store.PackStopped:
			c.Summary = "hosts get it again, or a newer version"
		}
		over = append(over, c)
	}
	m := notify.Fleet(newID(), n.Hub, now, opened, over, counts)
	m.URL = n.URL
	return m
}

func change(t *store.Tidings) notify.Change {
	return notify.Change{Host: t.Host, Trap: t.Trap, Subject: t.Subject, Severity: trap.Severity(t.Rank), Summary: t.Summary, Since: t.Since,
		Restarted: t.Restarted}
}

// scope is the hosts of the channel's labels.
func (c *Channel) scope() store.Scope { return store.Scope{All: true, Labels: c.labels} }

// counts are the findings of the channel's groups.
func (c *Channel) counts(groups []store.Group) (out report.Counts) {
	for _, g := range groups {
		if !among(c.Groups, g.Name) {
			continue
		}
		out.Severities.Critical += g.Critical
		out.Severities.Warning += g.Warning
		out.Severities.Notice += g.Notice
		out.Unknown += g.Unknown
		out.Accepted += g.Accepted
	}
	out.Found = out.Severities.Critical + out.Severities.Warning + out.Severities.Notice
	return out
}

// alerts brings Alertmanager to what is so. An alert ends as soon as its finding is
// resolved, accepted or regraded; the others are renewed well before they lapse.
func (n *Notifier) alerts(ctx context.Context, c *Channel, st store.ChannelState) error {
	d, err := n.differs(ctx, c)
	if err != nil {
		return err
	}
	now := n.Now()
	renew := now.Sub(st.Sent) >= c.Lasting()/4 || now.Before(st.Sent)
	opened, ended := d.opened(), d.ended()
	if len(opened)+len(ended) == 0 && !renew {
		return nil
	}
	replaced := map[[3]string]bool{}
	for _, t := range opened {
		replaced[[3]string{t.Agent, t.Trap, t.Subject}] = true
	}
	var list []notify.Alert
	for _, t := range ended {
		list = append(list, alert(&t.Tidings, true))
	}
	for _, t := range d.kept {
		switch again := replaced[[3]string{t.Agent, t.Trap, t.Subject}]; {
		case again: // with other labels
			list = append(list, alert(&t.Tidings, true))
		case renew:
			list = append(list, alert(&t.Tidings, false))
		}
	}
	for _, t := range opened {
		list = append(list, alert(&t, false))
	}
	if err := n.Sender.Alerts(ctx, &c.Channel, list, now); err != nil {
		return err
	}
	if renew {
		st.Sent = now
	}
	return n.DB.Tell(context.WithoutCancel(ctx), c.key(), st, opened, ended)
}

func alert(t *store.Tidings, ended bool) notify.Alert {
	a := notify.Alert{Host: t.Host, Group: t.Group, Trap: t.Trap, Subject: t.Subject, Severity: trap.Severity(t.Rank).String(),
		Summary: t.Summary, Since: t.Since, Ended: ended}
	switch t.Trap {
	case store.HostSilent:
		a.Name = "FettleHostSilent"
	case store.HostCloned:
		a.Name = "FettleHostCloned"
	case store.PackStopped:
		a.Name = "FettlePackStopped"
	}
	return a
}
