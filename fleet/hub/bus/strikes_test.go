package bus

import (
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"fettle/internal/means"
)

// who asks to join is called that.
func TestWhoFloods(t *testing.T) {
	k, err := LoadKeys(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	agent, err := k.AgentJWT("a", public(must(nkeys.CreateUser())))
	if err != nil {
		t.Fatal(err)
	}
	start := time.Unix(1e9, 0)
	for what, c := range map[string]struct {
		n      int64
		span   time.Duration
		before int64 // messages at the last look
		user   string
		token  string
		want   bool
	}{
		"a flood":                       {501, 10 * time.Second, 0, "U", agent, true},
		"no more than an agent may":     {500, time.Second, 0, "U", agent, false},
		"20 a second":                   {600, 30 * time.Second, 0, "U", agent, false},
		"nearly 20 a second":            {599, 30 * time.Second, 0, "U", agent, false},
		"more than that":                {601, 30 * time.Second, 0, "U", agent, true},
		"since the last look":           {1100, time.Second, 600, "U", agent, false},
		"since the last look, too":      {1101, time.Second, 600, "U", agent, true},
		"at once":                       {501, 0, 0, "U", agent, true},
		"before it was asked who it is": {501, time.Second, 0, "", "", false},
		"the hub":                       {501, time.Second, 0, "hub", agent, false},
		"who asks to join":              {501, time.Second, 0, "U", "", false},
	} {
		s := &Server{own: "hub", looked: map[uint64]sent{}}
		if c.before > 0 {
			s.looked[7] = sent{c.before, start}
		}
		conn := &server.ConnInfo{Cid: 7, Start: start, AuthorizedUser: c.user, JWT: c.token}
		conn.InMsgs = c.n
		if got := s.floods([]*server.ConnInfo{conn}, start.Add(c.span)); (len(got) == 1 && got[0] == c.user) != c.want {
			t.Errorf("%s: %q", what, got)
		}
		if got := s.looked[7]; got.messages != c.n || !got.at.Equal(start.Add(c.span)) {
			t.Errorf("%s: remembered as %+v", what, got)
		}
	}
}

// is shut out for a quarter of an hour, whatever it sends. There are bounds to what is remembered.
func TestStrikes(t *testing.T) {
	type (
		seen  = map[string]strikes
		conns = []*server.ConnInfo
	)
	now := time.Unix(1e9, 0)
	conn := func(id uint64, ip string, n int64) *server.ConnInfo {
		c := &server.ConnInfo{Cid: id, IP: ip, AuthorizedUser: "U"}
		c.InMsgs = n
		return c
	}
	k, err := LoadKeys(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	agent := conn(1, "a", 51)
	if agent.JWT, err = k.AgentJWT("a", public(must(nkeys.CreateUser()))); err != nil {
		t.Fatal(err)
	}
	nobody := conn(1, "a", 51)
	nobody.AuthorizedUser = ""
	full := seen{}
	for i := range 10_000 {
		full[fmt.Sprint(i)] = strikes{1, now.Add(time.Hour)}
	}
	lasts := now.Add(15 * time.Minute)
	for what, c := range map[string]struct {
		joining seen
		conns   conns
		left    seen
		shut    []string
		end     []uint64
	}{
		"quiet":           {nil, conns{conn(1, "a", 50)}, seen{}, nil, nil},
		"a flood":         {nil, conns{conn(1, "a", 51)}, seen{"a": {1, lasts}}, nil, []uint64{1}},
		"an agent":        {nil, conns{agent}, seen{}, nil, nil},
		"not yet known":   {nil, conns{nobody}, seen{}, nil, nil},
		"behind an agent": {nil, conns{agent, conn(2, "b", 51)}, seen{"b": {1, lasts}}, nil, []uint64{2}},
		"thrice": {nil, conns{conn(1, "a", 51), conn(2, "a", 51), conn(3, "a", 51)}, seen{"a": {3, lasts}},
			[]string{"a"}, []uint64{1, 2, 3}},
		"a fourth time":     {seen{"a": {3, lasts}}, conns{conn(1, "a", 51)}, seen{"a": {4, lasts}}, nil, []uint64{1}},
		"quiet, shut out":   {seen{"a": {3, now}}, conns{conn(1, "a", 1), conn(2, "b", 1)}, seen{"a": {3, now}}, nil, []uint64{1}},
		"quiet, after two":  {seen{"a": {2, now}}, conns{conn(1, "a", 50)}, seen{"a": {2, now}}, nil, nil},
		"over":              {seen{"a": {3, now.Add(-1)}}, conns{conn(1, "a", 1)}, seen{}, nil, nil},
		"too many to count": {full, conns{conn(1, "a", 51), conn(2, "7", 51)}, seen{"7": {2, lasts}}, nil, []uint64{1, 2}},
	} {
		s := &Server{joining: seen{}}
		for ip, st := range c.joining {
			s.joining[ip] = st
		}
		shut, end := s.strike(c.conns, now)
		free(t, &s.mu)
		if !slices.Equal(shut, c.shut) || !slices.Equal(end, c.end) {
			t.Errorf("%s: shut out %q, ended %d", what, shut, end)
		}
		for _, ip := range []string{"a", "b", "7"} {
			if s.joining[ip] != c.left[ip] {
				t.Errorf("%s: %s has %+v, want %+v", what, ip, s.joining[ip], c.left[ip])
			}
		}
		if len(s.joining) > 10_000 {
			t.Errorf("%s: %d addresses", what, len(s.joining))
		}
	}
	last := &Server{joining: seen{}}
	for i := range 9_999 {
		last.joining[fmt.Sprint(i)] = strikes{1, now.Add(time.Hour)}
	}
	if last.strike(conns{conn(1, "a", 51), conn(2, "b", 51)}, now); last.joining["a"].n != 1 || last.joining["b"].n != 0 {
		t.Error("another number of addresses than ten thousand is remembered")
	}
}

// The doorkeeper refuses invitations from an address that is shut out, and nothing else.
func TestRefused(t *testing.T) {
	s, k := serving(t)
	s.joining["far"], s.joining["twice"] = strikes{3, time.Now().Add(time.Hour)}, strikes{2, time.Now().Add(time.Hour)}
	connect := func(who nats.Option) uint64 {
		t.Helper()
		nc, err := nats.Connect("", nats.InProcessServer(s.Server), who)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(nc.Close)
		id, err := nc.GetClientID()
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	token, err := k.JoinJWT(time.Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	invited := connect(nats.UserJWT(func() (string, error) { return token, nil }, func([]byte) ([]byte, error) { return nil, nil }))
	who, _ := credentials(t, k, "agent")
	agent := connect(who)
	event := func(host string, id uint64) string { return fmt.Sprintf(`{"client":{"host":%q,"id":%d}}`, host, id) }
	for what, c := range map[string]struct {
		event string
		want  bool
	}{
		"invited":                      {event("far", invited), true},
		"invited, from elsewhere":      {event("near", invited), false},
		"invited, after two floods":    {event("twice", invited), false},
		"an agent":                     {event("far", agent), false},
		"gone already":                 {event("far", 1<<40), false},
		"an event that cannot be read": {`{"client":{"host":"far","id":` + fmt.Sprint(invited) + `},"time":`, false},
		"of another type":              {`{"client":{"host":"far","id":` + fmt.Sprint(invited) + `,"host":7}}`, false},
	} {
		if id, got := s.refused([]byte(c.event)); got != c.want || got && id != invited {
			t.Errorf("%s: %t, connection %d", what, got, id)
		}
		free(t, &s.mu)
	}
}

// The doorkeeper ends a connection with an invitation as soon as it is made, where its address is
// shut out; others from there stay.
func TestDoorkeeper(t *testing.T) {
	s, k := serving(t)
	if err := s.Doorkeeper(); err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	s.joining = map[string]strikes{"127.0.0.1": {strikesMost, time.Now().Add(time.Hour)}}
	s.mu.Unlock()
	connect := func(who nats.Option, ended chan struct{}) (*nats.Conn, error) {
		nc, err := nats.Connect("tls://"+s.Addr(), who, nats.NoReconnect(), nats.Secure(&tls.Config{InsecureSkipVerify: true}),
			nats.ClosedHandler(func(*nats.Conn) { close(ended) }))
		if err == nil {
			t.Cleanup(nc.Close)
		}
		return nc, err
	}
	who, _ := credentials(t, k, "agent")
	agent, err := connect(who, make(chan struct{}))
	if err != nil {
		t.Fatal(err)
	}
	token, err := k.JoinJWT(time.Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	if _, err := connect(nats.UserJWT(func() (string, error) { return token, nil }, func([]byte) ([]byte, error) { return nil, nil }),
		ended); errors.Is(err, nats.ErrAuthorization) {
		t.Fatal(err)
	} else if err != nil {
		close(ended) // it ended before the client saw that it had begun
	}
	select {
	case <-ended:
	case <-time.After(means.Patience):
		t.Fatal("who is shut out comes in")
	}
	if err := agent.Flush(); err != nil {
		t.Errorf("an agent from the same address: %v", err)
	}
}
