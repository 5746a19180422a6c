package keypath

import (
	"bytes"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	pgp "fettle/host/format/openpgp"
	"fettle/internal/means"
)

// homely is a real gpg with a home of its own, in which it makes keys.
type homely struct {
	t    *testing.T
	home string
}

func newHome(t *testing.T) homely {
	t.Helper()
	means.Tool(t, "gpg")
	means.Tool(t, "gpg-agent")
	home, err := os.MkdirTemp("", "gpg") // its socket's name must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		exec.Command("/usr/bin/gpgconf", "--homedir", home, "--kill", "all").Run()
		os.RemoveAll(home)
	})
	return homely{t, home}
}

func (g homely) run(stdin string, args ...string) []byte {
	g.t.Helper()
	cmd := exec.Command(
		"/usr/bin/gpg",
		append(
			[]string{"--homedir", g.home, "--no-tty", "--yes", "--pinentry-mode", "loopback", "--passphrase", "", "--command-fd", "0"},
			args...)...)
	cmd.Env, cmd.Stdin = []string{"LC_ALL=C", "PATH=/usr/bin:/bin"}, strings.NewReader(stdin)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		g.t.Fatalf("gpg %q: %v\n%s", args, err, errs.String())
	}
	return out.Bytes()
}

// TestNamedRevoker: gpg makes alice name rita, and rita revoke alice's key.
// keypath and gpg say the same of it; a revocation by whom she has not named
// counts for neither.
func TestNamedRevoker(t *testing.T) {
	g := newHome(t)
	for _, n := range []string{"alice", "bob", "rita"} {
		g.run("", "--quick-generate-key", idOf(n), "ed25519", "cert,sign", "never")
	}
	g.run("addrevoker\nrita\ny\nsave\n", "--edit-key", "alice")
	bob := fingerprintIn(g.run("", "--with-colons", "--list-keys", "bob"))
	g.run("", "--default-key", "alice", "--quick-sign-key", bob)
	living := g.run("", "--export", "alice")
	rest := g.run("", "--export", "bob", "rita")
	onlyBob := g.run("", "--export", "bob")
	revocation := g.run("y\n0\n\ny\n", "--desig-revoke", "alice")
	if err := os.WriteFile(g.home+"/revocation", revocation, 0o600); err != nil {
		t.Fatal(err)
	}
	g.run("", "--import", g.home+"/revocation")
	revoked := g.run("", "--export", "alice")
	if list := string(g.run("", "--with-colons", "--list-keys", "alice")); !strings.HasPrefix(list[strings.Index(list, "pub:"):], "pub:r:") {
		t.Fatalf("gpg itself does not take the key for revoked:\n%s", list)
	}
	rita := fingerprintIn(g.run("", "--with-colons", "--list-keys", "rita"))
	id, err := strconv.ParseUint(rita[24:], 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	lie := forgery(id, uint32(time.Now().Unix()))
	lie[3] = byte(pgp.KeyRevocation)
	first := 2 + int(living[1]) // the key's packet, in the old format with a length of one byte
	direct := func(s pgp.Signature) bool { return s.Type == pgp.DirectKey }
	for _, c := range []struct {
		name  string
		rings [][]byte
		why   string // "": alive
	}{
		{"not yet", [][]byte{living, rest}, ""},
		{"revoked", [][]byte{revoked, rest}, "was revoked by " + rita + ", which it had named for that, on "},
		{"by one whom she has not named", [][]byte{without(t, revoked, direct), rest}, ""},
		{"forged", [][]byte{living[:first], lie, living[first:], rest}, ""},
		{"by one whose key nobody has", [][]byte{revoked, onlyBob}, ""},
	} {
		w := webOf(t, Policy{Now: time.Now().Add(time.Minute)}, c.rings...)
		alice, bob := w.Find("alice@example.org")[0], w.Find("bob@example.org")[0]
		s := w.State(alice)
		if s.Live() != (c.why == "") || !strings.HasPrefix(s.Against, c.why) {
			t.Errorf("%s: the key %q, want %q", c.name, s.Against, c.why)
		}
		p, err := w.Shortest(t.Context(), Query{Roots: []Root{{Key: alice}}, To: bob, MaxLength: 3})
		if err != nil || (p != nil) != (c.why == "") {
			t.Errorf("%s: path %v (%v)", c.name, p, err)
		}
	}
}

// fingerprintIn is the first one that gpg lists.
func fingerprintIn(list []byte) string {
	_, rest, _ := bytes.Cut(list, []byte("\nfpr:"))
	return strings.Split(string(rest), ":")[8]
}

// without leaves out of a keyring the signatures that match.
func without(t *testing.T, ring []byte, match func(pgp.Signature) bool) (out []byte) {
	t.Helper()
	r := pgp.NewReader(bytes.NewReader(ring), 0)
	for {
		p, err := r.Next()
		if err != nil {
			return out
		}
		if p.Tag == pgp.TagSignature {
			if s, err := pgp.ParseSignature(p.Body); err == nil && match(s) {
				continue
			}
		}
		out = append(out, ring[p.Start:p.End]...)
	}
}
