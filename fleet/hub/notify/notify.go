// Package notify tells people what changed on a hub's hosts. What a channel was
// sent is in the hub's database, so each round compares that with the present state:
// what came and went between two messages is not sent, and nothing is sent twice.
package notify

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"fettle/fleet/hub/store"
	"fettle/internal/config"
	"fettle/report/notify"
)

// Sender delivers messages: notify.Sender.
type Sender interface {
	Deliver(ctx context.Context, c *config.Channel, m *notify.Message) error
	Alerts(ctx context.Context, c *config.Channel, list []notify.Alert, now time.Time) error
}

// Notifier tells the channels of its settings.
type Notifier struct {
	DB       *store.DB
	Sender   Sender
	Settings *Settings
	Hub      string        // as messages name it
	URL      string        // of the page; empty: none
	Silent   time.Duration // a host that has sent nothing for this long is silent
	Holder   string        // this process, among the hubs on one database
	Log      func(string)
	Now      func() time.Time
	Started  time.Time // of the hub: agents need a while to come back to it

	said map[string]string // what was last logged of a channel
}

const (
	pace = 15 * time.Second
	// lease is longer than any delivery may take.
	lease = 3 * time.Minute
	// comeBack is how long a hub that has started gives agents to speak again.
	comeBack  = 15 * time.Minute
	retryLast = 30 * time.Minute
)

// Run tells the channels until ctx ends.
func (n *Notifier) Run(ctx context.Context) {
	tick := time.NewTicker(pace)
	defer tick.Stop()
	defer func() { _ = n.DB.Release(context.WithoutCancel(ctx), "notify", n.Holder) }()
	for {
		if err := n.Round(ctx); err != nil && ctx.Err() == nil {
			n.log("", "notifying: "+err.Error())
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// Round sends each channel what is due, if this hub has the lease.
func (n *Notifier) Round(ctx context.Context) error {
	var keys []string
	for i := range n.Settings.Channels {
		c := &n.Settings.Channels[i]
		keys = append(keys, c.key())
		if mine, err := n.DB.Lease(ctx, "notify", n.Holder, lease); err != nil || !mine {
			return err
		}
		switch err := n.channel(ctx, c); err {
		case nil:
			delete(n.said, c.key())
		case errWaits: // and fails as was logged
		default:
			n.log(c.key(), fmt.Sprintf("telling %s: %v", c.Title(), err))
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return n.DB.KeepChannels(ctx, keys)
}

// log says what is new.
func (n *Notifier) log(key, text string) {
	if n.said[key] == text {
		return
	}
	if n.said == nil {
		n.said = map[string]string{}
	}
	n.said[key] = text
	n.Log(text)
}

func (n *Notifier) channel(ctx context.Context, c *Channel) error {
	st, err := n.DB.ChannelState(ctx, c.key())
	if err != nil {
		return err
	}
	switch {
	case st.Message != nil:
		return n.deliver(ctx, c, st)
	case c.Digest != "":
		return n.digest(ctx, c, st)
	case c.Kind() == "alertmanager":
		return n.alerts(ctx, c, st)
	}
	if told, err := n.windows(ctx, c, &st); told || err != nil {
		return err
	}
	return n.changes(ctx, c, st)
}

// errWaits: a message that could not be delivered waits until it is tried again.
var errWaits = errors.New("it is not time to try again")

// deliver delivers the message that a channel's state has.
func (n *Notifier) deliver(ctx context.Context, c *Channel, st store.ChannelState) error {
	now := n.Now()
	if now.Before(st.Retry) {
		return errWaits
	}
	var m notify.Message
	if err := json.Unmarshal(st.Message, &m); err != nil {
		return err
	}
	failed := n.Sender.Deliver(ctx, &c.Channel, &m)
	if failed != nil && ctx.Err() != nil {
		return ctx.Err() // it was interrupted, and is as it was
	}
	if failed == nil {
		st.Message, st.Tries, st.Retry, st.Failed, st.Sent = nil, 0, time.Time{}, "", now
	} else {
		st.Retry, st.Failed = now.Add(min(pace<<min(st.Tries, 10), retryLast)), failed.Error()
		st.Tries++
	}
	// What was delivered is kept, also by a hub that ends.
	if err := n.DB.Tell(context.WithoutCancel(ctx), c.key(), st, nil, nil); err != nil {
		return err
	}
	return failed
}

// enqueue keeps a message with what it tells, and delivers it.
func (n *Notifier) enqueue(ctx context.Context, c *Channel, st store.ChannelState, m *notify.Message, d *difference) error {
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	st.Message, st.Waiting = b, time.Time{}
	if err := n.DB.Tell(ctx, c.key(), st, d.opened(), d.ended()); err != nil {
		return err
	}
	return n.deliver(ctx, c, st)
}

// newID names a message.
func newID() string {
	var b [12]byte
	_, _ = rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// silentSince is the time before which a host was last heard that is silent; zero
// while agents may not have come back yet.
func (n *Notifier) silentSince(now time.Time) time.Time {
	if n.Silent <= 0 || now.Sub(n.Started) < min(comeBack, n.Silent) {
		return time.Time{}
	}
	return now.Add(-n.Silent)
}
