package traps

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fettle/engine/trap"
	"fettle/engine/trap/traptest"
	"fettle/host"
	"fettle/host/capture"
	"fettle/host/format/openpgp"
	"fettle/host/hosttest"
	"fettle/host/redact"
	"fettle/internal/means"
)

// unlike are golden hosts that are told differently when redacted, and why.
var unlike = map[string]string{
	"boot-entry-broken/":                           "a boot loader's configuration may hold passwords: it is left out",
	"configuration-refused/":                       "databases' files hold passwords: they are left out",
	"unit-cannot-start-again/":                     "what makes accounts and folders is left out: then it is unknown whether they are made",
	"counter-wrap/":                                "pollers have community strings, each in a form of its own: they are left out",
	"letsencrypt-old-openssl/healthy-sosreport":    "captures are made of live hosts, whose rpm tells the epochs",
	"ldap-tls-verify/trapped-network":              "what servers answered holds their certificates",
	"openpgp-keyservers/network":                   "what servers answered holds keys; their names are redacted",
	"openpgp-keyservers/healthy-sosreport-folders": "captures are made of live hosts, whose folders have modes of their own",
	"network-by-hand/healthy":                      "keepalived's configuration and scripts may hold passwords: they are left out",
	"listen-address-by-hand/healthy-keepalived":    "keepalived's configuration may hold passwords: it is left out",
	"resolved-dnssec-fails/healthy":                "log files are left out",
	"resolved-dnssec-fails/trapped":                "log files are left out",
	"resolved-dnssec-fails/trapped-downgrade":      "log files are left out",
	"initramfs-volume-gone/healthy-cleaned":        "a boot loader's configuration may hold passwords: it is left out",
	"database-files-limit/trapped-dropin":          "names of a database's files are left out, with what they set",
	"initramfs-volume-gone/healthy":                "names of volumes are redacted as a whole: then it is unknown",
	"bind-option-gone/":                            "configurations of named may hold keys: they are left out",
	"bind-conffile-gone/":                          "configurations of named may hold keys: they are left out",
	"nginx-ssl-directive/":                         "configurations of web servers may hold passwords: they are left out",
	"php-version-path/":                            "configurations of web servers may hold passwords: they are left out",
	"haproxy-keyword-gone/":                        "configurations of haproxy hold passwords: they are left out",
	"mariadb-variable-gone/":                       "databases' files hold passwords: they are left out",
	"slapd-gnutls-ciphers/":                        "configurations of slapd hold passwords: they are left out",
	"dovecot-2-4-config/":                          "sums of files are of what they said before",
	"conffiles-changed/":                           "sums of files are of what they said before",
	"cron-table-refused/":                          "lines of cron's tables are left out, and the table is unknown",
	"certbot-cannot-renew/":                        "certbot's files name the sites: they are left out",
	"certificate-not-loaded/":                      "configurations of web servers may hold passwords: they are left out",
	"listen-address-late/":                         "configurations of services may hold passwords: they are left out",
	"kubelet-swap-returns/":                        "kubelet's files are left out",
	"postgresql-data-older/healthy-elsewhere":      "units of the host's own are left out",
	"volume-group-incomplete/healthy-exported":     "fstab was not asked for",
	"restart-question/":                            "answers of debconf are left out",
	"ssh-dsa-user-key/":                            "keys of users are in no redacted capture",
	"rabbitmq-feature-flags/":                      "names in folders of data are left out",
	"apt-pin-keeps-old/":                           "names of files of preferences are left out",
	"login-tools-gone/":                            "what jobs call is left out, but for a few programs",
	"timezone-alias-gone/":                         "what jobs set is left out",
	"sysstat-switched-off/":                        "which units a host enables is left out",
	"umask-becomes-group-writable/":                "files that no other check reads are left out",
	"exim-queuerunner-ignored/":                    "quoted values of /etc/default are left out",
	"samba-ad-dc-split/":                           "configurations of Samba may hold passwords: they are left out",
	"samba-vfs-module-split/":                      "configurations of Samba may hold passwords: they are left out",
	"sshd-dsa-host-key/":                           "hosts' public keys tell which host it is: they are left out",
	"bind-transfer-denied/":                        "configurations of named may hold keys: they are left out",
	"postfix-instances-not-started/":               "configurations of Postfix may hold passwords: they are left out",
	"pam-environment-not-read/":                    "users' files are left out",
	"puppet-legacy-facts/":                         "manifests may hold passwords: they are left out",
	"lighttpd-tls13-only/":                         "configurations of web servers may hold passwords: they are left out",
	"python-venv-left-behind/":                     "names in folders of programs are left out",
	"listener-of-session/":                         "names of users are redacted: then it is unknown whether they linger",
	"mariadb-not-clean/":                           "names in folders of data are left out",
	"container-without-restart/":                   "names in folders of data are left out",
	"dkms-module-missing/":                         "names in folders of data are left out",
	"docker-option-gone/":                          "Docker's configuration is left out",
	"ldap-client-gnutls-ciphers/":                  "values of ldap.conf that no other check reads are left out",
	"local-modules-left-behind/trapped-gems":       "names in folders of data are left out",
	"mariadb-section-not-read/":                    "databases' files hold passwords: they are left out",
	"mariadb-tools-split/":                         "what jobs call is left out, but for a few programs",
	"php-settings-left-behind/":                    "sums of files are of what they said before",
	"python-module-gone/":                          "programs are left out",
	"qemu-machine-gone/":                           "definitions of guests may hold passwords: they are left out",
	"apache-php7-block/":                           "configurations of web servers may hold passwords: they are left out",
	"lighttpd-module-gone/":                        "configurations of web servers may hold passwords: they are left out",
	"openssl-legacy-cipher/":                       "programs are left out",
	"openvpn-option-gone/":                         "configurations of OpenVPN hold keys: they are left out",
	"pam-lastlog-gone/healthy-packaged":            "sums of files are of what they said before",
	"pip-externally-managed/":                      "programs, and what jobs call, are left out",
	"polkit-pkla-not-read/":                        "rules of polkit are left out",
	"puppet-core-types-gone/":                      "manifests may hold passwords: they are left out",
	"python-versioned-path/trapped-11":             "programs are left out",
	"redis-directive-gone/":                        "databases' files hold passwords: they are left out",
	"resolved-split/":                              "which units a host enables is left out",
	"rsyslog-files-gone/":                          "sums of files are of what they said before",
	"slapd-backend-gone/":                          "configurations of slapd hold passwords: they are left out",
	"sshd-kex-gone/trapped":                        "an algorithm whose name has the form of an address is redacted",
	"hostname-by-hand/healthy-pattern":             "names of hosts are redacted, and so are patterns of them",
	"local-modules-left-behind/trapped-gems-11":    "names in folders of data are left out",
	"local-modules-left-behind/healthy-gems-next":  "names in folders of data are left out",
	"local-modules-left-behind/healthy-gems-own":   "names in folders of data are left out",
	"netboot-stale/":                               "what mirrors answered is signed, and cannot be changed",
}

