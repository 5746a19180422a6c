package raforwarding

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/format/netconf"
	"fettle/host/format/sysctlconf"
)

// config is what the files say, of all interfaces.
type config struct {
	net    *netconf.Config
	sysctl *sysctlconf.Config
	ufw    *sysctlconf.Config // nil: not in use
	// ipForward is networkd's IPForward= in whichever file, allLines are up
	// lines of any interface that write all/forwarding: both concern all.
	ipForward *netconf.Statement
	allLines  []netconf.Statement
	// unread is what could not be looked at and may set the kernel's
	// parameters; netUnread also what may name another manager.
	unread, netUnread []error
}

func readConfig(ctx context.Context, h *host.Host) (*config, error) {
	c := &config{}
	c.net, c.netUnread = netconf.Read(ctx, h)
	var err error
	if c.sysctl, err = sysctlconf.Read(ctx, h, sysctlconf.Installed(ctx, h)); err != nil {
		return nil, err
	}
	c.unread = append(c.unread, c.sysctl.Unread...)
	if c.ufw, err = sysctlconf.ReadUfw(ctx, h); err != nil {
		c.unread = append(c.unread, err)
	}
	c.unread = append(c.unread, c.net.ProblemsOf(netconf.Ifupdown)...)
	for _, n := range c.net.Names() {
		i := c.net.Iface(n)
		if s := i.IPv6Forwarding; networkdYes(s) && strings.HasPrefix(s.Text, "IPForward") {
			c.ipForward = s
		}
		for _, s := range i.Sysctls {
			if strings.HasPrefix(s.Value, "net/ipv6/conf/all/forwarding=") {
				c.allLines = append(c.allLines, s)
			}
		}
	}
	return c, ctx.Err()
}

// several is one error for many, which may be dozens in a poor capture.
func several(errs []error) error {
	if len(errs) == 1 {
		return errs[0]
	}
	return fmt.Errorf("%w, and others", errs[0])
}

// line is one place in the configuration and the value it gives.
type line struct {
	value string
	where string // file:line
	text  string
}

func (l *line) evidence() trap.Evidence { return trap.Ev(l.where, "%s", l.text) }

func ofSetting(s *sysctlconf.Setting) *line {
	if s == nil {
		return nil
	}
	return &line{sysctlconf.Taken(s.Value), fmt.Sprintf("%s:%d", s.Path, s.Line), sysctlconf.Dotted(s.Key) + " = " + s.Value}
}

func ofStatement(s *netconf.Statement) *line {
	if s == nil {
		return nil
	}
	return &line{s.Value, s.Source.String(), s.Text}
}

// intent is what the files say of one interface.
type intent struct {
	name  string
	iface netconf.Iface
	// acceptRA and forwarding are what the interface ends up with after a
	// boot; nil: the kernel's own default, 1 and 0.
	acceptRA, forwarding *line
	// half is a line for accept_ra that counts only for an interface that
	// appears late, or only for one that appears early.
	half *line
	// idle is a line for "all", which the kernel does not ask; notRead one in
	// a file that is not read at boot.
	idle, notRead *line
	// networkdRouter is why networkd's own default for IPv6AcceptRA= is no.
	networkdRouter *line
	// networkdUnread is why not all of networkd's configuration is known; nil too while
	// networkd neither runs nor is enabled.
	networkdUnread error
	unread         []error
	// bad are lines of sysctl.d that mean accept_ra or forwarding and are no settings.
	bad []*host.SyntaxError
}

// configured tells whether any file speaks of the interface.
func (i intent) configured() bool { return i.iface.Manager != "" }

// keeps2 tells whether accept_ra=2 is in the files, in force after every boot.
func (i intent) keeps2() bool { return i.acceptRA != nil && i.acceptRA.value == "2" }

// forwards tells whether the interface forwards after a boot.
func (i intent) forwards() bool { return i.forwarding != nil && i.forwarding.value != "0" }

// wants tells whether the files ask for advertisements in so many words.
func (i intent) wants() bool {
	if i.acceptRA != nil && i.acceptRA.value != "0" {
		return true
	}
	m := i.iface.Method6
	return m != nil && m.Manager == netconf.Ifupdown && (m.Value == "auto" || m.Value == "dhcp") || i.half != nil && i.half.value == "2"
}

// of puts together what the files say of one interface.
func (c *config) of(name string) intent {
	i := intent{name: name, iface: c.net.Iface(name), unread: c.unread}
	ra := c.sysctl.ForInterface("ipv6", name, "accept_ra")
	switch early, late := ofSetting(ra.Present), ofSetting(ra.Later); {
	case early == nil && late == nil:
	case early != nil && (late != nil && early.value == late.value || c.sysctl.Reader == sysctlconf.Procps):
		i.acceptRA = early
	case early == nil:
		i.half = late
	default:
		i.half = early
	}
	i.idle = ofSetting(ra.NoEffect)
	for _, e := range c.sysctl.Syntax {
		if strings.Contains(e.Msg, "accept_ra") || strings.Contains(e.Msg, "forwarding") {
			i.bad = append(i.bad, e)
		}
	}
	for _, s := range c.sysctl.NotRead {
		if s.Key == "net/ipv6/conf/"+name+"/accept_ra" {
			i.notRead = ofSetting(&s)
		}
	}
	fw := c.sysctl.ForInterface("ipv6", name, "forwarding")
	if i.forwarding = ofSetting(fw.Present); i.forwarding == nil {
		i.forwarding = ofSetting(fw.Later)
	}
	if c.ufw != nil {
		u := c.ufw.ForInterface("ipv6", name, "forwarding")
		if u.Present != nil {
			i.forwarding = ofSetting(u.Present)
		}
		if ra := c.ufw.ForInterface("ipv6", name, "accept_ra"); ra.Present != nil {
			i.acceptRA = ofSetting(ra.Present)
		}
	}
	c.networkd(&i)
	c.ifupdown(&i)
	return i
}

