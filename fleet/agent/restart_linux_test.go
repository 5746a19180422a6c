package agent

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fettle/engine/trap"
	"fettle/fleet/agent/spool"
	"fettle/fleet/hub/message"
	"fettle/host"
	"fettle/internal/folded"
	"fettle/internal/means"
	"fettle/report"
)

// restarted is an agent beside a fettle that is a script, and what both did.
type restarted struct {
	*Agent
	t    *testing.T
	now  time.Time
	said []string
}

func newRestarted(t *testing.T) *restarted {
	t.Helper()
	means.Ends(t)
	sp, err := spool.Open(t.TempDir(), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	r := &restarted{t: t, now: time.Date(2026, 11, 28, 3, 0, 0, 0, time.UTC)}
	dir := t.TempDir()
	r.Agent = &Agent{Config: Config{Dir: dir, Fettle: filepath.Join(dir, "fettle"), Restarts: true, Beat: time.Hour,
		Log: func(s string) { r.said = append(r.said, s) }, Now: func() time.Time { return r.now }},
		member: &Member{Agent: "h1"}, instance: "one", spool: sp, heartbeatTimer: time.NewTimer(time.Hour)}
	r.hub = folded.Log{To: r.Log}
	return r
}

// fettle writes the program: what fettle after says, and its exit status.
func (r *restarted) fettle(says string, exit string) {
	r.t.Helper()
	text := "#!/bin/sh\necho \"$*\" >> " + r.Dir + "/calls\n[ $1 = after ] || exit 0\ncat << 'END'\n" + says + "\nEND\nexit " + exit + "\n"
	if err := os.WriteFile(r.Fettle, []byte(text), 0o755); err != nil {
		r.t.Fatal(err)
	}
}

// first is the first comparison after a start, which is under way.
func (r *restarted) first() (compared, bool) {
	r.t.Helper()
	if r.restart.first == nil {
		r.t.Fatal("the start is not compared")
	}
	select {
	case c, ok := <-r.restart.first:
		return c, ok
	case <-time.After(soon):
		r.t.Fatal("the comparison does not end")
		return compared{}, false
	}
}

// calls are what the program was called with since.
func (r *restarted) calls() string {
	b, _ := os.ReadFile(r.Dir + "/calls")
	_ = os.Remove(r.Dir + "/calls")
	return strings.ReplaceAll(strings.TrimSpace(string(b)), "\n", "; ")
}

// again is the agent in another start of the host, or another agent in the same.
func (r *restarted) again(boot string) {
	r.t.Helper()
	b, err := json.Marshal(started{Boot: boot, Lost: r.restart.was.Lost, Saved: r.restart.was.Saved})
	if err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(r.Dir, startedFile), b, 0o600); err != nil {
		r.t.Fatal(err)
	}
	r.restart = restart{}
	r.begin(r.t.Context())
}

// newest is the last message that waits for the hub.
func (r *restarted) newest() *message.Message {
	r.t.Helper()
	b, err := r.spool.Payload(r.spool.At(r.spool.Len() - 1))
	if err != nil {
		r.t.Fatal(err)
	}
	m, err := message.Unpack(b)
	if err != nil {
		r.t.Fatal(err)
	}
	return m
}

const lostTwo = `{"format":"fettle-after","schema":1,"restarted":true,"lost":[
{"area":"units","subject":"nginx.service","severity":"warning","summary":"failed at this start","how":"journalctl -b -u nginx","with":["tcp *:80"]},
{"area":"mounts","subject":"/srv","severity":"critical","summary":"is not mounted"}]}`

