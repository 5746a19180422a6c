package host

import (
	"bytes"
	"errors"
	"path"
	"strings"
)

// ErrSecret is the answer to whoever asks for the content of a file that is a
// secret as a whole.
var ErrSecret = errors.New("holds secrets, which fettle does not read")

// secret tells of files whose content no check, rule, plan or capture may
// have: users' secrets of one-time codes, with what the PAM module, its tool
// and fettle leave beside them. Mode, owner and size are no secret.
func secret(name string) bool {
	return strings.HasPrefix(path.Base(name), ".google_authenticator")
}

// guarded tells of files that are never wanted under another name: password
// hashes and private keys. A link or Include that leads to one is a mistake,
// or an attempt to have it printed.
func guarded(name string) bool {
	dir, base := path.Dir(name), path.Base(name)
	begins, ends := func(s string) bool { return strings.HasPrefix(base, s) }, func(s string) bool { return strings.HasSuffix(base, s) }
	switch {
	case dir == "/etc" && (begins("shadow") || begins("gshadow")), dir == "/var/backups" && (begins("shadow") || begins("gshadow")):
		return true
	case dir == "/etc/security" && begins("opasswd"), dir == "/etc/ssh" && begins("ssh_host_") && ends("_key"):
		return true
	case dir == "/etc/ssl/private", dir == "/etc/pki/tls/private", strings.HasSuffix(dir, "/.ssh") && begins("id_") && !ends(".pub"):
		return true
	}
	return ends(".keytab")
}

// secretBehind judges by the path of what was opened, real, when name was asked for.
func secretBehind(name, real string) bool {
	real = strings.TrimSuffix(real, " (deleted)") // proc_pid_fd(5)
	return secret(real) || guarded(real) && real != path.Clean(name)
}

// holdsKey finds a private key by its armour (RFC 7468, RFC 4716).
func holdsKey(b []byte) bool { return bytes.Contains(b, []byte("PRIVATE KEY-----")) }
