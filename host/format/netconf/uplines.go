package netconf

import (
	"path"
	"strconv"
	"strings"

	"fettle/host/format/sysctlconf"
)

// upLine finds in a command that ifupdown runs what it does to MTUs and IPv6
// sysctls: "ip link set dev X mtu N", "ifconfig X mtu N", "sysctl -w KEY=V",
// "echo V > /proc/sys/KEY". Anything cleverer is not understood and says nothing.
func (r *reader) upLine(p *profile, iface string, o option) {
	for _, cmd := range splitCommands(o.value) {
		words := strings.Fields(strings.NewReplacer("$IFACE", iface, "${IFACE}", iface, "%i", iface, `"`, "", `'`, "").Replace(cmd))
		if len(words) == 0 {
			continue
		}
		text := o.name + " " + o.value
		switch path.Base(words[0]) {
		case "ip", "ifconfig":
			dev, mtu := mtuCommand(words)
			if dev == "" {
				continue
			}
			q := p
			if dev != iface {
				q = r.add(&profile{manager: Ifupdown, name: dev, match: named(dev), src: o.Source, weak: true})
			}
			q.say(o.Source, KeyMTU, mtu, text)
			q.st[len(q.st)-1].Phase = o.name
		case "sysctl":
			for _, w := range words[1:] {
				if k, v, ok := strings.Cut(w, "="); ok && k != "" && !strings.HasPrefix(w, "-") {
					r.sysctl(p, o, k, v, text)
				}
			}
		case "echo", "printf":
			if i := strings.LastIndex(cmd, ">"); i > 0 && len(words) > 2 {
				to := strings.Fields(strings.NewReplacer("$IFACE", iface, "${IFACE}", iface, `"`, "", `'`, "").Replace(cmd[i+1:]))
				if len(to) == 1 && strings.HasPrefix(to[0], "/proc/sys/") {
					r.sysctl(p, o, strings.TrimPrefix(path.Clean(to[0]), "/proc/sys/"), words[1], text)
				}
			}
		}
	}
}

func (r *reader) sysctl(p *profile, o option, key, value, text string) {
	p.say(o.Source, KeySysctl, sysctlconf.Normalize(key)+"="+strings.TrimSpace(value), text)
	p.st[len(p.st)-1].Phase = o.name
}

// mtuCommand reads "ip [-opts] link set [dev] X … mtu N" and "ifconfig X … mtu N".
func mtuCommand(words []string) (dev, mtu string) {
	args := words[1:]
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		args = args[1:]
	}
	if path.Base(words[0]) == "ip" {
		if len(args) < 2 || !(args[0] == "link" || args[0] == "l") || !strings.HasPrefix("set", args[1]) {
			return "", ""
		}
		args = args[2:]
		if len(args) > 1 && args[0] == "dev" {
			args = args[1:]
		}
	}
	if len(args) == 0 {
		return "", ""
	}
	for i := 1; i+1 < len(args); i++ {
		if args[i] == "mtu" {
			if n, err := strconv.ParseUint(args[i+1], 10, 31); err == nil {
				return args[0], strconv.FormatUint(n, 10)
			}
		}
	}
	return "", ""
}

// splitCommands splits a shell line at ; && || where no quotes are open.
func splitCommands(s string) []string {
	var out []string
	quote, start := byte(0), 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case c == ';' || c == '&' || c == '|':
			out = append(out, s[start:i])
			start = i + 1
		}
	}
	return append(out, s[start:])
}
