package agent

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"fettle/engine/trap"
	"fettle/fleet/agent/spool"
	"fettle/fleet/hub/message"
	"fettle/internal/means"
	"fettle/report"
)

// Checks are a tenth sooner or later than each hour; answers to all are spread over what the hub says, an hour at most.
func TestWhen(t *testing.T) {
	a := &Agent{Config: Config{Every: time.Hour}}
	sooner, later, most, little := false, false, time.Duration(0), time.Duration(0)
	for range 1000 {
		d := a.next()
		if d < 54*time.Minute || d > 66*time.Minute {
			t.Fatalf("the next check is in %s", d)
		}
		sooner, later = sooner || d < 56*time.Minute, later || d > 64*time.Minute
		most, little = max(most, spread(100*time.Hour)), max(little, spread(time.Second))
	}
	if !sooner || !later {
		t.Error("all checks are at the same time")
	}
	if most > time.Hour || most < 30*time.Minute || little > time.Second || little < 500*time.Millisecond {
		t.Errorf("spread over %s and %s", most, little)
	}
	for _, every := range []time.Duration{0, 1, 25} {
		a.Every = every
		if d := a.next(); d < every*9/10 || d > every*11/10 {
			t.Errorf("each %s: the next check is in %s", every, d)
		}
	}
	for _, d := range []time.Duration{0, -time.Second} {
		if got := spread(d); got != 0 {
			t.Errorf("within %s: %s", d, got)
		}
	}
}

// An agent connects again after half to the whole of a second, two, four, and of two minutes at last.
func TestBackoff(t *testing.T) {
	for n, want := range map[int]time.Duration{0: time.Second, 1: 2 * time.Second, 3: 8 * time.Second, 6: 64 * time.Second,
		7: 2 * time.Minute, 10: 2 * time.Minute, 11: 2 * time.Minute, 1000: 2 * time.Minute} {
		longest := time.Duration(0)
		for range 100 {
			d := backoff(n)
			if d < want/2 || d >= want {
				t.Fatalf("try %d: %s, want up to %s", n, d, want)
			}
			longest = max(longest, d)
		}
		if longest < want*3/5 {
			t.Errorf("try %d: all after %s", n, longest)
		}
	}
	if answerMax != 15*time.Minute || fetchEach < time.Second || checkLimit < 5*time.Minute || settle < 10*time.Second ||
		atMostEach < time.Minute {
		t.Error("times are others than people are told")
	}
}

// Five questions are answered at once, then one a minute; so are demands for whole reports.
func TestAllowed(t *testing.T) {
	for what, c := range map[string]struct {
		had  float64
		ago  time.Duration
		want int
	}{"none left": {0, 59 * time.Second, 0}, "a minute": {0, 61 * time.Second, 1}, "two": {0, 150 * time.Second, 2},
		"a day": {0, 24 * time.Hour, 5},
		"all":   {5, 0, 5}, "nearly one": {0.5, 29 * time.Second, 0}} {
		a := &Agent{allowance: c.had, asked: uptime() - c.ago, wholes: c.had, wholeAt: uptime() - c.ago}
		asks, wholes := 0, 0
		for range 10 {
			if a.allowed() {
				asks++
			}
			if a.mayTell() {
				wholes++
			}
		}
		if asks != c.want || wholes != c.want {
			t.Errorf("%s: %d questions and %d reports", what, asks, wholes)
		}
	}
}

// stateOf is that of a host with a warning for each subject.
func stateOf(subjects ...string) *message.State {
	r := trap.Result{Trap: "bridge-mtu"}
	for _, s := range subjects {
		r.Outcomes = append(r.Outcomes, trap.Outcome{Trap: "bridge-mtu", Status: trap.Found, Subject: s, Severity: trap.Warning, Summary: "s"})
	}
	s := message.StateOf(&report.Document{Meta: report.Meta{Host: "h"}, Results: []trap.Result{r}})
	return &s
}

