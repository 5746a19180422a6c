package cause

import (
	"net/netip"
	"time"

	"fettle/host/format/nameservice"
)

// Resolvers is resolv.conf(5) as glibc reads it.
type Resolvers struct {
	Servers  []netip.AddrPort // three at most (MAXNS)
	Timeout  time.Duration    // of one server in the first round
	Attempts int              // rounds
	Rotate   bool
}

// ParseResolvers reads resolv.conf. Lines that glibc ignores are ignored.
func ParseResolvers(text string) Resolvers {
	conf := nameservice.ParseResolver(text)
	r := Resolvers{Timeout: conf.Timeout, Attempts: conf.Attempts, Rotate: conf.Rotate}
	for _, s := range conf.Servers {
		if a, err := netip.ParseAddr(s.Addr); err == nil {
			r.Servers = append(r.Servers, netip.AddrPortFrom(a, 53))
		}
	}
	if len(r.Servers) == 0 {
		r.Servers = []netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:53")}
	}
	return r
}

// Wait is how long glibc waits for server n of its list, counted from 0, in
// every round (resolv/res_send.c, send_dg: retrans << ns, whole seconds).
func (r Resolvers) Wait(n int) time.Duration {
	d := r.Timeout << n
	if n > 0 {
		d = (d / time.Duration(len(r.Servers))).Truncate(time.Second)
	}
	return max(d, time.Second)
}

// Longest is how long a lookup of one name takes when no server answers.
func (r Resolvers) Longest() time.Duration {
	var d time.Duration
	for n := range r.Servers {
		d += r.Wait(n)
	}
	return d * time.Duration(r.Attempts)
}
