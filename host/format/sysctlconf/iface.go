package sysctlconf

// Interface is what the files say of one network interface's parameter,
// expanded from its own key, globs, "all" and "default".
type Interface struct {
	// Present is the line that counts for an interface that exists when the
	// files are applied; Later for one that appears afterwards. Nil: the
	// kernel's own default stays. Where the two differ, the outcome depends
	// on a race at boot.
	Present, Later *Setting
	// NoEffect is a line for "all" that the kernel does not act upon.
	NoEffect *Setting
}

// ForInterface tells what the files say of one parameter of one interface:
// family is "ipv4" or "ipv6", param the last part of the key ("accept_ra").
//
// How "all" acts depends on the parameter. Of IPv6, forwarding,
// force_forwarding, disable_ipv6, disable_policy, ignore_routes_with_linkdown
// and proxy_ndp have handlers that touch other interfaces or are read beside
// the interface's own (Linux 6.18 net/ipv6/addrconf.c); of these, forwarding
// and disable_ipv6 are copied to every interface and to "default" at the
// moment of the write. accept_ra and the others of "all" are read by nobody.
//
// "default" is what an interface starts with when it appears. Under systemd,
// udev then runs systemd-sysctl for the interface's own keys
// (99-systemd.rules), so that these always come last; with procps alone nobody
// does.
func (c *Config) ForInterface(family, iface, param string) Interface {
	key := func(name string) string { return "net/" + family + "/conf/" + name + "/" + param }
	own, all, dflt := key(iface), key("all"), key("default")
	spreads := family == "ipv6" && (param == "forwarding" || param == "disable_ipv6")
	var r Interface
	var byDefault, ownLine *Setting
	allNow := "0" // at boot
	for _, w := range c.writes() {
		w := w
		toAll := c.reaches(w, all)
		switch {
		case toAll && spreads && c.Reader == Systemd && w.Value == allNow:
			// systemd does not write a value that is there already
			// (252, src/basic/sysctl-util.c, SUPPRESS_REDUNDANT_VIRTUAL), so
			// nothing is spread; procps writes it and undoes the others.
		case toAll && spreads:
			r.Present, byDefault, allNow = &w, &w, w.Value
		case toAll && !w.Glob() && family == "ipv6":
			r.NoEffect = &w
		}
		if c.reaches(w, dflt) {
			byDefault = &w
		}
		if c.reaches(w, own) {
			r.Present, ownLine = &w, &w
		}
	}
	r.Later = byDefault
	if c.Reader == Systemd && ownLine != nil {
		r.Later = ownLine
	}
	return r
}