// An agent tells all at first, once a day, and where the hub lacks it; else what changed. What fettle fix changed is
// told when it is news.
func TestTell(t *testing.T) {
	r := newRestarted(t)
	r.Every, r.Packs, r.accepts, r.refused = time.Hour, "", "list", 3
	r.fixes, r.fixed = []message.Fix{{ID: "1", Trap: "a"}}, true
	one, two := stateOf("one"), stateOf("one", "two")
	r.tell(one, time.Minute, "start", "")
	m := r.newest()
	if m.Kind != message.Whole || m.Digest != one.Digest() || m.Why != "start" || m.Run.Took != time.Minute || len(m.Fixes) != 1 ||
		m.Seq != 1 || m.Agent != "h1" || m.Instance != "one" || !m.Sent.Equal(r.now) || m.Run.Meta.Host != "h" {
		t.Errorf("the first: %+v", m)
	}
	if s := m.Self; s.Every != time.Hour || s.Accepts != "list" || s.Refused != 3 || s.TakesPacks || s.Waiting != 0 {
		t.Errorf("of itself: %+v", s)
	}
	r.tell(two, time.Second, "ask", "q1")
	m = r.newest()
	if m.Kind != message.Change || m.Base != one.Digest() || m.Digest != two.Digest() || m.Ask != "q1" || m.Run.Took != time.Second ||
		m.Fixes != nil || m.Self.Waiting != 1 || m.Seq != 2 || len(m.Run.Results) != 1 {
		t.Errorf("a change: %+v", m)
	}
	r.fixed, r.restart.was.Compared = true, "boot"
	if r.tell(two, 0, "schedule", ""); len(r.newest().Fixes) != 1 || r.newest().Self.Compared != "" || r.fixed {
		t.Errorf("other changes by fettle fix: %+v", r.newest())
	}
	if r.tell(two, 0, whyCompared, ""); r.newest().Self.Compared != "boot" || r.newest().Fixes != nil {
		t.Errorf("compared: %+v", r.newest())
	}
	for what, c := range map[string]struct {
		need bool
		ago  time.Duration
		none bool
		want message.Kind
	}{"nothing is needed": {false, time.Hour, false, message.Change}, "it is": {true, 0, false, message.Whole},
		"nearly a day": {false, 23 * time.Hour, false, message.Change}, "a day": {false, 25 * time.Hour, false, message.Whole},
		"there was none": {false, 0, true, message.Whole}} {
		r.needWhole, r.lastWhole, r.last = c.need, uptime()-c.ago, two
		if c.none {
			r.last = nil
		}
		if r.tell(two, 0, "schedule", ""); r.newest().Kind != c.want || r.needWhole || r.last != two {
			t.Errorf("%s: %+v", what, r.newest())
		}
		if left := uptime() - r.lastWhole; c.want == message.Whole && left > time.Minute {
			t.Errorf("%s: the last whole report was %s ago", what, left)
		}
	}
}

// What is too large for a message is shortened, and what cannot be is not sent: the next report is whole.
func TestKeepsTooMuch(t *testing.T) {
	r := newRestarted(t)
	large := func(n int) *message.Message {
		m := r.message(message.Whole, "", "")
		m.Digest, m.Run = strings.Repeat("0", 64), &message.Run{Meta: &report.Meta{Host: "h"}}
		for i := range n {
			o := trap.Outcome{Trap: "bridge-mtu", Subject: strings.Repeat("x", i+1), Status: trap.Found, Severity: trap.Warning,
				Evidence: []trap.Evidence{{Source: "s", Value: strings.Repeat("e", message.MaxPlain)}}}
			m.Run.Results = append(m.Run.Results, message.Result{Trap: "bridge-mtu", Outcomes: []trap.Outcome{o}})
		}
		return m
	}
	if r.keep(large(1)); r.spool.Len() != 1 || r.needWhole || len(r.newest().Run.Results[0].Outcomes[0].Evidence) != 0 {
		t.Errorf("%d kept, %q", r.spool.Len(), r.said)
	}
	m := large(0)
	all := message.Result{Trap: "bridge-mtu"}
	const long = 1 << 10
	for i := range message.MaxPlain/long + 1 {
		all.Outcomes = append(all.Outcomes, trap.Outcome{Trap: "bridge-mtu", Subject: fmt.Sprint(i), Status: trap.Found, Severity: trap.Warning,
			Summary: strings.Repeat("s", long)})
	}
	m.Run.Results = []message.Result{all}
	if r.keep(m); r.spool.Len() != 2 || r.needWhole || len(r.newest().Run.Results[0].Outcomes) != 10 {
		t.Errorf("of many long summaries: %d kept, %q", r.spool.Len(), r.said)
	}
	m = large(0)
	m.Run.Failed = strings.Repeat("x", message.MaxPlain)
	if r.keep(m); r.spool.Len() != 2 || !r.needWhole || len(r.said) != 1 || !strings.HasPrefix(r.said[0], "a result cannot be sent: ") {
		t.Errorf("%d kept, %q", r.spool.Len(), r.said)
	}
	for _, c := range []struct {
		s, want string
		n       int
	}{{"abc", "abc", 3}, {"abc", "ab", 2}, {"aé", "a", 2}, {"a\x00b", "ab", 9}} {
		if got := cutTo(c.s, c.n); got != c.want {
			t.Errorf("%q to %d bytes: %q", c.s, c.n, got)
		}
	}
}

