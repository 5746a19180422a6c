// Package netconf reads what a host's configuration says about its network interfaces,
// whichever program applies it: ifupdown, netplan, systemd-networkd, NetworkManager keyfiles,
// libvirt networks. It reads and never writes; the edits it proposes (Edit) are data.
package netconf

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"fettle/host"
)

// Manager is a program that carries out network configuration.
type Manager string

const (
	Ifupdown       Manager = "ifupdown"
	Netplan        Manager = "netplan" // a front end: see Iface.Renderer
	Networkd       Manager = "systemd-networkd"
	NetworkManager Manager = "NetworkManager"
	Libvirt        Manager = "libvirt"
)

// Key says what a statement is about.
type Key string

const (
	KeyMTU            Key = "mtu"             // bytes, decimal
	KeyBridge         Key = "bridge"          // the interface is a port of this bridge
	KeyPort           Key = "port"            // the interface is a bridge, and this is a port of it
	KeyParent         Key = "parent"          // the interface is a VLAN on top of this one
	KeyAcceptRA       Key = "accept-ra"       // ifupdown: 0, 1 or 2, the kernel's value; others: yes or no
	KeyIPv6Forwarding Key = "ipv6-forwarding" // yes, no, or ifupdown's 0 or 1
	KeyDHCP6          Key = "dhcp6"           // yes or no
	KeyMethod6        Key = "ipv6-method"     // ifupdown's inet6 method, NetworkManager's ipv6.method
	KeySysctl         Key = "sysctl"          // "net/ipv6/conf/eth0/accept_ra=2", from an up line of ifupdown
	KeyRenderer       Key = "renderer"        // netplan's: networkd or NetworkManager
	KeyUnmanaged      Key = "unmanaged"       // yes: the manager keeps its hands off
	KeyAuto           Key = "auto"            // yes: boot brings it up; there: when it appears
)

// Source is where a statement is. Line counts from 1; 0 is not known.
type Source struct {
	Path string
	Line int
}

func (s Source) String() string {
	if s.Line == 0 {
		return s.Path
	}
	return fmt.Sprintf("%s:%d", s.Path, s.Line)
}

// Statement is one thing that the configuration says.
type Statement struct {
	Source
	Manager Manager
	Key     Key
	Value   string // normalised, see the keys
	// Text is the statement as written, one line, without secrets.
	Text string
	// Phase is set for what ifupdown runs as a command: pre-up, up, post-up, …
	Phase string

	lent bool // said of the bridge, and passed on to its ports
}

// Int is a statement whose value is a number.
type Int struct {
	Statement
	N int
}

// Iface is all that the configuration says about one interface.
type Iface struct {
	Name string
	// Kind is bridge, vlan or bond where the configuration makes the
	// interface; otherwise empty.
	Kind string
	// Manager is who carries the configuration out, as far as files and unit
	// states tell; empty when nothing speaks of the interface. Claims lists
	// everyone who speaks of it; more than one is a quarrel.
	Manager Manager
	Claims  []Manager
	// Renderer is who carries out what netplan says: Networkd or NetworkManager.
	Renderer Manager

	// What holds in the end; nil when nothing is said.
	MTU            *Int
	Bridge         *Statement
	Parent         *Statement
	AcceptRA       *Statement
	IPv6Forwarding *Statement
	DHCP6          *Statement
	Method6        *Statement

	// Ports are the bridge's, sorted by name, whichever side names them.
	Ports []Statement
	// Sysctls are what up lines of ifupdown write to /proc/sys, in order.
	Sysctls []Statement
	// All is every statement that applies, the weakest first.
	All []Statement
	// Unsure are configuration files that may speak of the interface too,
	// each a *Doubt.
	Unsure []error
}

// RAInUserspace reports whether the manager handles router advertisements
// itself, so that the kernel's accept_ra is 0 on purpose: networkd does
// (systemd.network(5), IPv6AcceptRA=), and NetworkManager (nm-settings(5), ipv6.method).
func (i Iface) RAInUserspace() bool {
	m := i.Carrier()
	return m == Networkd || m == NetworkManager
}

