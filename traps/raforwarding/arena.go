package raforwarding

import (
	"fmt"
	"os"
	"strings"
	"time"
)

// arena is a host and a router in two network namespaces: this process's
// namespace holds h0, "rt" holds r0, where radvd runs. The kernel tests and
// the experiment of fettle lab fight it out there.
type arena struct {
	run func(argv ...string) (string, error) // to its end
}

// fastRadvd sends an advertisement some ten times a second: AdvIntervalOpt
// lets it go below three seconds (radvd.conf(5), Mobile IPv6).
const fastRadvd = `interface r0 {
	AdvSendAdvert on; AdvIntervalOpt on; AdvDefaultLifetime 600;
	MinRtrAdvInterval 0.07; MaxRtrAdvInterval 0.1; MinDelayBetweenRAs 0.05;
	prefix 2001:db8:1::/64 { AdvOnLink on; AdvAutonomous on; };
};
`

// radvdArgs starts radvd in the router's namespace.
func radvdArgs(conf string) []string {
	return []string{"ip", "netns", "exec", "rt", "radvd", "--nodaemon", "--logmethod", "stderr", "--config", conf, "--pidfile", "/run/radvd.pid"}
}

// build makes the namespace, the link and its addresses; radvd is the caller's.
func (a arena) build() error {
	for _, c := range []string{
		"ip netns add rt",
		"ip link set lo up",
		"ip link add h0 type veth peer name r0 netns rt",
		"ip netns exec rt sysctl -qw net.ipv6.conf.all.forwarding=1 net.ipv6.conf.all.accept_dad=0",
	} {
		if _, err := a.run(strings.Fields(c)...); err != nil {
			return err
		}
	}
	// No waiting for duplicate addresses: the link-local address is there at once.
	for _, key := range []string{"default/accept_dad", "h0/accept_dad"} {
		if err := a.set(key, "0"); err != nil {
			return err
		}
	}
	if _, err := a.run("ip", "-n", "rt", "link", "set", "r0", "addrgenmode", "eui64", "up"); err != nil {
		return err
	}
	_, err := a.run("ip", "link", "set", "h0", "up")
	return err
}

func (a arena) set(key, value string) error {
	return os.WriteFile(confDir+key, []byte(value), 0o644)
}

// route tells whether h0 has a default route from an advertisement.
func (a arena) route() (bool, error) {
	out, err := a.run("ip", "-6", "route", "show", "default", "dev", "h0")
	return strings.Contains(out, "proto ra"), err
}

// address tells whether h0 has an address from an advertisement.
func (a arena) address() (bool, error) {
	out, err := a.run("ip", "-6", "address", "show", "dev", "h0", "scope", "global")
	return strings.Contains(out, "2001:db8:1:"), err
}

// count is how many advertisements h0 has had, taken or not.
func (a arena) count() (int64, error) {
	file := counterFile("h0")
	b, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	return parseCounter(file, b)
}

// routeComes waits for the default route. It returns as soon as it is there,
// or when three more advertisements went by without it.
func (a arena) routeComes() (bool, error) {
	from, err := a.count()
	for end := time.Now().Add(10 * time.Second); err == nil && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		var now int64
		if now, err = a.count(); err != nil {
			break
		}
		there, rerr := a.route()
		if rerr != nil || there || now >= from+3 {
			return there, rerr
		}
	}
	if err == nil {
		err = fmt.Errorf("radvd's advertisements do not arrive")
	}
	return false, err
}

// clean makes h0 a host again, without anything from advertisements.
func (a arena) clean() error {
	for _, key := range []string{"all/forwarding", "h0/accept_ra"} {
		if err := a.set(key, "0"); err != nil {
			return err
		}
	}
	a.run("ip", "-6", "route", "flush", "dev", "h0", "proto", "ra") // fails when there is none
	_, err := a.run("ip", "-6", "address", "flush", "dev", "h0", "scope", "global")
	return err
}

// tableRow is one setting of the two parameters, and what became of it.
type tableRow struct {
	acceptRA, forwarding, first string
	route, address              bool
}

// want is the kernel's rule: advertisements are taken by a host that does not
// forward and has accept_ra not 0, and with accept_ra 2 always
// (Documentation/networking/ip-sysctl.rst; ipv6_accept_ra in include/net/ipv6.h).
// Which was set first makes no difference.
func (r tableRow) want() bool {
	return r.acceptRA != "0" && (r.forwarding == "0" || r.acceptRA == "2")
}

// table tries every combination, in both orders.
func (a arena) table(each func(tableRow)) error {
	for _, ra := range []string{"0", "1", "2", "3"} {
		for _, fwd := range []string{"0", "1", "2"} {
			for _, first := range []string{"accept_ra", "forwarding"} {
				r := tableRow{acceptRA: ra, forwarding: fwd, first: first}
				if err := a.try(&r); err != nil {
					return fmt.Errorf("accept_ra %s, forwarding %s, %s first: %w", ra, fwd, first, err)
				}
				each(r)
			}
		}
	}
	return nil
}

func (a arena) try(r *tableRow) error {
	if err := a.clean(); err != nil {
		return err
	}
	keys := [][2]string{{"h0/accept_ra", r.acceptRA}, {"h0/forwarding", r.forwarding}}
	if r.first == "forwarding" {
		keys[0], keys[1] = keys[1], keys[0]
	}
	for _, k := range keys {
		if err := a.set(k[0], k[1]); err != nil {
			return err
		}
	}
	var err error
	if r.route, err = a.routeComes(); err != nil {
		return err
	}
	r.address, err = a.address()
	return err
}
