package api

import (
	"context"
	"time"

	"fettle/fleet/hub/store"
)

// RestartsQuery asks what came of restarts.
type RestartsQuery struct {
	Since string `json:"since" about:"24h, 7d, a day as 2026-01-31, or a time as 2026-01-31T02:00:00Z; 24h unless given"`
	Until string `json:"until" about:"the same; now unless given"`
	Group string `json:"group" about:"one group; - is the one without a name"`
	Label string `json:"label" about:"hosts with this label: NAME=VALUE, or NAME; several with commas between"`
}

// Restarts are the restarts of a time, by what came of them.
type Restarts struct {
	Since time.Time `json:"since"`
	Until time.Time `json:"until"`
	Hosts int       `json:"hosts"` // all, restarted or not
	store.Comings
}

// CSV is a line for each host that is not as it was, or of which that is not known.
func (r Restarts) CSV() (header []string, lines [][]string) {
	for _, a := range r.Away {
		what := "silent"
		if a.Stopped {
			what = "stopped"
		}
		lines = append(lines, texts("away", a.Host.Name, a.Host.Group, "", "", what+" since "+stamp(a.Since), a.Host.Agent))
	}
	for _, c := range r.Causes {
		for _, h := range c.Hosts {
			lines = append(lines, texts("lacks", h.Name, h.Group, c.Severity, c.Subject, c.Summary, h.Agent))
		}
	}
	for _, h := range r.NotCompared {
		lines = append(lines, texts("not compared", h.Name, h.Group, "", "", "", h.Agent))
	}
	return []string{"what", "host", "group", "severity", "subject", "summary", "host id"}, lines
}

// Restarts answers what came of the restarts of a time.
func (a *API) Restarts(ctx context.Context, q RestartsQuery) (r Restarts, err error) {
	in, err := scope(ctx, q.Group, q.Label)
	if err != nil {
		return r, err
	}
	if q.Since == "" {
		q.Since = "24h"
	}
	if r.Since, err = a.moment("since", q.Since); err != nil {
		return r, err
	}
	r.Until = a.Now()
	if q.Until != "" {
		if r.Until, err = a.moment("until", q.Until); err != nil {
			return r, err
		}
	}
	if !r.Until.After(r.Since) {
		return r, bad("until must be after since")
	}
	if r.Hosts, err = a.DB.CountHosts(ctx, store.HostQuery{Scope: in}); err != nil {
		return r, err
	}
	silent := a.Now().Add(-min(a.SilentAfter, store.AwayAfter))
	list, err := a.DB.Restarts(ctx, in, r.Since, r.Until, silent)
	r.Comings = store.Sum(list)
	return r, err
}
