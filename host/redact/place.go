package redact

import (
	"net/netip"
	"path"
	"strings"
	"sync"

	"fettle/internal/lazy"
)

// Of a setting, its name tells what may be in its value. A value is kept, as far as its
// words are known, where the name is one that fettle knows; of others nothing is.

// The sorts of settings, by name. Dashes and underscores are left out of names before.
var (
	takesCommand = lazy.Regexp(`(?i)^(?:exec(?:start|stop|reload|condition)(?:pre|post|ex|preex|postex)?|up|down|preup|` +
		`postup|predown|postdown|forcecommand|` +
		`proxycommand|remotecommand|localcommand|authorizedkeyscommand|authorizedprincipalscommand|knownhostscommand|` +
		`command|program|systemd\.run|notifycmd|` +
		`shutdowncmd|serverargs|run|install|remove|spawn|twist|kernel\.corepattern|\w*opts|\w*options|\w*args|\w*flags|` +
		`postinvoke|preinvoke)$`)
	takesUser = lazy.Regexp(`(?i)^(?:[a-z]*user|[a-z]*username|login|owner|identity|anonymousidentity|(?:[a-z]*sasl|` +
		`bind)[a-z]*(?:user|id|dn)|authcid|authzid|binddn|` +
		`remoteuser|mailfrom|mailto|mailaddr|mail|acct|ruser|auser|customer|admin|superuser|secname|xauthid|loginname|account|` +
		`simple(?:allow|deny)(?:users|groups)|supplementarygroups|socket(?:user|group)|rootbinddn)$`)
	takesHost = lazy.Regexp(`(?i)^(?:(?:[a-z]*dhcp|node|ad|ipa|condition|assert|kernel\.|systemd\.|get)?host(?:name|addr|id)?|fqdn(?:\.fqdn)?|` +
		`server|[a-z0-9]+server|\$?[a-z]*permittedpeer|ntp|fallbackntp|domain(?:name)?|kernel\.domainname|search|peer|` +
		`remote|endpoint|node|realm|defaultrealm|workgroup|netbiosname|relayhost|homehost|dhcphost|hostrecord|cname|` +
		`ptrrecord|srvhost|rhost|helo|nodename|` +
		`client|lookup|target|gateway|dns|relay|upsname|dnssearch|txtrecord|addresses?)$`)
	takesAnything = lazy.Regexp(`(?i)^(?:setenv|cluster\.name|node\.name|description|desc|title|comment|contact|` +
		`location|room|labels?|statustext|note|` +
		`banner|provider|ssid|w?wpassid|wpassid|essid|apn|` +
		`wirelessessid|permissions|vendorclassidentifier|userclass|clientid(?:entifier)?|dhcpclient(?:id|identifier)|number|` +
		`simid|serial(?:number|no)?|assettag|` +
		`statusline|[a-z]*prompt|versionaddendum|mappings|devicename|devname|manufacturer|model(?:name|number)|call|syslogidentifier|tag|openvpn|duidrawdata|phone|fixedaddress)$`)
)

// pair is a setting within a line: user=x, "key": "value".
var pair = lazy.Regexp(`([A-Za-z_][\w.-]{0,80}(?:\{[\w./-]{1,80}\})?)("?\s{0,3}(?:[+!:-]?==?|=>|:\s)\s{0,3})("[^"]*"?|` +
	`'[^']*'?|[^\s,;"'(){}\[\]]+)`)

// keyed is a line that sets something: its indent, name, sign and value.
var keyed = lazy.Regexp(`^(\s*(?:(?:export|set|send|option|` +
	`supersede)\s+)?(?:-\s+)?"?)([A-Za-z_$][\w./@-]{0,100}(?:\{\w+\})?)("?\s*(?:[+:!]?={1,2}\s*|:(?:\s+|["']))|\s+)(\S.*)$`)

// setting redacts a line of configuration.
func (r *Redactor) setting(file, line string) string {
	if plain := withoutComment(line); plain != line && strings.Contains(file, "sysctl") {
		return r.setting(file, plain) + " # comment" // the kernel may take it for a part of the value: it is not lost
	}
	line = withoutComment(line)
	m := keyed().FindStringSubmatch(line)
	if m == nil {
		if goesOnQuoted().MatchString(line) {
			return r.opaque(line)
		}
		return r.pairs(line)
	}
	lead, key, sign, value := m[1], m[2], m[3], m[4]
	if strings.Contains(file, "sysctl") && strings.Contains(sign, "=") {
		return r.kernelSetting(lead, key, sign, value)
	}
	if strings.TrimSpace(sign) == "" && !takesOne(key) { // words of a language that is not known here
		return r.pairs(line)
	}
	if key == "Domains" && strings.Contains(file, "/systemd/") { // in sssd.conf, they are names of sections
		return lead + key + sign + r.hosts(value)
	}
	return lead + r.free(key) + sign + r.value(key, value)
}

