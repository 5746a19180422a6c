package join

import (
	"encoding/base64"
	"reflect"
	"strings"
	"testing"
	"time"

	"fettle/fleet/hub/bus"
)

// TestInvite: a line is read as it was written, also where a terminal broke it, and a
// damaged one not at all.
func TestInvite(t *testing.T) {
	keys, err := bus.LoadKeys(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	token, err := keys.JoinJWT(time.Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	whole := Invite{URLs: []string{"tls://hub:4222", "tls://[::1]:4222", "nats://hub:4222"}, Pin: "abc", CA: []byte{1, 2},
		Token: NewToken(), JWT: token}
	if got, err := ParseInvite(" " + whole.String()[:30] + "\n" + whole.String()[30:] + "\n"); err != nil || !reflect.DeepEqual(got, whole) {
		t.Errorf("%+v, %v", got, err)
	}
	line := whole.String()
	if got, err := ParseInvite(line + strings.Repeat(" ", 16<<10-len(line))); err != nil || !reflect.DeepEqual(got, whole) {
		t.Errorf("as long as a line may be: %+v, %v", got, err)
	}
	at := func(urls ...string) string { return Invite{URLs: urls, JWT: token}.String() }
	raw := func(json string) string {
		return invitePrefix + base64.RawURLEncoding.EncodeToString([]byte(json)) + ":" + token
	}
	for what, c := range map[string]struct{ line, why string }{
		"nothing":           {"", "it has the form"},
		"the token alone":   {token, "it has the form"},
		"of a later form":   {strings.Replace(line, "fettle1:", "fettle2:", 1), "it has the form"},
		"cut off":           {line[:len(line)-10], "its last part is damaged"},
		"its first half":    {line[:strings.LastIndex(line, ":")], "it has the form"},
		"a byte too long":   {line + strings.Repeat(" ", 16<<10+1-len(line)), "it has the form"},
		"far too long":      {line + strings.Repeat("x", 16<<10), "it has the form"},
		"no base64":         {invitePrefix + "%%%:" + token, "its first part is damaged"},
		"no JSON":           {raw("{"), "its first part is damaged"},
		"of other types":    {raw(`{"u":7}`), "its first part is damaged"},
		"without a server":  {raw(`{}`), "it names no server"},
		"a web server":      {at("https://hub:4222"), "is no address of NATS"},
		"a file":            {at("tls:///etc/passwd"), "is no address of NATS"},
		"one of two is bad": {at("tls://hub:4222", "unix:///x"), "is no address of NATS"},
		"no address at all": {at("tls://hub\x1b[2J"), "is no address of NATS"},
	} {
		got, err := ParseInvite(c.line)
		if err == nil || !strings.Contains(err.Error(), c.why) || strings.ContainsAny(err.Error(), "\x1b\n") ||
			!reflect.DeepEqual(got, Invite{}) {
			t.Errorf("%s: %+v, %v, want %q", what, got, err, c.why)
		}
	}
}

// FuzzInvite: what is read can be written and read again.
func FuzzInvite(f *testing.F) {
	f.Add("fettle1:e30:x")
	f.Add("fettle1:eyJ1IjpbInRsczovL2g6MSJdfQ:e30.e30.e30")
	f.Fuzz(func(t *testing.T, s string) {
		i, err := ParseInvite(s)
		if err != nil {
			return
		}
		if again, err := ParseInvite(i.String()); err != nil || !reflect.DeepEqual(i, again) {
			t.Errorf("%+v, %+v, %v", i, again, err)
		}
	})
}
