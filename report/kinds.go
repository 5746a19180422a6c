package report

import (
	"fmt"
	"strings"

	"fettle/internal/lazy"
)

// unitTypes are the endings of systemd's units (systemd.unit(5)).
var unitTypes = []string{
	".service",
	".socket",
	".mount",
	".timer",
	".scope",
	".slice",
	".target",
	".path",
	".swap",
	".automount",
	".device",
}

// interfaces are how the names of network interfaces begin, before a digit or a
// dash: the kernel's, udev's, and those that hypervisors and admins give.
var interfaces = []string{
	"br",
	"bridge",
	"eth",
	"en",
	"wl",
	"wlan",
	"bond",
	"team",
	"tun",
	"tap",
	"wg",
	"vlan",
	"vnet",
	"veth",
	"virbr",
	"vmbr",
	"docker",
	"lxdbr",
}

// count says how many of what: 18 services, 3 interfaces.
func count(names []string) string { return fmt.Sprintf("%d %s", len(names), kind(names)) }

// kind names what all of the subjects are.
func kind(names []string) string {
	all := func(is func(string) bool) bool {
		for _, n := range names {
			if !is(n) {
				return false
			}
		}
		return true
	}
	ends := func(list ...string) func(string) bool {
		return func(n string) bool {
			for _, s := range list {
				if strings.HasSuffix(n, s) {
					return true
				}
			}
			return false
		}
	}
	switch {
	case all(ends(".service")):
		return "services"
	case all(ends(unitTypes...)):
		return "units"
	case all(func(n string) bool { return strings.HasPrefix(n, "/dev/") }):
		return "devices"
	case all(func(n string) bool { return strings.HasPrefix(n, "/") }):
		return "paths"
	case all(isInterface):
		return "interfaces"
	}
	return "subjects"
}

// predictable are names that udev makes of where a card is (systemd.net-naming-scheme(7)): eno1, enp3s0, wlx00c0ca123456.
var predictable = lazy.Regexp(`^(?:en|wl|ww)(?:[ops]\d|x[0-9a-f])`)

func isInterface(name string) bool {
	for _, p := range interfaces {
		if rest, ok := strings.CutPrefix(name, p); ok && (rest == "" || rest[0] == '-' || rest[0] >= '0' && rest[0] <= '9') {
			return true
		}
	}
	return predictable().MatchString(name)
}
