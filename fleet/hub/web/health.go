package web

import (
	"context"
	"sync"
	"time"

	"fettle/fleet/hub/store"
)

// health is whether what agents send is stored. Everybody may ask, so the database
// is asked now and then.
type health struct {
	mu  sync.Mutex
	at  time.Time
	why string
}

// healthLasts is how long an answer holds.
const healthLasts = 5 * time.Second

// healthTries is how long the database may take to answer.
const healthTries = 2 * time.Second

// of says what is wrong; nothing where all is well.
func (h *health) of(ctx context.Context, cfg *Config) string {
	if cfg.Storing != nil && cfg.Storing() != nil {
		return "agents' messages cannot be stored"
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if now := time.Now(); now.Sub(h.at) > healthLasts {
		// Whoever asks and hangs up must not make the answer that others get.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), healthTries)
		defer cancel()
		h.at, h.why = now, ""
		if _, err := cfg.DB.Pulse(ctx, store.Everything); err != nil {
			h.why = "the database does not answer"
		} else if err := cfg.DB.Writable(ctx); err != nil {
			h.why = "the database cannot be written"
		}
	}
	return h.why
}
