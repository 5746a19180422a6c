package api

import (
	"context"
	"maps"
	"sync"
	"time"

	"fettle/fleet/hub/store"
)

// Labels are labels of hosts, by name and value.
type Labels struct {
	Labels []store.LabelCount `json:"labels"`
}

const (
	labelsShown = 1000             // of a list
	labelsFresh = 30 * time.Second // how long pages offer labels as they were counted
)

// Labels are the labels of hosts.
func (a *API) Labels(ctx context.Context, _ Nothing) (l Labels, err error) {
	l.Labels, err = a.DB.Labels(ctx, sight(ctx), labelsShown)
	return l, err
}

// menus are labels as filters offer them, by who sees which hosts.
type menus struct {
	mu   sync.Mutex
	list map[store.Rights]menu
}

type menu struct {
	Labels
	counted time.Time
}

// LabelMenu is Labels for a page's filter. Each page has one, and counting reads every label of
// every host, so it is counted at most once in half a minute.
func (a *API) LabelMenu(ctx context.Context, _ Nothing) (Labels, error) {
	a.menus.mu.Lock()
	defer a.menus.mu.Unlock()
	now, sees := a.Now(), who(ctx).Sees
	fresh := func(m menu) bool { return !now.Before(m.counted) && now.Sub(m.counted) < labelsFresh }
	if m, ok := a.menus.list[sees]; ok && fresh(m) {
		return m.Labels, nil
	}
	l, err := a.Labels(ctx, Nothing{})
	if err != nil {
		return l, err
	}
	maps.DeleteFunc(a.menus.list, func(_ store.Rights, m menu) bool { return !fresh(m) })
	a.menus.list[sees] = menu{l, now}
	return l, nil
}
