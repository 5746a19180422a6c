// Package hub runs the hub: NATS, the database, the admission of hosts, and the intake of what
// agents send.
package hub

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"fettle/fleet/hub/bus"
	"fettle/fleet/hub/ingest"
	"fettle/fleet/hub/join"
	"fettle/fleet/hub/message"
	"fettle/fleet/hub/notify"
	"fettle/fleet/hub/store"
	deliver "fettle/report/notify"
)

// Config is the configuration of fettle-hub serve.
type Config struct {
	Dir        string   // state
	Listen     string   // of the embedded NATS server
	Names      []string // under which agents reach it
	NATS       string   // a cluster of others instead; URLs with commas between
	CA         string   // the authority of the NATS server's certificate, a file
	Replicas   int      // copies of the stream in that cluster
	Database   string   // postgres://…; empty: a file in Dir
	Cert, Key  string   // for NATS; empty: by the hub's own authority
	KnownHosts string
	Group      string // of hosts that join by ssh host key
	MaxStore   int64
	Keep       time.Duration    // changes and curves
	Traps      []string         // those that this hub knows: only these count over the fleet
	Notify     *notify.Settings // nil: nobody is notified
	Page       string           // its URL, for messages
	Silent     time.Duration    // a host that has sent nothing for this long is silent
	Log        func(string)
}

// DatabaseFile is the hub's database, where it is no other.
const DatabaseFile = "hub.db"

// Where is the database's address.
func (c *Config) Where() string {
	if c.Database != "" {
		return c.Database
	}
	return filepath.Join(c.Dir, DatabaseFile)
}

// Hub is a hub that serves.
type Hub struct {
	Config
	DB     *store.DB
	Conn   *nats.Conn
	keys   *bus.Keys
	server *bus.Server // nil: others'
	lock   *os.File    // of the state folder
	// trouble is what was last said of a stream that takes nothing.
	trouble saying
	queue   atomic.Pointer[jetstream.Consumer]
	stuck   atomic.Pointer[string] // why the stream takes nothing

	dismissed struct {
		sync.Mutex
		keys map[string]bool
	}
}

// OpenDir makes the state folder, for its owner alone.
func OpenDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	st, err := os.Stat(dir)
	if err == nil && st.Mode().Perm()&0o077 != 0 {
		err = os.Chmod(dir, 0o700)
	}
	return err
}

// Start starts a hub; Run serves with it.
func Start(ctx context.Context, c Config) (*Hub, error) {
	h := &Hub{Config: c}
	if err := h.start(ctx); err != nil {
		return nil, errors.Join(err, h.Close())
	}
	return h, nil
}

// start leaves what it has opened to Close.
func (h *Hub) start(ctx context.Context) (err error) {
	if err := OpenDir(h.Dir); err != nil {
		return err
	}
	if h.lock, err = alone(h.Dir); err != nil {
		return err
	}
	if h.keys, err = bus.LoadKeys(h.Dir); err != nil {
		return err
	}
	if h.DB, err = store.Open(ctx, h.Where()); err != nil {
		return err
	}
	if h.Database == "" { // in the folder that this hub has alone: a lease there is of one that was killed
		if err := h.DB.Abandon(ctx); err != nil {
			return err
		}
	}
	if err := recall(ctx, h.Dir, h.DB); err != nil {
		return err
	}
	if len(h.Traps) > 0 {
		if err := h.DB.Know(ctx, h.Traps); err != nil {
			return fmt.Errorf("the database: %w", err)
		}
	}
	if err := h.connect(); err != nil {
		return err
	}
	return h.writeKnown()
}

func (h *Hub) connect() (err error) {
	if h.NATS != "" {
		conf, err := h.clusterTLS()
		if err != nil {
			return err
		}
		h.Conn, err = bus.ConnectTo(h.NATS, h.keys, conf, h.Log)
		return err
	}
	conf, err := h.serverTLS()
	if err != nil {
		return err
	}
	if h.server, err = bus.Start(bus.Config{Dir: h.Dir, Listen: h.Listen, TLS: conf, MaxStore: h.MaxStore, Log: h.Log}, h.keys); err != nil {
		return err
	}
	if h.Conn, err = h.server.Connect(); err != nil {
		return err
	}
	return h.server.Doorkeeper()
}

func (h *Hub) clusterTLS() (*tls.Config, error) {
	if h.CA == "" {
		return nil, nil
	}
	pool, err := Pool(h.CA)
	if err != nil {
		return nil, err
	}
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, nil
}

// Pool reads authorities from a file.
func Pool(file string) (*x509.CertPool, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(b) {
		return nil, fmt.Errorf("%s: no certificate in it", file)
	}
	return pool, nil
}

func (h *Hub) serverTLS() (*tls.Config, error) {
	if h.Cert != "" {
		return bus.ServerTLS(h.Cert, h.Key)
	}
	return bus.OwnTLS(h.Dir, h.names())
}

