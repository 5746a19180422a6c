package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"golang.org/x/sys/unix"

	"fettle/fleet/hub/message"
	"fettle/internal/folded"
	"fettle/internal/means"
	"fettle/report/onhub"
)

// hub is what answers agents in a test: messages of agents, and a connection to speak to them.
type hub struct {
	*testing.T
	serves *natsserver.Server
	conn   *nats.Conn
	sub    *nats.Subscription
	dir    string          // of an agent that joined it
	runs   context.Context // until the agent has ended
}

func newHub(t *testing.T) *hub {
	t.Helper()
	means.Ends(t)
	serves := serverOf(t, 1<<20)
	url := serves.ClientURL()
	conn, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	h := &hub{T: t, serves: serves, conn: conn, dir: t.TempDir(), runs: t.Context()}
	if h.sub, err = conn.SubscribeSync(message.AllFrom); err != nil {
		t.Fatal(err)
	}
	who := admitted
	who.URLs, who.CA = []string{url}, nil
	if err := Save(h.dir, "joined", false, &who); err != nil {
		t.Fatal(err)
	}
	writeCreds(t, filepath.Join(h.dir, credsFile))
	return h
}

// hears is the next message of the agent.
func (h *hub) hears() *message.Message {
	h.Helper()
	ctx, cancel := context.WithTimeout(h.runs, means.Patience)
	defer cancel()
	got, err := h.sub.NextMsgWithContext(ctx)
	if err != nil {
		h.Fatal(err)
	}
	m, err := message.Unpack(got.Data)
	if err != nil {
		h.Fatal(err)
	}
	if agent, _, kind, ok := message.Sender(got.Subject); !ok || agent != admitted.Agent || kind != m.Kind {
		h.Errorf("from %s", got.Subject)
	}
	return m
}

func (h *hub) says(to, what string, v any) {
	h.Helper()
	b, err := json.Marshal(v)
	if p, ok := v.(*message.Pack); ok {
		b, err = p.Pack()
	}
	if err == nil {
		err = h.conn.Publish(message.To(to, what), b)
	}
	if err = errors.Join(err, h.conn.Flush()); err != nil {
		h.Fatal(err)
	}
}

// alone waits until the hub has no connection but the test's own.
func (h *hub) alone() {
	h.Helper()
	means.Until(h.T, "the end of the agent's connection", func() bool { return h.serves.NumClients() == 1 })
}

// becomes writes an agent's member file anew.
func (h *hub) becomes(change func(m *Member)) {
	h.Helper()
	m, err := Load(h.dir)
	if err != nil {
		h.Fatal(err)
	}
	change(m)
	b, err := json.Marshal(m)
	if err != nil {
		h.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(h.dir, memberFile), b, 0o600); err != nil {
		h.Fatal(err)
	}
}

