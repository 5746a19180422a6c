package ldaptlsverify

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fettle/engine/remedy"
	"fettle/engine/remedy/machine"
	"fettle/engine/trap"
	"fettle/engine/trap/traptest"
	"fettle/host"
	"fettle/internal/means"
)

// TestProof walks into the trap with a real slapd and ldapsearch, and out of
// it with the plans, in mount and network namespaces of a child.
func TestProof(t *testing.T) {
	for _, p := range []string{"slapd", "ldapsearch", "ip"} {
		means.Tool(t, p)
	}
	if means.Inside(t, syscall.CLONE_NEWNS|syscall.CLONE_NEWNET|syscall.CLONE_NEWUTS, 90*time.Second) {
		prove(t)
	}
}

const (
	serverName = "ldap.example.com"
	serverAddr = "192.0.2.10"
)

// stage is a host whose LDAP server is another.
type stage struct {
	*testing.T
	stop  func() // the server
	count int
}

func (s *stage) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// furnish gives the host a network with one server in it, and its own /etc
// where LDAP is concerned.
func (s *stage) furnish(systemCAs []*x509.Certificate) {
	for _, args := range [][]string{{"link", "set", "lo", "up"}, {"address", "add", serverAddr + "/32", "dev", "lo"}} {
		if b, err := exec.Command(means.Tool(s, "ip"), args...).CombinedOutput(); err != nil {
			s.Fatalf("ip %v: %v %s", args, err, b)
		}
	}
	s.must(unix.Mount("tmpfs", "/run", "tmpfs", 0, "mode=755"))
	s.must(os.MkdirAll("/run/etc/ldap", 0o755))
	s.must(unix.Mount("/run/etc/ldap", "/etc/ldap", "", unix.MS_BIND, ""))
	for name, text := range map[string]string{
		"/etc/hosts":                         "127.0.0.1 localhost\n" + serverAddr + " " + serverName + "\n",
		"/etc/passwd":                        "root:x:0:0:root:/root:/bin/sh\n",
		"/etc/group":                         "root:x:0:\n",
		"/etc/ssl/certs/ca-certificates.crt": string(pemOf(systemCAs...)),
	} {
		real := "/run/etc/" + filepath.Base(name)
		s.must(os.WriteFile(real, []byte(text), 0o644))
		s.must(unix.Mount(real, name, "", unix.MS_BIND, ""))
	}
}

func (s *stage) serve(leaf *pair, chain ...*x509.Certificate) {
	s.Helper()
	if s.stop != nil {
		s.stop()
	}
	s.stop = slapdAt(s, serverAddr, directory{389, 636}, leaf, chain...)
}

func (s *stage) conf(name, text string) {
	s.Helper()
	s.must(os.WriteFile(name, []byte(text), 0o640))
}

// search is ldapsearch as an admin runs it: nothing but the host's files.
func (s *stage) search(works bool, args ...string) {
	s.Helper()
	cmd := exec.Command(means.Tool(s, "ldapsearch"), append(args, "-x", "-b", "", "-s", "base", "-o", "nettimeout=5", "1.1")...)
	cmd.Env = []string{"HOME=/nonexistent"}
	b, err := cmd.CombinedOutput()
	if (err == nil) != works {
		s.Errorf("ldapsearch %v: works %t, want %t\n%s", args, err == nil, works, b)
	}
}

func (s *stage) host() *host.Host {
	src, err := host.NewLive()
	s.must(err)
	return host.New(src)
}

func (s *stage) check() []trap.Outcome {
	return traptest.Run(s.T, &Trap, s.host(), trap.Options{Network: true})
}

func (s *stage) says(want ...string) {
	s.Helper()
	if got := traptest.Lines(s.check()); got != strings.Join(want, "\n") {
		s.Errorf("check says:\n%s\nwant:\n%s", got, strings.Join(want, "\n"))
	}
}

