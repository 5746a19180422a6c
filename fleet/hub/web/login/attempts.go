package login

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"fettle/fleet/hub/store"
	"fettle/internal/ui"
)

// Reasons for which a login is refused: of few, so that attempts are few rows.
const (
	wrongPassword = "name or password"
	tooMany       = "too many attempts"
	byProvider    = "single sign-on"
)

// attempts counts logins that were refused. Whoever makes them chooses their number and
// their names, so the database hears of them once a second at most, in few rows.
type attempts struct {
	keep func(context.Context, []store.Attempt) error

	mu      sync.Mutex
	pending map[attemptKey]*store.Attempt
}

type attemptKey struct{ from, why string }

const (
	attemptsEach = time.Second
	mostPending  = 200 // addresses in that time; further ones are counted together
	nameShown    = 40  // characters of a name that was tried
)

func (a *attempts) add(from, why, name string, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	k := attemptKey{from, why}
	if a.pending[k] == nil && len(a.pending) >= mostPending {
		k.from = "other addresses"
	}
	one := a.pending[k]
	if one == nil {
		if a.pending == nil {
			a.pending = map[attemptKey]*store.Attempt{}
		}
		if len(a.pending) == 0 {
			time.AfterFunc(attemptsEach, a.flush)
		}
		one = &store.Attempt{From: k.from, Why: why, First: now}
		a.pending[k] = one
	}
	one.Count++
	one.Name, one.Last = tried(name), now
}

// tried is a name as it is shown: one line, short.
func tried(name string) string {
	if r := []rune(name); len(r) > nameShown {
		name = string(r[:nameShown]) + "…"
	}
	return ui.Visible(name)
}

func (a *attempts) flush() {
	a.mu.Lock()
	list := make([]store.Attempt, 0, len(a.pending))
	for _, one := range a.pending {
		list = append(list, *one)
	}
	clear(a.pending)
	a.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := a.keep(ctx, list); err != nil {
		slog.Error("counting refused logins", "err", err)
	}
}
