package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"fettle/fleet/hub/message"
	"fettle/internal/folded"
)

// What is asked for may get lost when the hub starts, or has much to do.
const fetchTries = 3

var fetchEach = 10 * time.Second

// ErrNoName is the error of a name that no pack has.
var ErrNoName = errors.New("not the name of a pack")

// Fetch asks the hub of this host for a pack, as root does by hand, and returns it as it was signed. An agent may run
// beside it. Nothing is verified here: that is for fettle, which has the keys.
func Fetch(ctx context.Context, dir, name string) ([]byte, error) {
	if !message.IsTrap(name) {
		return nil, fmt.Errorf("%q is %w: expected lower-case letters and digits, in words joined by dashes, as in acme-mail", name, ErrNoName)
	}
	m, err := Load(dir)
	if err != nil {
		return nil, err
	}
	if err := m.sameMachine(); err != nil {
		return nil, err
	}
	nc, subject, err := m.dial(dir, nats.NoReconnect(), nats.Timeout(fetchEach))
	if err != nil {
		return nil, fmt.Errorf("the hub: %s", folded.Line(refusal(err)))
	}
	defer nc.Close()
	sub, err := nc.SubscribeSync(message.To(m.Agent, "pack"))
	if err != nil {
		return nil, err
	}
	w := message.New(message.Want)
	w.Agent, w.Instance, w.Seq, w.Sent, w.Want = m.Agent, newInstance(), 1, time.Now().UTC(), name
	b, err := w.Pack()
	if err != nil {
		return nil, err
	}
	for range fetchTries {
		if err := nc.Publish(subject+"."+string(w.Kind), b); err != nil {
			return nil, fmt.Errorf("asking the hub: %w", err)
		}
		p, err := answerTo(ctx, sub, w)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case errors.Is(err, context.DeadlineExceeded):
			continue
		case err != nil:
			return nil, fmt.Errorf("the hub: %w", err)
		case p.Why != "":
			return nil, errors.New(folded.Line(p.Why))
		}
		return p.File, nil
	}
	return nil, errors.New("the hub does not answer: is fettle-hub serve running there, and is it as new as this agent?")
}

// answerTo waits for the answer to a want.
func answerTo(ctx context.Context, sub *nats.Subscription, w *message.Message) (*message.Pack, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchEach)
	defer cancel()
	for {
		got, err := sub.NextMsgWithContext(ctx)
		if err != nil {
			return nil, err
		}
		if p, err := message.UnpackPack(got.Data); err == nil && p.Asked == w.Instance {
			return p, nil
		}
	}
}
