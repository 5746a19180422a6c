package agent

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base32"
	"fmt"
	mrand "math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"fettle/fleet/agent/spool"
	"fettle/fleet/hub/message"
	"fettle/internal/folded"
)

// Config is the configuration of fettle-agent run.
type Config struct {
	Dir     string        // state
	Fettle  string        // the program, by its absolute path
	Args    []string      // further ones of fettle check
	Every   time.Duration // between checks
	Soon    time.Duration // within which the first one is: not when all hosts check that got their power back
	MaxKept int64         // bytes of messages that wait
	Answer  time.Duration // to wait for the hub's answer before sending again; 0: half a minute
	Beat    time.Duration // how long an agent is silent before it sends a heartbeat; 0: message.BeatAfter
	Events  bool
	Changes string // the folder in which fettle fix keeps what it changed; empty: changes are not reported
	Packs   string // the folder in which fettle keeps packs; empty: the hub may hand none on to this host
	// Restarts: what a start of the host took away is reported, and snapshots are saved for that.
	Restarts bool
	Log      func(string)
	Now      func() time.Time // the host's clock, which may be wrong; nil: time.Now
}

// wholeEvery is how often a whole report is sent where changes would do.
const wholeEvery = 24 * time.Hour

// Of questions, few are answered: a check costs the host something.
const (
	asksBurst = 5
	asksEach  = time.Minute
)

// Agent is an agent that runs. One goroutine owns it; NATS's own hand over by
// channels.
type Agent struct {
	Config
	member   *Member
	conn     *nats.Conn
	subject  string
	instance string
	seq      int64

	spool          *spool.Spool
	sent           int // of what waits, how much is under way
	acked          int64
	ackedOf        string // the instance
	wait           time.Duration
	ackTimeout     <-chan time.Time
	needWhole      bool
	lastWhole      time.Duration // uptime
	last           *message.State
	heartbeatTimer *time.Timer // fires after a long silence

	allowance float64
	asked     time.Duration // uptime, of the last question
	refused   int64

	restart   restart
	fixes     []message.Fix // what fettle fix changed here
	fixed     bool          // there are changes to report
	accepts   string        // the list of what is accepted on the hub, by its name
	hub       folded.Log    // what is logged at the hub's instance
	wholes    float64       // whole reports that the hub may ask for now
	wholeAt   time.Duration // uptime, when it last did
	acks      chan *message.Ack
	asks      chan *message.Ask
	packs     chan *message.Pack
	events    chan string
	refusals  map[string]declined // packs that fettle did not install, by name
	connected chan struct{}
}

// Run checks and tells, until ctx ends.
func Run(ctx context.Context, c Config) error {
	member, err := Load(c.Dir)
	if err != nil {
		return err
	}
	if err := member.sameMachine(); err != nil {
		return err
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	c.Answer, c.Beat = cmp.Or(c.Answer, answerFirst), cmp.Or(c.Beat, message.BeatAfter)
	a := &Agent{Config: c, member: member, instance: newInstance(), wait: c.Answer, needWhole: true, allowance: asksBurst, wholes: asksBurst,
		hub:  folded.Log{To: c.Log},
		acks: make(chan *message.Ack, 64), asks: make(chan *message.Ask, 4), packs: make(chan *message.Pack, 1),
		events: make(chan string, 1), connected: make(chan struct{}, 1)}
	a.accepts = hasAccepts(c.Dir)
	if a.spool, err = spool.Open(filepath.Join(c.Dir, spoolDir), c.MaxKept); err != nil {
		return err
	}
	if a.conn, err = a.connect(); err != nil {
		return err
	}
	defer a.conn.Close()
	return a.loop(ctx)
}

func newInstance() string {
	b := make([]byte, 10)
	_, _ = rand.Read(b)
	return strings.ToLower(base32.StdEncoding.EncodeToString(b))
}

func publicKey(creds string) (string, error) {
	b, err := os.ReadFile(creds)
	if err != nil {
		return "", err
	}
	pair, err := nkeys.ParseDecoratedNKey(b)
	if err != nil {
		return "", fmt.Errorf("%s: %w", creds, err)
	}
	defer pair.Wipe()
	return pair.PublicKey()
}

func (a *Agent) wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// next is when the next check is: every so often, give or take a tenth.
func (a *Agent) next() time.Duration {
	tenth := a.Every / 10
	return a.Every - tenth + mrand.N(2*tenth+1)
}

func (a *Agent) loop(ctx context.Context) error {
	if a.Events {
		go a.watch(ctx, a.events)
	}
	timer := time.NewTimer(mrand.N(a.Soon + 1))
	defer timer.Stop()
	a.heartbeatTimer = time.NewTimer(a.Beat)
	defer a.heartbeatTimer.Stop()
	a.begin(ctx)
	why, ask := "start", (*message.Ask)(nil)
	for {
		select {
		case <-ctx.Done():
			a.farewell()
			return nil
		case c, ok := <-a.restart.first:
			a.started(c, ok)
		case ack := <-a.acks:
			if ack.Retired {
				a.Log("retired: this host was removed from the hub, and its agent ends; to have it back: fettle-agent join")
				return nil
			}
			a.answered(ack)
			if ack.Whole && a.last != nil && a.mayTell() {
				a.tell(a.last, 0, "whole", "")
			}
		case <-a.connected:
			a.sent, a.ackTimeout, a.wait = 0, nil, a.Answer
		case <-a.heartbeatTimer.C:
			a.heartbeat()
		case <-a.ackTimeout:
			a.resend()
		case event := <-a.events:
			if why == "schedule" {
				why = event
				timer.Reset(settle)
			}
		case q := <-a.asks:
			if !a.allowed() {
				a.refused++
				break
			}
			ask, why = q, "ask"
			timer.Reset(spread(q.Within))
		case p := <-a.packs:
			if !a.allowed() {
				a.refused++
				break
			}
			if a.takePack(ctx, p) && why == "schedule" {
				why = "pack"
				timer.Reset(0)
			}
		case <-timer.C:
			a.look(ctx, why, ask)
			why, ask = "schedule", nil
			timer.Reset(a.next())
		}
		a.send()
	}
}

// mayTell reports whether the hub gets one more whole report at once: else the next check's
// is whole.
func (a *Agent) mayTell() bool {
	now := uptime()
	a.wholes = min(asksBurst, a.wholes+float64(now-a.wholeAt)/float64(asksEach))
	a.wholeAt = now
	if a.wholes < 1 {
		return false
	}
	a.wholes--
	return true
}

func spread(d time.Duration) time.Duration {
	if d <= 0 {
		return 0
	}
	return mrand.N(min(d, time.Hour))
}

// allowed reports whether one more question is answered.
func (a *Agent) allowed() bool {
	now := uptime()
	a.allowance = min(asksBurst, a.allowance+float64(now-a.asked)/float64(asksEach))
	a.asked = now
	if a.allowance < 1 {
		return false
	}
	a.allowance--
	return true
}

// look checks, and keeps for the hub what there is to tell.
func (a *Agent) look(ctx context.Context, why string, ask *message.Ask) {
	id := ""
	if ask != nil {
		id = ask.ID
		a.needWhole = a.needWhole || ask.Whole
	}
	s, took, err := check(ctx, a.Fettle, a.Args)
	made := fixes(ctx, a.Fettle, a.Changes)
	defer debug.FreeOSMemory() // until the next check little is needed
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		a.Log(err.Error())
		m := a.message(message.Change, why, id)
		m.Run = &message.Run{Failed: cutTo(err.Error(), 2000), Took: took}
		if a.last != nil {
			m.Base, m.Digest = a.last.Digest(), a.last.Digest()
		}
		a.keep(m)
		return
	}
	if !a.member.OwnName || s.Meta.Host == "" {
		s.Meta.Host = a.member.Name
	}
	a.fixed = a.fixed || !slices.Equal(made, a.fixes)
	a.fixes = made
	a.compareAgain(ctx)
	a.tell(s.Lacking(a.restart.lost), took, why, id)
	a.snapshot(ctx)
}

