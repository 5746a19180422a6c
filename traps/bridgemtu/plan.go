package bridgemtu

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"fettle/engine/remedy"
	"fettle/engine/remedy/step"
	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/format/netconf"
)

// plan gives the bridge and its ports one MTU: what the bridge is configured
// to have, else what its uplink carries, else the least of its ports.
func plan(ctx context.Context, h *host.Host, f trap.Finding) (remedy.Plan, error) {
	s := look(ctx, h)
	i := slices.IndexFunc(s.bridges, func(b *bridge) bool { return b.name == f.Subject })
	if i < 0 {
		return remedy.Plan{}, remedy.Refuse("the bridge %s no longer exists", f.Subject)
	}
	b := s.bridges[i]
	if len(s.faults(b)) == 0 {
		return remedy.Plan{}, remedy.Refuse("%s is correct now: nothing to do", b.name)
	}
	if by := s.faults(b)[0].byHand; by != "" {
		return remedy.Plan{}, remedy.Refuse("which MTU is wanted is not visible: %s", by)
	}
	if hidden := s.hidden(b); len(hidden) > 0 {
		return remedy.Plan{}, remedy.Refuse(
			"not all of the configuration could be read, and its settings for %s must be known first: %s",
			b.name,
			host.Reason(hidden[0]),
		)
	}
	p := &planner{survey: s, b: b, edits: map[string]netconf.Edit{}}
	if err := p.target(); err != nil {
		return remedy.Plan{}, err
	}
	p.Title = fmt.Sprintf("give %s and its ports the MTU %d", b.name, p.mtu)
	if err := p.persistent(ctx); err != nil {
		return remedy.Plan{}, err
	}
	p.reload(ctx, h)
	if b.present {
		p.now(h.Identity().Release)
	}
	if len(p.Steps) == 0 {
		return remedy.Plan{}, remedy.Refuse("fettle can change nothing here: %s", strings.Join(p.Notes, " "))
	}
	p.CutsConnection = b.present && b.carries(s)
	return p.Plan, nil
}

// planner is one plan in the making.
type planner struct {
	remedy.Plan
	*survey
	b     *bridge
	mtu   int
	edits map[string]netconf.Edit // by path
	files []string                // the paths in order
}

// target decides on the MTU.
func (p *planner) target() error {
	b := p.b
	up, _ := b.least(isUplink)
	least, _ := b.least(anyPort)
	switch {
	case b.conf.MTU != nil:
		p.mtu = b.conf.MTU.N
	case p.wanted() > 0:
		p.mtu = p.wanted()
	case up > 0:
		p.mtu = up
	default:
		p.mtu = least
	}
	if b.conf.MTU == nil && p.wanted() == 0 && b.uplinksDiffer() {
		return remedy.Refuse("the uplinks of %s have different MTUs: %s. Which of them can change is not visible from here. "+
			"Give them one MTU: the smallest, unless you know that the network of that one supports more", b.name, list(b.uplinks()))
	}
	for _, port := range b.ports {
		if want, src := p.want(port); port.uplink && want != 0 && want < p.mtu {
			return remedy.Refuse(
				"%s asks for the MTU %d for %s, and %s for %d for its uplink %s: which of them the network outside supports is not visible from here. "+
					"Set both to the same value: the smaller one, unless every switch in between supports more",
				b.mtuSource(),
				p.mtu,
				b.name,
				src,
				want,
				port.name,
			)
		}
		if other, has := p.above(port); has > p.mtu && p.lowers(port) {
			return remedy.Refuse("%s would have to go down to %d, and with it %s, which is on top of it with %d. "+
				"Give the bridge a VLAN of %s as its port instead of %s itself, or pin %s after each boot (ip link set dev %s mtu %d)",
				port.name, p.mtu, other, has, port.name, port.name, b.name, b.name, p.mtu)
		}
	}
	return nil
}

func (b *bridge) uplinks() []*brPort {
	var out []*brPort
	for _, p := range b.ports {
		if p.present && p.uplink {
			out = append(out, p)
		}
	}
	return out
}

