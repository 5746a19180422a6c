package run

import (
	"testing"

	"fettle/host"
	"fettle/host/hosttest"
)

// TestConfigured: only servers that the host's configuration names are talked to.
func TestConfigured(t *testing.T) {
	h := hosttest.New(t, "-- root/etc/ldap/ldap.conf --\nURI ldaps://ldap.example.com\n")
	if !configured(
		t.Context(),
		hosttest.New(t, "-- root/etc/gnupg/gpg.conf --\nkeyserver hkps://keys.example.org\n").Source(),
		host.AddressTable("keys.example.org"),
	) ||
		configured(t.Context(), h.Source(), host.AddressTable("keys.example.org")) {
		t.Error("a keyserver is asked where, and only where, gpg's configuration names it")
	}
	for uri, want := range map[string]bool{"ldaps://ldap.example.com:636": true, "ldaps://ldap.example.com:637": false,
		"ldaps://evil.example.com:636": false, "": false} {
		if configured(t.Context(), h.Source(), host.PeerQuestion{URI: uri}.Table()) != want {
			t.Errorf("%q: want %v", uri, want)
		}
	}
}
