package hub_test

import (
	"encoding/json"
	"net"
	"strings"
	"testing"
	"time"

	"crypto/tls"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"fettle/fleet/hub"
	"fettle/fleet/hub/join"
	"fettle/fleet/hub/message"
	"fettle/internal/means"
)

// TestJoinFlood: whoever holds an invitation, and asks to join without end, keeps out
// nobody else who holds the same one, and fills no log.
func TestJoinFlood(t *testing.T) {
	means.Short(t, "takes seconds")
	w := newWorld(t)
	w.start()
	known, db := w.open()
	invite := w.invited(known, db, hub.Inviting{Uses: 100})
	pair, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	key, _ := pair.PublicKey()
	request, err := json.Marshal(join.Request{Version: join.Version, Host: "web\u009b1", Key: key, Token: "guessed"})
	if err != nil {
		t.Fatal(err)
	}
	// From another address than the honest hosts; it comes again whenever it is sent away.
	stop, sent := make(chan struct{}), make(chan int, 1)
	go func() {
		n := 0
		defer func() { sent <- n }()
		for {
			nc, err := nats.Connect(
				strings.Join(invite.URLs, ","),
				nats.NoReconnect(),
				nats.CustomInboxPrefix(message.JoinInbox),
				nats.UserJWT(func() (string, error) { return invite.JWT, nil }, func([]byte) ([]byte, error) { return nil, nil }),
				nats.Secure(
					&tls.Config{InsecureSkipVerify: true},
				),
				nats.SetCustomDialer(&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}),
			)
			for i := 0; err == nil && i < 20_000 && nc.IsConnected(); i++ {
				n++
				err = nc.PublishRequest(message.Join, nc.NewRespInbox(), request)
			}
			if nc != nil {
				nc.Close()
			}
			select {
			case <-stop:
				return
			case <-time.After(50 * time.Millisecond):
			}
		}
	}()
	defer func() { <-sent }()
	defer close(stop)
	w.until("the flood is noticed", func() bool { return strings.Contains(w.log(), "too many requests from 127.0.0.2") })
	for range 5 {
		began := time.Now()
		if _, err := join.As(t.Context(), invite, "honest", nil); err != nil {
			t.Errorf("after %s: %v\n%.2000s", time.Since(began), err, w.log())
		}
	}
	if n := strings.Count(w.log(), "\n"); n > 40 || strings.Contains(w.log(), "\u009b") {
		t.Errorf("%d lines in the log: %.2000s", n, w.log())
	}
	if strings.Contains(w.log(), "shut out for") {
		t.Errorf("the invitation itself is shut out:\n%s", w.log())
	}
}
