package sshcontrolsockets

import (
	"slices"
	"testing"

	"fettle/host/format/accounts"
	"fettle/host/format/sshconfig"
	"fettle/internal/means"
)

func TestExpand(t *testing.T) {
	c := &client{user: accounts.User{Name: "alice", UID: 1000, Home: "/home/alice"}, known: []string{"", "db.example.net", "x"}}
	for in, want := range map[string]string{
		"~/.ssh/%r@%h:%p":  "/home/alice/.ssh/alice@db.example.net:22",
		"%d/%i/%%C":        "/home/alice/1000/%C",
		"/x/%C":            "/x/cccccccccccccccccccccccccccccccccccccccc",
		"/x/%":             "/x/%",
		"/x/%j":            "",
		"${XDG}/x":         "",
		"~bob/.ssh/mux-%C": "",
	} {
		got, known := c.expand(in, sshconfig.Line{})
		if known != (want != "") || known && got != want {
			t.Errorf("%s: %s %v, want %q", in, got, known, want)
		}
	}
}

func TestNames(t *testing.T) {
	got := names(
		"a.example.net,192.0.2.1 ssh-rsa AAAA\n[b]:2222 ssh-rsa AAAA c\n@revoked * ssh-rsa AAAA\n|1|x|y ssh-rsa AAAA\n# c d e\nshort " +
			"x\n\n@cert-authority\n",
	)
	if want := []string{"a.example.net", "b]:2222", "*", ""}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestFuzz(t *testing.T) { means.Fuzz(t) }

func FuzzPath(f *testing.F) {
	for _, s := range []string{"~/.ssh/%C", "%", "%%%", "${A}%h", "~", "a b c\n|1 x y"} {
		f.Add(s)
	}
	c := &client{user: accounts.User{Name: "alice", Home: "/home/alice"}}
	f.Fuzz(func(t *testing.T, s string) {
		c.known = names(s)
		c.hosts()
		c.expand(s, sshconfig.Line{})
		clash(s, false)
	})
}