// ended is a context that has.
func ended(t *testing.T) context.Context {
	t.Helper()
	ctx, end := context.WithCancel(t.Context())
	end()
	return ctx
}

// A check is told as it ended: the host's name as it joined, failures with what they build on, and answers by
// the question's name.
func TestLook(t *testing.T) {
	r := newRestarted(t)
	r.Restarts, r.member.Name = false, "joined"
	says := func(text string) { means.Script(t, r.Fettle, text) }
	r.Changes = r.Dir
	fixed := func(id string) string {
		return "if [ $1 = changes ]; then echo '{\"changes\":[{\"id\":\"" + id + "\",\"trap\":\"a\"}]}'; exit; fi\ncat << 'END'\n" +
			reported(t, "br0") + "\nEND"
	}
	for _, c := range []struct {
		id, want string
	}{{"1", "1"}, {"1", ""}, {"2", "2"}, {"2", ""}} {
		says(fixed(c.id))
		r.look(t.Context(), "start", nil)
		got := ""
		for _, f := range r.newest().Fixes {
			got += f.ID
		}
		if got != c.want {
			t.Errorf("after change %s: %q is told", c.id, got)
		}
	}
	r.look(t.Context(), "start", &message.Ask{ID: "q", Whole: true})
	m := r.newest()
	if m.Kind != message.Whole || m.Ask != "q" || m.Why != "start" || m.Run.Meta.Host != "joined" || m.Run.Took <= 0 {
		t.Errorf("%+v", m)
	}
	r.member.OwnName = true
	r.look(t.Context(), "schedule", nil)
	if m = r.newest(); m.Kind != message.Change || m.Run.Meta == nil || m.Run.Meta.Host != "itself" || m.Ask != "" {
		t.Errorf("%+v", m)
	}
	r.look(t.Context(), "ask", &message.Ask{ID: "q2", Whole: true})
	if m = r.newest(); m.Kind != message.Whole {
		t.Errorf("asked for all: %+v", m)
	}
	says("echo broken >&2; exit 3")
	r.look(t.Context(), "ask", &message.Ask{ID: "q3"})
	m = r.newest()
	if m.Kind != message.Change || m.Run.Failed != "fettle check: exit status 3: broken" || m.Base != r.last.Digest() ||
		m.Digest != m.Base || m.Ask != "q3" || len(r.said) != 1 {
		t.Errorf("%+v, %q", m, r.said)
	}
	r.last = nil
	if r.look(t.Context(), "ask", nil); r.newest().Base != "" || r.newest().Run.Failed == "" {
		t.Errorf("%+v", r.newest())
	}
	had := r.spool.Len()
	if r.look(ended(t), "schedule", nil); r.spool.Len() != had || len(r.said) != 2 {
		t.Errorf("an agent that ends tells %+v, and says %q", r.newest(), r.said)
	}
}

