package bus

import (
	"encoding/json"
	"slices"
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
func (s *Server) QuietJoins() []string {
	shut, end := s.strike(s.loudest(256), time.Now())
	for _, id := range end {
		_ = s.DisconnectClientByID(id) // it may have ended by itself
	}
	return shut
}

// strike counts floods by address. It returns the addresses that are shut out from now on, and
// the connections to end.
func (s *Server) strike(conns []*natsserver.ConnInfo, now time.Time) (shut []string, end []uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for ip, st := range s.joining {
		if now.After(st.until) {
			delete(s.joining, ip)
		}
	}
	for _, c := range conns {
		struck := s.joining[c.IP]
		flooded := c.InMsgs > joinMessages
		if !flooded && struck.n < strikesMost || !joins(c) {
			continue
		}
		if flooded && (len(s.joining) < joinersSeen || struck.n > 0) {
			s.joining[c.IP] = strikes{struck.n + 1, now.Add(strikeLasts)}
			if struck.n+1 == strikesMost {
				shut = append(shut, c.IP)
			}
		}
		end = append(end, c.Cid)
	}
	return shut, end
}

// Doorkeeper ends connections that ask to join from an address that is shut out, as soon
// as they are made: by the time of the next look they could have sent thousands. It works
// until the server ends.
func (s *Server) Doorkeeper() error {
	pair := must(nkeys.CreateUser())
	c := jwt.NewUserClaims(public(pair))
	c.Name = "doorkeeper"
	nc, err := nats.Connect("", nats.InProcessServer(s.Server), nats.MaxReconnects(-1), quiet(s.log), loggedIn(c, pair, s.keys.system))
	if err != nil {
		return err
	}
	_, err = nc.Subscribe("$SYS.ACCOUNT."+public(s.keys.account)+".CONNECT", func(m *nats.Msg) {
		if id, shut := s.refused(m.Data); shut {
			_ = s.DisconnectClientByID(id)
		}
	})
	return err
}

// refused tells which connection the server reports as made, and whether it is to be ended.
func (s *Server) refused(event []byte) (uint64, bool) {
	var e struct {
		Client struct {
			Host string `json:"host"`
			ID   uint64 `json:"id"`
		} `json:"client"`
	}
	if json.Unmarshal(event, &e) != nil || !s.shut(e.Client.Host) {
		return 0, false
	}
	conns := must(s.Connz(&natsserver.ConnzOptions{Username: true, CID: e.Client.ID})).Conns
	return e.Client.ID, slices.ContainsFunc(conns, joins)
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
