package agent

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode"

	"github.com/nats-io/nats.go"

	"fettle/fleet/agent/spool"
	"fettle/fleet/hub/message"
	"fettle/internal/folded"
)

// TestLaterHub: what a later hub asks and this agent does not know it leaves, and says
// so; what it knows it does, whatever else is said.
func TestLaterHub(t *testing.T) {
	var said []string
	a := &Agent{
		hub:  folded.Log{To: func(s string) { said = append(said, s) }},
		acks: make(chan *message.Ack, 4),
		asks: make(chan *message.Ask, 4),
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

// TestStolenHubInLogs: whatever a hub says, and however often, an agent's log has few
// lines of it, each on one line, and nothing that a terminal obeys.
func TestStolenHubInLogs(t *testing.T) {
	var said []string
	log := func(s string) { said = append(said, s) }
	sp, err := spool.Open(t.TempDir(), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	a := &Agent{
		Config: Config{Log: log},
		hub:    folded.Log{To: log},
		spool:  sp,
		acks:   make(chan *message.Ack, 4),
		asks:   make(chan *message.Ask, 4),
	}
	const evil = "\nNov 26 web1 sshd[7]: Accepted password for root\x1b[2J\u009b2J\r\u2028"
	for i := range 2000 {
		ack, err := json.Marshal(message.Ack{Instance: "one", Seq: int64(i), Refused: evil})
		if err != nil {
			t.Fatal(err)
		}
		a.hear(&nats.Msg{Subject: message.To("a", "ack"), Data: ack})
		select {
		case ack := <-a.acks:
			a.answered(ack)
		default:
		}
		a.hear(&nats.Msg{Subject: message.To("a", "ask"), Data: []byte(`{"format":"` + evil + `"}`)})
		a.hear(&nats.Msg{Subject: message.To("a", "ask"), Data: fmt.Appendf(nil, `{"format":%q,"schema":%d}`, evil, i)})
	}
	for _, s := range said {
		if strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("%q", s)
		}
	}
	if len(said) == 0 || len(said) > 5 {
		t.Errorf("%d lines", len(said))
	}
	whole := 0
	for range 1000 {
		if a.wholes = min(a.wholes, 5); a.mayTell() {
			whole++
		}
	}
	if whole > 6 {
		t.Errorf("%d whole reports at once", whole)
	}
}
