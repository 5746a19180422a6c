package redact

import (
	"strings"
	"testing"
)

func TestKnownHosts(t *testing.T) {
	r, err := New([]byte("a key of sixteen bytes or more"))
	if err != nil {
		t.Fatal(err)
	}
	in := "secrethost.example.net,198.51.100.7 ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAISECRETKEY\n|1|c2FsdA==|aGFzaA== ssh-rsa " +
		"AAAAB3SECRETKEY= comment-of-alice\n@revoked *.corp ssh-rsa AAAASECRETKEY\n# a comment about secrethost\n\n"
	b, ok := r.File("/home/alice/.ssh/known_hosts", []byte(in))
	out := string(b)
	if !ok || strings.Count(out, "\n") != strings.Count(in, "\n") || !strings.Contains(out, "|1|x|x ssh-rsa ") ||
		!strings.Contains(out, "@revoked ") {
		t.Errorf("%v %q", ok, out)
	}
	for _, s := range []string{"SECRET", "secrethost", "198.51", "c2Fsd", "aGFz", "alice", "comment"} {
		if strings.Contains(out, s) {
			t.Errorf("%q survives:\n%s", s, out)
		}
	}
}

func TestSockets(t *testing.T) {
	in := "  sl  local_address rem_address   st\n  1: 3500007F:0035 00000000:0000 07 00000000\n  2: 0764A8C0:A1B2 0A0200C0:0035 01\n  3: " +
		"00000000:0044 00000000:0000 07\n  4: x:y\n"
	if got, want := ownSockets(in), "  sl  local_address\n1: 3500007F:0035\n3: 00000000:0044\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
