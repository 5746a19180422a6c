package hub_test

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"fettle/fleet/hub"
	"fettle/fleet/hub/join"
	"fettle/internal/means"
)

// hostKey makes an ssh host key with ssh-keygen, and names it for a host in
// known_hosts.
func (w *world) hostKey(kind, host string) ssh.Signer {
	w.Helper()
	file := filepath.Join(w.dir, "key-"+host)
	if out, err := exec.Command(means.Tool(w, "ssh-keygen"), "-q", "-t", kind, "-N", "", "-f", file).CombinedOutput(); err != nil {
		w.Fatalf("ssh-keygen: %v: %s", err, out)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		w.Fatal(err)
	}
	s, err := ssh.ParsePrivateKey(b)
	if err != nil {
		w.Fatal(err)
	}
	f, err := os.OpenFile(w.knownHosts(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		w.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(host + " " + string(ssh.MarshalAuthorizedKey(s.PublicKey()))); err != nil {
		w.Fatal(err)
	}
	return s
}

func (w *world) knownHosts() string { return filepath.Join(w.dir, "known_hosts") }

// pretender shows one key, and has another.
type pretender struct{ shows, has ssh.Signer }

func (p pretender) PublicKey() ssh.PublicKey { return p.shows.PublicKey() }
func (p pretender) Sign(r io.Reader, data []byte) (*ssh.Signature, error) {
	return p.has.Sign(r, data)
}

// TestJoinBySSH: a host that has the key which known_hosts names for it joins,
// and joins again in its place; nobody else does.
func TestJoinBySSH(t *testing.T) {
	w := newWorld(t)
	one, rsa, ec, other := w.hostKey("ed25519", "web1"), w.hostKey("rsa", "web2"), w.hostKey("ecdsa", "web3"), w.hostKey("ed25519", "web4")
	if out, err := exec.Command(means.Tool(t, "ssh-keygen"), "-q", "-H", "-f", w.knownHosts()).CombinedOutput(); err != nil {
		t.Fatalf("ssh-keygen -H: %v: %s", err, out)
	}
	w.env = []string{"HUB_KNOWN_HOSTS=" + w.knownHosts()}
	w.start()
	known, db := w.open()
	invite := w.invited(known, db, hub.Inviting{SSH: true})
	if invite.Token != "" {
		t.Errorf("a secret: %q", invite.Token)
	}
	as := func(name string, key ssh.Signer) (got *join.Admitted, err error) {
		w.until("the hub answers", func() bool {
			got, err = join.As(t.Context(), invite, name, key)
			return err == nil || !strings.Contains(err.Error(), "no hub answers") && !strings.Contains(err.Error(), "connecting")
		})
		return got, err
	}
	agents := map[string]string{}
	for name, key := range map[string]ssh.Signer{"web1": one, "web2": rsa, "web3": ec} {
		got, err := as(name, key)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		row, err := db.HostByAgent(t.Context(), got.Agent)
		if err != nil || row.Name != name || row.Group != "ssh" {
			t.Errorf("%s: %+v, %v", name, row, err)
		}
		agents[name] = got.Agent
	}
	if got, err := as("web1", one); err != nil || got.Agent != agents["web1"] {
		t.Errorf("web1 again: %+v, %v", got, err)
	}
	if gone, err := db.Revoked(t.Context()); err != nil || len(gone) != 1 {
		t.Errorf("revoked: %v, %v", gone, err)
	}
	for what, c := range map[string]struct {
		name string
		key  ssh.Signer
		says string
	}{
		"another's key":  {"web1", other, "does not name this key for web1"},
		"unknown host":   {"web9", one, "does not name this key for web9"},
		"a key to look":  {"web1", pretender{one, other}, "signature is not of this key"},
		"of other kind":  {"web1", pretender{one, ec}, "signature is not of this key"},
		"no key at all":  {"web1", nil, "there is none to be read"},
		"a pattern":      {"web*", one, "does not name this key"},
		"a port besides": {"[web1]:22", one, "does not name this key"},
	} {
		if got, err := as(c.name, c.key); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %+v, %v", what, got, err)
		}
	}
	if err := os.WriteFile(w.knownHosts(), []byte("web1 ssh-ed25519 nonsense\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := as("web1", one); err == nil || !strings.Contains(err.Error(), "cannot read its known_hosts") {
		t.Errorf("a damaged known_hosts: %+v, %v", got, err)
	}
	w.stop(os.Kill)
	w.env = nil
	w.start()
	if got, err := as("web1", one); err == nil || !strings.Contains(err.Error(), "does not admit hosts by ssh host key") {
		t.Errorf("a hub without known_hosts: %+v, %v", got, err)
	}
}
