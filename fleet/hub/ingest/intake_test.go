package ingest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"

	"fettle/fleet/hub/message"
	"fettle/fleet/hub/store"
	"fettle/fleet/hub/store/storetest"
)

// A transaction takes as many messages as are no larger together than its bound, in order,
// and one in any case.
func TestParts(t *testing.T) {
	const m = packedAtOnce
	for _, c := range []struct{ sizes, want []int }{
		{nil, nil}, {[]int{0, 0, 0}, []int{3}}, {[]int{m - 1, 1, 1}, []int{2, 1}}, {[]int{m - 1, 2}, []int{1, 1}},
		{[]int{m + 1, m + 1, 1}, []int{1, 1, 1}}, {[]int{1, m + 1, 1, 1}, []int{1, 1, 2}},
	} {
		var msgs []jetstream.Msg
		for _, n := range c.sizes {
			msgs = append(msgs, sent{data: make([]byte, n)})
		}
		var got []int
		for p := range parts(msgs) {
			if got = append(got, len(p)); len(got) > 10 {
				t.Fatalf("of %v bytes: parts without end", c.sizes)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("of %v bytes: %v, want %v", c.sizes, got, c.want)
		}
	}
}

// headed is a message with headers.
type headed struct {
	sent
	header nats.Header
}

func (m headed) Headers() nats.Header { return m.header }

// What headers say is believed within what can be: the message's age and the host's clock.
func TestHeaders(t *testing.T) {
	pair, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	key, _ := pair.PublicKey()
	const agent = "aaaaaaaaaaaaaaaa"
	m := message.New(message.Beat)
	m.Agent, m.Instance, m.Seq, m.Sent, m.Self = agent, "abcdefghij234567", 1, time.Unix(1e9, 0).UTC(), &message.Self{Machine: "m"}
	b, err := m.Pack()
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(1e9, 0)
	for _, c := range []struct {
		prev, age, clock string
		wantPrev         int64
		at               time.Time
		skew             time.Duration
	}{
		{"", "", "", 0, now, 0},
		{"7", "1500", "1000000002000", 7, now.Add(-1500 * time.Millisecond), 2 * time.Second},
		{"-1", "-1", "-1", 0, now, 0},
		{"x", "x", "1", 0, now, time.UnixMilli(1).Sub(now)},
		{fmt.Sprint(1 << 42), fmt.Sprint(1<<42 + 1), "0", 1 << 42, now, 0},
	} {
		in := newIntake(Config{})
		h := nats.Header{}
		h.Set(message.HeaderPrev, c.prev)
		h.Set(message.HeaderAge, c.age)
		h.Set(message.HeaderClock, c.clock)
		it, err := in.read(headed{sent{subject: message.From(agent, key) + ".beat", data: b}, h})
		if err != nil {
			t.Fatal(err)
		}
		if it.Prev != c.wantPrev || !it.At.Equal(c.at) || it.Skew != c.skew || it.Key != key {
			t.Errorf("%+v: %+v", c, it)
		}
	}
}

// An agent is answered once for a batch: up to where the hub has its messages, and what it
// shall send again. A stranger is not answered.
func TestAnswers(t *testing.T) {
	item := func(agent string, seq int64) *store.Item {
		return &store.Item{Message: &message.Message{Agent: agent, Instance: "i", Seq: seq}}
	}
	a := newAnswers()
	a.result(item("a", 1), store.Result{Verdict: store.Taken, Seq: 1})
	a.result(item("a", 2), store.Result{Verdict: store.NeedWhole, Seq: 2})
	a.result(item("b", 9), store.Result{Verdict: store.Gap, Seq: 5})
	a.result(item("a", 1), store.Result{Verdict: store.Taken, Seq: 1})
	a.result(item("c", 1), store.Result{Verdict: store.Stranger, Seq: 1})
	a.result(item("d", 4), store.Result{Verdict: store.Refused, Seq: 4})
	a.result(item("e", 4), store.Result{Verdict: store.NeedWhole, Seq: 4})
	a.refused(item("f", 8), fmt.Errorf("x: %w", message.ErrNewer))
	a.refused(item("g", 8), errors.New("x"))
	var got []string
	for _, one := range a.order {
		got = append(got, fmt.Sprint(one.agent, " ", one.Seq, " ", one.Whole, " ", one.Again, " ", one.Refused))
	}
	want := []string{"a 2 false false ", "b 5 false true ", "d 4 false false the hub's database does not take it", "e 4 true false ",
		"f 8 false false this agent is newer than the hub", "g 8 false false not as an agent's messages are"}
	if !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
}

// queue is a consumer with some messages, after which it does something.
type queue struct {
	jetstream.Consumer
	msgs  []jetstream.Msg
	empty func()
	asked int // number of messages asked for beside the first
}

func (q *queue) Next(...jetstream.FetchOpt) (jetstream.Msg, error) {
	if len(q.msgs) == 0 {
		q.empty()
		return nil, nats.ErrTimeout
	}
	m := q.msgs[0]
	q.msgs = q.msgs[1:]
	return m, nil
}

func (q *queue) FetchNoWait(n int) (jetstream.MessageBatch, error) {
	q.asked = n
	return nil, errors.New("not now")
}

// A hub that holds the lease takes messages in until it ends, and gives the lease back then.
func TestRunEnds(t *testing.T) {
	db := storetest.SQLite(t)
	ctx, end := context.WithCancel(t.Context())
	defer end()
	var got []int
	q := &queue{empty: end}
	for i := range 3 {
		q.msgs = append(q.msgs, acked{sent{subject: "nobody's"}, i, &got})
	}
	Run(ctx, Config{DB: db, Consumer: q, Holder: "one", Log: func(s string) { t.Error(s) }})
	if !slices.Equal(got, []int{0, 1, 2}) || q.asked != atOnce-1 {
		t.Errorf("acknowledged: %v; asked for %d beside the first", got, q.asked)
	}
	if held, err := db.Lease(t.Context(), leaseName, "two", leaseSpan); err != nil || !held {
		t.Errorf("another hub has the lease: %t, %v", held, err)
	}
	q.msgs = []jetstream.Msg{acked{sent{}, 3, &got}}
	Run(ctx, Config{DB: db, Consumer: q, Holder: "two", Log: func(s string) { t.Error(s) }})
	in := newIntake(Config{DB: db, Consumer: q})
	in.while(t.Context(), time.Now().Add(-time.Second))
	if len(got) != 3 {
		t.Error("messages are taken after the end")
	}
}

// While the database answers nothing, messages wait: the hub says so and tries again, until
// it ends or another one has the lease.
func TestDatabaseAway(t *testing.T) {
	db := storetest.SQLite(t)
	db.Close()
	ctx, end := context.WithCancel(t.Context())
	defer end()
	said := 0
	in := newIntake(Config{})
	in.Config = Config{DB: db, Holder: "one", Log: func(string) {
		if said++; said == 2 {
			end()
		}
	}}
	var got []int
	if in.batch(ctx, []jetstream.Msg{acked{sent{subject: "nobody's"}, 0, &got}}) || said != 2 || len(got) != 0 {
		t.Errorf("said %d times, acknowledged %v", said, got)
	}
	if in.batch(ctx, []jetstream.Msg{acked{sent{subject: "nobody's"}, 0, &got}}) || said != 2 {
		t.Errorf("a hub that has ended says %d times that the database is away", said)
	}
}

// undated is a message that did not come from the stream.
type undated struct{ sent }

func (m undated) Metadata() (*jetstream.MsgMetadata, error) {
	return nil, errors.New("not of a stream")
}

// A message without a known time is dropped without an answer.
func TestUndated(t *testing.T) {
	pair, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	key, _ := pair.PublicKey()
	in := newIntake(Config{})
	it, err := in.read(undated{sent{subject: message.From("aaaaaaaaaaaaaaaa", key) + ".beat"}})
	if it != nil || err == nil || err.Error() != "not of a stream" {
		t.Errorf("%+v, %v", it, err)
	}
}
