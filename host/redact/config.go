package redact

import (
	"strings"

	"fettle/internal/lazy"
)

// configLine is how a line of configuration is redacted, by the file's language.
func (r *Redactor) configLine(name string) func(string) string {
	in := func(prefixes ...string) bool {
		for _, p := range prefixes {
			if strings.HasPrefix(name, p) {
				return true
			}
		}
		return false
	}
	switch {
	case name == "/etc/fstab":
		return func(l string) string { return r.table(l, 3) }
	case name == "/etc/crypttab":
		return func(l string) string { return r.cryptLine(l) }
	case in("/run/udev/data/"):
		return r.udevLine
	case in("/etc/rc.local", "/etc/update-motd.d/", "/etc/network/if-", "/usr/bin/"):
		return r.scriptLine
	case in("/etc/logrotate.d/", "/etc/logrotate.conf"):
		return r.rotationLines()
	case strings.Contains(name, "/rules.d/"):
		return r.ruleLine
	case strings.HasSuffix(name, "os-release"), strings.HasSuffix(name, "-release"):
		return r.Text
	case strings.HasSuffix(name, "ldap.conf"), strings.HasSuffix(name, "ldaprc"):
		return func(l string) string { return r.directoryNames(r.ldapLine(l)) }
	case in("/etc/NetworkManager/"):
		return r.networkLine
	case in("/etc/dnsmasq"):
		return r.dnsmasqLine
	case in("/etc/dhcp/"):
		return r.leaseLine
	case name == "/etc/security/access.conf", in("/etc/security/access.d/"):
		return r.accessLine
	case strings.Contains(name, "/modprobe.d/"):
		return r.moduleLine
	case strings.Contains(name, "gnupg/"):
		return r.gnupgLine
	}
	if line := r.namesLine(name); line != nil {
		return line
	}
	return func(l string) string { return r.setting(name, l) }
}

// namesLine is how a line is redacted of a file in which names stand that may be any word;
// nil: the file is none.
func (r *Redactor) namesLine(name string) func(string) string {
	of := func(f func(name, line string) string) func(string) string {
		return func(l string) string { return f(name, l) }
	}
	in := func(prefix string) bool { return strings.HasPrefix(name, prefix) }
	switch {
	case in("/etc/krb5.conf"):
		return r.realmLines()
	case in("/etc/mdadm"):
		return func(l string) string {
			return r.arrayLine(name, l)
		}
	case in("/etc/rsyslog"):
		return of(r.forwardLine)
	case in("/etc/sssd/"), in("/etc/nut/"), in("/etc/nslcd.conf"):
		return of(r.sectionLine)
	case strings.Contains(name, "/netplan/"):
		return r.pointLines(name)
	case in("/etc/default/"), in("/etc/sysconfig/"), in("/etc/shorewall/"), in("/etc/shorewall6/"):
		return of(r.defaultLine)
	case in("/etc/network/interfaces"):
		return of(r.interfacesLine)
	case in("/etc/apt/apt.conf"):
		return r.aptLines()
	case in("/etc/apt/sources.list"):
		return of(r.sourceLine)
	case strings.HasSuffix(name, "/daemon.json"):
		return r.jsonLines()
	case in("/etc/ser2net.conf"):
		return of(r.portLine)
	case in("/etc/apcupsd/"):
		return of(r.monitorLine)
	}
	return nil
}

// ldapLine redacts a line of ldap.conf, where nothing after a value is a comment.
func (r *Redactor) ldapLine(line string) string {
	if f := strings.Fields(line); len(f) > 1 && takesOne(f[0]) {
		at := strings.Index(line, f[0]) + len(f[0])
		return r.free(line[:at]) + r.value(f[0], line[at:])
	}
	return r.free(line)
}

var connectionID = lazy.Regexp(`^(\s*id\s*=\s*)(.*)$`)

// networkLine redacts a line of NetworkManager's.
func (r *Redactor) networkLine(line string) string {
	if m := connectionID().FindStringSubmatch(line); m != nil {
		return m[1] + r.opaque(m[2])
	}
	if m := keyfileLine().FindStringSubmatch(line); m != nil {
		switch {
		case ofKeyfiles().MatchString(m[2]), switchWord().MatchString(m[4]), takesOne(m[2]), m[4] == Dropped:
		default:
			return m[1] + r.free(m[2]) + m[3] + eachWord(m[4], r.argument)
		}
	}
	return r.setting("", line)
}

