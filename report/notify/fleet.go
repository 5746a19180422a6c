package notify

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"fettle/engine/trap"
	"fettle/internal/config"
	"fettle/internal/jsondoc"
	"fettle/internal/sorted"
	"fettle/internal/units"
	"fettle/report"
)

// Change is one thing that is new or resolved on one of many hosts.
type Change struct {
	Host      string
	Trap      string
	Subject   string
	Severity  trap.Severity
	Summary   string
	Since     time.Time
	Restarted bool // it was found by the first checks after a restart
}

// hostsNamed is how many hosts of one finding a message for people names, and
// hostsListed how many a webhook's JSON lists.
const (
	hostsNamed  = 5
	hostsListed = 1000
)

// Fleet is one message about many hosts: what is the same on several of them is
// said once. id is the same whenever the same message is sent again.
func Fleet(id, hub string, at time.Time, new, resolved []Change, counts report.Counts) *Message {
	m := &Message{Envelope: jsondoc.New("changes"), ID: id, Host: hub, Started: at, Counts: counts,
		New: together(new), Resolved: together(resolved)}
	hosts := map[string]bool{}
	for _, c := range slices.Concat(new, resolved) {
		hosts[c.Host] = true
	}
	m.Counts.Resolved = len(resolved)
	m.Hosts = len(hosts)
	m.Text = m.line()
	return m
}

// together gathers changes that differ by host, and by subject, alone.
func together(list []Change) []Finding {
	out, at := []Finding{}, map[string]int{}
	for _, c := range list {
		key := fmt.Sprintf("%s\x00%d\x00%v", c.Trap, c.Severity, c.Restarted)
		i, ok := at[key]
		if !ok {
			i = len(out)
			at[key] = i
			out = append(out, Finding{Trap: c.Trap, Subject: c.Subject, Severity: c.Severity.String(), Summary: c.Summary, Since: c.Since,
				Restarted: c.Restarted})
		}
		f := &out[i]
		f.Count++
		if f.Subject != c.Subject {
			f.Subject = ""
		}
		if c.Since.Before(f.Since) {
			f.Since = c.Since
		}
		if !slices.Contains(f.Hosts, c.Host) {
			if f.OnHosts++; len(f.Hosts) < hostsListed {
				f.Hosts = append(f.Hosts, c.Host)
			}
		}
	}
	sorted.By(out, func(a, b Finding) int { return int(severity(b) - severity(a)) })
	return out
}

// on names the hosts of a finding: " on web1, web2 and 58 more hosts".
func (f *Finding) on() string {
	if len(f.Hosts) == 0 {
		return ""
	}
	names := f.Hosts[:min(len(f.Hosts), hostsNamed)]
	if more := f.OnHosts - len(names); more > 0 {
		return fmt.Sprintf(" on %s and %s", strings.Join(names, ", "), units.Count(more, "more host", "more hosts"))
	}
	return " on " + strings.Join(names, ", ")
}

// Deliver sends a message through a channel that sends messages, or tests one.
func (s Sender) Deliver(ctx context.Context, c *config.Channel, m *Message) error {
	ctx, cancel := s.limited(ctx)
	defer cancel()
	return s.deliver(ctx, c, m)
}