// lowers tells whether the plan gives the port a smaller MTU than it has or
// is configured to have. An uplink that merely could carry more is left alone.
func (p *planner) lowers(port *brPort) bool {
	want, _ := p.want(port)
	if port.uplink && want == 0 {
		return false
	}
	return want > p.mtu || port.present && port.mtu > p.mtu
}

// above finds the link with the largest MTU that is on top of a port: the
// kernel cuts VLANs and macvlans down to the MTU of their lower device
// (vlan_device_event(), net/8021q/vlan.c).
func (p *planner) above(port *brPort) (name string, mtu int) {
	for _, l := range p.links {
		if l.Parent == port.name && (l.Info.Kind == "vlan" || l.Info.Kind == "macvlan") && l.MTU > mtu {
			name, mtu = l.Name, l.MTU
		}
	}
	for _, n := range p.cfg.Names() {
		if i := p.cfg.Iface(n); i.Parent != nil && i.Parent.Value == port.name && i.MTU != nil && i.MTU.N > mtu {
			name, mtu = n, i.MTU.N
		}
	}
	return name, mtu
}

func (b *bridge) mtuSource() string {
	if b.conf.MTU == nil {
		return "the link table"
	}
	return b.conf.MTU.Source.String()
}

// wanted is the least MTU that the configuration gives to an uplink; 0 for none.
func (p *planner) wanted() int {
	mtu := 0
	for _, port := range p.b.ports {
		if want, _ := p.want(port); port.uplink && want != 0 && (mtu == 0 || want < mtu) {
			mtu = want
		}
	}
	return mtu
}

// persistent plans the edits of configuration files.
func (p *planner) persistent(ctx context.Context) error {
	cfg := p.cfg
	set := func(name string) error {
		e, err := cfg.SetMTU(name, p.mtu)
		if err != nil || e.Path == "" {
			return err
		}
		if old, ok := p.edits[e.Path]; ok {
			e.Was = old.Was
		} else {
			p.files = append(p.files, e.Path)
		}
		p.edits[e.Path] = e
		cfg = cfg.After(ctx, e)
		return nil
	}
	for _, port := range p.b.ports {
		want, _ := p.want(port)
		raised := want == 0 && port.device && p.mtu > defaultMTU && p.b.conf.MTU != nil && !(port.present && port.mtu >= p.mtu)
		if want == p.mtu || want == 0 && !raised {
			continue
		}
		name := port.name
		if port.conf.MTU == nil && port.conf.Parent != nil && want < p.mtu {
			name = port.conf.Parent.Value // a VLAN has what its lower device has, unless it is told to have less
		}
		if err := set(name); err != nil {
			return remedy.Refuse("%v", err)
		}
		if raised {
			p.note("%s is raised to %d: every switch and host on its network must accept packets that large, or they are lost there.", name, p.mtu)
		}
	}
	for _, port := range p.b.ports {
		lower, ok := p.links[port.parent]
		if !ok || lower.MTU >= p.mtu || cfg.Iface(lower.Name).MTU != nil && cfg.Iface(lower.Name).MTU.N >= p.mtu {
			continue
		}
		if err := set(lower.Name); err != nil {
			p.note("The MTU of %s, below %s, is not made persistent: %v.", lower.Name, port.name, err)
		}
	}
	if b := p.b; b.conf.MTU == nil && b.conf.Manager != "" {
		if err := set(b.name); err != nil {
			p.note("The MTU of %s is not made persistent: %v.", b.name, err)
		}
	}
	// The configuration as it will be must be free of faults.
	after := &survey{cfg: cfg, links: p.links}
	if f := after.configured(after.bridge(p.b.name)); len(f) > 0 {
		return remedy.Refuse("fettle has no edit that fixes this: %s. %s", f[0].summary, f[0].detail)
	}
	for _, path := range p.files {
		e := p.edits[path]
		p.Steps = append(p.Steps, step.File{Path: path, Content: e.Content, Was: e.Was, Secret: e.Secret})
	}
	return nil
}

