// Package cause finds out by experiment why logins over SSH are slow on the
// server it runs on, as root. It logs in again and again through a private
// sshd, and each time takes one thing away: the time that the login gains is what
// that thing costs.
//
// The private sshd is the server's own program with the server's own effective
// configuration. It listens nowhere: it is handed one connection (sshd -i) that
// was made in a network namespace where the client's address lives on the
// loopback link, so that it sees the client's address and nobody else can
// connect. It runs in a mount namespace of its own, in which files such as
// /etc/pam.d/sshd are replaced; the host's own are never touched. PAM modules
// run for real: each experiment opens a session of the user.
package cause

import (
	"fmt"
	"net/netip"
	"time"
)

// Names of causes; the other two forms are "nss:SOURCE" and "pam:MODULE".
const (
	ReverseDNS = "reverse-dns" // the name of the client's address is asked of name servers
	GSSAPI     = "gssapi"
	Hostbased  = "hostbased"
	Logind     = "logind"
	Shell      = "shell-startup" // the user's shell, before the command
)

// Cause is one reason for a delay.
type Cause struct {
	Name string `json:"name"`
	// On is "client" or "server": where it is mended.
	On string `json:"on"`
	// Seconds of the login that it takes.
	Seconds float64 `json:"seconds"`
	// Evidence says what was measured, one fact a line.
	Evidence []string `json:"evidence,omitempty"`
}

// Report is what the experiments on a server found.
type Report struct {
	User   string `json:"user"`
	Client string `json:"client_addr"`
	// Total is a login as the server is, to the first output; seconds.
	Total float64 `json:"total_s"`
	// Floor is a login with everything taken away that experiments can take away.
	Floor float64 `json:"floor_s"`
	// Without is a login with the causes taken away and nothing else.
	Without float64 `json:"without_s"`
	Causes  []Cause `json:"causes"`
	// IfTried are causes that cost only clients that try the method.
	IfTried []Cause `json:"if_tried,omitempty"`
	// Steps are the experiments, as they were made.
	Steps []Step `json:"steps"`
	// Unknown says what could not be looked at, and why.
	Unknown []string `json:"unknown,omitempty"`
}

// Step is one experiment.
type Step struct {
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds"`
}

// Slow is the least that counts as a cause, in seconds.
const Slow = 0.25

// Delay is what can be explained: all but what any login here takes.
func (r *Report) Delay() float64 { return max(0, r.Total-r.Floor) }

// Explained is how much of the delay went away with the causes. It is measured
// by a login, not summed up.
func (r *Report) Explained() float64 {
	if len(r.Causes) == 0 {
		return 0
	}
	return min(max(0, r.Total-r.Without), r.Delay())
}

// Options says whose login is looked at.
type Options struct {
	User   string     // "" is root
	Client netip.Addr // the address that the server sees
	Server netip.AddrPort
	// Limit is how long one login may take; 0 is a minute.
	Limit time.Duration
	// Config is sshd's configuration; "" is /etc/ssh/sshd_config.
	Config string
	// SSHD is the program; "" is /usr/sbin/sshd.
	SSHD string
	// Tell, if set, hears of each experiment that begins.
	Tell func(what string)
}

// Check fills in what is left out, and refuses what cannot be meant.
func (o *Options) Check() error {
	if o.User == "" {
		o.User = "root"
	}
	if !o.Client.IsValid() {
		return fmt.Errorf("the client's address is missing")
	}
	o.Client = o.Client.Unmap()
	if !o.Server.IsValid() {
		a := netip.MustParseAddr("127.0.0.1")
		if o.Client.Is6() {
			a = netip.IPv6Loopback()
		}
		o.Server = netip.AddrPortFrom(a, 22)
	}
	o.Server = netip.AddrPortFrom(o.Server.Addr().Unmap(), o.Server.Port())
	if o.Server.Addr().Is4() != o.Client.Is4() {
		return fmt.Errorf("client's address %s and server's %s are of two families", o.Client, o.Server.Addr())
	}
	if o.Client.IsUnspecified() || o.Client.IsMulticast() {
		return fmt.Errorf("%s is no client's address", o.Client)
	}
	if o.Limit == 0 {
		o.Limit = time.Minute
	}
	if o.Config == "" {
		o.Config = "/etc/ssh/sshd_config"
	}
	if o.SSHD == "" {
		o.SSHD = "/usr/sbin/sshd"
	}
	if o.Tell == nil {
		o.Tell = func(string) {}
	}
	return nil
}
