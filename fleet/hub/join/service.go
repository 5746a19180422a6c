package join

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
	"golang.org/x/crypto/ssh"

	"fettle/fleet/hub/message"
	"fettle/fleet/hub/store"
	"fettle/internal/folded"
)

// Signer makes the credentials of agents.
type Signer interface {
	AgentJWT(agent, key string) (string, error)
	Secret() []byte
}

// Service answers those who want to join.
type Service struct {
	DB         *store.DB
	Keys       Signer
	URLs       []string
	KnownHosts string // a file; empty: nobody joins by ssh host key
	Group      string // of who joins by ssh host key
	Log        func(string)
	// Replaced is called after keys were revoked.
	Replaced func()

	log  folded.Log
	once sync.Once
	now  func() time.Time // nil: time.Now
}

func (s *Service) clock() time.Time {
	if s.now != nil {
		return s.now()
	}
	return time.Now()
}

// again is how long a key that was admitted may ask once more.
const again = time.Minute

// queue is the group of hubs of which one answers.
const queue = "hubs"

// Serve answers until the connection ends.
func (s *Service) Serve(nc *nats.Conn) (*nats.Subscription, error) {
	sub, err := nc.QueueSubscribe(message.Join, queue, func(m *nats.Msg) {
		// A reply elsewhere would reach agents, in the hub's name.
		if !strings.HasPrefix(m.Reply, message.JoinInbox+".") {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		b, err := json.Marshal(s.answer(ctx, m.Data))
		if err == nil {
			err = m.Respond(b)
		}
		if err != nil {
			s.say("answer", "answering a host that joins: "+err.Error())
		}
	})
	if err == nil { // what a flood brings beyond this is dropped: hosts ask again
		err = sub.SetPendingLimits(waiting, waiting*maxRequest)
	}
	return sub, err
}

// waiting is how many requests wait for an answer, and maxRequest how large one may be.
const (
	waiting    = 2000
	maxRequest = 16 << 10
)

func (s *Service) answer(ctx context.Context, b []byte) Reply {
	var r Request
	if len(b) > maxRequest || json.Unmarshal(b, &r) != nil {
		return Reply{Error: "the request is damaged"}
	}
	switch {
	case r.Version > Version:
		return Reply{Error: "this agent is newer than the hub"}
	case r.Host == "" || len(r.Host) > 255 || strings.ContainsFunc(r.Host, func(c rune) bool { return c <= ' ' || c == 0x7f }):
		return Reply{Error: "the host's name is invalid"}
	case !nkeys.IsValidPublicUserKey(r.Key):
		return Reply{Error: "the key is no user's NKey"}
	}
	reply, err := s.admit(ctx, r)
	switch {
	case errors.Is(err, store.ErrToken) || errors.Is(err, errRefused):
		s.say("refused", fmt.Sprintf("%q may not join: %v", r.Host, err))
		return Reply{Error: err.Error()}
	case err != nil:
		s.say("trouble", fmt.Sprintf("%q joins: %v", r.Host, err))
		return Reply{Error: "the hub has trouble with its database; try again"}
	}
	return reply
}

func (s *Service) say(kind, text string) {
	s.once.Do(func() { s.log.To = s.Log })
	s.log.Say(kind, text)
}

var errRefused = errors.New("refused")

func (s *Service) admit(ctx context.Context, r Request) (Reply, error) {
	j := store.Joining{Agent: NewAgent(), Host: r.Host, Key: r.Key, How: "token", Group: s.Group}
	var agent string
	var err error
	if r.Token == "" {
		challenge, err := s.byHostKey(r, &j)
		if err != nil || challenge != "" {
			return Reply{Challenge: challenge}, err
		}
	}
	// A key that was admitted a moment ago asks once more, for its answer was late or lost. It
	// uses up nothing, and the credentials are of use to whoever has the key alone.
	switch agent, err = s.DB.AdmittedAs(ctx, r.Key, s.clock().Add(-again)); {
	case err == nil:
		j.Agent = agent // nobody's place
	case !errors.Is(err, store.ErrNone):
	case r.Token != "":
		agent, err = s.DB.JoinByToken(ctx, Hash(r.Token), j)
	default:
		agent, err = s.DB.JoinByHostKey(ctx, j)
	}
	if err != nil {
		return Reply{}, err
	}
	if agent != j.Agent && s.Replaced != nil {
		s.Replaced()
	}
	token, err := s.Keys.AgentJWT(agent, r.Key)
	if err != nil {
		return Reply{}, err
	}
	s.Log(fmt.Sprintf("%q joined by %s as %s", r.Host, j.How, agent))
	return Reply{Agent: agent, JWT: token, URLs: s.URLs}, nil
}

// byHostKey returns a challenge, or nothing for a host that met one.
func (s *Service) byHostKey(r Request, j *store.Joining) (string, error) {
	if s.KnownHosts == "" {
		return "", fmt.Errorf("%w: this hub does not admit hosts by ssh host key (serve --known-hosts)", errRefused)
	}
	pub, err := ssh.ParsePublicKey(r.HostKey)
	if err != nil {
		return "", fmt.Errorf("%w: the ssh host key is damaged", errRefused)
	}
	err = knows(s.KnownHosts, r.Host, pub)
	switch {
	case errors.Is(err, errKnownHosts):
		s.say("known_hosts", err.Error())
		return "", fmt.Errorf("%w: the hub cannot read its known_hosts", errRefused)
	case err != nil:
		return "", fmt.Errorf("%w: the hub's known_hosts does not name this key for %s", errRefused, r.Host)
	}
	c := challenger{s.Keys.Secret(), s.clock}
	if r.Challenge == "" {
		return c.make(r), nil
	}
	if !c.mine(r) {
		return "", fmt.Errorf("%w: the challenge is too old, or another's", errRefused)
	}
	if err := verify(pub, r.Challenge, r.Key, r.Signature); err != nil {
		return "", fmt.Errorf("%w: the signature is not of this key", errRefused)
	}
	j.How, j.HostKey = "ssh", ssh.FingerprintSHA256(pub)
	return "", nil
}
