package web

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"fettle/fleet/hub/store"
	"fettle/fleet/hub/web/login"
)

// pulse is the number of the last change of some hosts in the database.
type pulse interface {
	Pulse(ctx context.Context, scope store.Scope) (int64, error)
}

// announcer tells browsers that something was stored, by server-sent events.
// It asks the database, and only while somebody listens: which of many hubs
// stored it does not matter.
type announcer struct {
	ctx context.Context
	db  pulse

	mu        sync.Mutex
	listeners map[chan int64]store.Rights
	last      map[store.Rights]int64 // of those who listen: nobody hears of hosts that he does not see
	running   bool
}

const (
	pollEvery    = 2 * time.Second
	mostTabs     = 1000 // listeners; further pages do without
	streamLasts  = 15 * time.Minute
	writeTimeout = 10 * time.Second
)

func newAnnouncer(ctx context.Context, db pulse) *announcer {
	return &announcer{ctx: ctx, db: db, listeners: map[chan int64]store.Rights{}, last: map[store.Rights]int64{}}
}

func (a *announcer) listen(sees store.Rights) chan int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.listeners) >= mostTabs {
		return nil
	}
	c := make(chan int64, 1)
	a.listeners[c] = sees
	if !a.running {
		a.running = true
		go a.poll()
	}
	return c
}

func (a *announcer) leave(c chan int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.listeners, c)
}

// poll ends when nobody listens any more.
func (a *announcer) poll() {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		now := map[store.Rights]int64{}
		for _, sees := range a.rights() {
			n, err := a.db.Pulse(a.ctx, sees.Scope(nil, nil))
			if err == nil {
				now[sees] = n
			} else if a.ctx.Err() == nil {
				slog.Warn("live page", "err", err)
			}
		}
		a.mu.Lock()
		if len(a.listeners) == 0 || a.ctx.Err() != nil {
			a.running = false
			clear(a.last)
			a.mu.Unlock()
			return
		}
		a.announce(now)
		a.mu.Unlock()
		select {
		case <-tick.C:
		case <-a.ctx.Done():
		}
	}
}

// rights are those of all who listen, each once.
func (a *announcer) rights() []store.Rights {
	a.mu.Lock()
	defer a.mu.Unlock()
	seen := map[store.Rights]bool{}
	for _, r := range a.listeners {
		seen[r] = true
	}
	return slices.Collect(maps.Keys(seen))
}

// announce tells those whose number is another one than before; what was stored before
// somebody listened is on the page.
func (a *announcer) announce(now map[store.Rights]int64) {
	for sees, n := range now {
		was, had := a.last[sees]
		a.last[sees] = n
		if !had || was == n {
			continue
		}
		for c, of := range a.listeners {
			if of != sees {
				continue
			}
			select {
			case c <- n:
			default: // it has one waiting
			}
		}
	}
}

// serve is GET /live. It ends after a while, and browsers come back: a session
// that ended meanwhile is noticed then.
func (a *announcer) serve(w http.ResponseWriter, r *http.Request) {
	c := a.listen(login.Who(r.Context()).Sees)
	if c == nil {
		http.Error(w, "too many pages listen", http.StatusServiceUnavailable)
		return
	}
	defer a.leave(c)
	out := http.NewResponseController(w)
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	w.Header().Set("X-Accel-Buffering", "no")
	send := func(format string, args ...any) bool {
		if err := out.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
			return false
		}
		if _, err := fmt.Fprintf(w, format, args...); err != nil {
			return false
		}
		return out.Flush() == nil
	}
	if !send("retry: 5000\n\n") {
		return
	}
	end := time.NewTimer(streamLasts)
	defer end.Stop()
	heartbeat := time.NewTicker(20 * time.Second)
	defer heartbeat.Stop()
	for {
		ok := true
		select {
		case n := <-c:
			ok = send("event: changed\ndata: %d\n\n", n)
		case <-heartbeat.C:
			ok = send(": alive\n\n")
		case <-end.C:
			return
		case <-a.ctx.Done():
			return
		case <-r.Context().Done():
			return
		}
		if !ok {
			return
		}
	}
}
