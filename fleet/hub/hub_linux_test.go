package hub_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"fettle/fleet/agent"
	"fettle/fleet/hub"
	"fettle/fleet/hub/bus"
	"fettle/fleet/hub/join"
	"fettle/fleet/hub/store"
	"fettle/fleet/hub/store/storetest"
	"fettle/internal/means"
)

// The test's own binary is the hub, too: a process of its own, to be killed.
func TestMain(m *testing.M) {
	if dir := os.Getenv("HUB_DIR"); dir != "" {
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		defer stop()
		lines := log.New(os.Stderr, "", log.Lmicroseconds)
		h, err := hub.Start(
			ctx,
			hub.Config{
				Dir:        dir,
				Listen:     os.Getenv("HUB_LISTEN"),
				NATS:       os.Getenv("HUB_NATS"),
				CA:         os.Getenv("HUB_CA"),
				Cert:       os.Getenv("HUB_CERT"),
				Key:        os.Getenv("HUB_KEY"),
				Database:   os.Getenv("HUB_DATABASE"),
				KnownHosts: os.Getenv("HUB_KNOWN_HOSTS"),
				Group:      "ssh",
				Replicas:   1 + 2*len(os.Getenv("HUB_THREE")),
				MaxStore:   64 << 20,
				Keep:       24 * time.Hour,
				Log:        func(s string) { lines.Print(s) },
			},
		)
		if err == nil {
			if os.Getenv("HUB_AGAIN") != "" {
				again(ctx, h)
			}
			err = errors.Join(h.Run(ctx), h.Close())
		}
		if err != nil {
			lines.Fatal(err)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// again lets NATS forget what the hub took: after a crash its record of that is
// older than the database.
func again(ctx context.Context, h *hub.Hub) {
	if js, err := jetstream.New(h.Conn); err == nil {
		_ = js.DeleteConsumer(ctx, bus.Stream, bus.Consumer) // the first hub has none
	}
}

// world is a hub and its agents.
type world struct {
	*testing.T
	dir, listen string
	env         []string
	hub         *exec.Cmd
}

func newWorld(t *testing.T) *world {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return &world{T: t, dir: storetest.Dir(t), listen: l.Addr().String()}
}

func (w *world) hubDir() string { return filepath.Join(w.dir, "hub") }

// start starts the hub, and waits until it says where it is.
func (w *world) start() {
	w.Helper()
	log, err := os.OpenFile(filepath.Join(w.dir, "hub.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		w.Fatal(err)
	}
	defer log.Close()
	w.hub = exec.Command(os.Args[0])
	w.hub.Env = append(append(os.Environ(), "HUB_DIR="+w.hubDir(), "HUB_LISTEN="+w.listen), w.env...)
	w.hub.Stdout, w.hub.Stderr = log, log
	w.hub.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := w.hub.Start(); err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { w.stop(syscall.SIGKILL) })
}

func (w *world) stop(sig os.Signal) {
	if w.hub != nil {
		_ = w.hub.Process.Signal(sig)
		_ = w.hub.Wait()
		w.hub = nil
	}
}

func (w *world) log() string {
	b, _ := os.ReadFile(filepath.Join(w.dir, "hub.log"))
	return string(b)
}

// until waits for something to be so.
func (w *world) until(what string, so func() bool) {
	w.Helper()
	for end := time.Now().Add(means.Patience); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if so() {
			return
		}
	}
	w.Fatalf("not within %s: %s; the hub's log:\n%s", means.Patience, what, w.log())
}

// open opens the hub's database beside it.
func (w *world) open() (hub.Known, *store.DB) {
	w.Helper()
	var known hub.Known
	w.until("the hub serves", func() bool {
		var err error
		known, err = hub.ReadKnown(w.hubDir())
		return err == nil
	})
	return known, storetest.Open(w.T, known.Where(w.hubDir()))
}

// invited is an invitation.
func (w *world) invited(known hub.Known, db *store.DB, in hub.Inviting) join.Invite {
	w.Helper()
	in.Uses, in.Life = max(in.Uses, 1), time.Hour
	line, err := hub.Invite(w.Context(), w.hubDir(), known, db, in)
	if err != nil {
		w.Fatal(err)
	}
	i, err := join.ParseInvite(line)
	if err != nil {
		w.Fatal(err)
	}
	return i
}

// host is a host with an agent.
type host struct {
	w     *world
	dir   string
	agent string
	flaps bool // every other check finds nothing
	// fettle is the program that checks, if it is another one; now the host's clock.
	fettle string
	packs  string // the folder of its packs; empty: it takes none
	now    func() time.Time
	beat   time.Duration
	wait   time.Duration // for the hub's answer
	stop   context.CancelFunc
	done   chan error
	mu     sync.Mutex
	log    []string
}

// said tells whether the agent logged what begins with text.
func (h *host) said(text string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.ContainsFunc(h.log, func(s string) bool { return strings.HasPrefix(s, text) })
}

// join makes a host that joined.
func (w *world) join(name string, i join.Invite) *host {
	w.Helper()
	var got *join.Admitted
	w.until(name+" joins", func() bool {
		var err error
		got, err = join.As(w.Context(), i, name, nil)
		return err == nil
	})
	h := &host{w: w, dir: filepath.Join(w.dir, name), agent: got.Agent}
	if err := agent.Save(h.dir, name, false, got); err != nil {
		w.Fatal(err)
	}
	return h
}

// counting is a fettle each of whose checks finds another subject: the one with
// the number of the check.
const counting = `#!/bin/sh
cd "$(dirname "$0")" || exit 3
n=$(cat n 2>/dev/null || echo 0)
n=$((n + 1))
echo $n > n
echo '{"format":"fettle-report","schema":1,"meta":{"host":"x","kind":"live"},"results":[{"trap":"t","outcomes":[{"trap":"t","subject":"run-'$n'","status":"found","severity":"notice","summary":"is so"}]}]}'
exit 1
`

// flapping is one whose every other check finds nothing: the host is again and
// again in the state in which it was.
var flapping = strings.Replace(counting, "echo '{", `[ $((n % 2)) = 1 ] || {
echo '{"format":"fettle-report","schema":1,"meta":{"host":"x","kind":"live"},"results":[{"trap":"t","outcomes":[{"trap":"t","status":"clear"}]}]}'
exit 0
}
echo '{`, 1)

// run starts the agent.
func (h *host) run(every time.Duration) {
	h.w.Helper()
	fettle, text := filepath.Join(h.dir, "fettle"), cmp.Or(h.fettle, counting)
	if h.flaps {
		text = flapping
	}
	if err := os.WriteFile(fettle, []byte(text), 0o755); err != nil {
		h.w.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	h.stop, h.done = stop, make(chan error, 1)
	go func() {
		h.done <- agent.Run(ctx, agent.Config{Dir: h.dir, Fettle: fettle, Every: every, Beat: h.beat, Answer: h.wait, MaxKept: 1 << 20,
			Packs: h.packs,
			Now:   h.now, Log: func(s string) {
				h.mu.Lock()
				defer h.mu.Unlock()
				if h.log = append(h.log, s); strings.Contains(s, "lost") {
					h.w.Error(s)
				}
			}})
	}()
	h.w.Cleanup(h.end)
}

func (h *host) end() {
	if h.done != nil {
		h.stop()
		if err := <-h.done; err != nil {
			h.w.Error(err)
		}
		h.done = nil
	}
}

// checks is how many checks there were.
func (h *host) checks() int {
	b, _ := os.ReadFile(filepath.Join(h.dir, "n"))
	n, _ := strconv.Atoi(strings.TrimSpace(string(b)))
	return n
}

// TestKilled: a hub that is killed at any moment, while agents send, loses
// nothing and takes nothing twice, also where NATS hands it once more what it has.
func TestKilled(t *testing.T) {
	means.Short(t, "takes seconds")
	w := newWorld(t)
	w.env = []string{"HUB_AGAIN=1"}
	w.start()
	known, db := w.open()
	invite := w.invited(known, db, hub.Inviting{Group: "web", Uses: 3})
	var hosts []*host
	for i := range 3 {
		hosts = append(hosts, w.join(fmt.Sprintf("web%d", i), invite))
	}
	if _, err := join.As(t.Context(), invite, "web9", nil); err == nil || !strings.Contains(err.Error(), "used up") {
		t.Errorf("a token was taken once too often: %v", err)
	}
	const every = 300 * time.Millisecond
	for _, h := range hosts {
		h.flaps, h.wait = true, 10*time.Minute
		h.run(every)
	}
	for range 4 {
		time.Sleep(time.Duration(rand.IntN(1500)) * time.Millisecond)
		w.stop(syscall.SIGKILL)
		time.Sleep(time.Duration(rand.IntN(300)) * time.Millisecond)
		w.start()
	}
	for _, h := range hosts {
		w.until(h.agent+" has told all", func() bool { return w.newest(db, h) >= h.checks()-1 })
	}
	// It hangs, and is killed then: as many messages as an agent sends ahead are
	// lost. They come as soon as there is a hub: patience ends later than this test.
	if err := w.hub.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	frozen := map[*host]int{}
	for _, h := range hosts {
		frozen[h] = h.checks()
	}
	for _, h := range hosts {
		w.until("more checks than are sent ahead", func() bool { return h.checks() > frozen[h]+10 })
	}
	w.stop(syscall.SIGKILL)
	w.start()
	for _, h := range hosts {
		w.until(h.agent+" sends again what was lost", func() bool { return w.newest(db, h) > frozen[h]+8 })
	}
	var all sync.WaitGroup
	for _, h := range hosts {
		all.Go(func() { w.complete(db, h) })
	}
	all.Wait()
}

// newest is the number of the check that the last event of a host is of.
func (w *world) newest(db *store.DB, h *host) (n int) {
	row, err := db.HostByAgent(w.Context(), h.agent)
	if err != nil {
		return 0
	}
	if es, err := db.HostEvents(w.Context(), row.ID, 0, 1); err == nil && len(es) > 0 {
		_, _ = fmt.Sscanf(es[0].Subject, "run-%d", &n)
	}
	return n
}

// complete waits until the hub has all that a host has found, and then compares.
func (w *world) complete(db *store.DB, h *host) {
	w.until(h.agent+"'s checks", func() bool { return h.checks() >= 10 })
	last := 0
	w.until("the last check of "+h.agent, func() bool {
		last = w.newest(db, h)
		return last >= 10
	})
	row, err := db.HostByAgent(w.Context(), h.agent)
	if err != nil {
		w.Fatal(err)
	}
	es, err := db.HostEvents(w.Context(), row.ID, 0, 1000)
	if err != nil {
		w.Fatal(err)
	}
	seen := map[string][]string{}
	for _, e := range es {
		seen[e.Subject] = append(seen[e.Subject], e.Kind)
	}
	for n := 1; n < last; n++ {
		want := []string{store.New, store.Resolved}
		if h.flaps && n%2 == 0 {
			want = nil
		}
		kinds := seen[fmt.Sprintf("run-%d", n)]
		slices.Sort(kinds)
		if !slices.Equal(kinds, want) {
			w.Errorf("%s: check %d of %d: %v", h.agent, n, last, kinds)
		}
	}
}

// TestOffline: what a host finds while the hub is away comes later, with the time
// at which it was.
func TestOffline(t *testing.T) {
	means.Short(t, "takes seconds")
	w := newWorld(t)
	w.start()
	known, db := w.open()
	h := w.join("web1", w.invited(known, db, hub.Inviting{}))
	h.run(time.Hour)
	row := func() *store.Host {
		r, err := db.HostByAgent(t.Context(), h.agent)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	w.until("the first check arrives", func() bool { return !row().Checked.IsZero() })
	w.stop(syscall.SIGTERM)
	h.end()
	h.run(time.Hour) // checks once as it starts
	w.until("a check without a hub is kept", func() bool {
		kept, _ := filepath.Glob(filepath.Join(h.dir, "spool/*.msg"))
		return h.checks() == 2 && len(kept) > 0
	})
	checked := time.Now()
	h.end()
	time.Sleep(1500 * time.Millisecond)
	w.start()
	h.run(time.Hour)
	w.until("both arrive", func() bool {
		es, err := db.HostEvents(t.Context(), row().ID, 0, 10)
		return err == nil && len(es) == 5
	})
	es, _ := db.HostEvents(t.Context(), row().ID, 0, 10)
	if off := checked.Sub(es[2].At); off.Abs() > time.Second || es[2].Subject != "run-2" && es[2].Subject != "run-1" {
		t.Errorf("%+v, %s off", es[2], off)
	}
}

// TestBeat: an agent that checks rarely is no silent one.
func TestBeat(t *testing.T) {
	w := newWorld(t)
	w.start()
	known, db := w.open()
	h := w.join("web1", w.invited(known, db, hub.Inviting{}))
	h.beat = 200 * time.Millisecond
	h.run(time.Hour)
	row := func() *store.Host {
		r, err := db.HostByAgent(t.Context(), h.agent)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	w.until("the first check", func() bool { return !row().Checked.IsZero() })
	was := row()
	w.until("beats come", func() bool { return row().Seen.After(was.Seen.Add(time.Second)) })
	if r := row(); !r.Checked.Equal(was.Checked) || r.Bad > 0 || h.checks() != 1 {
		t.Errorf("%+v after %d checks", r, h.checks())
	}
	// While there is no hub, none wait.
	w.stop(syscall.SIGKILL)
	time.Sleep(time.Second)
	if left, err := os.ReadDir(filepath.Join(h.dir, "spool")); err != nil || len(left) > 2 {
		t.Errorf("%d messages wait, %v", len(left), err)
	}
	w.start()
	was = row()
	w.until("beats come again", func() bool { return row().Seen.After(was.Seen.Add(time.Second)) })
}

// anew reinstalls a host: the old installation is in another folder now.
func (w *world) anew(before *host, invite join.Invite) *host {
	w.Helper()
	before.end()
	name, old := filepath.Base(before.dir), before.dir+"-old"
	if err := os.Rename(before.dir, old); err != nil {
		w.Fatal(err)
	}
	before.dir = old
	after := w.join(name, invite)
	if after.agent != before.agent {
		w.Fatalf("%s, not %s", after.agent, before.agent)
	}
	return after
}

// TestReplaced: a host that was reinstalled takes its place, and the old
// installation is shut out.
func TestReplaced(t *testing.T) {
	w := newWorld(t)
	w.start()
	known, db := w.open()
	before := w.join("web1", w.invited(known, db, hub.Inviting{Group: "web"}))
	before.run(200 * time.Millisecond)
	w.until("its first check", func() bool {
		r, err := db.HostByAgent(t.Context(), before.agent)
		return err == nil && !r.Checked.IsZero()
	})
	after := w.anew(before, w.invited(known, db, hub.Inviting{Replace: before.agent}))
	before.run(200 * time.Millisecond)
	time.Sleep(time.Second)
	r, _ := db.HostByAgent(t.Context(), after.agent)
	was := r.Checked
	time.Sleep(time.Second)
	if r, _ = db.HostByAgent(t.Context(), after.agent); !r.Checked.Equal(was) || !r.Twin.IsZero() {
		t.Errorf("the old installation is still listened to: %+v", r)
	}
	before.end()
	after.run(200 * time.Millisecond)
	w.until("the new one is", func() bool {
		r, err := db.HostByAgent(t.Context(), after.agent)
		return err == nil && r.Checked.After(was)
	})
	all, err := db.HostsNamed(t.Context(), "web1")
	if err != nil || len(all) != 1 {
		t.Errorf("%d hosts, %v", len(all), err)
	}
}
