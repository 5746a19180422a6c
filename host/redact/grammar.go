package redact

import (
	"strings"

	"fettle/internal/lazy"
)

// Lines of files whose settings are known by their names: of others, nothing of the value
// is kept, also if it is an everyday word or a short number.

// ofDefaults are settings in /etc/default and /etc/sysconfig whose values say nothing of
// anybody, or that checks look at.
var ofDefaults = lazy.Regexp(`^(?:GRUB_\w+|TFTP_\w+|KSM\w*|LANG\w*|LC_\w+|TZ|UTC|START\w*|RUN\w*|ENABLE\w*|DAEMON\w*|[A-Z]*OPTIONS|` +
	`[A-Z]*OPTS\d?|\w*ARGS|\w*FLAGS|USE_\w+|HALT|FSCKFIX|TMP\w+|RAMTMP|RAMLOCK|VERBOSE|HWCLOCK\w*|DEVICE|INTERFACES\w*|` +
	`AUTOSTART|INITRDSTART|AUTOCHECK|AUTOSCAN|\w*CMDLINE\w*|BOOTPROTO|ONBOOT|TYPE|IPV6\w*|NETMASK\w*|PREFIX\w*|MTU|NM_CONTROLLED|` +
	`DEFROUTE|PEERDNS|NAME|UUID|HWADDR|MASTER|SLAVE|BRIDGE|VLAN|BONDING_OPTS|NETWORKING\w*|XKB\w+|BACKSPACE|CHARMAP|CODESET|FONT\w*|` +
	`VIDEOMODE|ACTIVE_CONSOLES|SELINUX\w*|IPADDR\w*|GATEWAY\w*|DNS\d|SYSLOGD\w*|ARP_\w+|NFSMAPID\w*|NEED_\w+|RPCNFSD\w*|RPCMOUNTD\w*|` +
	`DEFAULT_(?:INPUT|FORWARD)_POLICY)$`)

var assigned = lazy.Regexp(`^(\s*(?:export\s+)?)([A-Za-z_]\w*)(\s*\+?=\s*)(.*)$`)

var switchWord = lazy.Regexp(`(?i)^["']?(?:yes|no|true|false|on|off|none|auto|\d|)["']?$`)

// defaultLine redacts a line of variables for the shell.
func (r *Redactor) defaultLine(name, line string) string {
	m := assigned().FindStringSubmatch(withoutComment(line))
	if m == nil || ofDefaults().MatchString(m[2]) || switchWord().MatchString(m[4]) || strings.Trim(m[4], `"'`) == Dropped {
		return r.setting(name, line)
	}
	return m[1] + r.free(m[2]) + m[3] + eachWord(m[4], r.private)
}

// private is argument, without short numbers.
func (r *Redactor) private(w string) string {
	if bare := strings.Trim(w, `"'`); bare != "" && strings.Trim(bare, "0123456789") == "" {
		return r.opaque(w)
	}
	return r.argument(w)
}

// ofInterfaces are the options of interfaces(5) that say nothing of anybody, or are read as
// settings elsewhere.
var ofInterfaces = lazy.Regexp(`^(?:auto|allow-\S+|no-\S+|iface|inherits|source(?:-directory)?|mapping|map|script|rename|template|` +
	`address|netmask|broadcast|gateway|dns-\S+|mtu|metric|hwaddress|(?:pre-|post-)?(?:up|down)|bridge[_-]\S+|bond[_-]\S+|slaves|` +
	`vlan\S*|autoconf|accept_ra|privext|scope|pointopoint|media|method|dhcp|ethernet-\S+|link-\S+|ovs_\S+|vids|pvid|dad-\S+|` +
	`preferred-lifetime|request_prefix|ll-attempts|ttl|mode|local|endpoint|remote|tunnel-\S+|vxlan-\S+|hostname|client|` +
	`provider|unit|options|frame|netnum|leasetime|leasehours|vendor|wpa-\S+|wireless\S*|network)$`)

func (r *Redactor) interfacesLine(name, line string) string {
	line = withoutComment(line)
	f := strings.Fields(line)
	if len(f) < 2 || ofInterfaces().MatchString(f[0]) {
		return r.setting(name, line)
	}
	at := strings.Index(line, f[0]) + len(f[0])
	return r.free(line[:at]) + eachWord(line[at:], r.argument)
}

var (
	jsonString = lazy.Regexp(`("(?:\\.|[^"\\])*")(\s*:)?`)
	jsonWord   = lazy.Regexp(`^"(?:\d{1,6}(?:[.\d]*)?[kmgKMG]?[bB]?|true|false|json-file|local|journald|syslog|none|gelf|fluentd|` +
		`awslogs|splunk|` +
		`overlay2?|btrfs|zfs|vfs|aufs|devicemapper|fuse-overlayfs|systemd|cgroupfs|native\.\w+=\w+|runc|nftables|iptables|info|debug|warn|error|fatal|` +
		`non-blocking|blocking|host|private|default|[\d.:/a-fA-F]*[.:/][\d.:/a-fA-F]*)"$`)
)

