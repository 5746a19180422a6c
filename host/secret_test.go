package host_test

import (
	"errors"
	"strings"
	"testing"

	"fettle/host"
	"fettle/host/capture"
	"fettle/host/hosttest"
)

// TestSecret: users' secrets of one-time codes are not read, and so not
// captured, whoever asks; their mode is.
func TestSecret(t *testing.T) {
	src, _, err := hosttest.Parse(
		[]byte(
			"-- root/home/alice/.google_authenticator --\nJBSWY3DPEHPK3PXP\n-- root/home/alice/.google_authenticator~x --\nJBSWY3DPEHPK3PXP\n",
		),
	)
	if err != nil {
		t.Fatal(err)
	}
	rec := capture.NewRecorder(src)
	h := host.New(rec)
	for _, name := range []string{"/home/alice/.google_authenticator", "/home/alice/.google_authenticator~x",
		"/home/alice/x/../.google_authenticator"} {
		b, err := h.ReadFile(t.Context(), name)
		if b != nil || !errors.Is(err, host.ErrSecret) || host.IsAbsent(err) {
			t.Errorf("%s: %q, %v", name, b, err)
		}
	}
	guarded := func(name string) bool { return host.SecretBehind("/a/link", name) }
	for name, want := range map[string]bool{"/etc/shadow": true, "/etc/shadow-": true, "/etc/gshadow": true, "/var/backups/shadow.bak": true,
		"/var/backups/gshadow.bak": true, "/etc/security/opasswd": true, "/etc/security/limits.conf": false, "/etc/ssh/ssh_host_rsa_key": true,
		"/etc/ssh/ssh_host_rsa_key.pub": false, "/etc/ssh/a_key": false, "/etc/ssh/sshd_config": false, "/etc/ssl/private/a.pem": true,
		"/etc/pki/tls/private/a.key": true, "/etc/ssl/certs/a.pem": false, "/root/.ssh/id_rsa": true, "/root/.ssh/id_rsa.pub": false,
		"/root/.ssh/config": false, "/srv/id_rsa": false, "/srv/http.keytab": true, "/srv/shadow": false, "/etc/passwd": false,
		"/var/backups/passwd.bak": false, "/home/a/.google_authenticator (deleted)": true, "/etc/shadow (deleted)": true} {
		if guarded(name) != want {
			t.Errorf("%s, by a link: a secret %v, want %v", name, !want, want)
		}
	}
	if host.SecretBehind("/etc/ssh/../shadow", "/etc/shadow") {
		t.Error("a file that was asked for by its own name is kept back")
	}
	if _, err := h.Stat(t.Context(), "/home/alice/.google_authenticator"); err != nil {
		t.Error(err)
	}
	var out strings.Builder
	if err := rec.Capture().Write(&out); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), "JBSWY3DP") {
		t.Error("the capture holds the secret")
	}
}
