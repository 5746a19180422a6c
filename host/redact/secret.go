package redact

import (
	"regexp"
	"strings"

	"fettle/internal/lazy"
)

var (
	pem = lazy.Regexp(`(?s)-----BEGIN [A-Z0-9 ]+-----.*?(-----END [A-Z0-9 ]+-----|\z)`)
	// secretValue is a setting whose name says that its value is secret, up to
	// the end of the line: NetworkManager keyfiles (psk=, password=, wep-key0=,
	// private-key=), netplan (password: x), wpa_supplicant (psk="x"), options
	// (credentials, password=x,…), WireGuard (PrivateKey = x), MACsec (mka-cak=),
	// variables (AWS_SECRET_ACCESS_KEY=x).
	secretValue = lazy.Regexp(`(?i)(^|[\s"',;{(\[?&/:])(` + secretName + `\s*[=:]\s*)(\S.*)$`)
	// secretBelow is such a setting whose value is on lines further in.
	secretBelow = lazy.Regexp(`(?i)^(\s*(?:-\s+)?` + secretName + `\s*[=:]\s*)(?:[|>][+-]?\d?)?\s*(?:#.*)?$`)
	// secretWords is the same where a blank is between: ifupdown, the
	// passwords that nslcd, pam_ldap and nss_ldap bind with, ipsec's PSK, and
	// options of commands.
	secretWords = lazy.Regexp(
		`(?i)^(\s*(?:(?:wpa|wireless)[\w-]*(?:psk|password|passwd|key\d?|identity|passphrase)|(?:root)?bindpw|rootpwmodpw|` +
			`secret|passphrase|` +
			`preshared-key|key-string|mka-cak)\s+)(\S.*)$`,
	)
	secretPSK  = lazy.Regexp(`(?i)(:\s*(?:PSK|XAUTH|EAP|RSA|ECDSA|P12|PIN|PKCS8)\s+)(\S.*)$`)
	secretFlag = lazy.Regexp(
		`(?i)((?:^|[\s"'=])--?(?:user|proxy-user|password|passwd|pass|` +
			`passphrase|secret|token|api-key|auth|oauth2-bearer)[ =])("[^"]*"|'[^']*'|\S+)`,
	)
	curlUser  = lazy.Regexp(`(\bcurl\b.*?\s-[a-zA-Z]*[uU]\s*)("[^"]*"|'[^']*'|\S+)`)
	shortFlag = lazy.Regexp(`(\b(?:mysql\w*|mariadb\w*|sshpass|mongo\w*|redis-cli)\b.*?\s-[pa]\s?)("[^"]*"|'[^']*'|\S+)`)
	bearer    = lazy.Regexp(`(?i)(\b(?:Bearer|Basic|Digest|Negotiate)\s+)[\w.~+/=-]{6,}`)
	macsecKey = lazy.Regexp(`(?i)(\bmacsec\b.*\bkey\s+[0-9a-f]{2,32}\s+|^\s*key\s*=\s*)[^\s=]\S*`)
)

// secretName is a setting's name that says that its value is secret.
const secretName = `"?[\w.-]*(?:passw(?:or)?d|passphrase|(?:\b|_|-|\.)pass|[a-z]Pass|(?:\b|_|-)pwd?|psk|secret|private_?-?key|` +
	`pre_?-?shared_?-?key|authtok|bindpw|wep_?-?key_?\d?|wep_?-?tx_?\d?|auth_?-?key|api_?-?key|access_?-?key|` +
	`encryption_?-?key|fastopen_?-?key|network_?-?key|public_?-?key|set_?-?credential|wep|(?:\b|_|` +
	`-)cak|community|token|credentials|(?:\b|_|-)pin)(?:_?-?(?:raw|flags|key|id|access_?-?key|value|\d))*"?`

// Secrets takes out key material and the values of settings that hold
// secrets. Lines keep their numbers.
func Secrets(s string) string {
	s = pem().ReplaceAllStringFunc(s, func(m string) string { return Dropped + strings.Repeat("\n", strings.Count(m, "\n")) })
	lines := strings.Split(s, "\n")
	below := -1 // how deep the name of a secret is indented whose value follows
	goesOn := false
	for i, l := range lines {
		in := len(l) - len(strings.TrimLeft(l, " \t"))
		if strings.TrimSpace(l) != "" && (goesOn || below >= 0 && in > below) {
			goesOn = strings.HasSuffix(l, "\\")
			lines[i] = l[:in] + Dropped
			continue
		}
		if strings.TrimSpace(l) != "" {
			below = -1
		}
		if secretBelow().MatchString(l) {
			below = in
		}
		lines[i] = secretLine(l)
		goesOn = lines[i] != l && strings.HasSuffix(l, "\\")
	}
	return strings.Join(lines, "\n")
}

func secretLine(l string) string {
	for _, re := range []func() *regexp.Regexp{secretWords, secretPSK, secretFlag, curlUser, shortFlag, bearer, macsecKey} {
		l = re().ReplaceAllString(l, "${1}"+Dropped)
	}
	return secretValue().ReplaceAllString(l, "${1}${2}"+Dropped)
}

// ofToken is a secret's setting in the midst of others, up to the next blank or comma.
var ofToken = lazy.Regexp(`(?i)(^|[\s"',;{(\[?&/:])(` + secretName + `\s?=\s?)("[^"]*"|'[^']*'|\[[^\]]*\]|[^\s,;&]+)`)

// tokenSecrets is Secrets of a line in which settings stand side by side: only their own
// values go.
func tokenSecrets(l string) string {
	return ofToken().ReplaceAllString(flagSecrets(l), "${1}${2}"+Dropped)
}

// flagSecrets takes out of a line the secrets in options of commands.
func flagSecrets(l string) string {
	for _, re := range []func() *regexp.Regexp{secretFlag, curlUser, shortFlag, bearer} {
		l = re().ReplaceAllString(l, "${1}"+Dropped)
	}
	return l
}

var (
	// ldapPassword is that of a server in dirmngr's form, HOST:PORT:USER:PASSWORD:BASE.
	ldapPassword = lazy.Regexp(`(?m)^(\s*(?:-{0,2}ldapserver\s+)?[^:\s/#]*:\d*:[^:\n]*:)([^:\s][^:\n]*)`)
	// urlPassword is what is between a name and the host in a URL.
	urlPassword = lazy.Regexp(`(://[^\s/@:]{0,200}:)[^\s/@]{1,200}(@)`)
)

// withoutLDAP takes the passwords of LDAP servers and proxies out of GnuPG's files.
func withoutLDAP(s string) string {
	return urlPassword().ReplaceAllString(ldapPassword().ReplaceAllString(s, "${1}"+Dropped), "${1}"+Dropped+"${2}")
}
