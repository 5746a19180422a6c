package web

import (
	"context"
	"io"
	"log/slog"
	"net/http"

	"fettle/fleet/hub/api"
	"fettle/fleet/hub/store"
	"fettle/fleet/hub/web/login"
	"fettle/internal/exposition"
)

// metrics is the hub for Prometheus. A token of a reader opens it.
func (s *site) metrics(w http.ResponseWriter, r *http.Request) {
	ctx := acting(r)
	var m store.Measured
	sees := login.Who(ctx).Sees
	f, err := s.api.Fleet(ctx, api.FleetQuery{})
	if err == nil {
		m, err = s.cfg.DB.Measure(ctx, sees.Scope(nil, nil))
	}
	if err != nil {
		slog.Error("metrics", "err", err)
		http.Error(w, "the database does not answer", http.StatusServiceUnavailable)
		return
	}
	var t exposition.Text
	t.Gauge("fettle_hub_hosts", "Hosts, by state; cloned and failed ones are also reporting or silent.")
	now := f.Reporting()
	exposition.Add(&t, now.Hosts, "state", "reporting")
	exposition.Add(&t, f.Silent, "state", "silent")
	exposition.Add(&t, m.Cloned, "state", "cloned")
	exposition.Add(&t, m.Failed, "state", "failed")
	t.Gauge("fettle_hub_findings", "Findings that are not accepted; old ones are of silent hosts.")
	for _, of := range []struct {
		old                       string
		critical, warning, notice int
	}{{"false", now.Critical, now.Warning, now.Notice}, {"true", f.Old.Critical, f.Old.Warning, f.Old.Notice}} {
		exposition.Add(&t, of.critical, "severity", "critical", "old", of.old)
		exposition.Add(&t, of.warning, "severity", "warning", "old", of.old)
		exposition.Add(&t, of.notice, "severity", "notice", "old", of.old)
	}
	t.Gauge("fettle_hub_outcomes_unknown", "Outcomes that checks could not determine.")
	exposition.Add(&t, f.Unknown)
	t.Gauge("fettle_hub_findings_accepted", "Findings that are accepted, on hosts or on the hub.")
	exposition.Add(&t, f.Accepted)
	t.Gauge("fettle_hub_newest_message_timestamp_seconds", "When the newest stored message of an agent was made.")
	exposition.Add(&t, m.Newest.Unix())
	if sees.All() {
		s.ownMetrics(ctx, &t, m)
	}
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_, _ = io.WriteString(w, t.String())
}

// ownMetrics are the hub's own: they tell of all its hosts together.
func (s *site) ownMetrics(ctx context.Context, t *exposition.Text, m store.Measured) {
	if s.cfg.Queue != nil {
		if n, err := s.cfg.Queue(ctx); err == nil {
			t.Gauge("fettle_hub_queue_messages", "Messages of agents that are not stored yet.")
			exposition.Add(t, n)
		}
	}
	t.Gauge("fettle_hub_storing", "1 if what agents send is stored.")
	exposition.Add(t, s.health.of(ctx, &s.cfg) == "")
	t.Gauge("fettle_hub_database_bytes", "Size of the database.")
	exposition.Add(t, m.Bytes)
	t.Gauge("fettle_hub_channels_failing", "Channels whose last message could not be delivered.")
	exposition.Add(t, m.Undelivered)
}
