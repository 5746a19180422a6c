package cause

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/miekg/dns"

	"fettle/conf/nameservice"
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

// Answer is what one name server said of an address's name.
type Answer struct {
	Server netip.AddrPort
	Took   time.Duration
	Said   string // "NOERROR, host.example.com.", "NXDOMAIN", or why there is none
	Silent bool
}

func (a Answer) String() string {
	if a.Silent {
		return fmt.Sprintf("name server %s: no answer in %.1f s", a.Server.Addr(), a.Took.Seconds())
	}
	return fmt.Sprintf("name server %s: %s after %.2f s", a.Server.Addr(), a.Said, a.Took.Seconds())
}

// Ask asks each name server for the name of addr, all at once, waiting for each
// as long as glibc does.
func (r Resolvers) Ask(ctx context.Context, addr netip.Addr) []Answer {
	rev, err := dns.ReverseAddr(addr.WithZone("").String())
	if err != nil {
		return nil
	}
	out := make([]Answer, len(r.Servers))
	var wg sync.WaitGroup
	for i, s := range r.Servers {
		wg.Add(1)
		go func() {
			defer wg.Done()
			out[i] = ask(ctx, s, rev, r.Wait(i))
		}()
	}
	wg.Wait()
	return out
}

func ask(ctx context.Context, server netip.AddrPort, rev string, limit time.Duration) Answer {
	m := new(dns.Msg)
	m.SetQuestion(rev, dns.TypePTR)
	start := time.Now()
	in, _, err := (&dns.Client{Timeout: limit}).ExchangeContext(ctx, m, server.String())
	a := Answer{Server: server, Took: time.Since(start)}
	var ne net.Error
	switch {
	case errors.As(err, &ne) && ne.Timeout():
		a.Silent = true
	case err != nil:
		a.Said = err.Error()
	default:
		a.Said = dns.RcodeToString[in.Rcode]
		for _, rr := range in.Answer {
			if p, ok := rr.(*dns.PTR); ok {
				a.Said += ", " + p.Ptr
				break
			}
		}
	}
	return a
}
