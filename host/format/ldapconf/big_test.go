package ldapconf

import (
	"strings"
	"testing"
	"time"

	"fettle/host"
	"fettle/internal/means"
)

// Files made to exhaust a reader cost no more than their size.
func TestLargeFiles(t *testing.T) {
	for name, s := range map[string]string{
		"continued": "[sssd]\ndomains = a\n" + strings.Repeat("  b\n", 500_000),
		"sections":  strings.Repeat("[domain/a]\n", 200_000),
		"domains":   "[sssd]\ndomains = " + strings.Repeat("a,", 500_000) + "\n",
		"uris":      strings.Repeat("URI ldap://a\n", 100_000),
		"list":      "uri " + strings.Repeat("ldap://a ", 200_000),
		"one line":  strings.Repeat("x", 4<<20),
		"many keys": "[domain/a]\n" + strings.Repeat("key = value\n", 300_000),
	} {
		begin := time.Now()
		All(
			t.Context(),
			host.New(
				files{
					"/etc/ldap/ldap.conf": s,
					"/etc/sssd/sssd.conf": s,
					"/etc/nslcd.conf":     s,
					"/etc/environment":    s,
					"/etc/passwd":         "",
					"/etc/group":          "",
				},
			),
		)
		if d := time.Since(begin); d > means.Patience {
			t.Errorf("%s: %s", name, d)
		} else {
			t.Log(name, d)
		}
	}
}
