package notify

import (
	"context"
	"slices"
	"strings"
	"time"

	"fettle/engine/trap"
	"fettle/internal/config"
	"fettle/internal/ui"
	"fettle/report"
	"fettle/report/accept"
)

// alert is one alert of Alertmanager's API v2 (api/v2/openapi.yaml, postableAlert).
type alert struct {
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
	StartsAt    time.Time         `json:"startsAt,omitzero"`
	EndsAt      time.Time         `json:"endsAt"`
}

// Alert is a finding as Alertmanager has it. Name, Host, Group, Trap, Subject and
// Severity are its identity: one of them changed is another alert.
type Alert struct {
	Name     string // of the rule; empty: FettleFinding
	Host     string
	Group    string // of a hub's hosts
	Trap     string
	Subject  string
	Severity string
	Summary  string
	Command  string
	Since    time.Time
	Ended    bool
}

// alertsAtOnce is how many alerts one request has.
const alertsAtOnce = 500

// Alerts sends alerts: open ones last until now plus the channel's valid unless
// they are sent again, ended ones end now.
func (s Sender) Alerts(ctx context.Context, c *config.Channel, list []Alert, now time.Time) error {
	for part := range slices.Chunk(list, alertsAtOnce) {
		all := make([]alert, len(part))
		for i := range part {
			all[i] = part[i].posted(now, c.Lasting())
		}
		if err := s.post(ctx, c, all); err != nil {
			return err
		}
	}
	return nil
}

func (a *Alert) posted(now time.Time, lasting time.Duration) alert {
	name := a.Name
	if name == "" {
		name = "FettleFinding"
	}
	out := alert{Labels: map[string]string{"alertname": name}, Annotations: map[string]string{}, StartsAt: a.Since, EndsAt: now.Add(lasting)}
	for k, v := range map[string]string{"instance": a.Host, "group": a.Group, "trap": a.Trap, "subject": a.Subject, "severity": a.Severity} {
		if v != "" {
			out.Labels[k] = ui.Visible(strings.ToValidUTF8(v, "\uFFFD"))
		}
	}
	for k, v := range map[string]string{"summary": ui.Visible(a.Summary), "command": a.Command} {
		if v != "" {
			out.Annotations[k] = v
		}
	}
	if a.Ended {
		out.EndsAt = now
	}
	return out
}

// alerts sends all open findings, each with an end that the next run puts off,
// and what is open no more, as ended. Alertmanager itself notifies of changes alone.
func (s Sender) alerts(ctx context.Context, c *config.Channel, m report.Meta, results []trap.Result) error {
	var all []Alert
	for _, r := range results {
		for i := range r.Outcomes {
			o := &r.Outcomes[i]
			if o.Status == trap.Found {
				all = append(all, Alert{Host: m.Host, Trap: o.Trap, Subject: o.Subject, Severity: o.Severity.String(), Summary: o.Summary,
					Command: report.Command(o), Since: o.Since})
			}
		}
		for _, was := range r.Resolved {
			sev, summary, _ := strings.Cut(was.Said, ": ")
			all = append(all, Alert{Host: m.Host, Trap: r.Trap, Subject: was.Subject, Severity: sev, Summary: summary, Since: was.Since,
				Ended: true})
		}
	}
	return s.Alerts(ctx, c, all, time.Now())
}

// superseded are the findings of a result that were sent before and are no alert
// with the same labels now: accepted, too slight, or regraded.
func superseded(seen *accept.Seen, r *trap.Result, least trap.Severity) (out []trap.Resolved) {
	for i := range r.Outcomes {
		o := &r.Outcomes[i]
		said, since, ok := seen.Before(o)
		if o.Status != trap.Found || !ok {
			continue
		}
		was, _, _ := strings.Cut(said, ": ")
		if o.Hidden() || o.Severity < least || was != o.Severity.String() {
			out = append(out, trap.Resolved{Subject: o.Subject, Said: said, Since: since})
		}
	}
	return out
}

func (s Sender) post(ctx context.Context, c *config.Channel, all []alert) error {
	body, err := encoded(all)
	if err != nil {
		return err
	}
	r := request{
		method:  "POST",
		url:     strings.TrimRight(c.Alertmanager, "/") + "/api/v2/alerts",
		headers: [][2]string{{"Content-Type", "application/json"}},
		body:    body,
	}
	if err := authorize(&r, c.Token); err != nil {
		return err
	}
	return s.ask(ctx, r)
}

// testAlertmanager sends an empty list, which changes nothing.
func (s Sender) testAlertmanager(ctx context.Context, c *config.Channel) error {
	return s.post(ctx, c, []alert{})
}
