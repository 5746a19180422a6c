package bus

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"fettle/fleet/hub/message"
	"fettle/internal/units"
)

// Stream is the name of the stream of agents' messages, Consumer that of the
// hub's place in it.
const (
	Stream   = "FETTLE"
	Consumer = "ingest"
)

// perSubject is how many messages of one agent and kind wait for the hub; an
// agent that sends more pushes out its own only. It is twice what an agent
// sends ahead of the hub's answers.
const perSubject = 16

// electing is how long a cluster may take: servers that are to keep a new stream elect one of them in 4 to 9 seconds
// (nats-server 2.9 to 2.12, server/raft.go, minElectionTimeout), and those of a new cluster elect a leader first.
const electing = time.Minute

// OpenStream makes the stream and the hub's consumer, or brings them to what
// this version wants of them.
func OpenStream(ctx context.Context, nc *nats.Conn, maxBytes int64, replicas int) (jetstream.Consumer, error) {
	js := must(jetstream.New(nc)) // which fails for its options alone
	ctx, cancel := context.WithTimeout(ctx, electing)
	defer cancel()
	// Nothing is acknowledged by the stream: what counts is the hub's commit,
	// and an acknowledgement goes wherever a publisher says, to all agents too.
	s, err := js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
		Name: Stream, Subjects: []string{message.AllFrom}, NoAck: true, Storage: jetstream.FileStorage, Retention: jetstream.LimitsPolicy,
		Discard: jetstream.DiscardOld, MaxAge: 3 * 24 * time.Hour, MaxBytes: maxBytes, MaxMsgsPerSubject: perSubject,
		MaxMsgSize: message.MaxPacked + 4<<10,
		Replicas:   replicas, Duplicates: 100 * time.Millisecond, DenyDelete: true,
	})
	if noSpace(err) {
		return nil, fmt.Errorf("the stream %s: %w: it reserves %s on each server that stores it; raise max_file there "+
			"(jetstream: {max_file: …}), or reserve less with --nats-store", Stream, err, units.Size(maxBytes))
	}
	if err != nil {
		return nil, fmt.Errorf("the stream %s: %w", Stream, err)
	}
	c, err := s.CreateOrUpdateConsumer(ctx, jetstream.ConsumerConfig{
		Durable: Consumer, AckPolicy: jetstream.AckAllPolicy, AckWait: time.Minute, MaxAckPending: 50_000,
		DeliverPolicy: jetstream.DeliverAllPolicy,
	})
	if err != nil {
		return nil, fmt.Errorf("the consumer %s: %w", Consumer, err)
	}
	return c, nil
}

// noSpace tells whether the servers have less for streams than was asked for
// (nats-server 2.10, server/errors.json; of a cluster, jetstream_cluster.go, selectPeerError).
func noSpace(err error) bool {
	var api *jetstream.APIError
	if !errors.As(err, &api) {
		return false
	}
	return api.ErrorCode == 10047 || api.ErrorCode == 10023 || strings.Contains(api.Description, "insufficient storage")
}

// RenewStream creates the stream again, without what was in it.
func RenewStream(ctx context.Context, nc *nats.Conn, maxBytes int64, replicas int) (jetstream.Consumer, error) {
	js := must(jetstream.New(nc)) // which fails for its options alone
	if err := js.DeleteStream(ctx, Stream); err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil, fmt.Errorf("the stream %s: %w", Stream, err)
	}
	return OpenStream(ctx, nc, maxBytes, replicas)
}

// Ask asks an agent, or all for "", to check now. It returns the question's id.
func Ask(nc *nats.Conn, agent string, a *message.Ask) error {
	to := message.ToAll
	if agent != "" {
		if !message.IsID(agent) {
			return errors.New("no agent has such a name")
		}
		to = message.To(agent, "ask")
	}
	if err := nc.Publish(to, must(a.Pack())); err != nil {
		return err
	}
	return nc.FlushTimeout(10 * time.Second)
}
