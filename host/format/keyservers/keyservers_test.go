package keyservers

import (
	"slices"
	"strings"
	"testing"

	"fettle/host"
	"fettle/host/hosttest"
	"fettle/internal/means"
)

func TestAlive(t *testing.T) {
	for _, c := range [][2]string{
		{"keyserver subkeys.pgp.net\n", "keyserver hkps://new\n"},
		{"keyserver hkp://WWWKEYS.nl.pgp.net:11371 # old\r\n", "keyserver hkps://new # old\r\n"},
		{"gpg --keyserver=hkps://hkps.pool.sks-keyservers.net --recv-keys 1", "gpg --keyserver=hkps://new --recv-keys 1"},
		{"gpg --keyserver 'keys.gnupg.net' -r 1; echo subkeys.pgp.net\n", "gpg --keyserver 'hkps://new' -r 1; echo subkeys.pgp.net\n"},
		{"# keyserver subkeys.pgp.net\n", "# keyserver subkeys.pgp.net\n"},
		{"keyserver notpgp.net.example.org\n", "keyserver notpgp.net.example.org\n"},
		{"keyserver-options auto-key-retrieve\n", "keyserver-options auto-key-retrieve\n"},
		{"keyserver hkps://keyserver.ubuntu.com\n", "keyserver hkps://keyserver.ubuntu.com\n"},
	} {
		if got := Alive(c[0], "hkps://new"); got != c[1] {
			t.Errorf("%q: %q, want %q", c[0], got, c[1])
		}
	}
}

func TestGone(t *testing.T) {
	if got := Alive("keyserver hkps://"+
		"Old.example.org\nkeyserver a.example.org\n", "hkps://new", "old.example.org"); got != "keyserver hkps://new\nkeyserver a.example.org\n" {
		t.Errorf("%q", got)
	}
}

func TestQuestions(t *testing.T) {
	for line, want := range map[string]string{
		"keyserver hkps://Keys.example.org":   "https://keys.example.org/pks/lookup?op=stats",
		"keyserver hkp://keys.example.org":    "http://keys.example.org:11371/pks/lookup?op=stats",
		"keyserver hkp://keys.example.org:80": "http://keys.example.org:80/pks/lookup?op=stats",
		"keyserver keys.example.org": "https://keys.example.org/pks/lookup?op=stats " +
			"http://keys.example.org:11371/pks/lookup?op=stats",
		"gpg --keyserver=ldap://keys.example.org": "",
	} {
		if m := Find(line); len(m) != 1 || m[0].Host != "keys.example.org" || strings.Join(m[0].Questions(), " ") != want {
			t.Errorf("%s: %+v", line, m)
		}
	}
}

func TestAddress(t *testing.T) {
	for id, want := range map[string]string{
		"Repository <good@example.org>":           "good@example.org",
		"good@example.org":                        "good@example.org",
		"<good@example.org>":                      "good@example.org",
		"<a> Repository <good+b@EXAMPLE.org> (x)": "good+b@EXAMPLE.org",
		"Repository":                              "",
		"X <a@b@example.org>":                     "",
		"X <a;reboot@example.org>":                "",
		"X <-a@example.org>":                      "",
		"X <a@example.org/../../x>":               "",
		"X <a@" + strings.Repeat("x", 300) + ">":  "",
	} {
		if got := Address(id); got != want {
			t.Errorf("%.80q: %q, want %q", id, got, want)
		}
	}
}

// TestWebKeyURLs: the example of draft-koch-openpgp-webkey-service, section 3.1.
func TestWebKeyURLs(t *testing.T) {
	got, err := WebKeyURLs("Joe.Doe@Example.ORG")
	want := []string{"https://openpgpkey.example.org/.well-known/openpgpkey/example.org/hu/iy9q119eutrkn8s1mk4r39qejnbu3n5q?l=Joe.Doe",
		"https://example.org/.well-known/openpgpkey/hu/iy9q119eutrkn8s1mk4r39qejnbu3n5q?l=Joe.Doe"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v %q", err, got)
	}
}

// TestNames: only what the host's files name may be asked.
func TestNames(t *testing.T) {
	h := hosttest.New(
		t,
		"-- root/etc/passwd --\nroot:x:0:0::/root:/bin/sh\n-- root/etc/group --\nroot:x:0:\n-- root/root/.gnupg/gpg.conf --\nkeyserver "+
			"hkps://keys.example.org\n"+
			"-- root/etc/apt/trusted.gpg.d/a.asc --\n"+goodKey,
	)
	for q, want := range map[host.Table]bool{
		host.AddressTable("keys.example.org"):                                    true,
		host.AddressTable("example.org"):                                         false,
		host.PageTable("https://keys.example.org/pks/lookup?op=stats"):           true,
		host.PageTable("https://keys.example.org/pks/lookup?op=get&search=x"):    false,
		host.PageTable("http://keys.example.org:11371/pks/lookup?op=stats"):      false,
		host.ServiceTable("_pgpkey-https._tcp.example.org"):                      true,
		host.ServiceTable("_pgpkey-https._tcp.evil.example.org"):                 false,
		host.ServiceTable("keys.example.org"):                                    false,
		host.PageTable("https://example.org/.well-known/openpgpkey/hu/x?l=good"): false,
		host.TableLinks: false,
	} {
		if got := Names(t.Context(), h, q); got != want {
			t.Errorf("%s: %v", q, got)
		}
	}
	urls, err := WebKeyURLs("good@example.org")
	if err != nil || !Names(t.Context(), h, host.PageTable(urls[0])) || !Names(t.Context(), h, host.PageTable(urls[1])) {
		t.Errorf("the key's own domain is not asked: %v %q", err, urls)
	}
}

func FuzzNames(f *testing.F) {
	f.Add("keyserver hkp://subkeys.pgp.net:11371\n")
	f.Fuzz(func(t *testing.T, text string) {
		if again := Alive(text, "hkps://keyserver.ubuntu.com"); Alive(again, "hkps://keyserver.ubuntu.com") != again {
			t.Fatal("the second time changes more")
		}
	})
}

func TestFuzz(t *testing.T) { means.Fuzz(t) }

// goodKey is good@example.org's.
const goodKey = `-----BEGIN PGP PUBLIC KEY BLOCK-----

mDMEXgvhABYJKwYBBAHaRw8BAQdA0Dej+OvOvoYGDJcd8bo25yr/ogbNX1yU9fIo
eoCuhG20HVJlcG9zaXRvcnkgPGdvb2RAZXhhbXBsZS5vcmc+iJAEExYIADgWIQT1
44IRjJvMSjcH4RzurQoG6/L9gAUCXgvhAAIbAQULCQgHAgYVCgkICwIEFgIDAQIe
AQIXgAAKCRDurQoG6/L9gEz2AQDvM9bwDkW3VMvLc/sTqs0ZtBx8OYslwwNuEQIO
NIqZnAEA03YwwcO1BwbOOJvXDTxH+dqqyWyB1t33CqrphGi0YwA=
=yy9c
-----END PGP PUBLIC KEY BLOCK-----
`