// jsonLines redacts JSON: the outermost keys are settings, those below may be names.
func (r *Redactor) jsonLines() func(string) string {
	deep := 0
	return func(line string) string { return r.jsonLine(line, &deep) }
}

// ofJSON are settings below others in docker's daemon.json.
var ofJSON = lazy.Regexp(`^"(?:path|runtimeArgs|runtimeType|options|max-\S+|compress|labels\S*|env\S*|tag|mode|https?-proxy|no-proxy|` +
	`base|size|scope|[Nn]ame|[Hh]ard|[Ss]oft|nofile|memlock|nproc|core|default\S*|gc|enabled|builder|containerd-\S+|buildkit|` +
	`(?:gelf|splunk|syslog|fluentd|awslogs)-\S+|dns\S*|mtu|driver|bridge|com\.docker\.\S+)"$`)

// jsonLine redacts the strings of a line of JSON: keys by their words, of values what is known.
func (r *Redactor) jsonLine(line string, deep *int) string {
	var b strings.Builder
	at := 0
	for _, m := range jsonString().FindAllStringSubmatchIndex(line, -1) {
		between := line[at:m[0]]
		*deep += strings.Count(between, "{") - strings.Count(between, "}")
		b.WriteString(r.free(between))
		s, colon := line[m[2]:m[3]], line[m[3]:m[1]]
		switch {
		case colon != "" && *deep > 1 && !ofJSON().MatchString(s):
			b.WriteString(r.opaque(s))
		case colon != "", jsonWord().MatchString(s):
			b.WriteString(r.free(s))
		default:
			b.WriteString(eachWord(s, r.argument))
		}
		b.WriteString(colon)
		at = m[1]
	}
	*deep += strings.Count(line[at:], "{") - strings.Count(line[at:], "}")
	return b.String() + r.free(line[at:])
}

var serialWord = lazy.Regexp(`^(?:NONE|EVEN|ODD|MARK|SPACE|\dSTOPBITS?|\dDATABITS|-?[A-Z]+|remctl|banner|\d+|nobreak|local|on|off|raw|` +
	`rawlp|telnet|` +
	`rotator|max-connections=\d+)$`)

// portLine redacts a line of ser2net.conf(8): behind a port's speed stand names of banners.
func (r *Redactor) portLine(name, line string) string {
	line = withoutComment(line)
	for _, own := range []string{"BANNER:", "SIGNATURE:", "OPENSTR:", "CLOSESTR:", "TRACEFILE:", "DEFAULT:"} {
		if rest, ok := strings.CutPrefix(line, own); ok {
			return own + r.opaque(rest)
		}
	}
	if strings.Count(line, ":") < 4 || !strings.Contains(line, "/dev/") || strings.HasPrefix(strings.TrimSpace(line), "conn") {
		return r.setting(name, line)
	}
	return eachField(line, func(i int, w string) string {
		if i == 0 || serialWord().MatchString(w) {
			return r.free(w)
		}
		return r.opaque(w)
	})
}

// monitorLine redacts a line of apcupsd.conf: a device that is no path is a host with what opens it.
func (r *Redactor) monitorLine(name, line string) string {
	line = withoutComment(line)
	if f := strings.Fields(line); len(f) == 2 && f[0] == "DEVICE" && !strings.HasPrefix(f[1], "/") {
		at := strings.Index(line, f[1])
		return r.free(line[:at]) + r.opaque(f[1])
	}
	return r.setting(name, line)
}

// sourceLine redacts a line of apt's sources: of the path on somebody's own mirror, the
// usual words stay.
func (r *Redactor) sourceLine(name, line string) string {
	return each(ownMirror(), r.setting(name, line), func(m []string) string {
		if r.isPublic(m[2]) {
			return m[0]
		}
		parts := strings.Split(m[3], "/")
		for i, p := range parts {
			if _, done := r.replaced[p]; !done && !mirrored[p] {
				parts[i] = r.opaque(p)
			}
		}
		return m[1] + m[2] + strings.Join(parts, "/")
	})
}

var (
	ownMirror = lazy.Regexp(`(\w://(?:[^\s/@]*@)?)([\w.:-]+)(/[^\s\]]*)`)
	mirrored  = set(`debian debian-security ubuntu debian-archive debian-backports debian-multimedia security dists pool main apt deb repo packages pub
		mirror mirrors ubuntu-ports repos archive.ubuntu.com linux stable bookworm bullseye buster trixie jammy noble focal`)
)
