package redact

import (
	"net/netip"
	"strings"
)

// knownHosts keeps of ssh's known_hosts (sshd(8)) how many hosts there are,
// and whether their names are hashed. Keys tell who a host is: they go.
func (r *Redactor) knownHosts(s string) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		f := strings.Fields(line)
		mark := ""
		if len(f) > 0 && strings.HasPrefix(f[0], "@") {
			mark, f = f[0]+" ", f[1:]
		}
		switch {
		case len(f) < 3 || f[0][0] == '#':
		case strings.HasPrefix(f[0], "|"):
			b.WriteString(mark + "|1|x|x " + r.Text(f[1]) + " " + Dropped)
		default:
			b.WriteString(mark + r.knownNames(f[0]) + " " + r.Text(f[1]) + " " + Dropped)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// knownNames redacts the first field of a line of known_hosts (sshd(8)): patterns of names and addresses, with
// commas between them. A name is one here though each of its words may be an everyday one.
func (r *Redactor) knownNames(list string) string {
	names := strings.Split(list, ",")
	for i, n := range names {
		at := strings.IndexFunc(n, func(c rune) bool { return !strings.ContainsRune("*?![.", c) })
		name, port, _ := strings.Cut(n[max(0, at):], "]")
		if _, err := netip.ParseAddr(name); err == nil || at < 0 {
			names[i] = r.Text(n)
			continue
		}
		names[i] = n[:at] + r.Host(name)
		if strings.HasPrefix(n, "[") {
			names[i] += "]" + port
		}
	}
	return strings.Join(names, ",")
}

// ownSockets keeps of /proc/net/udp the lines of sockets that are bound to the
// loopback or the wildcard, without whom they talk to.
func ownSockets(s string) string {
	var b strings.Builder
	for i, line := range strings.Split(s, "\n") {
		f := strings.Fields(line)
		if i == 0 {
			b.WriteString("  sl  local_address\n")
			continue
		}
		if len(f) < 2 {
			continue
		}
		addr, port, ok := strings.Cut(f[1], ":")
		// As the kernel writes them: words of four bytes, the last byte first.
		own := strings.Trim(addr, "0") == "" || len(addr) == 8 && strings.HasSuffix(addr, "7F") || addr == "00000000000000000000000001000000"
		if ok && own && len(port) == 4 && isHex(addr+port) {
			b.WriteString(f[0] + " " + addr + ":" + port + "\n")
		}
	}
	return b.String()
}
