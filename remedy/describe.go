package remedy

import (
	"fettle/internal/shell"
	"fmt"
	"strings"
)

// Describe methods say in one line what a step will change.

func (s File) Describe() string {
	if s.Was == nil {
		return "create " + s.Path
	}
	return "change " + s.Path
}

func (s Remove) Describe() string { return "delete " + s.Path }

func (s Perm) Describe() string {
	var parts []string
	if s.Mode >= 0 {
		parts = append(parts, fmt.Sprintf("mode %04o", s.Mode))
	}
	if s.UID >= 0 {
		parts = append(parts, fmt.Sprintf("owner %d", s.UID))
	}
	if s.GID >= 0 {
		parts = append(parts, fmt.Sprintf("group %d", s.GID))
	}
	if len(parts) == 0 {
		return "leave " + s.Path + " as it is"
	}
	return "give " + s.Path + " " + strings.Join(parts, ", ")
}

func (s ACL) Describe() string {
	var parts []string
	for _, p := range [...]struct{ name, text string }{{"ACL", s.Access}, {"default ACL", s.Default}} {
		switch p.text {
		case "":
		case "none":
			parts = append(parts, "remove the "+p.name)
		default:
			parts = append(parts, "set the "+p.name+" "+p.text)
		}
	}
	if len(parts) == 0 {
		return "leave the ACLs of " + s.Path + " as they are"
	}
	return strings.Join(parts, " and ") + " of " + s.Path
}

func (s Sysctl) Describe() string {
	return fmt.Sprintf("set the running value of %s to %q", s.Key, s.Value)
}

func (s Sysfs) Describe() string { return fmt.Sprintf("set %s to %q", s.Path, s.Value) }

func (s Unit) Describe() string {
	if s.Act == "daemon-reload" {
		return "have systemd read its unit files again"
	}
	return s.Act + " " + s.Name
}

func (s LinkMTU) Describe() string {
	return fmt.Sprintf("set the running MTU of %s to %d bytes", s.Link, s.MTU)
}

func (s SolicitRouter) Describe() string {
	return "ask the routers on " + s.Link + " for an advertisement"
}

func (s Command) Describe() string { return "run " + shell.Join(s.Do) }

// Restorable tells whether undo makes everything byte for byte what it was.
func (p Plan) Restorable() bool {
	for _, s := range p.Steps {
		if s.Reversal().Class != Restorable {
			return false
		}
	}
	return true
}

// Reversal methods say whether and how a step is undone.

func (s File) Reversal() Reversal   { return Reversal{Class: Restorable} }
func (s Remove) Reversal() Reversal { return Reversal{Class: Restorable} }
func (s Perm) Reversal() Reversal   { return Reversal{Class: Restorable} }
func (s ACL) Reversal() Reversal    { return Reversal{Class: Restorable} }

func (s Sysctl) Reversal() Reversal {
	// addrconf_ifdown() in net/ipv6/addrconf.c (Linux 6.1) drops addresses
	// and routes when disable_ipv6 becomes 1.
	if strings.HasPrefix(s.Key, "net/ipv6/conf/") && strings.HasSuffix(s.Key, "/disable_ipv6") && strings.TrimSpace(s.Value) != "0" {
		return Reversal{Invertible, "the value comes back; IPv6 addresses and routes set by hand do not"}
	}
	return Reversal{Class: Restorable}
}

func (s Sysfs) Reversal() Reversal { return Reversal{Class: Restorable} }

func (s Unit) Reversal() Reversal {
	switch s.Act {
	case "daemon-reload":
		return Reversal{Invertible, "undo reads the unit files again, after they are put back"}
	case "reload", "restart", "reload-or-restart":
		return Reversal{Invertible, "undo does it once more, after its files are put back; the interruption is felt again"}
	case "start":
		return Reversal{Invertible, "undo stops it if it was stopped; what it did meanwhile stays"}
	case "stop":
		return Reversal{Invertible, "undo starts it if it was running; its connections and state are new"}
	case "enable", "disable":
		return Reversal{Invertible, "undo gives it the enablement it had, by way of systemctl"}
	}
	return Reversal{Irreversible, "fettle does not know the act " + s.Act}
}

func (s LinkMTU) Reversal() Reversal {
	switch {
	case s.Bridge:
		// br_change_mtu() in net/bridge/br_device.c (since Linux 4.17) sets
		// BROPT_MTU_SET_BY_USER, and nothing clears it.
		return Reversal{Invertible, "the MTU comes back; the bridge no longer follows its ports until it is made anew"}
	case s.MTU < 1280:
		// addrconf_notify() in net/ipv6/addrconf.c, NETDEV_CHANGEMTU: below
		// IPV6_MIN_MTU IPv6 is taken down on the link.
		return Reversal{Invertible, "the MTU comes back; IPv6 starts anew on " + s.Link + ", without what was set by hand"}
	}
	return Reversal{Class: Restorable}
}

func (s SolicitRouter) Reversal() Reversal {
	return Reversal{Invertible, "nothing to undo: it only asks; addresses and routes from the answer age out by themselves"}
}

func (s Command) Reversal() Reversal {
	if s.Again {
		return Reversal{Invertible, "undo runs it once more after everything else was put back"}
	}
	if len(s.Undo) == 0 {
		return Reversal{Irreversible, "the command has no inverse"}
	}
	note := "undo runs " + shell.Join(s.Undo)
	if s.Differs != "" {
		note += "; " + s.Differs
	}
	return Reversal{Invertible, note}
}
