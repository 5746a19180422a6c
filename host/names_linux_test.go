package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"

	"fettle/internal/means"
)

// resolvedBy has the resolver ask this server on the loopback alone.
func resolvedBy(t *testing.T, answer func(query []byte) []byte) {
	t.Helper()
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	was := resolver
	t.Cleanup(func() { resolver = was; c.Close() })
	resolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "udp", c.LocalAddr().String())
	}}
	go func() {
		b := make([]byte, 4096)
		for {
			n, from, err := c.ReadFrom(b)
			if err != nil {
				return
			}
			if out := answer(b[:n]); out != nil {
				c.WriteTo(out, from)
			}
		}
	}()
}

// replied packs an answer to a query.
func replied(query []byte, rcode int, records ...string) []byte {
	var q, m dns.Msg
	if q.Unpack(query) != nil {
		return nil
	}
	m.SetRcode(&q, rcode)
	m.RecursionAvailable = true
	for _, r := range records {
		rr, err := dns.NewRR(r)
		if err != nil {
			panic(err)
		}
		if rr.Header().Rrtype == q.Question[0].Qtype {
			m.Answer = append(m.Answer, rr)
		}
	}
	out, err := m.Pack()
	if err != nil {
		panic(err)
	}
	return out
}

func TestNames(t *testing.T) {
	srv := []string{
		"_pgpkey-https._tcp.example.org. 60 IN SRV 20 1 443 second.example.org.",
		"_pgpkey-https._tcp.example.org. 60 IN SRV 10 1 8443 keys.example.org.",
	}
	for _, tt := range []struct {
		name   string
		table  Table
		answer func([]byte) []byte
		want   string // of the JSON, or of the error
		is     error
	}{
		{"services", ServiceTable("_pgpkey-https._tcp.example.org"), func(q []byte) []byte { return replied(q, dns.RcodeSuccess, srv...) },
			`{"services":[{"target":"keys.example.org","port":8443},{"target":"second.example.org","port":443}]}`, nil},
		{"none offered", ServiceTable("_pgpkey-http._tcp.example.org"), func(q []byte) []byte {
			return replied(q, dns.RcodeSuccess, "_pgpkey-http._tcp.example.org. 60 IN SRV 0 0 0 .")
		}, `{"services":[{"target":"","port":0}]}`, nil},
		{"address", AddressTable("keys.example.org"), func(q []byte) []byte {
			return replied(q, dns.RcodeSuccess, "keys.example.org. 60 IN A 192.0.2.7")
		}, `{"addresses":["192.0.2.7"]}`, nil},
		{"no such name", AddressTable("subkeys.example.org"), func(q []byte) []byte { return replied(q, dns.RcodeNameError) },
			`{"absent":true}`, nil},
		{"nothing of this kind", ServiceTable("_x._tcp.example.org"), func(q []byte) []byte { return replied(q, dns.RcodeSuccess) },
			`{"absent":true}`, nil},
		{"cannot say", AddressTable("keys.example.org"), func(q []byte) []byte { return replied(q, dns.RcodeServerFailure) },
			"server misbehaving", nil},
		{"refuses", ServiceTable("_x._tcp.example.org"), func(q []byte) []byte { return replied(q, dns.RcodeRefused) },
			"server misbehaving", nil},
		{"never answers", AddressTable("keys.example.org"), func([]byte) []byte { return nil }, "no DNS server answered", ErrTimeout},
		{"answers something else", AddressTable("keys.example.org"), func(q []byte) []byte {
			b := replied(q, dns.RcodeSuccess, "keys.example.org. 60 IN A 192.0.2.7")
			b[0]++ // the number of another question
			return b
		}, "no DNS server answered", ErrTimeout},
		{"lies about a record's length", ServiceTable("_pgpkey-https._tcp.example.org"), func(q []byte) []byte {
			b := replied(q, dns.RcodeSuccess, srv[0])
			i := strings.LastIndex(string(b), "\x00\x00\x00<") // TTL, then the length
			b[i+4], b[i+5] = 0xff, 0xff
			return b
		}, `{"services":[{"target":"second.example.org","port":443}]}`, nil}, // what the record holds counts
		{"lies about the number of records", ServiceTable("_pgpkey-https._tcp.example.org"), func(q []byte) []byte {
			b := replied(q, dns.RcodeSuccess, srv[0])
			b[6], b[7] = 0xff, 0xff
			return b
		}, "cannot unmarshal DNS message", nil},
		{"names that point at themselves", ServiceTable("_pgpkey-https._tcp.example.org"), func(q []byte) []byte {
			b := replied(q, dns.RcodeSuccess, srv[0])
			return append(b[:len(b)-len("\x06second\x07example\x03org\x00")], 0xc0, byte(len(b)-len("\x06second\x07example\x03org\x00")))
		}, "cannot unmarshal DNS message", nil},
		{"a name that is none", AddressTable(strings.Repeat("a.", 100) + "b c"), func(q []byte) []byte { return nil }, "absent", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			resolvedBy(t, tt.answer)
			limit := means.Patience
			if errors.Is(tt.is, ErrTimeout) {
				limit = 2 * time.Second
			}
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			name, services, ok := tt.table.DNS()
			if !ok || !tt.table.Talks() {
				t.Fatalf("%q is no question", tt.table)
			}
			b, err := readNames(ctx, name, services)
			got := string(b)
			if err != nil {
				got = err.Error()
			}
			if !strings.Contains(got, tt.want) || tt.is != nil && !errors.Is(err, tt.is) {
				t.Errorf("%s, want %s", got, tt.want)
			}
		})
	}
}

// TestManyNames: of an answer without an end some are kept.
func TestManyNames(t *testing.T) {
	var records []string
	for i := range 60 {
		records = append(records, fmt.Sprintf("k. 60 IN A 192.0.2.%d", i))
	}
	resolvedBy(t, func(q []byte) []byte { return replied(q, dns.RcodeSuccess, records...) })
	b, err := readNames(t.Context(), "k", false)
	var n Names
	if err := errors.Join(err, json.Unmarshal(b, &n)); err != nil || len(n.Addresses) != maxNames {
		t.Errorf("%v, %d addresses", err, len(n.Addresses))
	}
}
