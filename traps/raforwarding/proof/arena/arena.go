// Package arena is a host and a router on one link, with a real radvd, and the
// Table of accept_ra and forwarding values that are tried there.
package arena

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// Arena is a host and a router in two network namespaces: this process's
// namespace holds h0, "rt" holds r0, where radvd runs. The kernel tests and
// the experiment of fettle lab fight it out there.
type Arena struct {
	Run func(argv ...string) (string, error) // to its end
}

// FastRadvd sends an advertisement some ten times a second: AdvIntervalOpt
// lets it go below three seconds (radvd.conf(5), Mobile IPv6).
const FastRadvd = `interface r0 {
	AdvSendAdvert on; AdvIntervalOpt on; AdvDefaultLifetime 600;
	MinRtrAdvInterval 0.07; MaxRtrAdvInterval 0.1; MinDelayBetweenRAs 0.05;
	prefix 2001:db8:1::/64 { AdvOnLink on; AdvAutonomous on; };
};
`

// RadvdArgs starts radvd in the router's namespace.
func RadvdArgs(conf string) []string {
	return []string{
		"ip",
		"netns",
		"exec",
		"rt",
		"radvd",
		"--nodaemon",
		"--logmethod",
		"stderr",
		"--config",
		conf,
		"--pidfile",
		"/run/radvd.pid",
	}
}

// Build makes the namespace, the link and its addresses; radvd is the caller's.
func (a Arena) Build() error {
	for _, c := range []string{
		"ip netns add rt",
		"ip link set lo up",
		"ip link add h0 type veth peer name r0 netns rt",
		"ip netns exec rt sysctl -qw net.ipv6.conf.all.forwarding=1 net.ipv6.conf.all.accept_dad=0",
	} {
		if _, err := a.Run(strings.Fields(c)...); err != nil {
			return err
		}
	}
	// No waiting for duplicate addresses: the link-local address is there at once.
	for _, key := range []string{"default/accept_dad", "h0/accept_dad"} {
		if err := a.Set(key, "0"); err != nil {
			return err
		}
	}
	if _, err := a.Run("ip", "-n", "rt", "link", "set", "r0", "addrgenmode", "eui64", "up"); err != nil {
		return err
	}
	_, err := a.Run("ip", "link", "set", "h0", "up")
	return err
}

func (a Arena) Set(key, value string) error {
	return os.WriteFile("/proc/sys/net/ipv6/conf/"+key, []byte(value), 0o644)
}

// Route tells whether h0 has a default route from an advertisement.
func (a Arena) Route() (bool, error) {
	out, err := a.Run("ip", "-6", "route", "show", "default", "dev", "h0")
	return strings.Contains(out, "proto ra"), err
}

// Address tells whether h0 has an address from an advertisement.
func (a Arena) Address() (bool, error) {
	out, err := a.Run("ip", "-6", "address", "show", "dev", "h0", "scope", "global")
	return strings.Contains(out, "2001:db8:1:"), err
}

// Count is how many advertisements h0 has had, taken or not.
func (a Arena) Count() (int64, error) {
	b, err := os.ReadFile("/proc/net/dev_snmp6/h0")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == "Icmp6InRouterAdvertisements" {
			return strconv.ParseInt(f[1], 10, 64)
		}
	}
	return 0, errors.New("/proc/net/dev_snmp6/h0 has no Icmp6InRouterAdvertisements")
}

// RouteComes waits for the default route. It returns as soon as it is there,
// or when three more advertisements went by without it.
func (a Arena) RouteComes() (bool, error) {
	from, err := a.Count()
	for end := time.Now().Add(10 * time.Second); err == nil && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		var now int64
		if now, err = a.Count(); err != nil {
			break
		}
		there, rerr := a.Route()
		if rerr != nil || there || now >= from+3 {
			return there, rerr
		}
	}
	if err == nil {
		err = fmt.Errorf("radvd's advertisements do not arrive")
	}
	return false, err
}

// Clean makes h0 a host again, without anything from advertisements.
func (a Arena) Clean() error {
	for _, key := range []string{"all/forwarding", "h0/accept_ra"} {
		if err := a.Set(key, "0"); err != nil {
			return err
		}
	}
	a.Run("ip", "-6", "route", "flush", "dev", "h0", "proto", "ra") // fails when there is none
	_, err := a.Run("ip", "-6", "address", "flush", "dev", "h0", "scope", "global")
	return err
}

// Row is one setting of the two parameters, and what became of it.
type Row struct {
	AcceptRA, Forwarding, First string
	Route, Address              bool
}

// Want is the kernel's rule: advertisements are taken by a host that does not
// forward and has accept_ra not 0, and with accept_ra 2 always
// (Documentation/networking/ip-sysctl.rst; ipv6_accept_ra in include/net/ipv6.h).
// Which was set first makes no difference.
func (r Row) Want() bool {
	return r.AcceptRA != "0" && (r.Forwarding == "0" || r.AcceptRA == "2")
}

// Table tries every combination, in both orders.
func (a Arena) Table(each func(Row)) error {
	for _, ra := range []string{"0", "1", "2", "3"} {
		for _, fwd := range []string{"0", "1", "2"} {
			for _, first := range []string{"accept_ra", "forwarding"} {
				r := Row{AcceptRA: ra, Forwarding: fwd, First: first}
				if err := a.try(&r); err != nil {
					return fmt.Errorf("accept_ra %s, forwarding %s, %s first: %w", ra, fwd, first, err)
				}
				each(r)
			}
		}
	}
	return nil
}

func (a Arena) try(r *Row) error {
	if err := a.Clean(); err != nil {
		return err
	}
	keys := [][2]string{{"h0/accept_ra", r.AcceptRA}, {"h0/forwarding", r.Forwarding}}
	if r.First == "forwarding" {
		keys[0], keys[1] = keys[1], keys[0]
	}
	for _, k := range keys {
		if err := a.Set(k[0], k[1]); err != nil {
			return err
		}
	}
	var err error
	if r.Route, err = a.RouteComes(); err != nil {
		return err
	}
	r.Address, err = a.Address()
	return err
}