// plan makes the plan for one finding.
func (s *stage) plan(subject string, chosen ...string) (remedy.Plan, error) {
	s.Helper()
	for _, o := range s.check() {
		if o.Status == trap.Found && o.Subject == subject {
			f, err := Trap.Choose(o, chosen)
			s.must(err)
			return Trap.Plan(s.Context(), s.host(), f)
		}
	}
	s.Fatalf("nothing is found on %s", subject)
	return remedy.Plan{}, nil
}

func (s *stage) refused(why, subject string, chosen ...string) {
	s.Helper()
	p, err := s.plan(subject, chosen...)
	var refusal *remedy.Refusal
	if !errors.As(err, &refusal) || !strings.Contains(err.Error(), why) {
		s.Errorf("the plan for %s %q: %v, %v; want a refusal with %q", subject, chosen, p.Steps, err, why)
	}
}

// fix applies the plan for one finding, verified by the check as fettle fix does.
func (s *stage) fix(subject string, chosen ...string) (undo func()) {
	s.Helper()
	p, err := s.plan(subject, chosen...)
	if err != nil {
		s.Fatalf("the plan for %s: %v", subject, err)
	}
	s.Log("\n" + remedy.Text(p, remedy.TextOptions{Width: 100}))
	s.count++
	store, err := remedy.OpenStoreAt(fmt.Sprintf("/run/store%d", s.count))
	s.must(err)
	e := &remedy.Engine{Store: store, Machine: machine.Linux{}, Who: "test"}
	p.CutsConnection = false // no guard in here
	c, err := e.Apply(s.Context(), remedy.Head{Trap: Trap.ID(), Subject: subject, Plan: p}, func(context.Context) error {
		for _, o := range s.check() {
			if o.Status == trap.Found && o.Subject == subject {
				return &remedy.StillFound{Summary: o.Summary}
			}
		}
		return nil
	})
	if err != nil {
		s.Fatalf("applying: %v", err)
	}
	return func() {
		s.Helper()
		if _, err := e.Undo(s.Context(), c.ID, remedy.UndoOptions{}); err != nil {
			s.Fatalf("undo: %v", err)
		}
	}
}