// goesOnQuoted is a line of nothing but quoted values: those of a setting before it.
var goesOnQuoted = lazy.Regexp(`^\s*(?:"[^"]*"[\s,;)}\]]*)+$`)

// takesOne tells of names that a value follows without a sign.
func takesOne(key string) bool {
	k := plainKey(key)
	return takesCommand().MatchString(k) || takesUser().MatchString(k) || takesHost().MatchString(k) || takesAnything().MatchString(k)
}

func (r *Redactor) kernelSetting(lead, key, sign, value string) string {
	switch {
	case takesCommand().MatchString(plainKey(key)):
		return lead + r.Text(key) + sign + r.Command(value)
	case takesHost().MatchString(plainKey(key)):
		return lead + r.Text(key) + sign + r.hosts(value)
	}
	return lead + r.Text(key) + sign + r.Text(value)
}

// plainKey is a setting's name as the expressions above have it; of ATTRS{serial}, serial.
func plainKey(key string) string {
	if _, in, ok := strings.Cut(key, "{"); ok {
		key = strings.TrimSuffix(in, "}")
	}
	return strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(key))
}

// nested is how many settings are looked for in the value of one, each in that before.
const nested = 20

// value redacts what a setting of the name key is set to.
func (r *Redactor) value(key, value string) string {
	k := plainKey(key)
	switch {
	case strings.Trim(value, `"';,`) == Dropped:
		return value
	case takesCommand().MatchString(k):
		return r.commandOf(value)
	case plain().MatchString(value):
		return value
	case strings.Count(value, "=") > nested && !strings.ContainsAny(value, " \t"):
		return r.unknown(value)
	case strings.Contains(k, "cmdline"):
		return r.kernelLine(value)
	case k == "environment" || k == "setenv":
		return around(oneVariable(), value, func(m []string) string { return r.free(m[1]) + "=" + r.setTo(m[1], m[2]) }, r.unknown)
	case k == "sendoption" || k == "sendvendoroption":
		at := strings.LastIndexByte(value, ':') + 1
		return r.free(value[:at]) + r.opaque(value[at:])
	case takesUser().MatchString(k):
		return eachWord(value, r.userWord)
	case takesHost().MatchString(k):
		return r.hosts(value)
	case takesAnything().MatchString(k):
		return r.opaque(value)
	case r.Text(key) != key && !strings.ContainsAny(value[:1], `{[&*|>`):
		return r.unknown(value)
	}
	return r.pairs(value)
}

var oneVariable = lazy.Regexp(`([A-Za-z_]\w*)=("[^"]*"|'[^']*'|[^\s"']*)`)

// plain is a value that says nothing of anybody.
var plain = lazy.Regexp(`(?i)^["']?(?:yes|no|true|false|on|off|none|auto|all|any|\d{1,3}|0x[0-9a-f]{1,3}|\{|\[|null|` +
	`default)["']?[,;]?$`)

// unknown is the value of a setting that fettle does not know: paths stay, as far as they
// are of the system.
func (r *Redactor) unknown(value string) string { return eachWord(value, r.argument) }

// commandOf is a command line as a setting has it: quoted whole, or as systemctl show
// prints it.
func (r *Redactor) commandOf(value string) string {
	if m := shown().FindStringSubmatch(value); m != nil {
		return m[1] + r.Path(m[2]) + m[3] + r.Command(m[4]) + r.free(m[5])
	}
	if q := value[:1]; q == `"` || q == "'" {
		return r.quotedCommand(value, 1)
	}
	return r.Command(value)
}

var shown = lazy.Regexp(`^(\{ path=)(\S*)( ; argv\[\]=)(.*?)( ; (?:ignore_errors|flags)=.*)$`)

// pairs redacts a text by the settings in it.
func (r *Redactor) pairs(s string) string {
	var b strings.Builder
	at := 0
	for _, m := range pair().FindAllStringSubmatchIndex(s, -1) {
		if m[0] > 0 && wordByte(s[m[0]-1]) {
			continue
		}
		b.WriteString(r.free(s[at:m[2]]))
		key, value := s[m[2]:m[3]], s[m[6]:m[7]]
		b.WriteString(r.free(key) + s[m[4]:m[5]] + r.value(key, value))
		at = m[1]
	}
	return b.String() + r.free(s[at:])
}

