package join

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
)

// A challenge is good for five minutes, and for a clock that went back by less than a minute.
func TestChallengeEnds(t *testing.T) {
	start := time.Unix(1_800_000_000, 0)
	now := start
	c := challenger{secret: []byte("secret"), now: func() time.Time { return now }}
	r := Request{Host: "web1", Key: "key", HostKey: []byte("host key")}
	r.Challenge = c.make(r)
	for after, want := range map[time.Duration]bool{
		-time.Minute: false, -59 * time.Second: true, 0: true, 5*time.Minute - time.Second: true, 5 * time.Minute: false,
	} {
		if now = start.Add(after); c.mine(r) != want {
			t.Errorf("%s after it was made it is taken: %t", after, !want)
		}
	}
}

func TestSizeOfRequests(t *testing.T) {
	d := newDesk(t)
	for n, want := range map[int]string{maxRequest: "the host's name is invalid", maxRequest + 1: "the request is damaged"} {
		d.refused("a long request", d.answer(d.Context(), append([]byte("{}"), bytes.Repeat([]byte(" "), n-2)...)), want)
	}
}

// Nobody is admitted by a known_hosts that cannot be read.
func TestKnownHostsGone(t *testing.T) {
	d := newDesk(t)
	mine, _, _ := hostKeys(t)
	ask := func() Reply {
		return d.ask(Request{Version: 1, Host: "web1", Key: newKey(t), HostKey: mine.PublicKey().Marshal()})
	}
	d.KnownHosts = d.known
	d.refused("without the file", ask(), "cannot read its known_hosts")
	if err := os.WriteFile(d.known, []byte("web1 "+string(ssh.MarshalAuthorizedKey(mine.PublicKey()))), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := ask(); got.Challenge == "" {
		t.Errorf("with the file: %+v", got)
	}
	if err := os.WriteFile(d.known, []byte("web1 ssh-ed25519 no-base64\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := ask(); !strings.Contains(got.Error, "known_hosts") || got.Challenge != "" || got.JWT != "" {
		t.Errorf("with a damaged file: %+v", got)
	}
	d.hosts(0)
}
