package sshslowlogin

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/format/nameservice"
	"fettle/internal/units"
)

// reverse reports of the lookup of the client's name.
func (f *facts) reverse(ctx context.Context, r *trap.Report) {
	ev, err := f.on("usedns", "UseDNS")
	if err != nil {
		r.Unknown(reverseDNS, err)
		return
	}
	if f.resolverErr != nil {
		r.Unknown(reverseDNS, f.resolverErr, ev...)
		return
	}
	who := "sshd (UseDNS yes)"
	if len(ev) == 0 {
		wrapped, err := f.wrappers(ctx)
		switch {
		case err != nil:
			r.Unknown(reverseDNS, err)
			return
		case len(wrapped) == 0:
			s := f.eff.Get("usedns")
			r.Clear(reverseDNS, "sshd does not look up the client's name", trap.Ev(s.Place.String(), "UseDNS %s", s.Value()))
			return
		}
		ev, who = wrapped, "tcp wrappers, which sshd of this distribution asks,"
	}
	asked, sev, dead, err := f.asked(ctx)
	ev = append(ev, sev...)
	if asked == 0 {
		err = f.swErr
	}
	switch {
	case err != nil:
		r.Unknown(reverseDNS, err, ev...)
		return
	case asked == 0 && f.dnsOnly():
		r.Clear(reverseDNS, "names of clients are looked up, and every resolver refuses immediately: nothing waits", ev...)
		return
	}
	wait := f.resolver.Wait(max(asked, 1))
	f2 := trap.Finding{Subject: reverseDNS, Severity: trap.Notice, Evidence: ev,
		Summary: "each login waits for a lookup of the client's name",
		Detail: trap.Lines(
			fmt.Sprintf(
				"The lookup is made by %s. Resolvers that do not answer cost %s per lookup (%s, %s, %s), and a login needs one or two. %s",
				who,
				wait,
				"timeout "+f.resolver.Timeout.String(),
				units.Count(f.resolver.Attempts, "attempt", "attempts"),
				units.Count(asked, "server", "servers"),
				measure,
			),
		)}
	if grace := f.grace(); grace > 0 && wait >= grace {
		f2.Severity = trap.Warning
		f2.Summary = "if resolvers do not answer, looking up the client's name exceeds LoginGraceTime: all logins fail"
	}
	if dead > 0 {
		f2.Detail = f2.Detail.Also(units.Count(dead, "server", "servers") + " on this host itself refuse immediately and cost nothing.")
	}
	if strings.HasPrefix(who, "tcp") {
		f2.ByHand = "use addresses instead of names in hosts.allow and hosts.deny"
	} else if why := f.needsNames(); why != "" {
		f2.ByHand = why
	}
	r.Found(f2)
}

// dnsOnly tells whether names are looked up in files and DNS only, so that
// nothing waits where all servers refuse.
func (f *facts) dnsOnly() bool {
	return !slices.ContainsFunc(
		f.sw.Sources("hosts"),
		func(s nameservice.Source) bool { return s.Name != "files" && s.Name != "dns" && s.Name != "myhostname" },
	)
}

func (f *facts) grace() time.Duration {
	var n int
	if s := f.eff.Get("logingracetime"); s.Known {
		fmt.Sscan(s.Value(), &n)
	}
	return time.Duration(n) * time.Second
}

// asked counts the servers of resolv.conf that may keep a question waiting.
// One on the host itself on which nothing listens refuses immediately
// (ECONNREFUSED), and glibc goes on: measured with glibc 2.36, under 5 ms. The error is
// why none of them may.
func (f *facts) asked(ctx context.Context) (n int, ev []trap.Evidence, dead int, unsure error) {
	listening, err := f.udp53(ctx)
	if !errors.Is(err, host.ErrNotRunning) {
		unsure = err
	}
	for _, s := range f.resolver.Servers {
		src := fmt.Sprintf("%s:%d", nameservice.ResolvFile, s.Line)
		if s.Loopback() && err == nil && !listening(s.Addr) {
			dead++
			ev = append(ev, trap.Ev(src, "nameserver %s, where nothing listens", s.Addr))
			continue
		}
		if n++; !s.Loopback() {
			unsure = nil
		}
		ev = append(ev, trap.Ev(src, "nameserver %s", s.Addr))
	}
	if len(f.resolver.Servers) == 0 {
		if err == nil && !listening("127.0.0.1") {
			return 0, append(ev, trap.Ev(nameservice.ResolvFile, "no nameserver, and nothing listens on 127.0.0.1")), 0, nil
		}
		return 1, append(ev, trap.Ev(nameservice.ResolvFile, "no nameserver: 127.0.0.1")), 0, unsure
	}
	return n, ev, dead, unsure
}

