package ingest

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"

	"fettle/fleet/hub/message"
)

// sent is a message as the stream has it.
type sent struct {
	jetstream.Msg
	subject string
	data    []byte
}

func (m sent) Subject() string      { return m.subject }
func (m sent) Data() []byte         { return m.data }
func (m sent) Headers() nats.Header { return nats.Header{} }
func (m sent) Metadata() (*jetstream.MsgMetadata, error) {
	return &jetstream.MsgMetadata{Timestamp: time.Unix(1e9, 0)}, nil
}

// NATS lets an agent publish below its own subject alone; what the message says of
// itself must be the same. Whoever speaks for another is not believed, and the
// other does not hear of it.
func TestSpeaksForItself(t *testing.T) {
	const a, b = "aaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbb"
	pair, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	key, err := pair.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	beat := func(agent string, kind message.Kind) []byte {
		m := message.New(kind)
		m.Agent, m.Instance, m.Seq, m.Sent = agent, "abcdefghij234567", 1, time.Unix(1e9, 0).UTC()
		m.Self = &message.Self{Machine: "m"}
		b, err := m.Pack()
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	for name, c := range map[string]struct {
		subject string
		data    []byte
		taken   bool
		answers string // who gets the answer
	}{
		"itself":                 {message.From(a, key) + ".beat", beat(a, message.Beat), true, a},
		"another":                {message.From(a, key) + ".beat", beat(b, message.Beat), false, ""},
		"another kind than said": {message.From(a, key) + ".change", beat(a, message.Beat), false, a},
		"no message":             {message.From(a, key) + ".beat", []byte("x"), false, ""},
	} {
		in := newIntake(Config{})
		it, err := in.read(sent{subject: c.subject, data: c.data})
		if (err == nil) != c.taken {
			t.Errorf("%s: %v", name, err)
		}
		answered := ""
		if it != nil && it.Message != nil {
			answered = it.Message.Agent
		}
		if answered != c.answers {
			t.Errorf("%s: %q is told, want %q", name, answered, c.answers)
		}
	}
}
