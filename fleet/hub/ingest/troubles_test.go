package ingest

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"fettle/fleet/hub/message"
	"fettle/fleet/hub/store"
)

// troubled is a database of which a test says what it answers.
type troubled struct {
	ingest func(items []store.Item) ([]store.Result, error)
	lease  func(n int) (bool, error) // asked the nth time
	bad    error
	leases []string
	said   []string
}

func (d *troubled) Ingest(_ context.Context, items []store.Item) ([]store.Result, error) {
	return d.ingest(items)
}

func (d *troubled) Bad(_ context.Context, agent string, n int, why string) error {
	d.said = append(d.said, fmt.Sprint(agent, " ", n, " ", why))
	return d.bad
}

func (d *troubled) Lease(_ context.Context, name, holder string, span time.Duration) (bool, error) {
	d.leases = append(d.leases, fmt.Sprint(name, " ", holder, " ", span))
	return d.lease(len(d.leases))
}

func (d *troubled) Release(ctx context.Context, name, holder string) error {
	d.leases = append(d.leases, "back: "+name+" "+holder)
	return ctx.Err()
}

// seen is an intake of which a test sees what it logs, waits for and publishes; it ends with the last pause.
type seen struct {
	*intake
	ctx            context.Context
	log, published []string
	pauses         []time.Duration
}

func (s *seen) Publish(subject string, b []byte) error {
	s.published = append(s.published, subject+" "+string(b))
	return nil
}

func newSeen(t *testing.T, db database, c jetstream.Consumer, pauses int) *seen {
	s := &seen{}
	var end context.CancelFunc
	s.ctx, end = context.WithCancel(t.Context())
	t.Cleanup(end)
	s.intake = newIntake(Config{DB: db, Conn: s, Consumer: c, Holder: "one", Log: func(l string) { s.log = append(s.log, l) }})
	s.pause = func(_ context.Context, d time.Duration) {
		if s.pauses = append(s.pauses, d); len(s.pauses) >= pauses {
			end()
		}
		if len(s.pauses) > 1000 {
			t.Fatal("it never ends")
		}
	}
	return s
}

func all(items []store.Item) ([]store.Result, error) { return make([]store.Result, len(items)), nil }

var (
	errAway  = fmt.Errorf("gone: %w", driver.ErrBadConn) // trouble that passes
	errOfRow = errors.New("not this one")
)

// Of several hubs one takes messages in; the others, and one whose database does not answer, ask again from
// time to time, and give back what they have when they end.
func TestLeases(t *testing.T) {
	for what, c := range map[string]struct {
		lease  func(n int) (bool, error)
		log    []string
		pauses []time.Duration
	}{
		"another has it": {func(int) (bool, error) { return false, nil }, nil, []time.Duration{5 * time.Second, 5 * time.Second}},
		"no answer": {func(int) (bool, error) { return false, errAway },
			[]string{"the database: gone: driver: bad connection", "the database: gone: driver: bad connection"},
			[]time.Duration{time.Second, time.Second}},
	} {
		db := &troubled{lease: c.lease, ingest: all}
		s := newSeen(t, db, nil, 2)
		s.run(s.ctx)
		if !slices.Equal(s.pauses, c.pauses) || !slices.Equal(s.log, c.log) {
			t.Errorf("%s: waited for %s, said %q", what, s.pauses, s.log)
		}
		if want := []string{"ingest one 15s", "ingest one 15s", "back: ingest one"}; !slices.Equal(db.leases, want) {
			t.Errorf("%s: %q, want %q", what, db.leases, want)
		}
	}
	db := &troubled{ingest: all}
	s := newSeen(t, db, nil, 1)
	db.lease = func(int) (bool, error) { s.pause(s.ctx, 0); return false, errAway }
	if s.run(s.ctx); s.log != nil || len(db.leases) != 2 {
		t.Errorf("a hub that ends says %q, and asked %q", s.log, db.leases)
	}
	if leaseEach < time.Second || leaseSpan < 3*leaseEach {
		t.Errorf("a lease of %s is renewed each %s", leaseSpan, leaseEach)
	}
}

// script is a consumer that answers as a test says.
type script struct {
	jetstream.Consumer
	next    []any // messages and errors
	more    []jetstream.Msg
	moreErr error
}

func (c *script) Next(...jetstream.FetchOpt) (jetstream.Msg, error) {
	one := c.next[0]
	c.next = c.next[1:]
	if err, ok := one.(error); ok {
		return nil, err
	}
	return one.(jetstream.Msg), nil
}