var (
	keyfileLine = lazy.Regexp(`^(\s*)([A-Za-z][\w .-]*?)(\s*=\s*)(.*)$`)
	// ofKeyfiles are settings of NetworkManager that say nothing of anybody, or are read as
	// settings elsewhere.
	ofKeyfiles = lazy.Regexp(`^(?:type|uuid|interface-name|autoconnect\S*|method|address\S*|route\S*|gateway|dns\S*|ignore-\S+|` +
		`never-default|may-fail|addr-gen-mode|ip6-privacy|[\w-]*mtu|mode|band|channel|key-mgmt|auth-alg|proto|pairwise|group|eap|` +
		`phase[12]-\S+|parent|master|controller|(?:slave|port)-type|timestamp|read-only|multi-connect|lldp|mdns|llmnr|metered|` +
		`accept-ra\S*|dhcp-(?:timeout|send-hostname\S*|duid|iaid)|[\w-]*mac-address\S*|stp|forward-delay|priority|hello-time|` +
		`max-age|ageing-time|group-forward-mask|multicast-\S+|vlan\S*|id|flags|ingress-\S+|egress-\S+|miimon|speed|duplex|` +
		`auto-negotiate|wake-on-lan\S*|powersave|hidden|plugins|managed|unmanaged-devices|rc-manager|dhcp|level|domains|` +
		`no-auto-default|match-device|keyfile|service-type|listen-port|fwmark|persistent-keepalive|allowed-ips|endpoint|` +
		`(?:wifi|ethernet|ipv[46]|connection|device|bridge)\..*)$`)
)

// told are options of mounts and encrypted disks whose values say nothing of anybody.
var told = lazy.Regexp(`^(?:uid|gid|umask|[df]mask|mode|(?:dir|file)_mode|size|nr_inodes|errors|data|commit|` +
	`subvol(?:id)?|compress(?:-force)?|vers|nfsvers|sec|[rw]size|` +
	`timeo|retrans|retry|port|proto|iocharset|codepage|cipher|hash|offset|skip|tries|timeout|discard|inode64|logbufs|` +
	`logbsize|allocsize|x-[\w.-]+|comment|barrier|` +
	`nconnect|actimeo|ac(?:dir|reg)m(?:in|ax)|lookupcache|local_lock|usrj?quota|grpj?quota|jqfmt|(?:lower|upper|work)dir|` +
	`space_cache|max_batch_time|stripe|hidepid|mpol|huge|` +
	`user_xattr|pri|snapshots|zfsutil|minorversion|context|degraded|device|noauto_da_alloc|journal_checksum|ro|rw)$`)

// table redacts a line of fstab or crypttab, whose options are the field at.
func (r *Redactor) table(line string, at int) string {
	line = withoutComment(line)
	if m := labelled().FindStringSubmatch(line); m != nil {
		return m[1] + r.Volume(m[2]) + strings.TrimPrefix(r.table("x"+m[3], at), r.Source("x"))
	}
	return eachField(line, func(i int, f string) string {
		switch {
		case i == at:
			return r.Options(f)
		case i == 0:
			return r.Source(f)
		case strings.HasPrefix(f, "/") && !strings.HasPrefix(f, "//"):
			return r.Path(f)
		}
		return r.free(f)
	})
}

// cryptLine redacts a line of crypttab, which begins with what the opened disk is called.
func (r *Redactor) cryptLine(line string) string {
	line = withoutComment(line)
	first := strings.IndexAny(line+" ", " \t")
	return r.Volume(line[:first]) + r.table(line[first:], 2)
}

// labelled are sources of fstab in quotes, which may hold blanks.
var labelled = lazy.Regexp(`^(\s*(?:PART)?LABEL=)("[^"]*")(.*)$`)

// Options redacts a list of options.
func (r *Redactor) Options(list string) string {
	parts := strings.Split(list, ",")
	for i, p := range parts {
		k, v, ok := strings.Cut(p, "=")
		switch {
		case !ok:
			parts[i] = r.free(p)
		case told().MatchString(strings.ToLower(k)):
			parts[i] = r.Text(k) + "=" + r.Path(v)
		default:
			parts[i] = r.free(k) + "=" + r.argument(v)
		}
	}
	return strings.Join(parts, ",")
}

