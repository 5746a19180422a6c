package ingest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"

	"fettle/fleet/hub/message"
	"fettle/fleet/hub/store"
	"fettle/report/onhub"
)

// whole is a valid message of an agent.
func whole(t *testing.T, agent, instance string, kind message.Kind) []byte {
	t.Helper()
	m := message.New(kind)
	m.Agent, m.Instance, m.Seq, m.Sent, m.Self = agent, instance, 4, time.Unix(1e9, 0).UTC(), &message.Self{Machine: "m"}
	b, err := m.Pack()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

type notAcked struct{ sent }

func (notAcked) Ack() error { return errors.New("no connection") }

// A batch is answered, what was wrong with it is counted, and what fails on the way is logged: the messages are stored.
func TestBatchTroubles(t *testing.T) {
	const a, b, i = "aaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbb", "abcdefghij234567"
	pair, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	key, _ := pair.PublicKey()
	newer := strings.Replace(string(whole(t, b, i, message.Beat)), `"schema":`, `"schema":9`, 1)
	var kept []string
	db := &troubled{bad: errAway, ingest: func(items []store.Item) ([]store.Result, error) {
		for _, it := range items {
			kept = append(kept, it.Message.Agent)
		}
		return slices.Repeat([]store.Result{{Verdict: store.Taken, Seq: 4}}, len(items)), nil
	}}
	s := newSeen(t, db, nil, 1)
	if !s.batch(t.Context(), []jetstream.Msg{
		sent{subject: message.From(a, key) + ".beat", data: whole(t, a, i, message.Beat)},
		sent{subject: message.From(b, key) + ".beat", data: []byte(newer)},
		notAcked{sent{subject: "nobody's"}},
	}) {
		t.Error("the lease is lost")
	}
	if !slices.Equal(kept, []string{a}) {
		t.Errorf("kept of %q", kept)
	}
	var to []string
	for _, p := range s.published {
		subject, text, _ := strings.Cut(p, " ")
		ack, err := message.UnpackAck([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		to = append(to, fmt.Sprint(subject, " ", ack.Seq, " ", ack.Refused))
	}
	if want := []string{message.To(b, "ack") + " 4 this agent is newer than the hub", message.To(a, "ack") + " 4 "}; !slices.Equal(to, want) {
		t.Errorf("answered %q, want %q", to, want)
	}
	if len(db.said) != 1 || !strings.HasPrefix(db.said[0], b+" 1 ") {
		t.Errorf("%q", db.said)
	}
	if want := []string{"the database: " + errAway.Error(), "NATS: no connection"}; !slices.Equal(s.log, want) {
		t.Errorf("said %q, want %q", s.log, want)
	}
}

// Whose message cannot be read is told so only where it says itself who sent it.
func TestReadTroubles(t *testing.T) {
	const a, b, i = "aaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbb", "abcdefghij234567"
	pair, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	key, _ := pair.PublicKey()
	newer := func(agent, instance string) []byte {
		return []byte(strings.NewReplacer(`"schema":`, `"schema":9`, i, instance).Replace(string(whole(t, agent, i, message.Beat))))
	}
	for what, c := range map[string]struct {
		data []byte
		told bool
		bad  int
	}{
		"newer":                 {newer(a, i), true, 1},
		"newer, of another":     {newer(b, i), false, 1},
		"newer, of no instance": {newer(a, "no id"), false, 1},
		"none":                  {nil, false, 1},
	} {
		in := newIntake(Config{})
		it, err := in.read(sent{subject: message.From(a, key) + ".beat", data: c.data})
		if err == nil || (it != nil) != c.told || it != nil && it.Message.Seq != 4 {
			t.Errorf("%s: %+v, %v", what, it, err)
		}
		if bad := in.limits.takeBad(); bad[a].n != c.bad || bad[a].last != err.Error() {
			t.Errorf("%s: %+v", what, bad)
		}
	}
	var flooded []string
	for _, hears := range []bool{true, false} {
		in := newIntake(Config{})
		if hears {
			in.Flood = func(key string) { flooded = append(flooded, key) }
		}
		m := sent{subject: message.From(a, key) + ".beat", data: whole(t, a, i, message.Beat)}
		for n := range 64 + 500 + 10 {
			if it, err := in.read(m); (err == nil) != (n < 64) || (it != nil) != (n < 64) || n >= 64 && err != errLimit {
				t.Fatalf("message %d: %+v, %v", n, it, err)
			}
		}
		if len(in.limits.takeBad()) != 0 {
			t.Error("too many messages are called bad ones")
		}
	}
	if !slices.Equal(flooded, []string{key}) {
		t.Errorf("%q flood", flooded)
	}
}

// Answers go to whom they are for. Who asked for a pack is answered by that alone.
func TestAnswersAreSent(t *testing.T) {
	item := func(agent string, kind message.Kind, seq int64) *store.Item {
		return &store.Item{Message: &message.Message{Agent: agent, Instance: "i", Seq: seq, Kind: kind}}
	}
	s := newSeen(t, nil, nil, 1)
	a := newAnswers()
	a.result(item("a", message.Beat, 3), store.Result{Verdict: store.Taken, Seq: 3, Packs: [][]byte{[]byte("p"), []byte("q")}})
	a.result(item("b", message.Want, 3), store.Result{Verdict: store.Taken, Seq: 3, Packs: [][]byte{[]byte("r")}})
	a.refused(item("a", message.Beat, 2), errors.New("x"))
	list := &onhub.List{}
	a.result(item("a", message.Beat, 1), store.Result{Verdict: store.Taken, Seq: 1, Accepts: list})
	a.result(item("a", message.Beat, 1), store.Result{Verdict: store.Again, Seq: 1})
	if a.order[0].Accepts != list {
		t.Error("what is accepted is forgotten with the next message")
	}
	a.result(item("c", message.Want, 1), store.Result{Verdict: store.Stranger, Packs: [][]byte{[]byte("s")}})
	a.send(s)
	want := []string{message.To("a", "ack"), message.To("a", "pack") + " p", message.To("a", "pack") + " q", message.To("b", "pack") + " r"}
	if len(s.published) != len(want) || !strings.HasPrefix(s.published[0], want[0]+" ") || !strings.Contains(s.published[0], `"seq":3`) ||
		!slices.Equal(s.published[1:], want[1:]) {
		t.Errorf("%q, want %q", s.published, want)
	}
}
