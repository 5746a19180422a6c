package notify

import (
	"context"
	"strings"
	"time"

	"fettle/engine/trap"
	"fettle/internal/config"
	"fettle/internal/ui"
	"fettle/report"
)

// alert is one alert of Alertmanager's API v2 (api/v2/openapi.yaml, postableAlert).
type alert struct {
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
	StartsAt    time.Time         `json:"startsAt,omitzero"`
	EndsAt      time.Time         `json:"endsAt"`
}

// alerts sends all open findings, each with an end that the next run puts off,
// and what was resolved, as ended. Alertmanager itself notifies of changes alone.
func (s Sender) alerts(ctx context.Context, c *config.Channel, m report.Meta, results []trap.Result) error {
	now := time.Now()
	var all []alert
	for _, r := range results {
		for i := range r.Outcomes {
			o := &r.Outcomes[i]
			if o.Status != trap.Found {
				continue
			}
			a := alertOf(m, o.Trap, o.Subject)
			a.Labels["severity"] = o.Severity.String()
			a.Annotations = map[string]string{"summary": ui.Visible(o.Summary), "command": report.Command(o)}
			a.StartsAt, a.EndsAt = o.Since, now.Add(c.Lasting())
			all = append(all, a)
		}
		for _, was := range r.Resolved {
			a := alertOf(m, r.Trap, was.Subject)
			sev, summary, _ := strings.Cut(was.Said, ": ")
			a.Labels["severity"] = sev
			a.Annotations = map[string]string{"summary": ui.Visible(summary)}
			a.StartsAt, a.EndsAt = was.Since, now
			all = append(all, a)
		}
	}
	if len(all) == 0 {
		return nil
	}
	return s.post(ctx, c, all)
}

// alertOf names an alert: the labels are its identity.
func alertOf(m report.Meta, id, subject string) alert {
	l := map[string]string{"alertname": "FettleFinding", "instance": ui.Visible(m.Host), "trap": ui.Visible(id)}
	if subject != "" {
		l["subject"] = ui.Visible(strings.ToValidUTF8(subject, "\uFFFD"))
	}
	return alert{Labels: l}
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
