package cause

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

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

// Ask asks each name server for the name of addr, all concurrently, waiting for each
// as long as glibc does.
func (r Resolvers) Ask(ctx context.Context, addr netip.Addr) []Answer {
	name, err := dnsmessage.NewName(reverse(addr))
	if err != nil {
		return nil
	}
	out := make([]Answer, len(r.Servers))
	var wg sync.WaitGroup
	for i, s := range r.Servers {
		wg.Go(func() { out[i] = ask(ctx, s, name, r.Wait(i)) })
	}
	wg.Wait()
	return out
}

// reverse is the domain that holds the name of an address (RFC 1035, RFC 3596).
func reverse(addr netip.Addr) string {
	var name []byte
	b := addr.Unmap().AsSlice()
	for i := len(b) - 1; i >= 0; i-- {
		if len(b) == net.IPv4len {
			name = fmt.Appendf(name, "%d.", b[i])
		} else {
			name = fmt.Appendf(name, "%x.%x.", b[i]&15, b[i]>>4)
		}
	}
	if len(b) == net.IPv4len {
		return string(name) + "in-addr.arpa."
	}
	return string(name) + "ip6.arpa."
}

func ask(ctx context.Context, server netip.AddrPort, name dnsmessage.Name, limit time.Duration) Answer {
	start := time.Now()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	said, err := exchange(ctx, server, name)
	a := Answer{Server: server, Took: time.Since(start), Said: said}
	var ne net.Error
	switch {
	case errors.As(err, &ne) && ne.Timeout():
		a.Silent = true
	case err != nil:
		a.Said = err.Error()
	}
	return a
}

// exchange sends one question over UDP and waits for its answer.
func exchange(ctx context.Context, server netip.AddrPort, name dnsmessage.Name) (string, error) {
	id := uint16(rand.Uint32())
	question := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: id, RecursionDesired: true},
		Questions: []dnsmessage.Question{{Name: name, Type: dnsmessage.TypePTR, Class: dnsmessage.ClassINET}},
	}
	packed, err := question.Pack()
	if err != nil {
		return "", err
	}
	conn, err := new(net.Dialer).DialContext(ctx, "udp", server.String())
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if until, ok := ctx.Deadline(); ok {
		conn.SetDeadline(until)
	}
	if _, err := conn.Write(packed); err != nil {
		return "", err
	}
	buf := make([]byte, 1<<16)
	for {
		n, err := conn.Read(buf)
		if err != nil {
			return "", err
		}
		var p dnsmessage.Parser
		if h, err := p.Start(buf[:n]); err == nil && h.ID == id && h.Response {
			return answer(&p, h.RCode)
		}
	}
}

// answer is the response code and the first name of a reply.
func answer(p *dnsmessage.Parser, code dnsmessage.RCode) (string, error) {
	said, ok := codes[code]
	if !ok {
		said = fmt.Sprintf("response code %d", code)
	}
	if err := p.SkipAllQuestions(); err != nil {
		return "", err
	}
	for {
		switch h, err := p.AnswerHeader(); {
		case err == dnsmessage.ErrSectionDone:
			return said, nil
		case err != nil:
			return "", err
		case h.Type == dnsmessage.TypePTR:
			ptr, err := p.PTRResource()
			return said + ", " + ptr.PTR.String(), err
		}
		if err := p.SkipAnswer(); err != nil {
			return "", err
		}
	}
}

// codes are the names of response codes that administrators know.
var codes = map[dnsmessage.RCode]string{
	dnsmessage.RCodeSuccess:        "NOERROR",
	dnsmessage.RCodeFormatError:    "FORMERR",
	dnsmessage.RCodeServerFailure:  "SERVFAIL",
	dnsmessage.RCodeNameError:      "NXDOMAIN",
	dnsmessage.RCodeNotImplemented: "NOTIMP",
	dnsmessage.RCodeRefused:        "REFUSED",
}
