// Package ingest stores agents' messages from NATS in the database, in order
// and exactly once, and acknowledges them after the commit.
package ingest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"fettle/fleet/hub/message"
	"fettle/fleet/hub/store"
)

// Config is what ingestion works with.
type Config struct {
	DB       database
	Conn     publisher
	Consumer jetstream.Consumer
	Holder   string // this hub's name among many
	Log      func(string)
	// Flood is called with a key that sends far more than an agent does.
	Flood func(key string)
}

// database is a *store.DB, as far as it is used here.
type database interface {
	Ingest(ctx context.Context, items []store.Item) ([]store.Result, error)
	Bad(ctx context.Context, agent string, n int, why string) error
	Lease(ctx context.Context, name, holder string, span time.Duration) (bool, error)
	Release(ctx context.Context, name, holder string) error
}

// publisher is a *nats.Conn, as far as it is used here.
type publisher interface {
	Publish(subject string, data []byte) error
}

// Of many hubs, one takes messages in at a time; another takes over when it has
// not been heard of for the lease's span.
const (
	leaseName = "ingest"
	leaseSpan = 15 * time.Second
	leaseEach = 5 * time.Second
)

// atOnce and packedAtOnce bound a transaction: its time, the memory for messages
// unpacked, and what is done again after a crash.
const (
	atOnce       = 2000
	packedAtOnce = 1 << 20 // bytes; a report is a dozen times that when it is read
)

// Run takes messages in until ctx ends.
func Run(ctx context.Context, c Config) { newIntake(c).run(ctx) }