// TestRedactedFindsTheSame captures each golden host of each trap with and
// without redaction. Whatever things are called then, as much is found, at the
// same severity; and nothing is clear that was not.
func TestRedactedFindsTheSame(t *testing.T) {
	means.Short(t, "takes seconds")
	for _, tr := range All() {
		for _, dir := range []string{strings.ReplaceAll(tr.ID(), "-", "") + "/testdata", "rules/" + tr.ID()} {
			files, _ := filepath.Glob(dir + "/*.txtar")
			for _, f := range files {
				name := tr.ID() + "/" + strings.TrimSuffix(filepath.Base(f), ".txtar")
				if unlike[name] != "" || unlike[tr.ID()+"/"] != "" {
					continue
				}
				t.Run(name, func(t *testing.T) { sameWhenRedacted(t, tr, f) })
			}
		}
	}
}

func sameWhenRedacted(t *testing.T, tr *trap.Trap, golden string) {
	src, extra := hosttest.Load(t, golden)
	_, network := extra["network"]
	rec := capture.NewRecorder(src)
	before := traptest.Run(t, tr, host.New(rec), trap.Options{Network: network})
	r, err := redact.New([]byte("0123456789abcdef0123456789abcdef"))
	if err != nil {
		t.Fatal(err)
	}
	r.Disguise = openpgp.Disguise
	c := rec.Capture()
	dropped, err := c.Redact(r)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "c.tar.zst")
	var b bytes.Buffer
	if err := c.Write(&b); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, b.Bytes(), fs.FileMode(0o600)); err != nil {
		t.Fatal(err)
	}
	replay, err := capture.Open(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	defer replay.Close()
	after := traptest.Run(t, tr, host.New(replay), trap.Options{Network: network})
	if was, is := sorts(before), sorts(after); was != is {
		t.Errorf("%s, redacted %s\n%s\nredacted:\n%s\ndropped: %q\n%s",
			was, is, traptest.Lines(before), traptest.Lines(after), dropped, hint)
	}
}

// hint is what to do about a host that a redacted capture says less of.
const hint = "say in host/redact/kinds.go what kind of file it is that was dropped, and in host/redact/words.txt which of its words " +
	"the check looks for"

// sorts counts outcomes by status and severity.
func sorts(all []trap.Outcome) string {
	n := map[string]int{}
	for _, o := range all {
		k := string(o.Status)
		if o.Status == trap.Found {
			k += " " + o.Severity.String()
		}
		n[k]++
	}
	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(n)) {
		fmt.Fprintf(&b, "%d %s, ", n[k], k)
	}
	return strings.TrimSuffix(b.String(), ", ")
}