// names are those under which agents may reach the hub: what was given, the
// address that it listens on, and this machine itself.
func (h *Hub) names() []string {
	out := append([]string{}, h.Names...)
	if host, _, err := net.SplitHostPort(h.Listen); err == nil && host != "" && host != "0.0.0.0" && host != "::" {
		out = append(out, host)
	}
	return append(out, "localhost", "127.0.0.1", "::1")
}

// URLs are where agents connect.
func (h *Hub) URLs() []string {
	if h.NATS != "" {
		return strings.Split(h.NATS, ",")
	}
	addr := h.Listen
	if h.server != nil {
		addr = h.server.Addr()
	}
	host, port, _ := net.SplitHostPort(addr)
	names := h.Names
	if len(names) == 0 {
		if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
			host = hostname()
		}
		names = []string{host}
	}
	var out []string
	for _, n := range names {
		out = append(out, "tls://"+net.JoinHostPort(n, port))
	}
	return out
}

func hostname() string {
	n, err := os.Hostname()
	if err != nil {
		return "localhost"
	}
	return n
}

// Run serves until ctx ends.
func (h *Hub) Run(ctx context.Context) error {
	consumer, err := h.open(ctx)
	if err != nil {
		return err
	}
	h.queue.Store(&consumer)
	joins := &join.Service{
		DB:         h.DB,
		Keys:       h.keys,
		URLs:       h.URLs(),
		KnownHosts: h.KnownHosts,
		Group:      h.Group,
		Log:        h.Log,
		Replaced:   func() { h.ban(ctx) },
	}
	sub, err := joins.Serve(h.Conn)
	if err != nil {
		return err
	}
	defer func() { _ = sub.Unsubscribe() }()
	h.ban(ctx)
	var wait sync.WaitGroup
	wait.Go(func() { h.keepHouse(ctx) })
	if h.Notify != nil {
		wait.Go(func() { h.notifier().Run(ctx) })
	}
	wait.Go(func() {
		ingest.Run(ctx, ingest.Config{DB: h.DB, Conn: h.Conn, Consumer: consumer, Holder: holder(), Log: h.Log, Flood: h.flood})
	})
	wait.Wait()
	return nil
}

// notifier tells people, by the settings.
func (h *Hub) notifier() *notify.Notifier {
	return &notify.Notifier{DB: h.DB, Sender: deliver.System(), Settings: h.Notify, Hub: h.title(), URL: h.Page, Silent: h.Silent,
		Holder: holder(), Log: h.Log, Now: time.Now, Started: time.Now()}
}

// title is what messages call the hub.
func (h *Hub) title() string {
	if len(h.Names) > 0 {
		return h.Names[0]
	}
	return hostname()
}

// open opens the stream.
func (h *Hub) open(ctx context.Context) (jetstream.Consumer, error) {
	consumer, err := bus.OpenStream(ctx, h.Conn, h.MaxStore/10*9, max(h.Replicas, 1))
	if err != nil && h.server != nil && ctx.Err() == nil {
		// Its files are damaged. What is in it and not in the database, agents still have.
		h.Log(err.Error() + "; it is created again, and agents resend what is missing")
		consumer, err = bus.RenewStream(ctx, h.Conn, h.MaxStore/10*9, 1)
	}
	return consumer, err
}

// holder is this process among many hubs.
func holder() string {
	var b [8]byte
	_, _ = rand.Read(b[:])
	return hostname() + "-" + hex.EncodeToString(b[:])
}

// Close ends the hub.
func (h *Hub) Close() error {
	h.Conn.Close()
	if h.server != nil {
		h.server.Shutdown()
		h.server.WaitForShutdown()
	}
	var errs []error
	if h.DB != nil {
		errs = append(errs, h.DB.Close())
	}
	if h.lock != nil {
		errs = append(errs, h.lock.Close())
	}
	return errors.Join(errs...)
}

// Ask asks an agent, or all for "", to check now, and returns the question's
// name: hosts that answered it have it as their last.
func (h *Hub) Ask(agent string, whole bool, within time.Duration) (string, error) {
	id := join.NewAgent()
	return id, bus.Ask(h.Conn, agent, message.NewAsk(id, whole, within))
}

// floodBan is how long a key is shut out that sends far too much.
const floodBan = 15 * time.Minute

func (h *Hub) flood(key string) {
	h.Log("an agent floods the hub; its key is shut out for a quarter of an hour: " + key)
	if h.server == nil {
		return // its messages are dropped as they come
	}
	if err := h.server.Ban(key); err != nil {
		h.Log(err.Error())
	}
	time.AfterFunc(floodBan, func() {
		if err := h.server.Allow(key); err != nil {
			h.Log(err.Error())
		}
	})
}

// floods shuts out who sends more than the server can take.
func (h *Hub) floods() {
	if h.server == nil {
		return
	}
	for _, a := range h.server.QuietJoins() {
		h.Log("hosts that join: too many requests from " + a + "; its connections are ended for a quarter of an hour")
	}
	for _, k := range h.server.Floods() {
		h.flood(k)
	}
}

