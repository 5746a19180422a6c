package notify

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"fettle/fleet/hub/store"
	"fettle/internal/jsondoc"
	"fettle/internal/ui"
	"fettle/report"
	"fettle/report/notify"
)

// restartGrace is how long after a maintenance window its restarts are told: a host that
// started at its end has settled by then.
const restartGrace = 15 * time.Minute

// windows tells a channel what came of the restarts in maintenance windows that have ended;
// true: there was something to tell. A window without a restart is not told of.
func (n *Notifier) windows(ctx context.Context, c *Channel, st *store.ChannelState) (bool, error) {
	now := n.Now()
	if len(n.Settings.Maintenance) == 0 || c.Quiet != nil && c.Quiet.span.holds(now) {
		return false, nil
	}
	upTo := st.Windows
	if upTo.IsZero() { // a new channel is not told of the past
		upTo = now.Add(-restartGrace)
	}
	var lines, texts []string
	hosts := map[int64]bool{}
	for i := range n.Settings.Maintenance {
		w := &n.Settings.Maintenance[i]
		from, to := w.last(now.Add(-restartGrace))
		if !to.After(st.Windows) || st.Windows.IsZero() {
			continue
		}
		upTo = later(upTo, to)
		list, err := n.restarts(ctx, c, w, from, to)
		if err != nil {
			return false, err
		}
		if len(list) > 0 {
			for i := range list {
				hosts[list[i].HostID] = list[i].Away.IsZero()
			}
			came := store.Sum(list)
			lines = append(lines, w.title(from, to)+": "+came.Headline())
			texts = append(texts, listed(w.title(from, to), &came))
		}
	}
	if upTo.Equal(st.Windows) {
		return false, nil
	}
	st.Windows = upTo
	if len(lines) == 0 {
		return false, n.DB.Tell(ctx, c.key(), *st, nil, nil)
	}
	if n.URL != "" {
		texts = append(texts, n.URL+"/restarts\n")
	}
	m := &notify.Message{Envelope: jsondoc.New("changes"), ID: newID(), Host: n.Hub, Started: now, URL: n.URL,
		New: []notify.Finding{}, Resolved: []notify.Finding{}, Text: ui.Visible(n.Hub) + ": " + strings.Join(lines, "; "),
		Plain: strings.Join(texts, "\n")}
	d, err := n.differs(ctx, c)
	if err != nil {
		return false, err
	}
	// What is told here is not told again as findings, but its end is.
	isNew := slices.DeleteFunc(d.new, func(t store.Tidings) bool { return t.Trap != report.NotAsBefore.ID() || !hosts[t.HostID] })
	return true, n.enqueue(ctx, c, *st, m, &difference{new: isNew})
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// restarts are those of a window's hosts that a channel is told of.
func (n *Notifier) restarts(ctx context.Context, c *Channel, w *Window, from, to time.Time) (out []store.Restart, err error) {
	now := n.Now()
	silent := now.Add(-min(n.Silent, store.AwayAfter))
	if n.silentSince(now).IsZero() {
		silent = time.Time{}
	}
	all, err := n.DB.Restarts(ctx, store.Everything, from, to.Add(restartGrace), silent)
	for i := range all {
		r := &all[i]
		for _, m := range []*Match{&w.Match, &c.Match} {
			if in, lerr := r.Labelled(m.labels); lerr != nil {
				return nil, lerr
			} else if !in || !among(m.Groups, r.Host.Group) || !among(m.Hosts, r.Host.Name) {
				r = nil
				break
			}
		}
		if r != nil {
			out = append(out, *r)
		}
	}
	return out, err
}

// title names a window: "patch night web (Sun 29 November 02:00 to 04:00)".
func (w *Window) title(from, to time.Time) string {
	name := w.Name
	if name == "" {
		name = "maintenance"
	}
	end := "15:04"
	if from.YearDay() != to.YearDay() {
		end = "Mon 15:04"
	}
	return fmt.Sprintf("%s (%s to %s)", ui.Visible(name), from.In(time.Local).Format("Mon 2 January 15:04"), to.In(time.Local).Format(end))
}

// listed is a window's restarts in full, what hurts first.
func listed(title string, came *store.Comings) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%s\n", title, came.Headline())
	if len(came.Away) > 0 {
		b.WriteString("\nNot come back\n")
	}
	for _, a := range came.Away[:min(len(came.Away), windowRows)] {
		how := "silent since "
		if a.Stopped {
			how = "stopped at "
		}
		fmt.Fprintf(&b, "  %s: %s%s\n", ui.Visible(a.Host.Name), how, a.Since.In(time.Local).Format("15:04"))
	}
	b.WriteString(more(len(came.Away)))
	if len(came.Causes) > 0 {
		b.WriteString("\nCame back without\n")
	}
	for _, c := range came.Causes[:min(len(came.Causes), windowRows)] {
		fmt.Fprintf(&b, "  %s %s: %s: %s\n", c.Severity, ui.Visible(c.Subject), ui.Visible(c.Summary), store.Few(c.Hosts))
	}
	b.WriteString(more(len(came.Causes)))
	if len(came.NotCompared) > 0 {
		fmt.Fprintf(&b, "\nNot compared, since they have no earlier snapshot, or an older agent\n  %s\n", store.Few(came.NotCompared))
	}
	return b.String()
}

// windowRows is how many rows a list has at most.
const windowRows = 50

func more(n int) string {
	if n <= windowRows {
		return ""
	}
	return fmt.Sprintf("  and %d more\n", n-windowRows)
}
