package cause

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"
)

// TestAsk: a name server that answers, one that refuses the name, one that is
// silent, an alias, one in trouble, and one whose answer is to another question.
func TestAsk(t *testing.T) {
	serve := func(h dns.HandlerFunc) netip.AddrPort {
		pc, err := net.ListenPacket("udp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { pc.Close() })
		go dns.ActivateAndServe(nil, pc, h)
		return pc.LocalAddr().(*net.UDPAddr).AddrPort()
	}
	named := serve(func(w dns.ResponseWriter, m *dns.Msg) {
		r := new(dns.Msg)
		r.SetReply(m)
		rr, _ := dns.NewRR(m.Question[0].Name + " 60 IN PTR web1.example.org.")
		r.Answer = []dns.RR{rr}
		w.WriteMsg(r)
	})
	none := serve(func(w dns.ResponseWriter, m *dns.Msg) { w.WriteMsg(new(dns.Msg).SetRcode(m, dns.RcodeNameError)) })
	silent := serve(func(dns.ResponseWriter, *dns.Msg) {})
	alias := serve(func(w dns.ResponseWriter, m *dns.Msg) {
		r := new(dns.Msg)
		r.SetReply(m)
		q := m.Question[0].Name
		to, _ := dns.NewRR(q + " 60 IN CNAME 7.0-15." + q)
		ptr, _ := dns.NewRR("7.0-15." + q + " 60 IN PTR web2.example.org.")
		r.Answer = []dns.RR{to, ptr}
		w.WriteMsg(r)
	})
	ailing := serve(func(w dns.ResponseWriter, m *dns.Msg) { w.WriteMsg(new(dns.Msg).SetRcode(m, dns.RcodeServerFailure)) })
	stranger := serve(func(w dns.ResponseWriter, m *dns.Msg) {
		r := new(dns.Msg)
		r.SetRcode(m, dns.RcodeNameError)
		r.Id++
		w.WriteMsg(r)
	})
	r := Resolvers{Servers: []netip.AddrPort{silent, stranger, named, none, alias, ailing}, Timeout: time.Second, Attempts: 1}
	got := r.Ask(context.Background(), netip.MustParseAddr("192.0.2.7"))
	for i, want := range []string{"no answer in ", "no answer in ", "NOERROR, web1.example.org. after 0.", "NXDOMAIN after 0.",
		"NOERROR, web2.example.org. after 0.", "SERVFAIL after 0."} {
		if !strings.Contains(got[i].String(), want) {
			t.Errorf("%s, want %s", got[i], want)
		}
	}
}

// TestReverse compares names of addresses with those of a DNS library.
func TestReverse(t *testing.T) {
	for _, a := range []string{"192.0.2.7", "10.0.0.255", "2001:db8::7", "fe80::1234:5678:9abc:def0", "::ffff:192.0.2.9"} {
		want, err := dns.ReverseAddr(a)
		if got := reverse(netip.MustParseAddr(a)); err != nil || got != want {
			t.Errorf("%s: %s, want %s (%v)", a, got, want, err)
		}
	}
}
