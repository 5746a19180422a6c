package raforwarding

import (
	"fmt"
	"slices"
	"strings"

	"fettle/engine/trap"
	"fettle/host/format/netconf"
)

// What a finding is about; Plan reads it from facts.
const (
	caseRunning  = "running"  // advertisements are ignored now
	caseOld      = "old"      // the same, on a kernel that does not know the value 2
	caseBoot     = "boot"     // the configuration is what is wrong
	caseNetworkd = "networkd" // systemd-networkd ignores them
)

// facts are what the check tells the plan.
type facts struct {
	Case string `json:"case"`
}

func about(name string) trap.Facts { return trap.FactsOf(facts{Case: name}) }

// judge says what is to be said of one interface of a running host.
func judge(r *trap.Report, s state, i intent) {
	name, ev := s.link.Name, append(s.evidence(), i.evidence()...)
	f := trap.Finding{Subject: name, Evidence: ev, Facts: about(caseRunning)}
	received := s.defaultRoute(byRA) != nil || len(s.slaac()) > 0
	taken := s.ras > 0 || received
	switch {
	case s.disabled:
		r.NotApplicable(name, "IPv6 is disabled on it", ev...)

	case s.sends:
		r.NotApplicable(name, "this host is a router there: it sends router advertisements itself", ev...)

	case s.acceptRA == 0 && i.networkdRouter != nil && i.userspace() == netconf.Networkd:
		f.Severity, f.Facts = trap.Notice, about(caseNetworkd)
		f.Summary = "systemd-networkd ignores router advertisements, because it forwards and IPv6AcceptRA=yes is not set"
		if s.ras > 0 && s.staticDefault() == nil {
			f.Severity = s.grave()
		}
		f.Evidence = append(ev, i.networkdRouter.evidence())
		f.Detail = trap.Lines(s.missing())
		r.Found(f)

	case s.acceptRA == 0 && i.userspace() != "":
		r.NotApplicable(
			name,
			fmt.Sprintf("%s handles router advertisements itself and keeps the kernel's accept_ra at 0", i.userspace()),
			append(ev, i.manager()...)...)

	case s.acceptRA == 0 && i.networkdUnread != nil:
		r.Unknown(name, fmt.Errorf("accept_ra is 0; whether systemd-networkd keeps it so is not known: %w", i.networkdUnread), ev...)

	case s.acceptRA == 0:
		r.NotApplicable(name, "router advertisements are turned off on it (accept_ra is 0)", ev...)

	case !s.ignores():
		judgeWorking(r, s, i, f, taken)

	case s.staticDefault() != nil && !i.wants() && len(i.unread) > 0:
		r.Unknown(
			name,
			fmt.Errorf("it has a static default route; whether it should also accept router advertisements is not known: %w", several(i.unread)),
			ev...)

	case s.staticDefault() != nil && !i.wants():
		d := s.staticDefault()
		r.NotApplicable(name, fmt.Sprintf("IPv6 is configured by hand (static default route through %s)", d.Dev),
			append(ev, trap.Ev("IPv6 routes", "default via %s dev %s proto %s", d.Gateway, d.Dev, d.Protocol))...)

	case s.routesErr != nil && !i.wants():
		r.Unknown(name, fmt.Errorf("whether a static default route makes router advertisements needless is not known: %w", s.routesErr), ev...)

	case s.rasErr != nil && !received:
		r.Unknown(name, s.rasErr, ev...) // nor whether the host sends them itself

	case taken || i.keeps2():
		f.Severity = s.grave()
		f.Summary, f.Detail = s.ignoring(), lines(s.missing(), i.persistence(), i.notes())
		if oldKernel(s.release) {
			f.Facts = about(caseOld)
		}
		r.Found(f)

	case i.wants():
		f.Severity = trap.Notice
		f.Summary = "router advertisements would be ignored: forwarding is on and accept_ra is not 2"
		if oldKernel(s.release) {
			f.Facts, f.Summary = about(caseOld), s.ignoring()
		}
		f.Detail = lines("None has been seen so far.", i.persistence(), i.notes())
		r.Found(f)

	default:
		r.Clear(name, "router advertisements would be ignored, but none has ever arrived", ev...)
	}
}

// judgeWorking is about an interface that takes advertisements now: will it
// after the next boot?
func judgeWorking(r *trap.Report, s state, i intent, f trap.Finding, taken bool) {
	f.Severity, f.Facts = trap.Notice, about(caseBoot)
	f.Detail = lines("", i.notes())
	keeps := i.keeps2() && !oldKernel(s.release)
	switch {
	case taken && s.forwarding != 0 && !keeps && i.userspace() == "":
		f.Summary = "accept_ra is 2 now, but no configuration keeps it: after the next boot router advertisements are ignored"
	case taken && s.forwarding == 0 && i.forwards() && !keeps && (i.acceptRA == nil || i.acceptRA.value != "0") && i.userspace() == "":
		f.Summary = "forwarding is off now, but the configuration turns it on without accept_ra 2: after the next boot router advertisements " +
			"are ignored"
	default:
		why := "accept_ra is 2, so router advertisements are accepted although it forwards"
		if s.forwarding == 0 {
			why = "forwarding is off, so router advertisements are accepted"
		}
		r.Clear(f.Subject, why, f.Evidence...)
		return
	}
	// A file that could not be read may hold the line that is missed.
	if len(i.unread) > 0 {
		r.Clear(f.Subject, "router advertisements are accepted now", f.Evidence...)
		r.Unknown(
			f.Subject,
			fmt.Errorf("they are accepted now; whether they will be after the next boot is not known: %w", several(i.unread)),
			f.Evidence...)
		return
	}
	r.Found(f)
}

