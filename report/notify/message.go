// Package notify reports changes to people and programs: at most one message
// per run, and none if nothing changed. What could not be delivered to a
// channel is delivered at the next run.
package notify

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"fettle/engine/trap"
	"fettle/internal/jsondoc"
	"fettle/internal/sorted"
	"fettle/internal/ui"
	"fettle/internal/units"
	"fettle/report"
)

// Message is what a channel is told of one run; it is the JSON of a webhook.
type Message struct {
	jsondoc.Envelope
	ID       string        `json:"id,omitempty"`    // of a hub's message: the same if it is sent again
	Host     string        `json:"host"`            // or the hub, which speaks of many
	Hosts    int           `json:"hosts,omitempty"` // of a hub's: those that it speaks of
	Started  time.Time     `json:"started"`
	Text     string        `json:"text"`            // in one line
	New      []Finding     `json:"new"`             // found, and not told of before, or told otherwise; the most severe first
	Resolved []Finding     `json:"resolved"`        // told of before, and gone
	Counts   report.Counts `json:"counts"`          // of all that was found, new and not
	URL      string        `json:"url,omitempty"`   // of a hub's: its page
	Plain    string        `json:"plain,omitempty"` // of a digest: its text
	HTML     string        `json:"html,omitempty"`  // and the same for mail
}

// Finding is one finding of a message.
type Finding struct {
	Trap     string    `json:"trap"`
	Subject  string    `json:"subject,omitempty"`
	Severity string    `json:"severity"`
	Summary  string    `json:"summary"`
	Since    time.Time `json:"since,omitzero"`    // when the channel was first told, or is now
	Command  string    `json:"command,omitempty"` // what an admin runs next

	// Of a hub's message: the hosts, up to a thousand of them, how many hosts and
	// findings it is, and whether the first checks after a restart found it.
	Hosts     []string `json:"hosts,omitempty"`
	OnHosts   int      `json:"on_hosts,omitempty"`
	Count     int      `json:"count,omitempty"`
	Restarted bool     `json:"restarted,omitempty"`
}

// ID is the finding's.
func (f *Finding) ID() string { return (&trap.Outcome{Trap: f.Trap, Subject: f.Subject}).ID() }

// messageOf makes the message of marked results (accept.Seen).
func messageOf(m report.Meta, results []trap.Result) *Message {
	msg := &Message{Envelope: jsondoc.New("changes"), Host: m.Host, Started: m.Started, New: []Finding{}, Resolved: []Finding{}}
	for _, r := range results {
		all := r
		all.Resolved = nil
		all.Outcomes = slices.Clone(r.Outcomes)
		for i := range all.Outcomes {
			o := &all.Outcomes[i]
			if o.Status == trap.Found && !o.Known {
				msg.New = append(msg.New, Finding{Trap: o.Trap, Subject: o.Subject, Severity: o.Severity.String(), Summary: o.Summary, Since: o.Since,
					Command: report.Command(o)})
			}
			o.Known = false // what was told before is still open
		}
		msg.Counts.Add(all)
		for _, was := range r.Resolved {
			sev, summary, _ := strings.Cut(was.Said, ": ")
			msg.Resolved = append(msg.Resolved, Finding{Trap: r.Trap, Subject: was.Subject, Severity: sev, Summary: summary, Since: was.Since})
		}
	}
	for _, list := range [][]Finding{msg.New, msg.Resolved} {
		sorted.By(list, func(a, b Finding) int { return int(severity(b) - severity(a)) })
	}
	msg.Counts.Resolved = len(msg.Resolved)
	msg.Text = msg.line()
	return msg
}

func severity(f Finding) trap.Severity {
	s, _ := trap.ParseSeverity(f.Severity)
	return s
}

// Empty tells that nothing changed.
func (m *Message) Empty() bool { return len(m.New)+len(m.Resolved) == 0 }

// worst is the most severe of what is new.
func (m *Message) worst() trap.Severity {
	if len(m.New) == 0 {
		return 0
	}
	return severity(m.New[0])
}

// line is the message in a line: "web1: 2 new findings (1 critical, 1 notice), 1 resolved".
func (m *Message) line() string {
	var parts []string
	if n := total(m.New); n > 0 {
		var sev []string
		for _, s := range []trap.Severity{trap.Critical, trap.Warning, trap.Notice} {
			k := 0
			for _, f := range m.New {
				if severity(f) == s {
					k += max(f.Count, 1)
				}
			}
			if k > 0 {
				sev = append(sev, fmt.Sprintf("%d %s", k, s))
			}
		}
		parts = append(parts, fmt.Sprintf("%d new (%s)", n, strings.Join(sev, ", ")))
	}
	if n := total(m.Resolved); n > 0 {
		parts = append(parts, fmt.Sprintf("%d resolved", n))
	}
	if len(parts) == 0 {
		parts = []string{"nothing changed"}
	}
	if m.Hosts > 0 {
		parts[len(parts)-1] += " on " + units.Count(m.Hosts, "host", "hosts")
	}
	return ui.Visible(m.Host) + ": " + strings.Join(parts, ", ")
}

// total is how many findings a list stands for.
func total(list []Finding) (n int) {
	for _, f := range list {
		n += max(f.Count, 1)
	}
	return n
}

// named is how many findings of each kind a message names.
const named = 200

// body is the message as text for people, its lines at most width wide but for
// commands.
func (m *Message) body(width int) string {
	if m.Plain != "" {
		return m.Plain
	}
	var b strings.Builder
	write := func(title string, list []Finding, label func(Finding) string) {
		if len(list) == 0 {
			return
		}
		fmt.Fprintf(&b, "%s:\n", title)
		for i, f := range list {
			if i == named {
				fmt.Fprintf(&b, "  and %d more\n", len(list)-i)
				break
			}
			what := f.Trap
			if f.Subject != "" {
				what += " on " + f.Subject
			}
			what += f.on()
			if f.Restarted {
				what += ", after a restart"
			}
			b.WriteString(ui.Wrap(ui.Visible(label(f)+what+": "+f.Summary), width, "  ", "    "))
			if f.Command != "" {
				b.WriteString("    " + f.Command + "\n")
			}
		}
		b.WriteByte('\n')
	}
	write("New", m.New, func(f Finding) string { return strings.ToUpper(f.Severity) + " " })
	write("Resolved", m.Resolved, func(Finding) string { return "" })
	fmt.Fprintf(&b, "Now: %s.\n", m.Counts.String())
	if m.URL != "" {
		b.WriteString(m.URL + "\n")
	}
	return b.String()
}