// wire is an agent with a connection to a server, on which what it sends is heard.
func wire(t *testing.T) (*Agent, *nats.Subscription, *[]string) {
	t.Helper()
	means.Ends(t)
	conn, err := nats.Connect(plainServer(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	sub, err := conn.SubscribeSync("s.*")
	if err != nil {
		t.Fatal(err)
	}
	said := &[]string{}
	a := idle(t, conn, said)
	a.hub.To = a.Log
	a.subject = "s"
	return a, sub, said
}

// sent are the messages that were sent, with what each follows.
func sentBy(t *testing.T, a *Agent, sub *nats.Subscription) (out []string) {
	t.Helper()
	if err := a.conn.Flush(); err != nil {
		t.Fatal(err)
	}
	for {
		n, _, err := sub.Pending()
		if err != nil || n == 0 {
			return out
		}
		m, err := sub.NextMsg(time.Second)
		if err != nil {
			t.Fatal(err)
		}
		if m.Header.Get(message.HeaderAge) == "" || m.Header.Get(message.HeaderClock) == "" {
			t.Errorf("headers: %v", m.Header)
		}
		out = append(out, string(m.Data)+" after "+m.Header.Get(message.HeaderPrev))
	}
}

// What waits is sent in order, up to eight messages ahead of the hub's answers, those of an earlier instance first. What
// is not answered is sent again.
func TestSend(t *testing.T) {
	a, sub, said := wire(t)
	add := func(instance string, seq int64) {
		t.Helper()
		text := instance + string('0'+rune(seq))
		if err := a.spool.Add(spool.Entry{Instance: instance, Seq: seq, Kind: "beat", Boot: bootID(), Uptime: uptime().Milliseconds()},
			[]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	want := func(what string, want ...string) {
		t.Helper()
		if got := sentBy(t, a, sub); !slices.Equal(got, want) {
			t.Errorf("%s: sent %q, want %q", what, got, want)
		}
	}
	a.send()
	if want("nothing waits"); a.ackTimeout != nil {
		t.Error("an answer to nothing is waited for")
	}
	add("old", 4)
	add("old", 5)
	for i := range int64(9) {
		add("new", i+1)
	}
	a.ackedOf, a.acked = "old", 3
	a.send()
	want("the instance of before", "old4 after 3", "old5 after 4")
	if a.sent != 2 || a.ackTimeout == nil {
		t.Errorf("%d under way", a.sent)
	}
	a.send()
	want("no answer yet")
	a.wait = time.Minute
	a.answered(&message.Ack{Instance: "old", Seq: 4})
	if a.sent != 1 || a.spool.Len() != 10 || a.acked != 4 || a.wait != a.Answer || a.ackTimeout != nil {
		t.Errorf("%d under way of %d, the hub has %d, waits %s", a.sent, a.spool.Len(), a.acked, a.wait)
	}
	a.wait = time.Minute
	a.answered(&message.Ack{Instance: "old", Seq: 3})
	if a.acked != 4 || a.wait != time.Minute || a.sent != 1 {
		t.Errorf("an answer of before: %d, waits %s", a.acked, a.wait)
	}
	a.answered(&message.Ack{Instance: "old", Seq: 5})
	a.send()
	want("this one", "new1 after 0", "new2 after 1", "new3 after 2", "new4 after 3", "new5 after 4", "new6 after 5", "new7 after 6",
		"new8 after 7")
	a.answered(&message.Ack{Instance: "new", Seq: 2, Again: true})
	a.send()
	want("some got lost", "new3 after 2", "new4 after 3", "new5 after 4", "new6 after 5", "new7 after 6", "new8 after 7", "new9 after 8")
	a.resend()
	if a.sent != 0 || a.ackTimeout != nil {
		t.Errorf("%d under way", a.sent)
	}
	if a.answered(&message.Ack{Instance: "new", Seq: 9}); a.sent != 0 || a.needWhole || len(*said) != 0 {
		t.Errorf("%d under way, %q", a.sent, *said)
	}
	a.answered(&message.Ack{Instance: "new", Seq: 9, Whole: true, Refused: "why"})
	if !a.needWhole || len(*said) != 1 || (*said)[0] != "the hub does not take a result: why" {
		t.Errorf("%q", *said)
	}
	a.needWhole = false
	add("x", 1)
	add("x", 2)
	files, err := filepath.Glob(filepath.Join(a.Dir, spoolDir, "*.msg"))
	if err != nil || len(files) != 2 || os.Remove(files[0]) != nil {
		t.Fatalf("%q, %v", files, err)
	}
	a.send()
	want("one is damaged", "x2 after 0")
	if !a.needWhole || len(*said) != 2 || !strings.HasPrefix((*said)[1], "a message that waited: ") {
		t.Errorf("%q", *said)
	}
	add("x", 3)
	a.conn.Close()
	if a.send(); a.sent != 1 {
		t.Error("sent without a connection")
	}
}