func TestRestart(t *testing.T) {
	r := newRestarted(t)
	r.fettle(lostTwo, "1")
	r.begin(t.Context())
	if r.restart.first != nil || r.restart.was.Boot != bootID() {
		t.Fatal("an agent that is new here tells of a restart")
	}
	r.snapshot(t.Context())
	r.snapshot(t.Context())
	if got := r.calls(); got != "snapshot" {
		t.Errorf("%q: one snapshot a day", got)
	}
	r.again(bootID())
	if r.restart.first != nil {
		t.Error("the agent started, not the host")
	}

	checked := message.StateOf(&report.Document{Meta: report.Meta{Host: "h", Kind: host.KindLive}})
	r.last = &checked
	r.again("the start before")
	c, ok := r.first()
	r.started(c, ok)
	if got := r.calls(); got != "after --format json --wait 10m0s" {
		t.Errorf("%q", got)
	}
	m := r.newest()
	if m.Why != whyCompared || m.Self.Compared != bootID() || len(m.Run.Results) != 1 || len(m.Run.Results[0].Outcomes) != 2 {
		t.Fatalf("%+v", m.Run)
	}
	if o := m.Run.Results[0].Outcomes[1]; o.Subject != "nginx.service" || o.Severity != trap.Warning || o.ByHand != "journalctl -b -u nginx" ||
		o.Detail != "with it: tcp *:80" {
		t.Errorf("%+v", o)
	}

	r.needWhole = true
	if r.tell(&checked, 0, "schedule", ""); r.newest().Self.Compared != bootID() {
		t.Error("a whole report does not say what was compared")
	}

	// /srv is there again; what goes missing later is not the restart's doing.
	r.fettle(strings.Replace(lostTwo, `"subject":"/srv"`, `"subject":"10.0.0.7"`, 1), "1")
	r.compareAgain(t.Context())
	s := checked.Lacking(r.restart.lost)
	if got := r.calls(); got != "after --format json" || len(s.Results) != 1 || len(s.Results[0].Outcomes) != 1 ||
		s.Results[0].Outcomes[0].Subject != "nginx.service" {
		t.Errorf("%q, %+v", got, s.Results)
	}
	r.again(bootID()) // another agent goes on
	r.compareAgain(t.Context())
	if s = checked.Lacking(r.restart.lost); len(s.Results) != 1 {
		t.Error("an agent that starts again forgets what is missing")
	}
	r.fettle(`{"restarted":true,"lost":[]}`, "0")
	r.compareAgain(t.Context())
	if s = checked.Lacking(r.restart.lost); len(s.Results) != 0 {
		t.Errorf("%+v", s.Results)
	}
	r.calls()
	r.compareAgain(t.Context())
	if got := r.calls(); got != "" {
		t.Errorf("%q: all is as it was, and nothing is asked", got)
	}

	r.now = r.now.Add(25 * time.Hour)
	if r.snapshot(t.Context()); r.calls() != "snapshot" {
		t.Error("no snapshot on the next day")
	}
}

// TestRestartNotCompared: nobody says that a host is as before that was not compared.
func TestRestartNotCompared(t *testing.T) {
	r := newRestarted(t)
	checked := message.StateOf(&report.Document{Meta: report.Meta{Host: "h", Kind: host.KindLive}})
	r.last = &checked
	for name, c := range map[string]struct {
		says, exit string
		ok         bool // else it is made again when the agent starts again
	}{
		"no snapshot":                   {"", "2", true},
		"none of an earlier start":      {`{"restarted":false,"lost":[{"subject":"x","severity":"warning"}]}`, "1", true},
		"the comparison failed":         {"", "3", false},
		"it is no comparison":           {"[]", "0", false},
		"a fettle without fettle after": {"", "2", true},
	} {
		r.fettle(c.says, c.exit)
		r.again("the start before")
		got, ok := r.first()
		r.started(got, ok)
		if ok != c.ok || r.spool.Len() > 0 || r.restart.was.Compared != "" || len(r.restart.lost) > 0 {
			t.Errorf("%s: %t, %+v", name, ok, r.restart.was)
		}
	}
	r.fettle("[]", "0")
	r.restart.was.Lost = []string{"nginx.service"}
	if r.compareAgain(t.Context()); len(r.restart.was.Lost) != 1 {
		t.Error("what is missing is forgotten after what is no comparison")
	}
	r.last, r.restart = nil, restart{first: make(chan compared)}
	if r.started(compared{lost: []message.Lost{{Subject: "x"}}, done: true}, true); r.spool.Len() > 0 || r.restart.was.Compared == "" ||
		len(r.restart.lost) != 1 {
		t.Errorf("a start that is compared before the first check: %+v", r.restart.was)
	}
	r.Restarts = false
	r.again("the start before")
	r.snapshot(t.Context())
	if r.restart.first != nil || r.restart.was.Boot != "" {
		t.Error("it is switched off")
	}
}
