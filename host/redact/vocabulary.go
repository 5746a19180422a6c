package redact

import (
	_ "embed"
	"strings"
	"sync"

	"fettle/internal/lazy"
)

// words.txt holds lower-case words: of kernel settings, of the units and
// drop-ins that distributions ship, of configuration files' keywords, of
// programs and system accounts, and those that checks look for. A check that
// misses a word in a redacted capture has the word added there.
//
//go:embed words.txt
var wordList string

var vocabulary = sync.OnceValue(func() map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(wordList) {
		m[w] = true
	}
	return m
})

var (
	humps = lazy.Regexp(`[A-Z]?[a-z]+|[A-Z]+`)
	// netName is a predictable interface name (systemd.net-naming-scheme(7)); Xen's are enX0 and so on.
	netName = lazy.Regexp(`^(en|eth|wl|ww|ib|sl)(o\d{1,3}|[psfdnucbv]\d{1,3}){1,6}$|^enx\d{1,3}$`)
	// portSpeed is how the kernel's console= gives a serial line's speed, parity and
	// bits (Documentation/admin-guide/serial-console.rst).
	portSpeed = lazy.Regexp(`^(1200|2400|4800|9600|19200|38400|57600|115200|230400|460800|921600)[noe][78]r?$`)
	hexMAC    = lazy.Regexp(`^([a-z]{2,3})?([0-9a-fA-F]{12})$`)
)

// harmless reports whether a word (letters and digits) says nothing about whose
// host it is.
func harmless(w string) bool {
	low := strings.ToLower(w)
	if len(w) <= 2 || vocabulary()[low] {
		return true
	}
	if strings.Trim(w, "0123456789") == "" {
		return true
	}
	if netName().MatchString(low) || portSpeed().MatchString(low) {
		return true
	}
	if len(w) <= 10 && strings.HasPrefix(low, "0x") && strings.Trim(low[2:], "0123456789abcdef") == "" {
		return true
	}
	return numbered().MatchString(low) || harmlessParts(w) || vocabulary()[ordered(low)]
}

// numbered are words that are numbered as a matter of course: devices, kinds of file
// system, versions of formats and distributions. Any other word with a number in it may be
// a name ("core7", "vault3"), though the word alone says nothing.
var numbered = lazy.Regexp(`^(?:` +
	// Disks and what lies on them.
	`(?:[shv]d|xvd)[a-z]{1,2}\d{0,3}|nvme\d+(?:[nc]\d+){0,2}(?:p\d+)?|(?:mmcblk|nbd|loop|md|zram|pmem|rbd)\d+(?:p\d+)?|` +
	`(?:dm|sr|sg|fd|ram|hd|part|disk|cdrom|lun|raid|gpt|pci|port)\d{1,4}|` +
	// Links.
	`(?:br|bond|vlan|vnet|vmbr|tap|tun|wg|ppp|dummy|ifb|team|eth|wlan|wwan|virbr|lxcbr|lxdbr|docker|sit|gre|vxlan|macvlan|` +
	`cni|if|vif)\d{1,5}|` +
	`veth[0-9a-f]{1,7}|vmbr\d+v\d+|fw(?:br|pr|ln)\d+[pi]\d+|tap\d+i\d+|(?:ata|usb|phy|bat|card)\d{1,3}|` +
	// Terminals and other devices.
	`tty(?:s|usb|acm|ama|hs|mxc|ps|sc|vs|o|gs|hvc)?\d{1,3}|(?:hvc|hvsi|xvc|pts|vcs|vcsa|console|uart|com|lp)\d{1,3}|` +
	`(?:cpu|mc|csrow|dimm|irq|ehci|xhci|uhci|ohci|event|input|hwmon|rtc|thermal|watchdog|ipmi|i2c|clocksource|tpm|tpmrm|` +
	`video|drm|thresh|table|priority|` +
	`level|run|rc|rx|tx)\d{1,4}|` +
	// Versions, of protocols, formats, distributions and their packages.
	`(?:ipv?|inet|routes|udp|armv|el|fc|rhel|amzn|deb|bpo|ubuntu|build|esr|beta|alpha|pre|git|svn|ext|fat|vfat|nfs|nfsv|` +
	`smb|ntfs|lz|gz|bzip)\d{1,4}|` +
	`(?:utf|iso|latin|cp|koi|sha|md|aes|des|crc|blake|ed|ec|nistp|secp|pbkdf|krb|base|float|int|uint|tlsv|sslv|snmpv|dhcpv|` +
	`ssh|http|pop|imap|dhcp)\d{1,5}|` +
	`(?:lib[a-z]{1,20}|python|perl|php|ruby|lua|openjdk|gcc|llvm|clang|qt|gtk|glib|mariadb|postgresql|tomcat|udisks|grub|` +
	`exim|apache|bind|gnupg|pcre|wpa)\d{1,4}(?:v\d)?|` +
	`(?:nmu|rpt|deb|el|fc|really|revertto|lenny|squeeze)\d{1,2}(?:u\d{1,2}|uek|s\d|eus)?|\d{1,3}(?:ubuntu|pl|build)\d{1,3}|` +
	`[a-z]\d{1,2}|x86|i[3-6]86|[0-9a-f]{4}|` +
	// Numbers with a unit; a time.
	`\d{1,7}(?:st|nd|rd|th|x|bit|v|k|m|g|t|b|mb|gb|tb|kb|kib|mib|gib|tib|ms|us|ns|s|h|d|w|min|mhz|ghz|hz|p|n|e|r|c|a|f|z)|` +
	`\d{1,3}[pdz]\d{1,2}|\d\dt\d\d` +
	`)$`)

