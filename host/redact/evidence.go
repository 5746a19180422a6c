package redact

import (
	"regexp"
	"slices"
	"strings"

	"fettle/internal/lazy"
)

// What a check shows of a host goes to terminals, mail, tickets and other hosts. Names
// and addresses belong there; passwords and keys do not, whoever wrote them wherever.

// Masked takes out of a piece of evidence, value, read from source, what looks like a
// secret: values of settings and options that hold one, arguments by which programs are given
// one, and tokens of well-known forms.
func Masked(source, value string) string {
	low := folded(value)
	has := pairsOf(low)
	return masked(source, value, func(hints ...string) bool {
		return slices.ContainsFunc(hints, func(h string) bool { return has.all(h) && strings.Contains(low, h) })
	})
}

// pairs are the neighbouring bytes of a text, hashed: of a hundred hints most are ruled out without a search.
type pairs [16]uint64

func hashed(a, b byte) (word int, bit uint64) {
	h := (uint(a)*37 + uint(b)) % 1024
	return int(h / 64), 1 << (h % 64)
}

func pairsOf(s string) (p pairs) {
	for i := 1; i < len(s); i++ {
		word, bit := hashed(s[i-1], s[i])
		p[word] |= bit
	}
	return p
}

// all tells whether a text can have all pairs of h.
func (p *pairs) all(h string) bool {
	for i := 1; i < len(h); i++ {
		if word, bit := hashed(h[i-1], h[i]); p[word]&bit == 0 {
			return false
		}
	}
	return true
}

// folded is text as regular expressions without regard to case see it: the long s is an s
// to them, and the sign of Kelvin a k.
func folded(s string) string { return strings.ReplaceAll(strings.ToLower(s), "ſ", "s") }

// masked runs those expressions of which a hint is in the value: most values have none.
func masked(source, v string, may func(hints ...string) bool) string {
	if may("-----begin") {
		v = pem().ReplaceAllString(v, Dropped)
	}
	if may("=", ":") && may(named...) {
		if services := namesServices().MatchString(source); !services || may("=") {
			v = maskSetting(v, services)
		}
	}
	for _, m := range handedOver {
		if may(m.hints...) {
			v = m.re().ReplaceAllString(v, "${1}"+Dropped+"${3}")
		}
	}
	if may("://") {
		v = urlPassword().ReplaceAllString(v, "${1}"+Dropped+"${2}")
	}
	if may("ldapserver") || strings.Contains(source, "gnupg/") {
		v = withoutLDAP(v)
	}
	if may(tokens...) || len(v) >= 44 && may("=") {
		v = wellKnown().ReplaceAllString(v, Dropped)
	}
	return v
}

var (
	// named are parts of the names of settings that hold a secret.
	named = []string{"pass", "pw", "secret", "token", "key", "psk", "pin", "credential", "community", "authtok", "cak", "wep", "ecryptfs_"}
	// tokens are how well-known ones begin.
	tokens = []string{"eyj", "ghp_", "gho_", "ghs_", "ghu_", "ghr_", "github_pat_", "glpat-", "xox", "sk_", "akia", "asia"}
)

// MaskedProse is Masked for sentences, in which "password:" begins no setting.
func MaskedProse(s string) string { return Masked("prose", s) }

var (
	// namesServices are sources where "password" is a service or a stage, not a setting.
	namesServices = lazy.Regexp(`nsswitch|/pam|^prose$|^/etc/(?:passwd|group)`)
	// wholeLine is a setting that is all of a line: its value may have blanks.
	wholeLine = lazy.Regexp(`(?i)^(\s*(?:(?:export|set)\s+)?(?:net\.[\w.]*)?` + secretName + `\s*[=:]\s*)(\S.*)$`)
	// shownSecret is a setting within a line; mountKey those of encrypted file systems.
	shownSecret = lazy.Regexp(`(?i)(^|[\s"',;{(\[?&/:])(` + secretName + `\s?=\s?|` + secretName + `:\s+)("[^"]*"|'[^']*'|[^\s,;&)}]+)`)
	mountKey    = lazy.Regexp(`(?i)((?:^|[\s,])(?:key|ecryptfs_\w*(?:sig|key)|passwd|passphrase_passwd)=)[^\s,]+`)
	// noSecret are values of such settings that open nothing: a path, a switch, a variable.
	noSecret = lazy.Regexp(`(?i)^["']?(?:~?/\S*|yes|no|true|false|on|off|none|null|files?|required|optional|enabled|disabled|` +
		`prompt|ask|\$\{?\w+\}?|%\w|<[\w -]+>|\*+|redacted|set|unset|missing|empty|absent)["']?[.,;]?$`)
)

// maskSetting masks values of settings; where services and stages are called password,
// only of those with "=".
func maskSetting(v string, services bool) string {
	if m := wholeLine().FindStringSubmatch(v); m != nil && !services {
		if noSecret().MatchString(m[2]) {
			return v
		}
		return m[1] + Dropped
	}
	v = shownSecret().ReplaceAllStringFunc(v, func(s string) string {
		m := shownSecret().FindStringSubmatch(s)
		if noSecret().MatchString(m[3]) || services && !strings.Contains(m[2], "=") {
			return s
		}
		return m[1] + m[2] + Dropped
	})
	return mountKey().ReplaceAllString(v, "${1}"+Dropped)
}

