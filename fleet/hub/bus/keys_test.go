package bus

import (
	"slices"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"

	"fettle/fleet/hub/message"
	"fettle/internal/folded"
)

func claimsOf(t *testing.T, token string, err error) *jwt.UserClaims {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	c, err := jwt.DecodeUserClaims(token)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// An agent publishes as itself alone, hears what is for it and for all, and what it
// sends is bounded. An invitation can ask to join, and ends.
func TestWhatKeysMay(t *testing.T) {
	k, err := LoadKeys(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	pair, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	key := public(pair)
	token, err := k.AgentJWT("agent-a", key)
	a := claimsOf(t, token, err)
	if want := []string{message.From("agent-a", key) + ".*"}; !slices.Equal(a.Pub.Allow, want) {
		t.Errorf("an agent may publish to %q, want %q", a.Pub.Allow, want)
	}
	if want := []string{message.ToAll, message.To("agent-a", "*")}; !slices.Equal(a.Sub.Allow, want) {
		t.Errorf("an agent may hear %q, want %q", a.Sub.Allow, want)
	}
	if l := a.Limits; l.Payload < message.MaxPacked || l.Payload > message.MaxPacked+8<<10 || l.Subs <= 0 || l.Subs > 8 {
		t.Errorf("an agent's limits: %+v", l)
	}
	if a.BearerToken || a.Subject != key {
		t.Errorf("an agent's token works without its key: %+v", a)
	}
	end := time.Now().Add(time.Hour).Truncate(time.Second)
	token, err = k.JoinJWT(end)
	j := claimsOf(t, token, err)
	if j.Expires != end.Unix() {
		t.Errorf("an invitation ends at %d, want %d", j.Expires, end.Unix())
	}
	if !slices.Equal(j.Pub.Allow, []string{message.Join}) || !slices.Equal(j.Sub.Allow, []string{message.JoinInbox + ".>"}) {
		t.Errorf("an invitation may publish to %q and hear %q", j.Pub.Allow, j.Sub.Allow)
	}
	if l := j.Limits; l.Payload < message.MaxPacked || l.Payload > message.MaxPacked+8<<10 || l.Subs <= 0 || l.Subs > 8 {
		t.Errorf("an invitation's limits: %+v", l)
	}
	token, err = k.JoinJWT(time.Time{})
	if j := claimsOf(t, token, err); j.Expires != 0 {
		t.Errorf("an invitation without an end ends at %d", j.Expires)
	}
}

// Each minute counts its own warnings.
func TestLogCountsAnew(t *testing.T) {
	var got []string
	at := time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)
	l := &logger{Log: folded.Log{To: func(s string) { got = append(got, s) }, Now: func() time.Time { return at }}}
	for range 3 {
		for range 4 {
			l.Errorf("x")
		}
		at = at.Add(folded.Each)
	}
	want := []string{"nats: x", "nats: x (and 3 like this in between)", "nats: x (and 3 like this in between)"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
