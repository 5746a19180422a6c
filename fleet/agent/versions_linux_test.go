package agent

import (
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"fettle/fleet/hub/message"
)

// TestLaterHub: what a later hub asks and this agent does not know it leaves, and says
// so; what it knows it does, whatever else is said.
func TestLaterHub(t *testing.T) {
	var said []string
	a := &Agent{
		Config: Config{Log: func(s string) { said = append(said, s) }},
		acks:   make(chan *message.Ack, 4),
		asks:   make(chan *message.Ask, 4),
	}
	hear := func(kind, data string) { a.hear(&nats.Msg{Subject: message.To("a", kind), Data: []byte(data)}) }
	hear("ask", `{"format":"fettle-agent-ask","schema":2,"id":"q1","fix":"bridge-mtu"}`)
	if len(a.asks) != 0 || len(said) != 1 || !strings.Contains(said[0], "version 2: of a later version than this program supports (1)") {
		t.Errorf("%d questions, %q", len(a.asks), said)
	}
	hear("ask", `{"format":"fettle-agent-ask","schema":1,"fettle":"9.0","id":"q2","fix":"bridge-mtu"}`)
	hear("ack", `{"instance":"one","seq":3,"mood":"good"}`)
	if len(a.asks) != 1 || len(a.acks) != 1 || len(said) != 1 {
		t.Errorf("%d questions, %d answers, %q", len(a.asks), len(a.acks), said)
	}
}