// scriptLine redacts a line of a program for the shell.
func (r *Redactor) scriptLine(line string) string { return r.Command(withoutComment(line)) }

var (
	rotation   = lazy.Regexp(`^\s*(?:pre|post)rotate\b|^\s*(?:first|last)action\b|^\s*preremove\b`)
	noRotation = lazy.Regexp(`^\s*endscript\b`)
)

// rotationLines redacts logrotate's configuration, in which programs for the shell stand.
func (r *Redactor) rotationLines() func(string) string {
	inside := false
	return func(line string) string {
		switch {
		case noRotation().MatchString(line):
			inside = false
		case inside:
			return r.scriptLine(line)
		case rotation().MatchString(line):
			inside = true
			return r.free(line)
		}
		f := strings.Fields(line)
		if len(f) > 2 && (f[0] == "create" || f[0] == "su" || f[0] == "createolddir") {
			return eachField(line, func(i int, w string) string {
				if i == 0 {
					return r.free(w)
				}
				return r.userWord(w)
			})
		}
		return r.setting("", line)
	}
}

var dnsmasqKey = lazy.Regexp(`^(\s*(?:--)?(?:dhcp-host|host-record|cname|address|server|local|txt-record|ptr-record|` +
	`srv-host|mx-host|rev-server|domain|dhcp-option|dhcp-boot|` +
	`auth-zone|auth-server|naptr-record|dhcp-relay|dhcp-mac|dhcp-name-match|interface-name|dhcp-userclass|dhcp-vendorclass)\s*=\s*)(.*)$`)

// dnsmasqLine: there, names are between commas and slashes.
func (r *Redactor) dnsmasqLine(line string) string {
	line = withoutComment(line)
	m := dnsmasqKey().FindStringSubmatch(line)
	if m == nil {
		return r.setting("", line)
	}
	parts := strings.FieldsFunc(m[2], func(c rune) bool { return c == ',' || c == '/' })
	out := m[2]
	for _, p := range parts {
		if red := r.dnsmasqWord(p); red != p {
			out = strings.Replace(out, p, red, 1)
		}
	}
	return r.free(m[1]) + out
}

var dnsmasqWords = lazy.Regexp(`^(?:set|tag|option|option6|id|infinite|ignore|any|\d+[hms]?|\d+:\d+|#|` +
	`\[?[0-9a-fA-F.:*]+\]?(?:#\d+)?)$|^(?:set|tag|option|option6):[a-z-]+$`)

func (r *Redactor) dnsmasqWord(w string) string {
	if dnsmasqWords().MatchString(w) {
		return r.free(w)
	}
	if strings.ContainsAny(w, `"= `) {
		return r.opaque(w)
	}
	return r.Host(w)
}

// moduleLine redacts a line of modprobe.d.
func (r *Redactor) moduleLine(line string) string {
	line = withoutComment(line)
	f := strings.Fields(line)
	if len(f) > 2 && (f[0] == "install" || f[0] == "remove") {
		at := strings.Index(line, f[1]) + len(f[1])
		return r.Text(line[:at]) + r.Command(line[at:])
	}
	return eachField(line, func(i int, w string) string {
		k, v, ok := strings.Cut(w, "=")
		switch {
		case !ok || i < 2:
			return r.Text(w)
		case k == "id" || k == "label":
			return r.Text(k) + "=" + r.opaque(v)
		case r.Text(k) == k || strings.Trim(v, "-0123456789,xabcdefABCDEFyYnN") == "" && len(v) < 22:
			return r.Text(w)
		}
		return r.Text(k) + "=" + r.unknown(v)
	})
}

// gnupgLine redacts GnuPG's options; what comes after an LDAP server's name opens it.
func (r *Redactor) gnupgLine(line string) string {
	line = withoutLDAP(withoutComment(line))
	if f := strings.Fields(line); len(f) < 2 || ofKeyservers().MatchString(f[0]) {
		return r.free(line)
	}
	return eachField(line, func(i int, w string) string {
		if i == 0 || w == Dropped {
			return r.free(w)
		}
		return r.argument(w)
	})
}

var ofKeyservers = lazy.Regexp(`^-{0,2}(?:keyserver(?:-options)?|hkp-cacert)$`)
