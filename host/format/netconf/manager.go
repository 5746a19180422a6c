package netconf

import "slices"

// units are the units whose state reports whether a manager is at work.
var units = []struct {
	unit    string
	manager Manager
	wants   []string // links that enable it
}{
	{"systemd-networkd.service", Networkd, []string{"/etc/systemd/system/multi-user.target.wants/systemd-networkd.service"}},
	{"NetworkManager.service", NetworkManager, []string{"/etc/systemd/system/multi-user.target.wants/NetworkManager.service"}},
	{"networking.service", Ifupdown, []string{
		"/etc/systemd/system/multi-user.target.wants/networking.service",
		"/etc/systemd/system/network-online.target.wants/networking.service"}},
}

// Units are the systemd units whose state Read asks for.
func Units() []string {
	var names []string
	for _, u := range units {
		names = append(names, u.unit)
	}
	return names
}

// managers finds out who runs or is enabled: from systemd where it answers,
// and from the links that enable units.
func (r *reader) managers() {
	// No systemd, or no answer: the links below have to do.
	states, _ := r.h.Units(r.ctx, Units()...)
	for _, u := range units {
		switch st := states[u.unit]; {
		case st.Active() || st.UnitFileState == "enabled":
			r.c.active[u.manager] = true
		case st.LoadState == "not-found",
			!st.Partial && st.ActiveState == "inactive" && slices.Contains([]string{"disabled", "masked"}, st.UnitFileState):
			r.c.idle[u.manager] = true
		}
	}
	for _, u := range units {
		for _, w := range u.wants {
			// A link that cannot be looked at tells nothing; the claims decide then.
			if _, err := r.h.Lstat(r.ctx, w); err == nil {
				r.c.active[u.manager] = true
			}
		}
	}
}

// Active reports whether the manager is known to run or to be enabled.
func (c *Config) Active(m Manager) bool { return c.active[m] }

// Idle reports whether systemd says of the manager that it neither runs nor is enabled.
func (c *Config) Idle(m Manager) bool { return c.idle[m] && !c.active[m] }

// decide names the manager of i out of those that claim it. netplan comes
// first, since it writes for the others; then whoever runs; then the order in
// which they were read. networkd leaves alone what no .network file matches,
// and one that is neither running nor enabled does nothing.
func (c *Config) decide(i *Iface) {
	if slices.Contains(i.Claims, Netplan) && i.Renderer == "" {
		i.Renderer = Networkd // netplan(5), renderer: the default is networkd
	}
	if len(i.Claims) == 0 {
		return
	}
	i.Manager = i.Claims[0]
	if i.Manager == Netplan {
		return
	}
	for _, m := range i.Claims {
		if c.active[m] {
			i.Manager = m
			break
		}
	}
}
