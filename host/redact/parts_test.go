package redact

import (
	"encoding/binary"
	"strings"
	"testing"
)

// TestRoutes: networks keep what they have in common, masks and counts stay.
func TestRoutes(t *testing.T) {
	r := redactor(t)
	in := "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n" +
		"eth0\t00000000\t014D4D0A\t0003\t0\t0\t0\t00000000\t0\t0\t0\n" +
		"eth0\t004D4D0A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n"
	b, ok := r.File("/proc/net/route", []byte(in))
	out := string(b)
	if !ok || strings.Contains(out, "4D4D0A") || !strings.Contains(out, "eth0\t00000000\t") || !strings.Contains(out, "\t00FFFFFF\t") {
		t.Fatalf("%t\n%s", ok, out)
	}
	rows := strings.Split(out, "\n")
	gateway, network := strings.Split(rows[1], "\t")[2], strings.Split(rows[2], "\t")[1]
	if gateway[2:] != network[2:] || !strings.HasSuffix(gateway, "0A") {
		t.Errorf("gateway %s, network %s: they had 24 bits in common, in 10.0.0.0/8", gateway, network)
	}
}

func TestAnonymousTable(t *testing.T) {
	table := append([]byte("SPCR\x00\x00\x00\x00\x02\x00ACMECOPROLIANT "), make([]byte, 56)...)
	binary.LittleEndian.PutUint32(table[4:], uint32(len(table)))
	table[9] -= sum(table)
	b, ok := redactor(t).File("/sys/firmware/acpi/tables/SPCR", table)
	if !ok || len(b) != len(table) || sum(b) != 0 || strings.Contains(string(b), "ACME") || string(b[:4]) != "SPCR" {
		t.Errorf("%t %q", ok, b)
	}
	for _, broken := range [][]byte{nil, table[:5], table[:40]} {
		if b, _ := redactor(t).File("/sys/firmware/acpi/tables/SPCR", broken); strings.Contains(string(b), "ACME") {
			t.Errorf("%q", b)
		}
	}
}

// TestPublic: archives of distributions and the names of keyservers stay, but not
// of a host that is theirs.
func TestPublic(t *testing.T) {
	r := redactor(t)
	for in, kept := range map[string]bool{"deb http://deb.debian.org/debian trixie": true,
		"keyserver hkps://hkps.pool.sks-keyservers.net": true, "deb http://debian.org.acme.example/x": false} {
		if out := r.Text(in); (out == in) != kept {
			t.Errorf("%s became %s", in, out)
		}
	}
	r.LearnHost("grieg.debian.org")
	if out := r.Text("http://grieg.debian.org/"); strings.Contains(out, "grieg") {
		t.Error(out)
	}
}

// TestKeyFile: of a private key nothing is left, and that it was read is known.
func TestKeyFile(t *testing.T) {
	b, ok := redactor(
		t,
	).File("/etc/nginx/ssl/a.key", []byte("-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIHunter2\n-----END PRIVATE KEY-----\n"))
	if !ok || len(b) > 0 {
		t.Errorf("%t %q", ok, b)
	}
	if _, ok := redactor(t).File("/etc/acme/agent.conf", []byte("x y\n")); ok {
		t.Error("a file of no known kind is kept")
	}
}

// TestOtherEncoding: of files of which lines are kept, the others may be in any encoding.
func TestOtherEncoding(t *testing.T) {
	b, ok := redactor(t).File("/etc/init.d/a", []byte("# by G\xfcnter\ngpg --keyserver subkeys.pgp.net --recv-key 1\n"))
	if want := "\ngpg --keyserver subkeys.pgp.net --recv-key 1\n"; !ok || string(b) != want {
		t.Errorf("%t %q", ok, b)
	}
}