// networkd adds what systemd-networkd does. IPForward= (up to systemd 255)
// turns forwarding on for the whole host, from whichever .network file.
// Interfaces whose own file forwards, or since 256 networkd.conf's
// IPv6Forwarding=, no longer get advertisements unless IPv6AcceptRA= says so:
// systemd.network(5); measured with systemd 252.
func (c *config) networkd(i *intent) {
	for _, err := range c.netUnread {
		if i.networkdUnread == nil && ofNetworkd(err) && !c.net.Idle(netconf.Networkd) {
			i.networkdUnread = err
		}
	}
	if c.ipForward != nil {
		i.forwarding = ofStatement(c.ipForward)
	}
	for k := range c.net.Global {
		if s := &c.net.Global[k]; s.Key == netconf.KeyIPv6Forwarding && networkdYes(s) {
			i.forwarding, i.networkdRouter = ofStatement(s), ofStatement(s)
		}
	}
	if s := i.iface.IPv6Forwarding; networkdYes(s) {
		i.forwarding, i.networkdRouter = ofStatement(s), ofStatement(s)
	} else if s != nil && s.Manager == netconf.Networkd {
		i.networkdRouter = nil
	}
	if i.iface.Manager != netconf.Networkd || i.iface.AcceptRA != nil && i.iface.AcceptRA.Manager == netconf.Networkd {
		i.networkdRouter = nil
	}
}

// ofNetworkd tells whether what could not be read may configure networkd,
// itself or through netplan.
func ofNetworkd(err error) bool {
	var pe *fs.PathError
	return !errors.As(err, &pe) || strings.Contains(pe.Path, "/systemd/network") || strings.Contains(pe.Path, "/netplan")
}

func networkdYes(s *netconf.Statement) bool {
	return s != nil && s.Manager == netconf.Networkd && s.Value == "yes"
}

// ifupdown adds what ifup does, which comes after sysctl.d: pre-up lines, then
// the accept_ra of the inet6 stanza, then up and post-up lines (interfaces(5)).
// The other interfaces' lines for all/forwarding are taken to come first.
func (c *config) ifupdown(i *intent) {
	own := "net/ipv6/conf/" + i.name + "/"
	run := func(early bool) {
		for _, s := range append(slices.Clip(c.allLines), i.iface.Sysctls...) {
			key, value, _ := strings.Cut(s.Value, "=")
			if (s.Phase == "pre-up") != early {
				continue
			}
			l := ofStatement(&s)
			l.value = value
			switch key {
			case own + "accept_ra":
				i.acceptRA, i.half = l, nil
			case own + "forwarding", "net/ipv6/conf/all/forwarding":
				i.forwarding = l
			}
		}
	}
	run(true)
	if s := i.iface.AcceptRA; s != nil && s.Manager == netconf.Ifupdown {
		i.acceptRA, i.half = ofStatement(s), nil
	}
	run(false)
}

// evidence is the lines that matter.
func (i intent) evidence() []trap.Evidence {
	var ev []trap.Evidence
	for _, l := range []*line{i.forwarding, i.acceptRA, i.half, i.idle, i.notRead} {
		if l != nil && !slices.Contains(ev, l.evidence()) {
			ev = append(ev, l.evidence())
		}
	}
	return ev
}

// notes explain lines that look as if they helped, and do not.
func (i intent) notes() []string {
	var out []string
	if i.half != nil {
		when := "already there when sysctl.d is applied"
		if strings.Contains(i.half.text, ".default.") {
			when = "not yet there when sysctl.d is applied"
		}
		out = append(out, fmt.Sprintf("%s (%s) counts only if %s is %s: a race at boot.", i.half.text, i.half.where, i.name, when))
	}
	if i.idle != nil {
		out = append(out, fmt.Sprintf("%s (%s) changes nothing: the kernel does not ask \"all\" for accept_ra.", i.idle.text, i.idle.where))
	}
	for _, e := range i.bad {
		out = append(out, e.Error()+".")
	}
	if i.notRead != nil {
		out = append(
			out,
			fmt.Sprintf("%s (%s) is not applied at boot: nothing in sysctl.d links to that file, and systemd-sysctl does not read it by itself.",
				i.notRead.text, i.notRead.where),
		)
	}
	return out
}

// userspace names the manager that handles advertisements itself; empty: the kernel does.
func (i intent) userspace() netconf.Manager {
	if !i.iface.RAInUserspace() {
		return ""
	}
	return i.iface.Carrier()
}
