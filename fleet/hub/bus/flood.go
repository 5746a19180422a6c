package bus

import (
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"
)

// What no agent does, by far: messages a second, over this many.
const (
	floodRate = 20
	floodMin  = 500
	loudest   = 16 // connections looked at each time
)

// sent is what a connection had sent when it was looked at.
type sent struct {
	messages int64
	at       time.Time
}

// Floods are the keys of connections that sent far too much since the last look.
// A flood does not get as far as the hub: the server drops what is too much for
// the stream, of whomever it is.
func (s *Server) Floods() []string {
	now := time.Now()
	return s.floods(s.loudest(loudest), now)
}

// loudest are the connections that sent most.
func (s *Server) loudest(n int) []*natsserver.ConnInfo {
	return must(s.Connz(&natsserver.ConnzOptions{Username: true, Sort: natsserver.ByInMsgs, Limit: n})).Conns
}

func (s *Server) floods(conns []*natsserver.ConnInfo, now time.Time) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	looked := map[uint64]sent{}
	for _, c := range conns {
		was, ok := s.looked[c.Cid]
		if !ok {
			was.at = c.Start
		}
		looked[c.Cid] = sent{c.InMsgs, now}
		n, span := c.InMsgs-was.messages, max(now.Sub(was.at).Seconds(), 0.1)
		if n > floodMin && float64(n)/span > floodRate && c.AuthorizedUser != "" && c.AuthorizedUser != s.own && !joins(c) {
			out = append(out, c.AuthorizedUser)
		}
	}
	s.looked = looked
	return out
}
