package cause

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
)

// client is how one logs in to the private sshd. Whose host key it shows does
// not matter: the other end of the connection is a process that we started.
func (b *bench) client(auth ssh.AuthMethod) *ssh.ClientConfig {
	return &ssh.ClientConfig{User: b.o.User, Auth: []ssh.AuthMethod{auth}, HostKeyCallback: ssh.InsecureIgnoreHostKey()}
}

// through logs in over the connection and runs a command, or starts sftp.
func (b *bench) through(conn net.Conn, start time.Time, sftp bool) (t times, err error) {
	c, chans, reqs, err := ssh.NewClientConn(conn, "", b.client(ssh.PublicKeys(b.signer)))
	if err != nil {
		return t, err
	}
	t.accepted = time.Since(start)
	cl := ssh.NewClient(c, chans, reqs)
	defer cl.Close()
	ch, in, err := cl.OpenChannel("session", nil)
	if err != nil {
		return t, err
	}
	go ssh.DiscardRequests(in)
	t.opened = time.Since(start)
	kind, what, want := "exec", "echo "+word, []byte(word)
	if sftp {
		kind, what, want = "subsystem", "fettle", []byte{}
	}
	ok, err := ch.SendRequest(kind, true, ssh.Marshal(struct{ What string }{what}))
	if err != nil {
		return t, err
	}
	if !ok {
		return t, errors.New("the session was opened, and the server refused to run anything in it")
	}
	if sftp {
		ch.Write([]byte{0, 0, 0, 5, 1, 0, 0, 0, 3}) // SSH_FXP_INIT, version 3
	} else {
		ch.CloseWrite()
	}
	// The output of start files comes before the command's; a forced command
	// may print something else, or nothing.
	var seen []byte
	buf := make([]byte, 4096)
	for {
		n, err := ch.Read(buf)
		seen = append(seen, buf[:n]...)
		if n > 0 && bytes.Contains(seen, want) || err == io.EOF || len(seen) > 1<<20 {
			break
		}
		if err != nil {
			return t, err
		}
	}
	t.output = time.Since(start)
	return t, nil
}

// word is printed by the command that is run.
const word = "fettle-login"

// errAnswered ends an exchange when it has told what was wanted.
var errAnswered = errors.New("answered")

// ticketless is a GSSAPI client that gives up as soon as the server has agreed
// to the mechanism: what the server does until then needs no ticket.
type ticketless struct{ answered func() }

func (t ticketless) InitSecContext(string, []byte, bool) ([]byte, bool, error) {
	t.answered()
	return nil, false, errAnswered
}
func (ticketless) GetMIC([]byte) ([]byte, error) { return nil, errAnswered }
func (ticketless) DeleteSecContext() error       { return nil }

// gssapi tells how long the server takes to answer that it will hear a Kerberos
// ticket; sshd acquires its credentials then (gss-serv.c), and the library asks
// for the host's own name. A refusal comes as an error without errAnswered.
func (b *bench) gssapi(conn net.Conn) (took time.Duration, err error) {
	began := time.Now()
	auth := ssh.GSSAPIWithMICAuthMethod(ticketless{func() { took = time.Since(began) }}, "localhost")
	cfg := b.client(auth)
	cfg.HostKeyCallback = func(string, net.Addr, ssh.PublicKey) error { began = time.Now(); return nil }
	_, _, _, err = ssh.NewClientConn(conn, "", cfg)
	if took == 0 {
		took = time.Since(began)
	}
	return took, err
}

// daemonCgroup is the control group of the ssh service, when this process is in
// a user's session: pam_systemd registers nothing for processes that are in a
// session already, so a private sshd has to be where the daemon is. f is nil
// where that is not available (a service unit for each connection).
func daemonCgroup() (f *os.File, inSession bool) {
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil || !strings.Contains(string(own), "/user.slice/") {
		return nil, false
	}
	for _, unit := range []string{"ssh.service", "sshd.service"} {
		if f, err := os.Open("/sys/fs/cgroup/system.slice/" + unit); err == nil {
			return f, true
		}
	}
	return nil, true
}
