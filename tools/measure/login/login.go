// Package login measures where an SSH login spends its time. It drives OpenSSH
// itself, so that the user's own configuration, agent, known hosts and jump
// hosts apply, and takes the times from ssh's own debug messages
// (LogLevel DEBUG3, ssh_config(5)).
package login

import (
	"time"
)

// Phase is one stretch of a login. Every login has its phases in this order;
// between Service and Session there is one "auth METHOD" for each method tried.
type Phase string

const (
	Start    Phase = "ssh starts"      // reads its configuration, Match exec and all
	Resolve  Phase = "resolve"         // the host's name, on the client
	Connect  Phase = "connect"         // TCP, all addresses that were tried
	Proxy    Phase = "proxy"           // a jump host or proxy command, up to the server's banner
	Banner   Phase = "banner"          // from the connection to the server's version line
	Exchange Phase = "key exchange"    // RFC 4253, section 7
	Service  Phase = "service request" // RFC 4253, section 10; the agent is asked for its keys here
	Session  Phase = "session open"    // accepted, and the server prepares the session
	Output   Phase = "first output"    // the user's shell starts and prints
	Mux      Phase = "control socket"  // all of a login over an open connection
)

// Auth is the phase of one authentication method: "none", "publickey".
func Auth(method string) Phase { return Phase("auth " + method) }

// Span is one phase of one login.
type Span struct {
	Phase Phase
	Took  time.Duration
	// Server is how much of it passed while an answer of the server was
	// awaited; the rest is the client's own work (Kerberos, agent, smart card).
	// Zero where ssh is too old to tell (before 7.1).
	Server time.Duration
	// Tries counts the addresses of Connect and the keys of "auth publickey".
	Tries int
}

// Login is one login, from starting ssh to the first output of a command.
type Login struct {
	Spans   []Span
	Total   time.Duration
	Client  string // "OpenSSH_9.2p1 Debian-2+deb12u10"
	Server  string // "OpenSSH_9.2p1", "dropbear_2022.83"; from the version line
	Address string // that was connected to; "" behind a proxy
	User    string
	Method  string // that succeeded
	// Offered are the methods that the server offered, in its words.
	Offered string
	// Conn is what the server says of the connection, SSH_CONNECTION:
	// client's address, port, server's address, port. Empty if it does not say.
	Conn Conn
}

// Conn is the connection as the server sees it.
type Conn struct{ ClientAddr, ClientPort, ServerAddr, ServerPort string }

// Span returns the phase p of the login; ok is false if the login had none.
func (l *Login) Span(p Phase) (s Span, ok bool) {
	for _, s := range l.Spans {
		if s.Phase == p {
			return s, true
		}
	}
	return Span{}, false
}
