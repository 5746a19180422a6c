package bus

import (
	"encoding/json"
	"time"

	"github.com/nats-io/jwt/v2"
	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
)

// Whoever holds an invitation logs in with its key, which all others have that hold it:
// a flood must not shut out the key, but the address from which it comes.

// joinMessages is what a connection that asks to join may send: a join takes three.
const joinMessages = 50

const (
	strikesMost = 3 // connections of an address that flooded
	strikeLasts = 15 * time.Minute
	joinersSeen = 10_000 // addresses remembered
)

type strikes struct {
	n     int
	until time.Time
}

// QuietJoins ends connections that ask to join far too often, and those of addresses that
// did so several times. It returns the addresses that are shut out from now on.
func (s *Server) QuietJoins() ([]string, error) {
	conns, err := s.Connz(&natsserver.ConnzOptions{Username: true, Sort: natsserver.ByInMsgs, Limit: 256})
	if err != nil {
		return nil, err
	}
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	for ip, st := range s.joining {
		if now.After(st.until) {
			delete(s.joining, ip)
		}
	}
	var out []string
	for _, c := range conns.Conns {
		struck := s.joining[c.IP]
		shut := struck.n >= strikesMost
		if c.InMsgs <= joinMessages && !shut || !joins(c) {
			continue
		}
		if c.InMsgs > joinMessages && (len(s.joining) < joinersSeen || struck.n > 0) {
			if s.joining == nil {
				s.joining = map[string]strikes{}
			}
			s.joining[c.IP] = strikes{struck.n + 1, now.Add(strikeLasts)}
			if struck.n+1 == strikesMost {
				out = append(out, c.IP)
			}
		}
		_ = s.DisconnectClientByID(c.Cid) // it may have ended by itself
	}
	return out, nil
}

// Doorkeeper ends connections that ask to join from an address that is shut out, as soon
// as they are made: by the time of the next look they could have sent thousands. It works
// until the server ends.
func (s *Server) Doorkeeper() error {
	pair, err := nkeys.CreateUser()
	if err != nil {
		return err
	}
	c := jwt.NewUserClaims(public(pair))
	c.Name = "doorkeeper"
	token, err := c.Encode(s.keys.system)
	if err != nil {
		return err
	}
	nc, err := nats.Connect("", nats.InProcessServer(s.Server), nats.MaxReconnects(-1), quiet(s.log), nats.UserJWT(
		func() (string, error) { return token, nil }, func(nonce []byte) ([]byte, error) { return pair.Sign(nonce) }))
	if err != nil {
		return err
	}
	_, err = nc.Subscribe("$SYS.ACCOUNT."+public(s.keys.account)+".CONNECT", func(m *nats.Msg) {
		var e struct {
			Client struct {
				Host string `json:"host"`
				ID   uint64 `json:"id"`
			} `json:"client"`
		}
		if json.Unmarshal(m.Data, &e) != nil || !s.shut(e.Client.Host) {
			return
		}
		conns, err := s.Connz(&natsserver.ConnzOptions{Username: true, CID: e.Client.ID})
		if err == nil && len(conns.Conns) == 1 && joins(conns.Conns[0]) {
			_ = s.DisconnectClientByID(e.Client.ID)
		}
	})
	return err
}

func (s *Server) shut(ip string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.joining[ip].n >= strikesMost
}

// joins reports whether a connection has an invitation: of all users these alone have
// bearer tokens, which the server shows to nobody.
func joins(c *natsserver.ConnInfo) bool {
	_, err := jwt.DecodeUserClaims(c.JWT)
	return c.AuthorizedUser != "" && err != nil
}