type fetched struct {
	jetstream.MessageBatch
	msgs []jetstream.Msg
}

func (f fetched) Messages() <-chan jetstream.Msg {
	out := make(chan jetstream.Msg, len(f.msgs))
	for _, m := range f.msgs {
		out <- m
	}
	close(out)
	return out
}

func (c *script) FetchNoWait(int) (jetstream.MessageBatch, error) {
	return fetched{msgs: c.more}, c.moreErr
}

// All that waits in the stream is fetched, in order. That nothing does is no error.
func TestFetch(t *testing.T) {
	one, two, three := sent{subject: "1"}, sent{subject: "2"}, sent{subject: "3"}
	for what, c := range map[string]struct {
		c    *script
		want []string
		err  error
	}{
		"nothing":          {&script{next: []any{nats.ErrTimeout}}, nil, nil},
		"nothing, at once": {&script{next: []any{jetstream.ErrNoMessages}}, nil, nil},
		"no connection":    {&script{next: []any{nats.ErrConnectionClosed}}, nil, nats.ErrConnectionClosed},
		"several":          {&script{next: []any{one}, more: []jetstream.Msg{two, three}}, []string{"1", "2", "3"}, nil},
		"one, and then none": {&script{next: []any{one}, more: []jetstream.Msg{two}, moreErr: nats.ErrConnectionClosed},
			[]string{"1"}, nil},
	} {
		msgs, err := newIntake(Config{Consumer: c.c}).fetch()
		var got []string
		for _, m := range msgs {
			got = append(got, m.Subject())
		}
		if !slices.Equal(got, c.want) || !errors.Is(err, c.err) {
			t.Errorf("%s: %q, %v", what, got, err)
		}
	}
}

// Messages are taken in until the lease is to be renewed, all parts of what was fetched; NATS that does not answer
// is waited for.
func TestWhile(t *testing.T) {
	var got []int
	msg := func(place, size int) jetstream.Msg {
		return acked{sent{subject: "nobody's", data: make([]byte, size)}, place, &got}
	}
	c := &script{next: []any{msg(0, packedAtOnce), nats.ErrTimeout, msg(2, 1), nats.ErrConnectionClosed}, more: []jetstream.Msg{msg(1, 1)}}
	s := newSeen(t, &troubled{ingest: all}, c, 1)
	s.while(t.Context(), time.Now().Add(time.Hour))
	if !slices.Equal(got, []int{0, 1, 1}) {
		t.Errorf("acknowledged: %v", got)
	}
	if !slices.Equal(s.pauses, []time.Duration{time.Second}) || !slices.Equal(s.log, []string{"NATS: nats: connection closed"}) {
		t.Errorf("waited for %s, said %q", s.pauses, s.log)
	}
	s = newSeen(t, nil, &script{}, 1)
	s.pause(s.ctx, 0)
	s.while(s.ctx, time.Now().Add(time.Hour)) // nothing is asked of a consumer
	s.while(t.Context(), time.Now())
}

// A hub whose lease another one has meanwhile takes no further part of what it fetched.
func TestLost(t *testing.T) {
	var got []int
	c := &script{next: []any{acked{sent{subject: "nobody's", data: make([]byte, packedAtOnce)}, 0, &got}},
		more: []jetstream.Msg{acked{sent{data: make([]byte, 1)}, 1, &got}}}
	n := 0
	db := &troubled{lease: func(int) (bool, error) { return false, nil }, ingest: func(items []store.Item) ([]store.Result, error) {
		if n++; n == 1 {
			return nil, errAway
		}
		return all(items)
	}}
	s := newSeen(t, db, c, 100)
	s.while(t.Context(), time.Now().Add(time.Hour))
	if len(got) != 0 || n != 1 {
		t.Errorf("acknowledged %v, written %d times", got, n)
	}
}

