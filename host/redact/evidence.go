package redact

import (
	"regexp"
	"strings"

	"fettle/internal/lazy"
)

// What a check shows of a host goes to terminals, mail, tickets and other hosts. Names
// and addresses belong there; passwords and keys do not, whoever wrote them wherever.

// Masked takes out of a piece of evidence, value, read from source, what looks like a
// secret: values of settings and options that hold one, arguments by which programs are given
// one, and tokens of well-known forms.
func Masked(source, value string) string {
	if !suspicious(value) {
		return value
	}
	v := pem().ReplaceAllString(value, Dropped)
	v = maskSetting(v, namesServices().MatchString(source))
	for _, re := range handedOver {
		v = re().ReplaceAllString(v, "${1}"+Dropped+"${3}")
	}
	v = urlPassword().ReplaceAllString(v, "${1}"+Dropped+"${2}")
	if strings.Contains(source, "gnupg/") || strings.Contains(v, "ldapserver") {
		v = withoutLDAP(v)
	}
	return wellKnown().ReplaceAllString(v, Dropped)
}

// hints are parts of all that Masked looks for, so that evidence without any costs nothing.
var hints = []string{"pass", "pwd", "pw=", "pw:", "secret", "token", "key", "psk", "pin", "credential", "community",
	"auth", "bearer", "basic ", "cak", "wep",
	"://", "<<<", "ldapserver", "curl", "mysql", "mariadb", "ipmi", "mosquitto", "lftp", "rdesktop", "freerdp", "snmp",
	"ldap", "smb", "rpcclient",
	"openssl", "zip", "7z", "useradd", "usermod", "nmcli", "iw", "-u", "user", "%", "cryptsetup", "gpg", "docker", "podman",
	"mount", "zfs", "restic", "borg",
	"kinit", "mongo", "redis", "eyj", "ghp_", "gho_", "ghs_", "ghu_", "ghr_", "github_pat_", "glpat-", "xox", "sk_live",
	"sk_test", "akia", "asia", "-----begin",
	"xauth", "eap", "rsa", "ecdsa", "p12", "digest", "negotiate"}

// suspicious tells whether there is anything to look at closely.
func suspicious(value string) bool {
	low := strings.ToLower(value)
	for _, h := range hints {
		if strings.Contains(low, h) {
			return true
		}
	}
	return len(value) >= 44 && strings.Contains(value, "=")
}

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

// handedOver are the ways in which programs are given a secret; the third group stays.
var handedOver = []func() *regexp.Regexp{
	secretWords, secretPSK, secretFlag, curlUser, shortFlag, bearer, macsecKey,
	lazy.Regexp(`(?i)((?:^|[\s"'])--?[a-z-]*(?:pin|pass(?:wd|word|phrase)?|secret|token|api-?key|` +
		`credential)s?[ =])("[^"]*"|'[^']*'|[^\s"']+)()`),
	lazy.Regexp(`(\b(?:ipmitool|ipmi-\w+|mosquitto_\w+|lftp|rdesktop|xfreerdp)\b.*?\s-P\s?)("[^"]*"|'[^']*'|\S+)()`),
	lazy.Regexp(`(\b(?:snmp\w+|net-snmp\w*|check_snmp)\b.*?\s-A\s?)("[^"]*"|'[^']*'|\S+)()`),
	lazy.Regexp(`(\b(?:snmp\w+|net-snmp\w*|check_snmp)\b.*?\s-X\s?)("[^"]*"|'[^']*'|\S+)()`),
	lazy.Regexp(`(\b(?:snmp\w+|net-snmp\w*|check_snmp)\b.*?\s-[cC]\s?)("[^"]*"|'[^']*'|\S+)()`),
	lazy.Regexp(`(\b(?:ldap\w+|smbpasswd|rpcclient)\b.*?\s-w\s?)("[^"]*"|'[^']*'|\S+)()`),
	lazy.Regexp(`(\b(?:openssl|zip|7z|unzip|steghide)\b.*?\s-(?:k|p|P|pass(?:in|out)?)[\s:]?)("[^"]*"|'[^']*'|[^\s/-]\S*)()`),
	lazy.Regexp(`(\b(?:useradd|usermod|chpasswd|htpasswd)\b.*?\s-(?:p|b\w*)\s+)(.+?)($|[|;&])`),
	lazy.Regexp(`(\bwpa_passphrase\s+\S+\s+)("[^"]*"|'[^']*'|[^\s|;>&]+)()`),
	lazy.Regexp(`(\b(?:nmcli|mysqladmin|iwconfig|iw)\b.*?\s(?:password|key)\s+)("[^"]*"|'[^']*'|\S+)()`),
	lazy.Regexp(`((?:-U|user(?:name)?=|-u)\s?[^\s%,=]{1,64}%)([^\s,]+)()`),
	lazy.Regexp(`(<<<\s*)("[^"]*"|'[^']*'|\S+)()`),
	lazy.Regexp(`(\b(?:echo|printf)\s+(?:-\w+\s+)*)("[^"]*"|'[^']*'|[^|;>]+?)(\s*\|\s*(?:sudo\s+)?(?:\S*/)?(?:cryptsetup|` +
		`gpg2?|chpasswd|passwd|su|sudo|openssl|` +
		`smbpasswd|docker|podman|mount|zfs|restic|borg|kinit|wpa_passphrase|systemd-creds|saslpasswd2?)\b.*)`),
}

// wellKnown are tokens that their form tells: JSON Web Tokens, those of GitHub, GitLab, Slack,
// Stripe and AWS, keys of WireGuard.
var wellKnown = lazy.Regexp(`\beyJ[\w-]{8,}\.[\w-]{4,}(?:\.[\w-]*)?|\bgh[pousr]_\w{20,}|\bgithub_pat_\w{20,}|` +
	`\bglpat-[\w-]{16,}|\bxox[abpr]-[\w-]{10,}|` +
	`\bsk_(?:live|test)_\w{10,}|\bA[KS]IA[0-9A-Z]{16}\b|\b[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=`)
