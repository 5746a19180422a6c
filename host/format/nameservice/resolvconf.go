package nameservice

import (
	"context"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"fettle/host"
)

// ResolvFile is the configuration of glibc's resolver.
const ResolvFile = "/etc/resolv.conf"

// Server is one line "nameserver".
type Server struct {
	Addr string // as written
	Line int
}

// Loopback reports whether the server is on the host itself.
func (s Server) Loopback() bool {
	a, err := netip.ParseAddr(s.Addr)
	return err == nil && a.Unmap().IsLoopback()
}

// Resolver is what resolv.conf says.
type Resolver struct {
	// Servers are those that glibc asks: the first three (MAXNS). None: it
	// asks 127.0.0.1.
	Servers  []Server
	Search   []string
	Timeout  time.Duration // option timeout, 5 s by default
	Attempts int           // option attempts, 2 by default
	Rotate   bool
	// Other are lines that glibc does not understand.
	Other []*host.SyntaxError
}

// ReadResolver reads resolv.conf of h. Without the file glibc asks 127.0.0.1.
func ReadResolver(ctx context.Context, h *host.Host) (*Resolver, error) {
	b, err := h.ReadFile(ctx, ResolvFile)
	if err != nil && !host.IsAbsent(err) {
		return nil, err
	}
	return ParseResolver(string(b)), nil
}

const maxServers = 3

// ParseResolver reads the text of a resolv.conf (glibc, resolv/res_init.c).
func ParseResolver(text string) *Resolver {
	r := &Resolver{Timeout: 5 * time.Second, Attempts: 2}
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimRight(line, "\r\n")
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		switch f[0] {
		case "nameserver":
			if len(f) < 2 || len(r.Servers) == maxServers {
				continue
			}
			if _, err := netip.ParseAddr(f[1]); err != nil {
				r.Other = append(r.Other, &host.SyntaxError{Path: ResolvFile, Line: n, Msg: "nameserver: not an address"})
				continue
			}
			r.Servers = append(r.Servers, Server{f[1], n})
		case "domain":
			r.Search = f[1:min(2, len(f))]
		case "search":
			r.Search = f[1:]
		case "options":
			for _, o := range f[1:] {
				k, v, _ := strings.Cut(o, ":")
				x, err := strconv.Atoi(v)
				switch {
				case k == "rotate":
					r.Rotate = true
				case k == "timeout" && err == nil && x >= 0:
					r.Timeout = time.Duration(min(x, 30)) * time.Second // RES_MAXRETRANS
				case k == "attempts" && err == nil && x >= 0:
					r.Attempts = min(x, 5) // RES_MAXRETRY
				}
			}
		}
	}
	return r
}

// Wait is how long one question takes of servers that never answer: n of
// them, each asked Attempts times (glibc, resolv/res_send.c, send_dg: the
// waiting doubles from server to server and is shared among them).
func (r *Resolver) Wait(n int) time.Duration {
	var round time.Duration
	for i := range n {
		secs := int(r.Timeout/time.Second) << i
		if i > 0 {
			secs /= n
		}
		round += time.Duration(max(secs, 1)) * time.Second
	}
	return round * time.Duration(r.Attempts)
}