// What the database does not take now is written again, less and less often, each 5 seconds at last. What
// it never takes is dropped, by itself. That a hub ends, or loses its lease, ends that.
func TestKeep(t *testing.T) {
	item := func(agent string) store.Item { return store.Item{Message: &message.Message{Agent: agent, Seq: 7}} }
	items := []store.Item{item("a"), item("b"), item("c")}
	const ms = time.Millisecond
	held := func(int) (bool, error) { return true, nil }
	refused := store.Result{Verdict: store.Refused, Seq: 7}
	for what, c := range map[string]struct {
		ingest func(n int, items []store.Item) ([]store.Result, error) // asked the nth time
		lease  func(n int) (bool, error)
		pauses int
		want   []store.Result
		waits  []time.Duration
		log    []string
	}{
		"all": {func(_ int, it []store.Item) ([]store.Result, error) { return all(it) }, held, 9, make([]store.Result, 3), nil, nil},
		"one by one": {func(n int, _ []store.Item) ([]store.Result, error) { return []store.Result{{Seq: int64(n)}}, nil }, held, 9,
			[]store.Result{{Seq: 1}, {Seq: 2}, {Seq: 3}}, []time.Duration{5 * ms, 5 * ms}, nil},
		"away": {func(int, []store.Item) ([]store.Result, error) { return nil, errAway }, held, 8, nil,
			[]time.Duration{100 * ms, 200 * ms, 400 * ms, 800 * ms, 1600 * ms, 3200 * ms, 5000 * ms, 5000 * ms},
			slices.Repeat([]string{"the database: " + errAway.Error()}, 8)},
		"away, as are leases": {func(int, []store.Item) ([]store.Result, error) { return nil, errAway },
			func(int) (bool, error) { return false, errAway }, 2, nil, []time.Duration{100 * ms, 200 * ms},
			slices.Repeat([]string{"the database: " + errAway.Error()}, 2)},
		"away for a moment": {func(n int, it []store.Item) ([]store.Result, error) {
			if n == 1 {
				return nil, errAway
			}
			return all(it)
		}, held, 9, make([]store.Result, 3), []time.Duration{100 * ms}, []string{"the database: " + errAway.Error()}},
		"another has the lease": {func(int, []store.Item) ([]store.Result, error) { return nil, errAway },
			func(int) (bool, error) { return false, nil }, 9, nil, []time.Duration{100 * ms}, []string{"the database: " + errAway.Error()}},
		"one is refused": {func(_ int, it []store.Item) ([]store.Result, error) {
			if slices.ContainsFunc(it, func(i store.Item) bool { return i.Message.Agent == "b" }) {
				return nil, errOfRow
			}
			return all(it)
		}, held, 9, []store.Result{{}, refused, {}}, nil, []string{"the database: not this one", "a message of b: not this one"}},
		"everything is": {func(int, []store.Item) ([]store.Result, error) { return nil, errOfRow }, held, 1, nil,
			[]time.Duration{100 * ms}, []string{"the database: not this one"}},
		"away while one by one": {func(n int, it []store.Item) ([]store.Result, error) {
			if n == 1 {
				return nil, errOfRow
			}
			if len(it) > 0 && n < 5 {
				return nil, errAway
			}
			return all(it)
		}, held, 9, make([]store.Result, 3), []time.Duration{100 * ms, 200 * ms},
			[]string{"the database: not this one", "the database: " + errAway.Error()}},
		"away after the first": {func(n int, it []store.Item) ([]store.Result, error) {
			switch {
			case n == 1:
				return nil, errOfRow
			case len(it) > 0 && it[0].Message.Agent == "b" && n < 5:
				return nil, errAway
			}
			return all(it)
		}, held, 9, make([]store.Result, 3), []time.Duration{5 * ms}, []string{"the database: not this one"}},
		"takes nothing any more": {func(n int, it []store.Item) ([]store.Result, error) {
			if n == 2 || n > 4 { // asked whether it takes anything, it does once
				return all(it)
			}
			return nil, errOfRow
		}, held, 9, make([]store.Result, 3), []time.Duration{100 * ms}, []string{"the database: not this one"}},
	} {
		n := 0
		counted := func(it []store.Item) ([]store.Result, error) { n++; return c.ingest(n, it) }
		s := newSeen(t, &troubled{lease: c.lease, ingest: counted}, nil, c.pauses)
		got := s.keep(s.ctx, items)
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, want %+v", what, got, c.want)
		}
		if !slices.Equal(s.pauses, c.waits) || !slices.Equal(s.log, c.log) {
			t.Errorf("%s: waited for %s, want %s; said %q, want %q", what, s.pauses, c.waits, s.log, c.log)
		}
		if bad := s.limits.takeBad(); what == "one is refused" && bad["b"].n != 1 || what != "one is refused" && len(bad) != 0 {
			t.Errorf("%s: %+v", what, bad)
		}
	}
	s := newSeen(t, &troubled{ingest: func([]store.Item) ([]store.Result, error) { return nil, errAway }}, nil, 1)
	s.pause(s.ctx, 0)
	if got := s.keep(s.ctx, items); got != nil || s.log != nil {
		t.Errorf("a hub that has ended keeps %v, and says %q", got, s.log)
	}
}