// An agent that cannot begin says why, and one that is told to end does.
func TestRunTroubles(t *testing.T) {
	h := newHub(t)
	run := func(ctx context.Context, dir string) error {
		ctx, cancel := context.WithTimeout(ctx, means.Patience)
		defer cancel()
		return Run(ctx, Config{Dir: dir, Fettle: "/bin/false", Every: time.Hour, Soon: time.Hour, MaxKept: 1 << 20, Log: func(string) {}})
	}
	if err := run(ended(t), h.dir); err != nil {
		t.Error(err)
	}
	if err := run(t.Context(), t.TempDir()); err != ErrNotJoined {
		t.Errorf("not joined: %v", err)
	}
	if err := errors.Join(os.RemoveAll(filepath.Join(h.dir, spoolDir)), os.WriteFile(filepath.Join(h.dir, spoolDir), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	says(t, "a file for the spool", run(ended(t), h.dir), "mkdir ")
	if err := os.Remove(filepath.Join(h.dir, spoolDir)); err != nil {
		t.Fatal(err)
	}
	h.becomes(func(m *Member) { m.Agent = "a b" })
	says(t, "a name that is none", run(t.Context(), h.dir), "nats: invalid subject")
	_, err := Fetch(t.Context(), h.dir, "acme")
	says(t, "a name that is none", err, "nats: invalid subject")
	h.becomes(func(m *Member) { m.Agent = admitted.Agent })
	if err := errors.Join(os.WriteFile(filepath.Join(h.dir, credsFile), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	says(t, "damaged credentials", run(t.Context(), h.dir), "the hub: "+filepath.Join(h.dir, credsFile))
	h.becomes(func(m *Member) { m.Machine = "another" })
	if err := run(t.Context(), h.dir); err != ErrCopied {
		t.Errorf("copied: %v", err)
	}
	if _, err := Fetch(t.Context(), h.dir, "acme"); err != ErrCopied {
		t.Errorf("copied: %v", err)
	}
}

// An agent tells of its first check, answers questions, sends what is not answered again, keeps what the hub
// accepts, and ends when its host is retired.
func TestRun(t *testing.T) {
	h := newHub(t)
	const list = "SmPAsxjV7Jm2HXBx" // the name of what is accepted
	program := filepath.Join(h.dir, "fettle")
	means.Script(t, program, "echo \"$*\" >> "+h.dir+"/calls\n[ $1 = check ] || exit 0\ncat << 'END'\n"+reported(t, "br0")+"\nEND")
	said := make(chan string, 100)
	done := make(chan error, 1)
	conf := Config{Dir: h.dir, Fettle: program, Every: time.Hour, MaxKept: 1 << 20, Answer: 300 * time.Millisecond, Packs: h.dir,
		Log: func(s string) { said <- s }}
	runs, over := context.WithCancel(t.Context())
	h.runs = runs
	go func() { done <- Run(t.Context(), conf); over() }()
	first := h.hears()
	if first.Kind != message.Whole || first.Why != "start" || first.Run.Meta.Host != "joined" || first.Self.Accepts != message.NoAccepts ||
		!first.Self.TakesPacks || first.Self.Every != time.Hour || time.Since(first.Sent).Abs() > time.Minute {
		t.Errorf("%+v", first)
	}
	if again := h.hears(); again.Seq != first.Seq {
		t.Errorf("what is not answered is sent again: %+v", again)
	}
	ack := message.Ack{Instance: first.Instance, Seq: first.Seq, Accepts: &onhub.List{Digest: list,
		Entries: []onhub.Entry{{Trap: "bridge-mtu", Severity: "warning", Any: true}}}}
	h.says(admitted.Agent, "ack", ack)
	means.Until(t, "the list of what is accepted", func() bool { return hasAccepts(h.dir) == list })
	h.says(admitted.Agent, "ask", message.Ask{Envelope: first.Envelope, ID: "no question"})
	answered := func(is func(m *message.Message) bool) *message.Message { // what is sent again meanwhile aside
		t.Helper()
		for {
			m := h.hears()
			h.says(admitted.Agent, "ack", message.Ack{Instance: m.Instance, Seq: m.Seq})
			if m.Seq > first.Seq && is(m) {
				return m
			}
		}
	}
	h.says(admitted.Agent, "ask", message.NewAsk("q1", false, 0))
	m := answered(func(m *message.Message) bool { return m.Ask == "q1" })
	if m.Kind != message.Change || m.Why != "ask" || m.Self.Accepts != list || m.Base != first.Digest {
		t.Errorf("%+v", m)
	}
	h.says(admitted.Agent, "ack", message.Ack{Instance: first.Instance, Seq: 2, Whole: true})
	if m := answered(func(m *message.Message) bool { return m.Kind == message.Whole }); m.Why != "whole" || m.Digest != first.Digest {
		t.Errorf("asked for all: %+v", m)
	}
	h.says(admitted.Agent, "pack", message.NewPack("acme", 1, []byte("x")))
	answered(func(m *message.Message) bool { return m.Why == "pack" })
	h.says(admitted.Agent, "ack", message.Ack{Instance: first.Instance, Retired: true})
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(means.Patience):
		t.Fatal("a retired agent goes on")
	}
	h.alone()
	calls, _ := os.ReadFile(filepath.Join(h.dir, "calls"))
	const asked = "check --format json\n"
	if string(calls) != asked+asked+"pack install "+h.dir+"/offered.pack\n"+asked {
		t.Errorf("%q", calls)
	}
	close(said)
	all := ""
	for s := range said {
		all += s + "\n"
	}
	for _, want := range []string{"the hub asks for what this agent does not know", "handed on by the hub", "retired: this host"} {
		if !strings.Contains(all, want) {
			t.Errorf("%q, without %q", all, want)
		}
	}
}

// Root gets the pack that was asked for, or the hub's reason, whatever else is said meanwhile.
func TestFetch(t *testing.T) {
	h := newHub(t)
	defer func(was time.Duration) { fetchEach = was }(fetchEach)
	for what, c := range map[string]struct {
		name  string
		hub   func(asked *message.Message, n int32) *message.Pack
		each  time.Duration // an answer is waited for
		calls int32         // at least
		want  string
		says  string
	}{
		"the pack": {"acme", func(*message.Message, int32) *message.Pack {
			return message.NewPack("acme", 2, []byte("file"))
		}, means.Patience, 1, "file", ""},
		"the second time": {"acme", func(_ *message.Message, n int32) *message.Pack {
			if n < 2 {
				return nil
			}
			return message.NewPack("acme", 2, []byte("file"))
		}, 400 * time.Millisecond, 2, "file", ""},
		"none": {"none", func(*message.Message, int32) *message.Pack {
			p := message.NewPack("none", 1, nil)
			p.Why = "the hub has\nnone"
			return p
		}, means.Patience, 1, "", "the hub has"},
		"no answer": {"acme", func(*message.Message, int32) *message.Pack {
			return nil
		}, 50 * time.Millisecond, 2, "", "the hub does not answer"},
		"a path": {"../x", nil, means.Patience, 0, "", `"../x" is not the name of a pack`},
	} {
		var asked atomic.Int32
		fetchEach = c.each
		sub, err := h.conn.Subscribe(message.AllFrom, func(got *nats.Msg) {
			m, err := message.Unpack(got.Data)
			n := asked.Add(1)
			if err != nil || m.Kind != message.Want || m.Want != c.name || m.Seq != 1 || time.Since(m.Sent).Abs() > time.Minute {
				t.Errorf("%s: %+v, %v", what, m, err)
				return
			}
			_ = h.conn.Publish(message.To(admitted.Agent, "pack"), []byte("x"))
			other := message.NewPack(c.name, 9, []byte("other"))
			other.Asked = "another"
			h.says(admitted.Agent, "pack", other)
			if p := c.hub(m, n); p != nil {
				p.Asked = m.Instance
				h.says(admitted.Agent, "pack", p)
			}
		})
		if err = errors.Join(err, h.conn.Flush()); err != nil { // else the question may be there before
			t.Fatal(err)
		}
		got, err := Fetch(t.Context(), h.dir, c.name)
		if c.says != "" {
			says(t, what, err, c.says)
			if err != nil && strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: %q", what, err)
			}
		} else if err != nil || string(got) != c.want {
			t.Fatalf("%s: %q, %v", what, got, err)
		}
		means.Until(t, fmt.Sprintf("%s: %d questions", what, c.calls), func() bool { return asked.Load() >= c.calls })
		if err := sub.Unsubscribe(); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	h.alone()
	if _, err := Fetch(ended(t), h.dir, "acme"); !errors.Is(err, context.Canceled) {
		t.Errorf("ended: %v", err)
	}
	if _, err := Fetch(t.Context(), t.TempDir(), "acme"); err != ErrNotJoined {
		t.Errorf("not joined: %v", err)
	}
	few := serverOf(t, 16)
	h.becomes(func(m *Member) { m.URLs = []string{few.ClientURL()} })
	_, err := Fetch(t.Context(), h.dir, "acme")
	says(t, "a hub that takes next to nothing", err, "asking the hub: nats: maximum payload exceeded")
	if _, err := h.conn.Subscribe(message.AllFrom, func(*nats.Msg) { h.serves.Shutdown() }); err != nil || h.conn.Flush() != nil {
		t.Fatal(err)
	}
	h.becomes(func(m *Member) { m.URLs = []string{h.serves.ClientURL()} })
	fetchEach = means.Patience
	_, err = Fetch(t.Context(), h.dir, "acme")
	says(t, "a hub that ends", err, "the hub: nats: connection closed")
	h.becomes(func(m *Member) { m.URLs = []string{"nats://127.0.0.1:1"} })
	_, err = Fetch(t.Context(), h.dir, "acme")
	says(t, "no hub", err, "the hub: nats: no servers available")
	for err, want := range map[error]string{nats.ErrAuthorization: "it does not accept this host's key", nats.ErrTimeout: "nats: timeout",
		fmt.Errorf("x: %w", nats.ErrAuthRevoked): "it does not accept this host's key"} {
		if got := refusal(err); !strings.HasPrefix(got, want) {
			t.Errorf("%v: %q", err, got)
		}
	}
}

// What fettle says to a pack is what the hub hears: it took it, or why not. What was refused an hour ago may come again.
func TestTakePack(t *testing.T) {
	dir := t.TempDir()
	var said []string
	log := func(s string) { said = append(said, s) }
	a := &Agent{Config: Config{Dir: dir, Fettle: filepath.Join(dir, "fettle"), Packs: dir, Log: log}, hub: folded.Log{To: log}}
	p := message.NewPack("acme", 2, []byte("x"))
	for _, c := range []struct {
		what, script, said, refused string
		took                        bool
	}{
		{"taken", "cat $3; echo ' installed'", "handed on by the hub: x installed", "", true},
		{"refused", `echo "fettle: $3: why" >&2; exit 3`, "the hub handed on pack acme 2, which is not installed: why", "why", true},
		{"refused, in a minute", "exit 3", "", "exit status 3", true},
	} {
		said, a.refusals = nil, nil
		a.hub = folded.Log{To: log}
		means.Script(t, a.Fettle, c.script)
		if got := a.takePack(t.Context(), p); got != c.took || a.refusals["acme"].Refused != c.refused {
			t.Errorf("%s: %t, %+v", c.what, got, a.refusals)
		}
		if c.said != "" && !slices.Equal(said, []string{c.said}) {
			t.Errorf("%s: %q", c.what, said)
		}
		if _, err := os.Stat(filepath.Join(dir, offeredFile)); !os.IsNotExist(err) {
			t.Errorf("%s: left behind", c.what)
		}
	}
	said, a.refusals = nil, nil
	if a.takePack(ended(t), p) || a.refusals != nil || said != nil {
		t.Errorf("an agent that ends takes it: %+v, %q", a.refusals, said)
	}
	many := &Agent{Config: Config{Packs: t.TempDir()}, refusals: map[string]declined{
		"late": {message.HasPack{Name: "late", Version: 2, Refused: "w"}, uptime()}}}
	for i := range 30 {
		many.refusals[fmt.Sprint("early", i)] = declined{message.HasPack{Name: fmt.Sprint("early", i), Version: 1}, uptime() - 2*refusedFor}
	}
	for name, mark := range map[string]string{"a": strings.Repeat("1", 200), "b": "2"} {
		if err := os.WriteFile(filepath.Join(many.Packs, name+".highest"), []byte(mark), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := many.hasPacks(); !slices.Equal(got, []message.HasPack{{Name: "b", Version: 2}, {Name: "late", Version: 2, Refused: "w"}}) ||
		len(many.refusals) != 1 {
		t.Errorf("%+v, and %d refusals are kept", got, len(many.refusals))
	}
	a.Dir = filepath.Join(dir, "none")
	if a.takePack(t.Context(), p) || len(said) != 1 || !strings.HasPrefix(said[0], "keeping a pack that the hub handed on: ") {
		t.Errorf("%q", said)
	}
	for what, c := range map[string]struct {
		ago  time.Duration
		mark string
		want []message.HasPack
	}{
		"refused of late":      {59 * time.Minute, "", []message.HasPack{{Name: "acme", Version: 2, Refused: "w"}}},
		"an hour ago":          {61 * time.Minute, "", nil},
		"has an older one":     {0, "1", []message.HasPack{{Name: "acme", Version: 2, Refused: "w"}}},
		"has it after all":     {0, " 2\n", []message.HasPack{{Name: "acme", Version: 2}}},
		"a newer one":          {0, "3", []message.HasPack{{Name: "acme", Version: 3}}},
		"a mark that is none":  {0, "x", []message.HasPack{{Name: "acme", Version: 2, Refused: "w"}}},
		"one that is too long": {0, strings.Repeat("1", 200), []message.HasPack{{Name: "acme", Version: 2, Refused: "w"}}},
	} {
		dir := t.TempDir()
		if c.mark != "" {
			if err := os.WriteFile(filepath.Join(dir, "acme.highest"), []byte(c.mark), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		a := &Agent{Config: Config{Packs: dir}, refusals: map[string]declined{
			"acme": {message.HasPack{Name: "acme", Version: 2, Refused: "w"}, uptime() - c.ago}}}
		if got := a.hasPacks(); !slices.Equal(got, c.want) {
			t.Errorf("%s: %+v", what, got)
		}
		if a.Packs = ""; a.hasPacks() != nil {
			t.Errorf("%s: root does not let packs be handed on", what)
		}
	}
}

// A snapshot is saved once a day by the host's clock, also where that was set back, and not while a start is compared.
func TestSnapshotWhen(t *testing.T) {
	r := newRestarted(t)
	r.fettle("", "0")
	for what, c := range map[string]struct {
		since time.Duration
		off   bool
		busy  bool
		want  string
	}{"a day ago": {24 * time.Hour, false, false, "snapshot"}, "nearly": {24*time.Hour - 1, false, false, ""},
		"just now": {0, false, false, ""},
		"tomorrow": {-time.Second, false, false, "snapshot"}, "switched off": {48 * time.Hour, true, false, ""},
		"compared just now": {48 * time.Hour, false, true, ""}} {
		r.restart.was.Saved, r.Restarts, r.restart.first = r.now.Add(-c.since), !c.off, nil
		if c.busy {
			r.restart.first = make(chan compared)
		}
		r.snapshot(t.Context())
		if got := r.calls(); got != c.want || c.want != "" && !r.restart.was.Saved.Equal(r.now) {
			t.Errorf("%s: %q, saved %s", what, got, r.restart.was.Saved)
		}
		r.restart.was.Lost = []string{"x"}
		if r.compareAgain(t.Context()); (r.calls() != "") != (!c.off && !c.busy) {
			t.Errorf("%s: compared again", what)
		}
	}
	means.Script(t, r.Fettle, "echo why >&2; exit 3")
	r.restart.was, r.Restarts, r.restart.first = started{}, true, nil
	if r.snapshot(t.Context()); !r.restart.was.Saved.IsZero() || len(r.said) != 1 || r.said[0] != "saving a snapshot: exit status 3: why" {
		t.Errorf("%q, saved %s", r.said, r.restart.was.Saved)
	}
	if _, err := r.after(ended(t), 0); !errors.Is(err, context.Canceled) {
		t.Errorf("an agent that ends compares: %v", err)
	}
	if err := os.WriteFile(filepath.Join(r.Dir, startedFile), []byte(`{"boot":"x","lost":["y"]`), 0o600); err != nil {
		t.Fatal(err)
	}
	if r.begin(t.Context()); r.restart.was.Boot != bootID() || r.restart.was.Lost != nil || r.restart.first != nil {
		t.Errorf("of a damaged file: %+v", r.restart.was)
	}
	if r.started(compared{}, false); r.restart.was.Compared != "" || r.restart.first != nil {
		t.Errorf("%+v", r.restart.was)
	}
}

// An agent whose host stops says so, where systemd says that it does: here a program in its place, in a file system of
// the test's own.
func TestFarewell(t *testing.T) {
	if !means.Inside(t, syscall.CLONE_NEWNS, means.Patience) {
		return
	}
	const running, bin = "/run/systemd/system", "/usr/bin"
	programs := map[string][]byte{}
	for _, name := range []string{"sh", "sleep"} {
		b, err := os.ReadFile(filepath.Join(bin, name))
		if err != nil {
			means.Missing(t, "needs "+name)
		}
		programs[name] = b
	}
	for _, dir := range []string{"/run", bin} {
		if err := unix.Mount("fettle-test", dir, "tmpfs", 0, "mode=755"); err != nil {
			t.Fatal(err)
		}
	}
	for name, b := range programs {
		if err := os.WriteFile(filepath.Join(bin, name), b, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		what, state      string
		systemd, reports bool
		want             int
	}{
		{"the host stops", "stopping", true, true, 1},
		{"the agent alone", "running", true, true, 0},
		{"it reports no restarts", "stopping", true, false, 0},
		{"no systemd", "stopping", false, true, 0},
	} {
		a, _, _ := wire(t)
		a.Restarts = c.reports
		means.Script(t, systemctl, "sleep 0.02; echo "+c.state)
		if err := os.RemoveAll(running); err != nil {
			t.Fatal(err)
		}
		if c.systemd {
			if err := os.MkdirAll(running, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if a.farewell(); a.spool.Len() != c.want {
			t.Errorf("%s: %d messages", c.what, a.spool.Len())
		}
	}
}

// An agent whose host stops says so.
func TestStopping(t *testing.T) {
	a, sub, _ := wire(t)
	a.last = stateOf("x")
	a.stopping()
	got, err := sub.NextMsg(means.Patience)
	if err != nil {
		t.Fatal(err)
	}
	if m, err := message.Unpack(got.Data); err != nil || m.Why != message.Stopping || m.Digest != a.last.Digest() || m.Kind != message.Beat {
		t.Errorf("%+v, %v", m, err)
	}
	a.Restarts = false
	if a.farewell(); a.spool.Len() != 1 {
		t.Error("an agent that only ends says that its host does")
	}
}
