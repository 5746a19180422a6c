package update

import (
	"reflect"
	"strings"
	"testing"

	"fettle/internal/means"
)

// What apt 2.6.1 wrote to a hook, for each version of the protocol.
const (
	version1 = "/var/cache/apt/archives/cron_3.0pl1-162_amd64.deb\n/var/cache/apt/archives/bind9_1%3a9.18.49-1~deb12u1_amd64.deb\n"
	version2 = "VERSION 2\nAPT::Architecture=amd64\n\ncron 3.0pl1-150 < 3.0pl1-162 /var/cache/apt/archives/cron_3.0pl1-162_amd64.deb\n" +
		"cron 3.0pl1-150 < 3.0pl1-162 **CONFIGURE**\n"
	version3 = "VERSION 3\nAPT=1\nAPT::Architecture=amd64\nBinary=apt-get\n\n" +
		"lighttpd-mod-openssl 1.4.69-1 amd64 none > - - none **REMOVE**\n" +
		"wtmpdb - - none < 0.73.0-3 amd64 none /var/cache/apt/archives/wtmpdb_0.73.0-3_amd64.deb\n" +
		"cron 3.0pl1-150 amd64 foreign < 3.0pl1-162 amd64 foreign /var/cache/apt/archives/cron_3.0pl1-162_amd64.deb\n" +
		"cron 3.0pl1-150 amd64 foreign < 3.0pl1-162 amd64 foreign **CONFIGURE**\n"
)

func TestReadApt(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []Change
	}{
		{"empty", "", nil},
		{"version 1", version1, []Change{
			{Name: "cron", New: "3.0pl1-162", Arch: "amd64"},
			{Name: "bind9", New: "1:9.18.49-1~deb12u1", Arch: "amd64"},
		}},
		{"version 2", version2, []Change{{Name: "cron", Old: "3.0pl1-150", New: "3.0pl1-162"}}},
		{"version 3", version3, []Change{
			{Name: "lighttpd-mod-openssl", Arch: "amd64", Old: "1.4.69-1"},
			{Name: "wtmpdb", Arch: "amd64", New: "0.73.0-3"},
			{Name: "cron", Arch: "amd64", Old: "3.0pl1-150", New: "3.0pl1-162"},
		}},
		{"configuration alone", "VERSION 3\nAPT=1\n", nil},
	} {
		got, err := ReadApt(strings.NewReader(c.text))
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, %v; want %+v", c.name, got, err, c.want)
		}
	}
	for text, says := range map[string]string{
		"VERSION 9\n\n":        "does not understand",
		"VERSION 3\n\na b c\n": "line 3",
		"not a path\n":         "not the path of a package",
		"VERSION 3\nA=" + strings.Repeat("x", maxLine): "too long",
	} {
		if _, err := ReadApt(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%.20q: %v, want %q", text, err, says)
		}
	}
}

func TestFuzz(t *testing.T) { means.Fuzz(t) }

func FuzzReadApt(f *testing.F) {
	for _, s := range []string{version1, version2, version3} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		changes, err := ReadApt(strings.NewReader(text))
		if err == nil && len(changes) > strings.Count(text, "\n")+1 {
			t.Errorf("%d changes of %q", len(changes), text)
		}
	})
}

// TestReadSimulation: lines that apt-get -s of Debian 12 printed.
func TestReadSimulation(t *testing.T) {
	got := ReadSimulation(`NOTE: This is only a simulation!
Remv php8.2-fpm [8.2.36-1~deb12u1]
Inst cron [3.0pl1-150] (3.0pl1-162 Debian:12.15/oldstable [amd64])
Inst libc6:i386 [2.36-9] (2.36-9+deb12u13 Debian:12.15/oldstable, Debian-Security:12/oldstable-security [i386]) []
Inst wtmpdb (0.73.0-3+deb13u1 Debian:13.8/stable [amd64])
Conf cron (3.0pl1-162 Debian:12.15/oldstable [amd64])
`)
	want := []Change{
		{Name: "php8.2-fpm", Old: "8.2.36-1~deb12u1"},
		{Name: "cron", Old: "3.0pl1-150", New: "3.0pl1-162", Arch: "amd64"},
		{Name: "libc6", Old: "2.36-9", New: "2.36-9+deb12u13", Arch: "i386"},
		{Name: "wtmpdb", New: "0.73.0-3+deb13u1", Arch: "amd64"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
}

// TestReadKeptBack: of apt 2.6.1 with a package on hold, and of apt 2.7 and 2.9 as Ubuntu's users quote them.
func TestReadKeptBack(t *testing.T) {
	for text, want := range map[string][]string{
		"Calculating upgrade...\nThe following packages have been kept back:\n  curl libcurl4\n  libxml2\n" +
			"The following packages will be upgraded:\n  bash\n1 upgraded\n": {"curl", "libcurl4", "libxml2"},
		"The following upgrades have been deferred due to phasing:\n  snapd\nThe following packages have been kept back:\n  cloud-init\n": {
			"snapd", "cloud-init"},
		"Suggested packages:\n  fdutils\n\nNot upgrading yet due to phasing:\n  gzip\n\nSummary:\n  Upgrading: 71, Not Upgrading: 1\n": {"gzip"},
		"The following packages will be upgraded:\n  bash\n":                                                                           nil,
	} {
		if got := ReadKeptBack(text); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %q", text, got)
		}
	}
}