// tell keeps a report or a change for the hub.
func (a *Agent) tell(s *message.State, took time.Duration, why, id string) {
	if a.needWhole || a.last == nil || uptime()-a.lastWhole > wholeEvery {
		m := a.message(message.Whole, why, id)
		m.Digest, m.Run = s.Digest(), &message.Run{Meta: &s.Meta, Traps: s.Traps, Results: s.Results, Took: took}
		m.Fixes, m.Self.Compared = a.fixes, a.restart.was.Compared
		a.needWhole, a.lastWhole, a.last, a.fixed = false, uptime(), s, false
		a.keep(m)
		return
	}
	m := a.message(message.Change, why, id)
	m.Base, m.Digest, m.Run = a.last.Digest(), s.Digest(), s.Since(a.last)
	m.Run.Took = took
	if a.fixed {
		m.Fixes, a.fixed = a.fixes, false
	}
	if why == whyCompared {
		m.Self.Compared = a.restart.was.Compared
	}
	a.last = s
	a.keep(m)
}

// heartbeat says that the agent is there, where nothing else that it has to say does.
func (a *Agent) heartbeat() {
	a.heartbeatTimer.Reset(a.Beat)
	if a.spool.Len() > 0 || !a.conn.IsConnected() {
		return
	}
	m := a.message(message.Beat, "", "")
	if a.last != nil {
		m.Digest = a.last.Digest()
	}
	a.keep(m)
}

func (a *Agent) message(kind message.Kind, why, ask string) *message.Message {
	a.seq++
	m := message.New(kind)
	m.Agent, m.Instance, m.Seq, m.Sent, m.Why, m.Ask = a.member.Agent, a.instance, a.seq, a.Now().UTC(), why, ask
	m.Self = &message.Self{Machine: a.member.Machine, Every: a.Every, Waiting: a.spool.Len(), Dropped: a.spool.Dropped, Refused: a.refused,
		Accepts: a.accepts, TakesPacks: a.Packs != "", Packs: a.hasPacks()}
	return m
}

// keep puts a message among those that wait.
func (a *Agent) keep(m *message.Message) {
	a.heartbeatTimer.Reset(a.Beat)
	b, err := m.Pack()
	for n := 1; err != nil && n <= 3; n++ { // a report beyond all measure
		m.Run.Shrink(n)
		b, err = m.Pack()
	}
	if err != nil {
		a.Log("a result cannot be sent: " + err.Error())
		a.needWhole = true
		return
	}
	dropped := a.spool.Dropped
	if err := a.spool.Add(spool.Entry{Instance: m.Instance, Seq: m.Seq, Kind: string(m.Kind), Boot: bootID(),
		Uptime: uptime().Milliseconds(), Wall: a.Now()}, b); err != nil {
		a.Log("keeping a result for the hub: " + err.Error())
	}
	if a.spool.Dropped > dropped {
		// The changes after those that are lost build on nothing.
		a.needWhole, a.sent = true, 0
		a.Log("results that the hub does not have yet are lost: the space for them is full")
	}
}

func cutTo(s string, n int) string {
	if len(s) > n {
		s = s[:n]
	}
	return strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", ""), "")
}