// ban shuts out the keys that were revoked.
func (h *Hub) ban(ctx context.Context) {
	if err := Remember(ctx, h.Dir, h.DB); err != nil && ctx.Err() == nil {
		h.Log("keeping the list of revoked keys: " + err.Error())
	}
	if err := h.dismiss(ctx); err != nil && ctx.Err() == nil {
		h.Log("telling agents that their hosts were retired: " + err.Error())
	}
	if h.server == nil {
		return
	}
	revoked, err := h.DB.Revoked(ctx)
	if err != nil {
		h.Log("the database: " + err.Error())
		return
	}
	if err := h.server.Ban(revoked...); err != nil {
		h.Log(err.Error())
	}
}

// dismiss tells agents whose hosts were retired that they are done, once, before they are
// shut out. One that is not connected hears nothing but a refusal when it is.
func (h *Hub) dismiss(ctx context.Context) error {
	revoked, err := h.DB.RevokedKeys(ctx)
	if err != nil {
		return err
	}
	h.dismissed.Lock()
	defer h.dismissed.Unlock()
	if h.dismissed.keys == nil {
		h.dismissed.keys = map[string]bool{}
	}
	told := false
	for _, k := range revoked {
		if !k.Retired || h.dismissed.keys[k.Key] || !message.IsID(k.Agent) {
			continue
		}
		h.dismissed.keys[k.Key], told = true, true
		b, err := (&message.Ack{Instance: k.Agent, Retired: true}).Pack()
		if err == nil {
			err = h.Conn.Publish(message.To(k.Agent, "ack"), b)
		}
		if err != nil {
			return err
		}
	}
	if !told {
		return nil
	}
	return h.Conn.FlushTimeout(10 * time.Second)
}

// revive mends the stream where it takes no messages.
func (h *Hub) revive(ctx context.Context) {
	if h.server == nil {
		return
	}
	trouble, err := h.server.Revive()
	if err == nil && trouble {
		_, err = h.open(ctx)
	}
	if err == nil {
		h.stuck.Store(nil)
	}
	switch {
	case ctx.Err() != nil:
	case err != nil:
		why := err.Error()
		h.stuck.Store(&why)
		h.trouble.say(h.Log, "agents' messages cannot be kept, and agents keep them meanwhile: "+err.Error())
	case trouble:
		h.trouble = saying{}
		h.Log("agents' messages are kept again")
	}
}

// Queue is how many messages wait to be stored, or to be acknowledged.
func (h *Hub) Queue(ctx context.Context) (int64, error) {
	c := h.queue.Load()
	if c == nil {
		return 0, errors.New("the stream is not open yet")
	}
	info, err := (*c).Info(ctx)
	if err != nil {
		return 0, err
	}
	return int64(info.NumPending) + int64(info.NumAckPending), nil
}

// Storing tells why agents' messages cannot be kept.
func (h *Hub) Storing() error {
	if why := h.stuck.Load(); why != nil {
		return errors.New(*why)
	}
	return nil
}

// saying is something that is not to be said each time.
type saying struct {
	text string
	at   time.Time
}

// say says it where it is new, or was last said a while ago.
func (s *saying) say(log func(string), text string) {
	if text != s.text || time.Since(s.at) > 5*time.Minute {
		s.text, s.at = text, time.Now()
		log(text)
	}
}

// keepHouse does what is to be done now and then.
func (h *Hub) keepHouse(ctx context.Context) {
	always, often, hourly := time.NewTicker(time.Second), time.NewTicker(30*time.Second), time.NewTicker(time.Hour)
	defer always.Stop()
	defer often.Stop()
	defer hourly.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-always.C:
			h.floods()
			h.revive(ctx)
		case <-often.C:
			h.ban(ctx)
			h.judge(ctx)
		case <-hourly.C:
			h.tidy(ctx)
		}
	}
}

// judge stops packs that do harm, and hands on those that do none.
func (h *Hub) judge(ctx context.Context) {
	said, err := h.DB.Judge(ctx)
	for _, s := range said {
		h.Log(s)
	}
	if err != nil && ctx.Err() == nil {
		h.Log("the database: " + err.Error())
	}
}

func (h *Hub) tidy(ctx context.Context) {
	// What is accepted no longer counts in today's sums.
	if _, err := h.DB.Lapse(ctx); err != nil {
		h.Log("the database: " + err.Error())
	}
	if err := h.DB.Snapshot(ctx); err != nil {
		h.Log("the database: " + err.Error())
	}
	prune := func(ctx context.Context) (bool, error) { return h.DB.Prune(ctx, time.Now().Add(-h.Keep)) }
	for _, clean := range []func(context.Context) (bool, error){prune, h.DB.Fold} {
		for more := true; more && ctx.Err() == nil; {
			var err error
			if more, err = clean(ctx); err != nil {
				h.Log("the database: " + err.Error())
				more = false
			}
		}
	}
}