func (in *intake) run(ctx context.Context) {
	for ctx.Err() == nil {
		held, err := in.DB.Lease(ctx, leaseName, in.Holder, leaseSpan)
		switch {
		case err != nil && ctx.Err() == nil:
			in.Log("the database: " + err.Error())
			in.pause(ctx, time.Second)
		case !held:
			in.pause(ctx, leaseEach)
		default:
			in.while(ctx, time.Now().Add(leaseEach))
		}
	}
	// The lease is given back although ctx has ended.
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	_ = in.DB.Release(last, leaseName, in.Holder)
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

type intake struct {
	Config
	limits *limits
	pause  func(context.Context, time.Duration)
}

func newIntake(c Config) *intake { return &intake{c, newLimits(), pause} }

// while takes messages in until the lease is to be renewed.
func (in *intake) while(ctx context.Context, until time.Time) {
	for ctx.Err() == nil && time.Now().Before(until) {
		msgs, err := in.fetch()
		if err != nil {
			in.Log("NATS: " + err.Error())
			in.pause(ctx, time.Second)
			return
		}
		for part := range parts(msgs) {
			if !in.batch(ctx, part) {
				return
			}
		}
	}
}

// parts are messages, in order, as many at a time as a transaction takes.
func parts(msgs []jetstream.Msg) iter.Seq[[]jetstream.Msg] {
	return func(yield func([]jetstream.Msg) bool) {
		for len(msgs) > 0 {
			n, size := 0, 0
			for n < len(msgs) && (n == 0 || size+len(msgs[n].Data()) <= packedAtOnce) {
				size += len(msgs[n].Data())
				n++
			}
			if !yield(msgs[:n]) {
				return
			}
			clear(msgs[:n]) // taken: no longer in memory
			msgs = msgs[n:]
		}
	}
}

// fetch waits for a message, and takes what else is there.
func (in *intake) fetch() ([]jetstream.Msg, error) {
	first, err := in.Consumer.Next(jetstream.FetchMaxWait(time.Second))
	if errors.Is(err, nats.ErrTimeout) || errors.Is(err, jetstream.ErrNoMessages) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	msgs := []jetstream.Msg{first}
	more, err := in.Consumer.FetchNoWait(atOnce - 1)
	if err != nil {
		return msgs, nil // the next round sees it
	}
	for m := range more.Messages() {
		msgs = append(msgs, m)
	}
	return msgs, nil
}

// answer is the reply to an agent's messages.
type answer struct {
	agent string
	message.Ack
	packs [][]byte // that are handed on to it
	wants bool     // it asked for one by hand, which is the answer
}

// batch takes messages into the database, and answers. Until the database has
// them nothing is acknowledged: they come again. It is false where this hub is no
// longer the one that takes them.
func (in *intake) batch(ctx context.Context, msgs []jetstream.Msg) bool {
	var items []store.Item
	answers := newAnswers()
	for _, m := range msgs {
		it, err := in.read(m)
		switch {
		case err == nil:
			items = append(items, *it)
		case it != nil:
			answers.refused(it, err)
		}
	}
	results := in.keep(ctx, items)
	if results == nil {
		return false
	}
	for i, r := range results {
		answers.result(&items[i], r)
	}
	for agent, why := range in.limits.takeBad() {
		if err := in.DB.Bad(ctx, agent, why.n, why.last); err != nil {
			in.Log("the database: " + err.Error())
		}
	}
	if err := msgs[len(msgs)-1].Ack(); err != nil { // of all before it, too
		in.Log("NATS: " + err.Error())
	}
	answers.send(in.Conn)
	return true
}

var errLimit = errors.New("more messages than an agent sends")

// read makes an item of a message. With an error, an item says who is to be
// told; nobody is where the message is not even of an agent.
func (in *intake) read(msg jetstream.Msg) (*store.Item, error) {
	agent, key, kind, ok := message.Sender(msg.Subject())
	if !ok {
		return nil, errors.New("no agent's subject")
	}
	meta, err := msg.Metadata()
	if err != nil {
		return nil, err
	}
	switch in.limits.take(agent, meta.Timestamp) {
	case over:
		return nil, errLimit
	case flood:
		if in.Flood != nil {
			in.Flood(key)
		}
		return nil, errLimit
	}
	m, err := message.Unpack(msg.Data())
	it := &store.Item{Message: m, Key: key, At: meta.Timestamp}
	if err == nil && (m.Agent != agent || m.Kind != kind) {
		err = fmt.Errorf("it says that it is a %s of %s", m.Kind, m.Agent)
	}
	if err != nil {
		in.limits.bad(agent, err)
		if m == nil || m.Agent != agent || !message.IsID(m.Instance) {
			return nil, err
		}
		return it, err
	}
	h := msg.Headers()
	it.Prev = number(h, message.HeaderPrev)
	it.At = meta.Timestamp.Add(-message.Age(time.Duration(number(h, message.HeaderAge)) * time.Millisecond))
	if ms := number(h, message.HeaderClock); ms > 0 {
		it.Skew = time.UnixMilli(ms).Sub(meta.Timestamp)
	}
	return it, nil
}

// number is a header's value within what times and counts can be; else 0.
func number(h nats.Header, name string) int64 {
	n, err := strconv.ParseUint(h.Get(name), 10, 64)
	if err != nil || n > 1<<42 {
		return 0
	}
	return int64(n)
}

// breath is between two transactions: another process that waits to write to SQLite's
// file tries from time to time, and must find it free.
const breath = 5 * time.Millisecond

// keep writes items, for as long as it takes; nil if this hub ends or loses its
// lease before.
func (in *intake) keep(ctx context.Context, items []store.Item) []store.Result {
	out := make([]store.Result, 0, len(items))
	for {
		results := in.some(ctx, items[len(out):])
		if results == nil {
			return nil
		}
		if out = append(out, results...); len(out) >= len(items) {
			return out
		}
		in.pause(ctx, breath)
	}
}

// some writes the first of some items, or all. What the database refuses by itself is
// dropped, so that it does not hold up the others; while it is in trouble, all wait.
func (in *intake) some(ctx context.Context, items []store.Item) []store.Result {
	for wait := 100 * time.Millisecond; ; wait = min(2*wait, 5*time.Second) {
		results, err := in.DB.Ingest(ctx, items)
		if err == nil {
			return results
		}
		if ctx.Err() != nil {
			return nil
		}
		in.Log("the database: " + err.Error())
		if !store.Passing(err) && in.takes(ctx) {
			if results := in.each(ctx, items); len(results) > 0 {
				return results
			}
		}
		in.pause(ctx, wait)
		if held, err := in.DB.Lease(ctx, leaseName, in.Holder, leaseSpan); err == nil && !held || ctx.Err() != nil {
			return nil
		}
	}
}

// takes reports whether the database takes what is written.
func (in *intake) takes(ctx context.Context) bool {
	_, err := in.DB.Ingest(ctx, nil)
	return err == nil
}

// each takes items one by one, as far as the database is not in trouble itself.
func (in *intake) each(ctx context.Context, items []store.Item) []store.Result {
	out := make([]store.Result, len(items))
	for i := range items {
		r, err := in.DB.Ingest(ctx, items[i:i+1])
		if err == nil {
			out[i] = r[0]
			continue
		}
		if store.Passing(err) || !in.takes(ctx) {
			return out[:i]
		}
		in.Log(fmt.Sprintf("a message of %s: %v", items[i].Message.Agent, err))
		in.limits.bad(items[i].Message.Agent, err)
		out[i] = store.Result{Verdict: store.Refused, Seq: items[i].Message.Seq}
	}
	return out
}