// Config is the network configuration of a host. It is for one goroutine.
type Config struct {
	// Problems is what could not be read or understood, each a *Problem. What
	// they hide is unknown, not absent.
	Problems []error
	// Global holds statements that are about no interface in particular
	// (networkd.conf).
	Global []Statement
	// Files are the configuration files that were read, in order.
	Files []string

	profiles []*profile
	links    []host.Link
	files    map[string][]byte
	active   map[Manager]bool // known to run or to be enabled
	idle     map[Manager]bool // known to do neither

	idents     map[string]ident // the links, by name; made when first asked for
	interfaces *interfaces
	source     host.Source
}

// Doubt is configuration that may be about an interface: it matches by
// something that is not known here (driver, path, MAC address).
type Doubt struct {
	Source
	Manager Manager
	Iface   string
	By      string
	Keys    []Key // what it speaks of
}

func (d *Doubt) Error() string {
	return fmt.Sprintf("%s may be about %s: it matches by %s, which is not known here", d.Source, d.Iface, d.By)
}

// Problem is configuration that could not be read or understood.
type Problem struct {
	Manager Manager
	Err     error
}

func (p *Problem) Error() string { return p.Err.Error() }
func (p *Problem) Unwrap() error { return p.Err }

// profile is one stanza, file or definition: what it is for, and what it says.
type profile struct {
	manager Manager
	name    string // the interface, where the profile names exactly one
	kind    string
	match   match
	st      []Statement
	// group names a set of profiles of which only the first that matches counts.
	group string
	// weak profiles mention the interface, but make nobody its manager.
	weak bool
	src  Source
}

// Read reads the configuration of all managers. The second result is
// Config.Problems; the Config is never nil and holds what could be read.
func Read(ctx context.Context, h *host.Host) (*Config, []error) {
	c := &Config{files: map[string][]byte{}, active: map[Manager]bool{}, idle: map[Manager]bool{}, source: h.Source()}
	r := &reader{ctx: ctx, h: h, c: c}
	// Without links (a root folder, a poor capture) matching is by name alone.
	c.links, _ = h.Links(ctx)
	r.managers()
	netplan := r.netplan()
	r.ifupdown()
	r.networkd(netplan)
	r.networkManager(netplan)
	r.libvirt()
	return c, c.Problems
}

// reader is one reading of a host's configuration.
type reader struct {
	ctx context.Context
	h   *host.Host
	c   *Config
}

// problem notes err, unless it is the certain knowledge of absence, or the
// running state of a host that has none.
func (r *reader) problem(m Manager, err error) {
	if err == nil || host.IsAbsent(err) || errors.Is(err, host.ErrNotRunning) {
		return
	}
	for _, old := range r.c.Problems { // several kinds of files are in one folder
		if old.Error() == err.Error() {
			return
		}
	}
	r.c.Problems = append(r.c.Problems, &Problem{m, err})
}

// file reads a configuration file; nil when it is not there or not readable.
func (r *reader) file(m Manager, path string) []byte {
	b, err := r.h.ReadFile(r.ctx, path)
	if err != nil {
		r.problem(m, err)
		return nil
	}
	r.c.Files = append(r.c.Files, path)
	r.c.files[path] = b
	if b == nil {
		b = []byte{}
	}
	return b
}

func (r *reader) add(p *profile) *profile {
	r.c.profiles = append(r.c.profiles, p)
	return p
}

func (p *profile) say(src Source, key Key, value, text string) {
	p.st = append(p.st, Statement{Source: src, Manager: p.manager, Key: key, Value: value, Text: text})
}

// ProblemsOf lists the problems that may hide statements of one of managers;
// without managers, all.
func (c *Config) ProblemsOf(managers ...Manager) []error {
	if len(managers) == 0 {
		return c.Problems
	}
	var out []error
	for _, err := range c.Problems {
		var p *Problem
		if errors.As(err, &p) && slices.Contains(managers, p.Manager) {
			out = append(out, err)
		}
	}
	return out
}
