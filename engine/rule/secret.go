package rule

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"fettle/host"
	"fettle/internal/lazy"
)

// errSecret is the refusal to read for a stranger's rule what may be a secret.
var errSecret = errors.New("may hold secrets, which rules cannot read")

// secrets are paths that hold passwords, keys, or the memory of processes. /proc/sys, /sys
// and logs are not among them. secretPlaces begin at the root, secretNames anywhere: one
// expression for both is too long for regexp's fast way.
var (
	secretPlaces = lazy.Regexp(`^(?:` + strings.Join([]string{
		`/etc/(g?shadow|security/opasswd)[^/]*$`, `/var/backups/g?shadow`, `/etc/sudoers`, `/etc/ssh/ssh_host_[^/]*key$`,
		`/etc/ssl/private(/|$)`, `/etc/pki/tls/private(/|$)`,
		`/etc/(wireguard|ppp|ipsec\.secrets|ipsec\.d|swanctl|openvpn|krb5\.keytab|sssd|ldap\.secret|` +
			`pam_ldap\.secret|nslcd\.conf|mysql/debian\.cnf|exim4/passwd|postfix/sasl)`,
		`/etc/NetworkManager/system-connections`, `/etc/wpa_supplicant`, `/var/lib/(fettle|iwd|sss|samba/private|systemd/random-seed|` +
			`private|docker/swarm)`,
		`/(root|home/[^/]+)/\.[^/]*history$`, `/(dev|run/credentials|run/user)/`, `/(boot|etc)/.*\.(gpg|luks)$`,
		`/proc/(\d+|self|thread-self)/`, `/proc/(kcore|kmem|kallsyms|keys|` +
			`key-users|sysrq-trigger|kmsg|vmcore)`, `/sys/kernel/(debug|tracing)`, `/sys/firmware/(efi/efivars|qemu_fw_cfg)`,
		`/proc/sys/kernel/random/`,
	}, "|") + `)`)
	secretNames = lazy.Regexp(strings.Join([]string{
		`/\.ssh/(id_|identity)[^/]*$`, `/\.gnupg(/|$)`, `/\.(pgpass|netrc|my\.cnf|mylogin\.cnf|` +
			`git-credentials|vault-token|htpasswd)$`,
		`/\.(aws|kube|docker|config/gcloud)/`, `google_authenticator`, `\.(key|keytab|p12|pfx|jks|kdbx)$`, `keytab$`,
		`/(private|secrets?)(/|$)`,
	}, "|"))
)

// openTables are what the kernel keeps below a process, but shows to everybody:
// /proc/net and /proc/mounts are links to these (proc(5)).
var openTables = lazy.Regexp(`^/proc/(\d+|self|thread-self)/(net(/[^.][^/]*)*|mounts|mountinfo)$`)

func secretPath(p string) bool {
	if openTables().MatchString(p) {
		return false
	}
	if secretPlaces().MatchString(p) || secretNames().MatchString(p) {
		return true
	}
	// A pattern whose wildcard may come to one of these is one of these, where
	// that can be told; what it comes to is looked at again when it is read.
	return strings.HasPrefix(p, "/proc/") && strings.ContainsAny(strings.Split(p, "/")[2], "*?[")
}

// maxText is the most that a stranger's rule reads of a file, and any rule of a script.
const maxText = 1 << 20

// permit refuses a stranger's rule a secret, whatever links lead there. It
// gives the path without symlinks, which is then what is read.
func (r *reading) permit(name string) (string, error) {
	if r.rule.Shipped {
		return name, nil
	}
	return host.Memo(r.ctx, r.h, "permitted:"+name, func() (string, error) {
		// Many names have one folder.
		dir := path.Dir(path.Clean(name))
		real, err := host.Memo(r.ctx, r.h, "real folder:"+dir, func() (string, error) { return realPath(r.ctx, r.h, dir) })
		if err == nil {
			real, err = follow(r.ctx, r.h, real, path.Base(name))
		}
		if err != nil {
			return "", err
		}
		if secretPath(name) || real != name && secretPath(real) {
			return "", fmt.Errorf("%s: %w", name, errSecret)
		}
		return real, nil
	})
}

// realPath follows the symlinks of all folders on the way, as far as the path
// exists.
func realPath(ctx context.Context, h *host.Host, name string) (string, error) {
	return follow(ctx, h, "/", path.Clean(name))
}

// follow is realPath from a folder on that has no symlinks.
func follow(ctx context.Context, h *host.Host, at, name string) (string, error) {
	todo, links := strings.Split(name, "/"), 0
	for len(todo) > 0 {
		part := todo[0]
		todo = todo[1:]
		if part == "" || part == "." {
			continue
		}
		next := path.Join(at, part)
		to, err := h.Readlink(ctx, next)
		if err != nil {
			at = next // no symlink, or not there, or not told: reading it says which
			continue
		}
		if links++; links > 40 {
			return "", fmt.Errorf("%s: too many symlinks", name)
		}
		if path.IsAbs(to) {
			at = "/"
		}
		todo = append(strings.Split(to, "/"), todo...)
	}
	return at, nil
}

// content reads a file within the rule's bounds.
func (r *reading) content(name string) ([]byte, error) {
	real, err := r.permit(name)
	if err != nil {
		return nil, err
	}
	b, err := r.h.ReadFile(r.ctx, real)
	if err != nil || r.rule.Shipped {
		return b, err
	}
	if len(b) > maxText {
		return nil, fmt.Errorf("reading %s: %w", name, host.ErrTooBig)
	}
	if key, err := host.Memo(r.ctx, r.h, "holds a key:"+real, func() (bool, error) { return holdsKey(b), nil }); err != nil {
		return nil, err
	} else if key {
		return nil, fmt.Errorf("%s: holds a private key: %w", name, errSecret)
	}
	return b, nil
}

// beyondText tells whether a file is known to be larger than a script is.
func (r *reading) beyondText(name string) bool {
	real, err := r.permit(name)
	if err != nil {
		return false
	}
	st, err := r.h.Stat(r.ctx, real)
	return err == nil && st.Size > maxText
}

// holdsKey finds private keys by their armour (RFC 7468, RFC 4716).
func holdsKey(b []byte) bool {
	for rest := b; ; {
		i := bytes.Index(rest, []byte("-----BEGIN "))
		if i < 0 {
			return bytes.Contains(b, []byte("PuTTY-User-Key-File-"))
		}
		rest = rest[i+len("-----BEGIN "):]
		line, _, _ := bytes.Cut(rest, []byte("\n"))
		if bytes.Contains(line, []byte("PRIVATE KEY")) {
			return true
		}
	}
}