// grave is the severity where advertisements get lost: on a host without IPv4
// it is the reachability of the host.
func (s *state) grave() trap.Severity {
	switch {
	case s.elsewhere():
		return trap.Notice
	case !s.ipv4 && s.routesErr == nil && s.staticDefault() == nil:
		return trap.Critical
	}
	return trap.Warning
}

func (s *state) ignoring() string {
	if oldKernel(s.release) && s.acceptRA == 2 {
		return "router advertisements are ignored: forwarding is on, and this kernel does not support accept_ra 2"
	}
	if s.ras > 0 {
		return "router advertisements arrive and are ignored: forwarding is on and accept_ra is not 2"
	}
	return "router advertisements are ignored: forwarding is on and accept_ra is not 2"
}

// missing tells what the host lacks now.
func (s *state) missing() string {
	var out []string
	switch {
	case s.routesErr != nil:
	case s.defaultRoute(byRA) != nil:
		out = append(out, "A default route from an earlier advertisement still exists; it disappears when its lifetime ends.")
	case s.elsewhere():
		out = append(out, "The host has a default route from advertisements on another interface.")
	case s.staticDefault() == nil:
		out = append(out, "There is no IPv6 default route.")
	}
	if len(s.slaac()) > 0 {
		out = append(out, "Addresses from earlier advertisements stay until their lifetime ends.")
	}
	return strings.Join(out, " ")
}

// persistence tells what the next boot will bring.
func (i intent) persistence() string {
	switch {
	case i.keeps2():
		return fmt.Sprintf(
			"The configuration says 2 (%s), but the interface does not: it was set before the interface appeared, or changed since.",
			i.acceptRA.where,
		)
	case i.forwards():
		return fmt.Sprintf("The configuration turns forwarding on at boot (%s).", i.forwarding.where)
	}
	return "No configuration file turns forwarding on: a program did (Docker, libvirt and Kubernetes do), or it was done by hand."
}

func (i intent) manager() []trap.Evidence {
	if s := i.iface.AcceptRA; s != nil {
		return []trap.Evidence{trap.Ev(s.Source.String(), "%s", s.Text)}
	}
	for _, s := range i.iface.All {
		return []trap.Evidence{trap.Ev(s.Source.String(), "%s", s.Text)}
	}
	return nil
}

// byHand tells whether ifupdown gives the interface a fixed IPv6 address.
func (i intent) byHand() bool {
	m := i.iface.Method6
	return m != nil && m.Manager == netconf.Ifupdown && m.Value == "static"
}

// checkConfig judges the files alone, of a root folder.
func checkConfig(c *config, r *trap.Report) {
	said := false
	unread := append(slices.Clip(c.netUnread), c.unread...)
	for _, name := range c.net.Names() {
		i := c.of(name)
		if name == "lo" || i.iface.Bridge != nil {
			continue
		}
		said = true
		f := trap.Finding{Subject: name, Severity: trap.Notice, Evidence: i.evidence(), Detail: lines("", i.notes()), Facts: about(caseBoot)}
		switch {
		case i.networkdRouter != nil:
			f.Facts = about(caseNetworkd)
			f.Summary = "systemd-networkd will ignore router advertisements, because it forwards and IPv6AcceptRA=yes is not set"
			f.Evidence = append(f.Evidence, i.networkdRouter.evidence())
			r.Found(f)
		case i.userspace() != "":
			r.NotApplicable(name, fmt.Sprintf("%s handles router advertisements itself", i.userspace()), i.manager()...)
		case i.acceptRA != nil && i.acceptRA.value == "0":
			r.NotApplicable(name, "the configuration turns router advertisements off (accept_ra is 0)", f.Evidence...)
		case i.keeps2():
			r.Clear(name, "the configuration sets accept_ra to 2", f.Evidence...)
		case i.byHand() && !i.wants():
			r.NotApplicable(name, "IPv6 is configured by hand (inet6 static)", i.manager()...)
		case !i.forwards() && len(unread) > 0:
			r.Unknown(name, several(unread), f.Evidence...)
		case !i.forwards():
			r.Clear(name, "the configuration does not turn forwarding on", f.Evidence...)
		default:
			if i.wants() {
				f.Severity = trap.Warning
			}
			f.Summary = "the configuration turns forwarding on without accept_ra 2: router advertisements will be ignored"
			r.Found(f)
		}
	}
	switch {
	case said:
	case len(unread) > 0:
		r.Unknown("", several(unread))
	default:
		r.NotApplicable("", "the configuration names no interface")
	}
}

// lines joins what there is to say, one sentence or more a line.
func lines(first string, more ...any) trap.Prose {
	out := []string{first}
	for _, m := range more {
		switch m := m.(type) {
		case string:
			out = append(out, m)
		case []string:
			out = append(out, m...)
		}
	}
	return trap.Lines(out...)
}