// udp53 tells which addresses of the host take UDP on port 53, from
// /proc/net/udp (proc(5)): local address in host byte order, in hexadecimal.
func (f *facts) udp53(ctx context.Context) (func(string) bool, error) {
	if !f.h.Running() {
		return nil, host.ErrNotRunning
	}
	var open []netip.Addr
	for _, name := range []string{"/proc/net/udp", "/proc/net/udp6"} {
		b, err := f.h.ReadFile(ctx, name)
		if host.IsAbsent(err) && name == "/proc/net/udp6" {
			continue // a kernel without IPv6
		}
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(string(b)) {
			fs := strings.Fields(line)
			if len(fs) < 2 {
				continue
			}
			addr, port, _ := strings.Cut(fs[1], ":")
			if a, ok := kernelAddr(addr); ok && port == "0035" {
				open = append(open, a)
			}
		}
	}
	return func(addr string) bool {
		a, err := netip.ParseAddr(addr)
		return err != nil || slices.ContainsFunc(open, func(o netip.Addr) bool {
			return o == a.Unmap() || o.IsUnspecified() && (o.Is6() || a.Unmap().Is4())
		})
	}, nil
}

// kernelAddr reads an address of /proc/net/udp: words of four bytes, little
// end first on all machines that fettle runs on.
func kernelAddr(s string) (netip.Addr, bool) {
	b, err := hex.DecodeString(s)
	if err != nil || len(b)%4 != 0 {
		return netip.Addr{}, false
	}
	for i := 0; i < len(b); i += 4 {
		slices.Reverse(b[i : i+4])
	}
	a, ok := netip.AddrFromSlice(b)
	return a.Unmap(), ok
}

// wrappers lists rules of tcp wrappers by which sshd looks up names whatever
// UseDNS says: hosts_access(5). Debian's sshd is linked with libwrap (to
// Debian 12 at least), Red Hat's was until RHEL 7.
func (f *facts) wrappers(ctx context.Context) ([]trap.Evidence, error) {
	v := f.sshd.Server
	linked := strings.HasPrefix(v, "openssh-server 1:") || strings.Contains(v, ".el6") || strings.Contains(v, ".el7")
	if !linked && v != "" {
		return nil, nil
	}
	var ev []trap.Evidence
	for _, name := range []string{"/etc/hosts.allow", "/etc/hosts.deny"} {
		b, err := f.h.ReadFile(ctx, name)
		if host.IsAbsent(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		n := 0
		for line := range strings.Lines(string(b)) {
			n++
			if w := wrapperNames(line); w != "" {
				ev = append(ev, trap.Ev(fmt.Sprintf("%s:%d", name, n), "%s", strings.TrimSpace(line)))
			}
		}
	}
	if !linked && len(ev) > 0 {
		return nil, fmt.Errorf(
			"%s contains names, and whether this sshd uses tcp wrappers is not known: %s",
			ev[0].Source,
			host.Reason(f.sshd.VersionErr),
		)
	}
	return ev, nil
}

// wrapperNames is the first pattern of a rule for sshd that needs the client's
// name: one that begins or ends with letters, and KNOWN, UNKNOWN, PARANOID.
func wrapperNames(line string) string {
	line = strings.TrimSpace(line)
	if line == "" || line[0] == '#' {
		return ""
	}
	daemons, rest, ok := strings.Cut(line, ":")
	sep := func(r rune) bool { return r == ' ' || r == '\t' || r == ',' }
	if !ok || !slices.ContainsFunc(strings.FieldsFunc(daemons, sep), func(d string) bool {
		return d == "ALL" || d == "sshd" || strings.HasPrefix(d, "sshd@")
	}) {
		return ""
	}
	// Brackets hold IPv6 addresses; what follows the next colon is an option.
	for strings.Contains(rest, "[") && strings.Contains(rest, "]") {
		i, j := strings.IndexByte(rest, '['), strings.IndexByte(rest, ']')
		if j < i {
			break
		}
		rest = rest[:i] + rest[j+1:]
	}
	clients, _, _ := strings.Cut(rest, ":")
	for _, c := range strings.FieldsFunc(clients, sep) {
		_, c2, at := strings.Cut(c, "@")
		if at {
			c = c2
		}
		switch {
		case c == "ALL" || c == "EXCEPT" || c == "" || c[0] == '/':
		case strings.ContainsAny(c, "ghijklmnopqrstuvwxyzGHIJKLMNOPQRSTUVWXYZ") || c[0] == '.' && strings.ContainsAny(c, "abcdefABCDEF"):
			return c
		}
	}
	return ""
}

// needsNames says for what sshd needs clients' names, so that UseDNS has to stay.
func (f *facts) needsNames() string {
	for _, d := range f.sshd.Lines {
		for _, m := range d.Match {
			if m.Asks("host") {
				return fmt.Sprintf("%s: %s needs the names of clients: match addresses instead, or make the resolvers quick", m.Place, m)
			}
		}
		if d.Keyword == "allowusers" || d.Keyword == "denyusers" {
			for _, a := range d.Args {
				if _, from, ok := strings.Cut(a, "@"); ok && strings.ContainsAny(strings.ToLower(from), "ghijklmnopqrstuvwxyz") {
					return fmt.Sprintf(
						"%s: %s %s needs the names of clients: use addresses instead, or make the resolvers quick",
						d.Place,
						d.Spelling,
						a,
					)
				}
			}
		}
	}
	if ev, err := f.on("hostbasedauthentication", "HostbasedAuthentication"); err == nil && len(ev) > 0 {
		return "host-based authentication needs the names of clients: make the resolvers quick, or turn it off first"
	}
	return ""
}