// ordered is a word without the number of two digits before it that puts a drop-in in its place.
func ordered(w string) string {
	if len(w) > 4 && strings.Trim(w[:2], "0123456789") == "" {
		return w[2:]
	}
	return w
}

// harmlessParts looks at the parts of a word without digits: "EnvironmentFiles",
// "IPv6AcceptRA". Where other words have a number, see numbered.
func harmlessParts(w string) bool {
	w = protocol().ReplaceAllString(w, "")
	parts := humps().FindAllString(w, -1)
	if strings.Join(parts, "") != w { // digits, letters beyond ASCII
		return false
	}
	short, known := 0, 0
	for _, p := range parts {
		switch {
		case vocabulary()[strings.ToLower(p)]:
			known++
		case len(p) <= 2:
			short++
		case !vocabulary()[strings.ToLower(p[:len(p)-1])]: // "DHCPv": capitals run into the next hump
			return false
		}
	}
	return short <= 1 || short <= 3 && known > 0
}

// protocol is a part of the words of systemd and the kernel: DHCPv6Client, IPv6AcceptRA.
var protocol = lazy.Regexp(`(?:IP|DHCP|NetBIOS|NFS|TLS)v\d(?:\.\d)?|NTLMv\d|IP[46]|(?:Icmp|Udp|Ip)6|Nat64|EUI64`)

// harmlessVersion reports whether a part of a package's version has no other letters than
// versions have: "deb12u4", "git20240203".
func harmlessVersion(w string) bool {
	for _, p := range strings.FieldsFunc(strings.ToLower(w), func(c rune) bool { return c >= '0' && c <= '9' }) {
		if len(p) > 2 && !vocabulary()[p] && !ofVersions[p] {
			return false
		}
	}
	return true
}

// ofVersions are words of packages' versions (Debian's Policy, 5.6.12, and custom).
var ofVersions = set(`dfsg git svn cvs bzr hg nmu deb bpo rpi ubuntu build repack really rc alpha beta pre post dev
	snapshot esr lts stable
	revertto rpt pve pmx raspbian mint pop amzn uek eus els esm exp binnmu vendor`)