// handedOver are the ways in which programs are given a secret; the third group stays. One
// of the hints, in small letters, is in all that the expression matches.
var handedOver = []struct {
	hints []string
	re    func() *regexp.Regexp
}{
	{[]string{"psk", "pass", "key", "identity", "pw", "secret", "cak"}, secretWords},
	{[]string{"psk", "xauth", "eap", "rsa", "ecdsa", "p12", "pin", "pkcs8"}, secretPSK},
	{[]string{"-user", "-proxy-user", "-pass", "-secret", "-token", "-api-key", "-auth", "-oauth2-bearer"}, secretFlag},
	{[]string{"curl"}, curlUser},
	{[]string{"mysql", "mariadb", "sshpass", "mongo", "redis-cli"}, shortFlag},
	{[]string{"bearer", "basic", "digest", "negotiate"}, bearer},
	{[]string{"key"}, macsecKey},
	{[]string{"pin", "pass", "secret", "token", "api", "credential"}, lazy.Regexp(`(?i)((?:^|[\s"'])--?[a-z-]*(?:pin|pass(?:wd|word|phrase)?|secret|token|api-?key|` +
		`credential)s?[ =])("[^"]*"|'[^']*'|[^\s"']+)()`)},
	{[]string{"ipmi", "mosquitto_", "lftp", "rdesktop", "xfreerdp"}, lazy.Regexp(`(\b(?:ipmitool|ipmi-\w+|mosquitto_\w+|lftp|rdesktop|xfreerdp)\b.*?\s-P\s?)("[^"]*"|'[^']*'|\S+)()`)},
	{[]string{"snmp"}, lazy.Regexp(`(\b(?:snmp\w+|net-snmp\w*|check_snmp)\b.*?\s-A\s?)("[^"]*"|'[^']*'|\S+)()`)},
	{[]string{"snmp"}, lazy.Regexp(`(\b(?:snmp\w+|net-snmp\w*|check_snmp)\b.*?\s-X\s?)("[^"]*"|'[^']*'|\S+)()`)},
	{[]string{"snmp"}, lazy.Regexp(`(\b(?:snmp\w+|net-snmp\w*|check_snmp)\b.*?\s-[cC]\s?)("[^"]*"|'[^']*'|\S+)()`)},
	{[]string{"ldap", "smbpasswd", "rpcclient"}, lazy.Regexp(`(\b(?:ldap\w+|smbpasswd|rpcclient)\b.*?\s-w\s?)("[^"]*"|'[^']*'|\S+)()`)},
	{[]string{"openssl", "zip", "7z", "steghide"}, lazy.Regexp(`(\b(?:openssl|zip|7z|unzip|steghide)\b.*?\s-(?:k|p|P|pass(?:in|out)?)[\s:]?)("[^"]*"|'[^']*'|[^\s/-]\S*)()`)},
	{[]string{"useradd", "usermod", "chpasswd", "htpasswd"}, lazy.Regexp(`(\b(?:useradd|usermod|chpasswd|htpasswd)\b.*?\s-(?:p|b\w*)\s+)(.+?)($|[|;&])`)},
	{[]string{"wpa_passphrase"}, lazy.Regexp(`(\bwpa_passphrase\s+\S+\s+)("[^"]*"|'[^']*'|[^\s|;>&]+)()`)},
	{[]string{"nmcli", "mysqladmin", "iw"}, lazy.Regexp(`(\b(?:nmcli|mysqladmin|iwconfig|iw)\b.*?\s(?:password|key)\s+)("[^"]*"|'[^']*'|\S+)()`)},
	{[]string{"%"}, lazy.Regexp(`((?:-U|user(?:name)?=|-u)\s?[^\s%,=]{1,64}%)([^\s,]+)()`)},
	{[]string{"<<<"}, lazy.Regexp(`(<<<\s*)("[^"]*"|'[^']*'|\S+)()`)},
	{[]string{"echo", "printf"}, lazy.Regexp(`(\b(?:echo|printf)\s+(?:-\w+\s+)*)("[^"]*"|'[^']*'|[^|;>]+?)(\s*\|\s*(?:sudo\s+)?(?:\S*/)?(?:cryptsetup|` +
		`gpg2?|chpasswd|passwd|su|sudo|openssl|` +
		`smbpasswd|docker|podman|mount|zfs|restic|borg|kinit|wpa_passphrase|systemd-creds|saslpasswd2?)\b.*)`)},
}

// wellKnown are tokens that their form tells: JSON Web Tokens, those of GitHub, GitLab, Slack,
// Stripe and AWS, keys of WireGuard.
var wellKnown = lazy.Regexp(`\beyJ[\w-]{8,}\.[\w-]{4,}(?:\.[\w-]*)?|\bgh[pousr]_\w{20,}|\bgithub_pat_\w{20,}|` +
	`\bglpat-[\w-]{16,}|\bxox[abpr]-[\w-]{10,}|` +
	`\bsk_(?:live|test)_\w{10,}|\bA[KS]IA[0-9A-Z]{16}\b|\b[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=`)