// reload makes the manager read what was edited where that changes no link.
func (p *planner) reload(ctx context.Context, h *host.Host) {
	if len(p.files) == 0 {
		return
	}
	if p.cfg.Active(netconf.NetworkManager) && strings.HasPrefix(p.files[0], "/etc/NetworkManager/") && h.Running() {
		nmcli := "/usr/bin/nmcli"
		if ok, _ := h.Exists(ctx, nmcli); ok {
			again := []string{nmcli, "connection", "reload"}
			p.Steps = append(p.Steps, step.Command{Do: again, Undo: again, Differs: "NetworkManager rereads its files"})
			return
		}
	}
	p.note(
		"The network manager is not reloaded, because that could take links down: the running MTUs are set directly, and the files apply " +
			"from the next boot.",
	)
}

// now plans the running MTUs.
func (p *planner) now(release string) {
	var ports []step.Step
	for _, port := range p.b.ports {
		switch {
		case !port.present || port.mtu == p.mtu:
			continue
		case port.mtu > p.mtu && !p.lowers(port):
			continue
		}
		if lower, ok := p.links[port.parent]; ok && port.parent != "" && lower.MTU < p.mtu {
			// vlan_dev_change_mtu(), net/8021q/vlan_dev.c: no more than the lower device has.
			ports = append(ports, step.LinkMTU{Link: lower.Name, MTU: p.mtu, Bridge: lower.Info.Kind == "bridge"})
			p.note("%s is raised to %d with its VLAN %s.", lower.Name, p.mtu, port.name)
		}
		ports = append(ports, step.LinkMTU{Link: port.name, MTU: p.mtu})
		switch {
		case !port.uplink && port.conf.Manager == "" && port.conf.MTU == nil:
			p.note(
				"%s is not in the configuration: whatever adds it (libvirt, a container engine, a script) must give it the bridge's MTU, as in "+
					"\"ip link set %s master %s mtu %d\", "+
					"and its other end, in the guest or container, needs the same.",
				port.name,
				port.name,
				p.b.name,
				p.mtu,
			)
		case port.uplink && port.mtu < p.mtu:
			p.note("Some drivers take the link down for a moment when the MTU changes: %s.", port.name)
		}
	}
	if p.b.mtu == p.mtu && (len(ports) == 0 || before417(release)) {
		p.Steps = append(p.Steps, ports...)
		return
	}
	own := step.LinkMTU{Link: p.b.name, MTU: p.mtu, Bridge: true}
	p.note("Setting the MTU of %s pins it: it no longer follows its ports until it is created again.", p.b.name)
	if p.b.mtu == p.mtu { // only a change pins, or the next port moves it again
		p.Steps = append(p.Steps, step.LinkMTU{Link: p.b.name, MTU: p.mtu + 1, Bridge: true})
	}
	if before417(release) { // a bridge may not have more than its ports, and nothing pins
		p.Steps = append(append(p.Steps, ports...), own)
		return
	}
	// The bridge first: setting a value it has already, because its ports gave
	// it to it, would pin nothing.
	p.Steps = append(append(p.Steps, own), ports...)
}

// before417 tells whether a kernel is older than 4.17, where 804b854d374e
// ("net: bridge: disable bridge MTU auto tuning if it was set manually") came.
func before417(release string) bool {
	var major, minor int
	if n, _ := fmt.Sscanf(release, "%d.%d", &major, &minor); n < 2 {
		return false
	}
	return major < 4 || major == 4 && minor < 17
}

// carries tells whether the bridge has an address from which somebody may be
// logged in, itself or on a VLAN or macvlan on top of it.
func (b *bridge) carries(s *survey) bool {
	reachable := func(l host.Link) bool {
		return slices.ContainsFunc(l.Addrs, func(a host.Addr) bool { return a.Scope != "host" && a.Scope != "link" })
	}
	for _, l := range s.links {
		if (l.Name == b.name || l.Parent == b.name || l.Master == b.name) && reachable(l) {
			return true
		}
	}
	return false
}

func (p *planner) note(format string, args ...any) {
	n := fmt.Sprintf(format, args...)
	if len(p.Notes) < maxEvidence && !slices.Contains(p.Notes, n) {
		p.Notes = append(p.Notes, n)
	}
}
