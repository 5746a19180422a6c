package bus

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/jwt/v2"
	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"fettle/fleet/hub/message"
	"fettle/internal/folded"
)

// maxBuffered is how many messages may wait for the stream: all agents of a
// large fleet may answer at once.
const maxBuffered = 200_000

// starting is how long the server may take until it listens.
const starting = time.Minute

// Folder is where the server keeps its stream, in the hub's state folder.
const Folder = "nats"

// Config is that of the embedded server.
type Config struct {
	Dir    string // the hub's state
	Listen string // HOST:PORT
	TLS    *tls.Config
	// MaxStore bounds what JetStream keeps on disk, in bytes.
	MaxStore int64
	Log      func(string)
}

// Server is the embedded NATS server.
type Server struct {
	*natsserver.Server
	keys   *Keys
	js     natsserver.JetStreamConfig
	mu     sync.Mutex
	banned map[string]time.Time
	looked map[uint64]sent
	mend   sync.Mutex
	// revived is when JetStream was last started again.
	revived time.Time
	joining map[string]strikes
	log     func(string)
	own     string // the key of the hub itself, which may send as much as it likes
}

// Start starts a server that admits agents of these keys alone.
func Start(c Config, k *Keys) (*Server, error) {
	host, port, err := net.SplitHostPort(c.Listen)
	if err != nil {
		return nil, fmt.Errorf("--listen %s: %w", c.Listen, err)
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		return nil, fmt.Errorf("--listen %s: its port is no number", c.Listen)
	}
	if n == 0 {
		n = natsserver.RANDOM_PORT
	}
	accounts := &natsserver.MemAccResolver{}
	for _, claims := range []*jwt.AccountClaims{k.accountClaims(nil), k.systemClaims()} {
		_ = accounts.Store(claims.Subject, must(claims.Encode(k.operator))) // into memory: it does not fail
	}
	// A claim is trusted as it is after its own signature is on it.
	operator := must(jwt.DecodeOperatorClaims(must(k.operatorClaims().Encode(k.operator))))
	store := filepath.Join(c.Dir, Folder)
	if err := os.MkdirAll(store, 0o700); err != nil {
		return nil, err
	}
	opts := &natsserver.Options{
		ServerName: "fettle-hub", Host: host, Port: n, NoSigs: true, NoLog: false,
		JetStream: true, StoreDir: store, JetStreamMaxMemory: 16 << 20, JetStreamMaxStore: c.MaxStore, SyncInterval: 10 * time.Second,
		TrustedOperators: []*jwt.OperatorClaims{operator}, SystemAccount: public(k.system), AccountResolver: accounts,
		TLSConfig: c.TLS, TLSTimeout: 60, AuthTimeout: 120, MaxPayload: message.MaxPacked + 8<<10, MaxPending: 8 << 20,
		StreamMaxBufferedMsgs: maxBuffered, StreamMaxBufferedSize: 256 << 20,
		PingInterval: 5 * time.Minute, MaxPingsOut: 2, WriteDeadline: 20 * time.Second, MaxConn: 1 << 20,
		DisableShortFirstPing: true, NoHeaderSupport: false,
	}
	s, err := natsserver.NewServer(opts)
	if err != nil {
		return nil, fmt.Errorf("the NATS server: %w", err)
	}
	log := &logger{Log: folded.Log{To: c.Log}}
	s.SetLogger(log, false, false)
	s.Start()
	for end := time.Now().Add(starting); !s.ReadyForConnections(starting / 1000); {
		if log.fatal.Load() || time.Now().After(end) { // it goes on without what it could not have
			s.Shutdown()
			return nil, fmt.Errorf("the NATS server on %s does not start: is the port taken?", c.Listen)
		}
	}
	return &Server{
		Server: s,
		keys:   k,
		js:     natsserver.JetStreamConfig{MaxMemory: 16 << 20, MaxStore: c.MaxStore, StoreDir: store, SyncInterval: opts.SyncInterval},
		banned: map[string]time.Time{}, joining: map[string]strikes{},
		log: c.Log,
	}, nil
}

// Addr is where the server listens.
func (s *Server) Addr() string { return s.Server.Addr().String() }

// Connect connects the hub itself, within the process.
func (s *Server) Connect() (*nats.Conn, error) {
	user, own := s.keys.login()
	s.own = own
	return nats.Connect("", nats.InProcessServer(s.Server), user, nats.Name("fettle-hub"), nats.MaxReconnects(-1), quiet(s.log))
}

// quiet logs what goes wrong on the hub's own connection: its client would print a line
// for each message that a flood costs.
func quiet(log func(string)) nats.Option {
	l := &folded.Log{To: log}
	return nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { l.Say(err.Error(), "NATS: "+err.Error()) })
}

// login is the hub's own credentials, made for each connection, and the key in them.
func (k *Keys) login() (nats.Option, string) {
	pair := must(nkeys.CreateUser())
	c := jwt.NewUserClaims(public(pair))
	c.Name = "hub"
	c.IssuerAccount = public(k.account)
	return loggedIn(c, pair, k.signing), c.Subject
}

// loggedIn are claims, signed by a key, as a client shows them.
func loggedIn(c *jwt.UserClaims, pair, by nkeys.KeyPair) nats.Option {
	token := must(c.Encode(by))
	return nats.UserJWT(func() (string, error) { return token, nil }, func(nonce []byte) ([]byte, error) { return pair.Sign(nonce) })
}

// ConnectTo connects the hub to a cluster of others.
func ConnectTo(urls string, k *Keys, tlsConfig *tls.Config, log func(string)) (*nats.Conn, error) {
	user, _ := k.login()
	opts := []nats.Option{
		user,
		nats.Name("fettle-hub"),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(time.Second),
		nats.RetryOnFailedConnect(false),
		quiet(log),
	}
	if tlsConfig != nil {
		opts = append(opts, nats.Secure(tlsConfig))
	}
	nc, err := nats.Connect(urls, opts...)
	if errors.Is(err, nats.ErrAuthorization) {
		return nil, fmt.Errorf("%s: %w; put what fettle-hub nats-config prints into its configuration", urls, err)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", urls, err)
	}
	return nc, nil
}

// Ban shuts keys out, and ends their connections, until Allow.
func (s *Server) Ban(keys ...string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	more := false
	for _, k := range keys {
		if _, ok := s.banned[k]; !ok {
			s.banned[k], more = time.Now(), true
		}
	}
	if !more {
		return nil
	}
	return s.update()
}

// Allow takes a ban back.
func (s *Server) Allow(key string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.banned, key)
	return s.update()
}

func (s *Server) update() error {
	claims := s.keys.accountClaims(s.banned)
	_ = s.AccountResolver().Store(claims.Subject, must(claims.Encode(s.keys.operator))) // into memory: it does not fail
	account, err := s.LookupAccount(claims.Subject)
	if err != nil {
		return err
	}
	s.UpdateAccountClaims(account, claims)
	return nil
}
