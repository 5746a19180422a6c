package ldaptlsverify

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fettle/engine/trap"
	"fettle/engine/trap/traptest"
	"fettle/host"
	"fettle/host/archive"
	"fettle/host/capture"
	"fettle/host/hosttest"
	"fettle/host/sosreport"
)

// TestSosreport: what sos collects is judged; what it does not collect is unknown.
func TestSosreport(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"version.txt":                  "sosreport: 4.8\n",
		"sos_commands/kernel/uname_-a": "Linux rocky9 5.14.0-503.el9.x86_64 #1 SMP x86_64 GNU/Linux\n",
		"etc/os-release":               "ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\n",
		"etc/openldap/ldap.conf":       "URI ldaps://ldap.example.com\nTLS_CACERT /etc/openldap/certs/ca.pem\nTLS_REQCERT never\n",
		"etc/sssd/sssd.conf": "[sssd]\ndomains = example.com\n[domain/example.com]\nid_provider = ldap\nldap_uri = " +
			"ldap://ldap.example.com\nldap_default_authtok = ********\nldap_tls_reqcert = allow\n",
		"sos_reports/manifest.json": `{"start_time": "2026-01-02 03:04:05", "policy": "Red Hat", "cmdline": "report --batch",
			"components": {"report": {"sysroot": "/", "plugins": {"sssd": {"timeout_hit": false}, "ldap": {"timeout_hit": false}}}}}`,
		"etc/passwd":                     "root:x:0:0:root:/root:/bin/bash\n",
		"etc/group":                      "root:x:0:\n",
		"sos_commands/sssd/sssctl_x_y_z": "",
	} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	tree, err := archive.Open(t.Context(), dir, archive.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	src := sosreport.FromTree(tree)
	defer src.Close()
	got := traptest.Lines(traptest.Run(t, &Trap, host.New(src), trap.Options{Network: true}))
	for _, want := range []string{
		"found warning openldap: accepts any server certificate: open to interception",
		"found critical sssd/example.com: accepts any server certificate: open to interception",
		"unknown nslcd: ", "unknown pam_ldap: ", "unknown openldap ldaps://ldap.example.com:636: asking ldaps://ldap.example.com:636: ",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if strings.Contains(got, "clear ") || strings.Contains(got, "pam_ldap+nss_ldap") {
		t.Errorf("something is clear:\n%s", got)
	}
}

// TestCaptureReplays: a capture made with the servers' answers says the same
// again, and holds no password.
func TestCaptureReplays(t *testing.T) {
	for _, f := range []string{"testdata/trapped-network.txtar", "testdata/trapped-clear.txtar", "testdata/healthy-rhel.txtar"} {
		src, _ := hosttest.Load(t, f)
		rec := capture.NewRecorder(src)
		want := traptest.Lines(traptest.Run(t, &Trap, host.New(rec), trap.Options{Network: true}))
		file := filepath.Join(t.TempDir(), "c.tar.zst")
		out, err := os.Create(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := rec.Capture().Write(out); err != nil {
			t.Fatal(err)
		}
		out.Close()
		again, err := capture.Open(t.Context(), file)
		if err != nil {
			t.Fatal(err)
		}
		h := host.New(again)
		if got := traptest.Lines(traptest.Run(t, &Trap, h, trap.Options{Network: true})); got != want {
			t.Errorf("%s, replayed:\n%s\nwant:\n%s", f, got, want)
		}
		for _, name := range []string{"/etc/sssd/sssd.conf", "/etc/nslcd.conf"} {
			if b, err := h.ReadFile(t.Context(), name); err == nil &&
				(strings.Contains(string(b), "= secret") || strings.Contains(string(b), "bindpw secret")) {
				t.Errorf("%s: the capture holds a password:\n%s", f, b)
			}
		}
		again.Close()
	}
}

// TestNothingIsLostOverTheNetwork takes an answer or a file away: what was
// found on a server must then be unknown or still found.
func TestNothingIsLostOverTheNetwork(t *testing.T) {
	src, _ := hosttest.Load(t, "testdata/trapped-network.txtar")
	opt := trap.Options{Network: true}
	before := traptest.Run(t, &Trap, host.New(src), opt)
	for _, q := range []string{"table peer tls ldaps://ldap2.example.com:636", "table peer tls ldaps://ldap3.example.com:636",
		"table peer starttls ldap://ldap4.example.com:389", "table peer tls ldaps://ldap5.example.com:636",
		"table peer starttls ldap://ldap7.example.com:389", "read /etc/ldap/ldap.conf", "read /etc/ssl/certs/ca-certificates.crt",
		"read /etc/os-release", "read /etc/environment"} {
		for _, err := range []error{host.ErrDenied, host.ErrNotCollected, host.ErrTimeout} {
			without := &traptest.Blind{Source: src, Hide: q, Err: err}
			after := traptest.Run(t, &Trap, host.New(without), opt)
			if lost := traptest.Lost(before, after); lost != "" {
				t.Errorf("without %s (%v): %s", q, err, lost)
			}
			if !slices.Contains(without.Asked(), q) {
				t.Errorf("%s is not asked", q)
			}
		}
	}
}