func (s *stage) reads(name string) string {
	b, err := os.ReadFile(name)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

func prove(t *testing.T) {
	public := issue(t, nil, "Public CA", 0, ca)
	corp := issue(t, nil, "Corp CA", 0, ca)
	named := func(c *x509.Certificate) { c.DNSNames = []string{serverName} }
	right := issue(t, corp, serverName, 0, named)
	imposter := issue(t, nil, serverName+" ", 0, named)
	expired := issue(t, corp, serverName, 0, both(named, func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Hour) }))
	s := &stage{T: t}
	s.furnish([]*x509.Certificate{public.cert})
	defer func() { s.stop() }()

	const conf = "/etc/ldap/ldap.conf"
	const asInstalled = "# See ldap.conf(5) for details\nURI\tldap://" + serverName + "\n\nTLS_CACERT\t/etc/ssl/certs/ca-certificates.crt\n"
	const own = "clear openldap: requires its servers' certificates to verify"
	const subject = "openldap ldap://" + serverName + ":389"
	const verified = "clear " + subject + ": its certificate verifies: trusted through CN=Corp CA,O=Example"
	s.conf(conf, asInstalled)
	s.serve(right, corp.cert)

	t.Log("the server's CA is in no file of this host")
	s.search(false, "-ZZ")
	s.search(true) // without TLS
	s.says(
		own,
		"found warning "+subject+": the server's certificate is refused: its CA CN=Corp "+
			"CA,O=Example is not in /etc/ssl/certs/ca-certificates.crt",
	)
	s.refused(fingerprint(corp.cert), subject)
	s.refused("somebody may be intercepting the connection", subject, "fingerprint="+fingerprint(public.cert))
	s.refused("does not verify the server", subject, "ca=/etc/ssl/certs/ca-certificates.crt")
	s.refused("no such file", subject, "ca=/nonexistent.pem")
	undo := s.fix(subject, "fingerprint=sha256:"+strings.ToLower(strings.ReplaceAll(fingerprint(corp.cert), ":", "")))
	s.search(true, "-ZZ")
	s.search(true, "-H", "ldaps://"+serverName)
	s.says(own, verified)
	if got := s.reads("/etc/ldap/ldap-ca.pem"); !strings.Contains(got, fingerprint(corp.cert)) || strings.Contains(got, "Public") {
		t.Errorf("the new CA file:\n%s", got)
	}
	undo()
	if got := s.reads(conf); got != asInstalled {
		t.Errorf("after undo:\n%s", got)
	}
	if _, err := os.Stat("/etc/ldap/ldap-ca.pem"); !os.IsNotExist(err) {
		t.Errorf("the new CA file after undo: %v", err)
	}
	s.search(false, "-ZZ")

	t.Log("the CA in a file that the admin gives")
	write(t, "/run/corp.pem", pemOf(public.cert, corp.cert))
	undo = s.fix(subject, "ca=/run/corp.pem")
	s.search(true, "-ZZ")
	s.says(own, verified)
	undo()

	t.Log("verification turned off: anybody will do")
	s.conf(conf, asInstalled+"TLS_REQCERT never\n")
	s.serve(imposter)
	s.search(true, "-ZZ")
	s.says(
		"found warning openldap: accepts any server certificate: open to interception",
		"not-applicable "+subject+": its client accepts any certificate; this one would be refused: its certificate is self-signed, and is "+
			"not in /etc/ssl/certs/ca-certificates.crt",
	)
	s.refused("ca=/run/corp.pem does not verify", "openldap", "ca=/run/corp.pem")
	s.serve(right, corp.cert)
	s.refused("ask its operator for the fingerprint", "openldap")
	undo = s.fix("openldap", "ca=/run/corp.pem")
	s.search(true, "-ZZ")
	s.says(own, verified)
	s.serve(imposter)
	s.search(false, "-ZZ")
	undo()
	s.search(true, "-ZZ")

	t.Log("what is wrong on the server's side is not mended here")
	s.conf(conf, strings.Replace(asInstalled, "/etc/ssl/certs/ca-certificates.crt", "/run/corp.pem", 1))
	s.serve(expired)
	s.search(false, "-ZZ")
	s.refused("Fix that on the server", subject)
	undo = s.fix(subject, "verify=never")
	s.search(true, "-ZZ")
	undo()
	s.search(false, "-ZZ")

	t.Log("a CA file that is missing, while another of this host's holds the CA")
	s.conf(conf, strings.Replace(asInstalled, "/etc/ssl/certs/ca-certificates.crt", "/etc/ldap/gone.pem", 1))
	pub := issue(t, public, serverName+"  ", 0, named)
	s.serve(pub)
	s.search(false, "-ZZ")
	undo = s.fix("openldap")
	s.search(true, "-ZZ")
	if !strings.Contains(s.reads(conf), "TLS_CACERT\t/etc/ssl/certs/ca-certificates.crt\n") {
		t.Error(s.reads(conf))
	}
	undo()

	t.Log("no name compared")
	s.conf(conf, asInstalled+"TLS_REQSAN never\n")
	other := issue(t, public, "other.example.com", 0, func(c *x509.Certificate) { c.DNSNames = []string{"other.example.com"} })
	s.serve(other)
	s.search(true, "-ZZ")
	s.says("found warning openldap: does not compare the server's name with its certificate",
		"clear "+subject+": its certificate verifies: trusted through CN=Public CA,O=Example")
	s.refused("is for other.example.com, not for ldap.example.com", "openldap")
	s.serve(pub)
	undo = s.fix("openldap")
	s.serve(other)
	s.search(false, "-ZZ")
	undo()

	t.Log("a server without TLS, and none")
	s.conf(conf, asInstalled)
	s.stop()
	s.stop = slapdAt(s, serverAddr, directory{389, 636}, nil)
	s.search(false, "-ZZ")
	s.says(own, "found notice "+subject+": the server does not support StartTLS: everything is sent in the clear")
	s.stop()
	s.stop = func() {}
	s.says(
		own,
		"unknown "+subject+": asking ldap://"+serverName+":389: connecting: dial tcp "+serverAddr+":389: connect: connection refused",
	)
}