// eachWord replaces the words of a value, between blanks, commas and quotes.
func eachWord(s string, one func(string) string) string {
	var b strings.Builder
	for s != "" {
		n := strings.IndexAny(s, " \t\f,;\"'[](){}<>")
		if n < 0 {
			n = len(s)
		}
		if n > 0 {
			b.WriteString(one(s[:n]))
		} else {
			n = 1
			b.WriteByte(s[0])
		}
		s = s[n:]
	}
	return b.String()
}

// hosts replaces the hosts in a value, and keeps numbers, paths and lone words of settings.
func (r *Redactor) hosts(value string) string {
	return eachWord(value, func(w string) string {
		if below, ok := strings.CutPrefix(w, "*."); ok && below != "" {
			return "*." + r.hosts(below)
		}
		_, err := netip.ParseAddr(w)
		switch {
		case err == nil, plain().MatchString(w), strings.ContainsAny(w, "/@%$*=\\"), w[0] == '-', strings.Contains(w, "::"), r.isPublic(w):
			return r.free(w)
		}
		if server, name, ok := strings.Cut(w, "#"); ok && server != "" && name != "" { // of DNS over TLS
			return r.hosts(server) + "#" + r.hosts(name)
		}
		lead := len(w) - len(strings.TrimLeft(w, "~.!"))
		name, port, colon := strings.Cut(w[lead:], ":")
		if name == "" || isHex(name) && colon {
			return r.free(w)
		}
		out := w[:lead] + r.hostAt(name)
		if colon {
			out += ":" + r.free(port)
		}
		return out
	})
}

// userWord replaces one user; accounts of the system stay.
func (r *Redactor) userWord(w string) string {
	if strings.Trim(w, "0123456789") == "" && len(w) < 5 || strings.ContainsAny(w, "/%$") && path.IsAbs(w) {
		return r.Text(w)
	}
	if strings.Contains(w, "=") { // cn=x,dc=y
		return r.pairsOpaque(w)
	}
	name, from, at := strings.Cut(w, "@")
	if !r.system[name] && name != "root" && name != "nobody" && (at || r.people[name] || !daemons()[name]) {
		name = r.opaque(name)
	} else { // as in /etc/passwd
		name = r.Text(name)
	}
	if at {
		name += "@" + r.hostAt(from)
	}
	return name
}

func (r *Redactor) pairsOpaque(w string) string {
	k, v, _ := strings.Cut(w, "=")
	return r.free(k) + "=" + r.opaque(v)
}

// daemons are accounts that distributions make.
var daemons = sync.OnceValue(func() map[string]bool {
	return set(`daemon bin sys sync games man lp mail news uucp proxy www-data backup list irc gnats nobody syslog messagebus
		_apt sshd postgres mysql nut dnsmasq munin snmp tss polkitd rtkit colord avahi sssd ntp chrony _chrony landscape nova ceph
		systemd-network systemd-resolve systemd-timesync systemd-journal-remote nginx apache postfix dovecot bind named`)
})

// withoutComment cuts off what a line says behind a blank and "#".
func withoutComment(line string) string {
	quote := byte(0)
	for i := range len(line) {
		switch c := line[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case (c == '"' || c == '\'') && strings.IndexByte(line[i+1:], c) >= 0:
			quote = c
		case c == '#' && i > 0 && (line[i-1] == ' ' || line[i-1] == '\t'):
			return strings.TrimRight(line[:i], " \t")
		}
	}
	return line
}

// ofReport are names and attributes in a line of lvmreport(7) as JSON.
var ofReport = lazy.Regexp(`"(?:(?:vg_name|lv_name|pool_lv|origin|data_lv|metadata_lv)"\s*:\s*"([^"]+)|[lpv]v_attr"\s*:\s*"[a-zA-Z-]{1,10}")`)

// Output redacts a line that a command printed, NAME=VALUE or words.
func (r *Redactor) Output(line string) string {
	if at := ofReport().FindStringSubmatchIndex(line); at != nil {
		said := line[at[0]:at[1]]
		if at[2] >= 0 {
			said = line[at[0]:at[2]] + r.Volume(line[at[2]:at[3]])
		}
		return r.Text(line[:at[0]]) + said + r.Output(line[at[1]:])
	}
	if k, v, ok := strings.Cut(line, "="); ok && v != "" && !strings.ContainsAny(k, " \t/") {
		switch p := plainKey(k); {
		case takesCommand().MatchString(p):
			return r.Text(k) + "=" + r.commandOf(v)
		case takesAnything().MatchString(p):
			return r.Text(k) + "=" + r.opaque(v)
		case p == "user", p == "group", p == "supplementarygroups":
			return r.Text(k) + "=" + eachWord(v, r.userWord)
		case weblike().MatchString(v):
			return r.Text(k) + "=" + eachWord(v, r.web)
		}
	}
	return r.Text(line)
}
