package host_test

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"

	"fettle/host"
	"fettle/host/hosttest"
	"fettle/internal/means"
)

const dpkgText = `-- root/var/lib/dpkg/status --
Package: systemd
Status: install ok installed
Architecture: amd64
Version: 252.39-1~deb12u2
Description: system and service manager
 Package: not a field
 .
Conffiles:
 /etc/systemd/journald.conf 12ab

Package: gone
Status: deinstall ok config-files
Version: 1:1-1
Architecture: all
`

func TestPackagesDpkg(t *testing.T) {
	h := hosttest.New(t, dpkgText)
	p, err := h.Package(t.Context(), "systemd")
	if want := (host.Package{Name: "systemd", Version: "252.39-1~deb12u2", Arch: "amd64", Status: "installed"}); err != nil || p != want {
		t.Errorf("%+v, %v", p, err)
	}
	for _, name := range []string{"gone", "absent", "systemd:arm64"} {
		if _, err := h.Package(t.Context(), name); !host.IsAbsent(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if all, err := h.Packages(t.Context()); err != nil || len(all) != 2 || all[1].Status != "config-files" {
		t.Errorf("%+v, %v", all, err)
	}
}

func TestPackagesElsewhere(t *testing.T) {
	h := hosttest.New(
		t,
		"-- root/var/lib/dpkg/status.d/base --\nPackage: base-files\nVersion: 12\nArchitecture: amd64\n-- "+
			"root/var/lib/dpkg/status.d/base.md5sums --\nx\n",
	)
	if p, err := h.Package(t.Context(), "base-files"); err != nil || p.Version != "12" {
		t.Errorf("status.d: %+v, %v", p, err)
	}
	q := `rpm -qa --qf %{NAME}\t%|EPOCH?{%{EPOCH}:}:{}|%{VERSION}-%{RELEASE}\t%{ARCH}\n`
	h = hosttest.New(
		t,
		"-- stat/usr/lib/sysimage/rpm --\ntype dir\n-- command/"+q+" --\nbash\t5.1-6.el9\tx86_64\nbind\t32:"+
			"9.16-1\tx86_64\ngpg-pubkey\t1-2\t(none)\n",
	)
	if p, err := h.Package(t.Context(), "bind"); err != nil || p.Version != "32:9.16-1" {
		t.Errorf("rpm: %+v, %v", p, err)
	}
	if _, err := hosttest.New(t, "-- root/etc/hostname --\nx\n").Packages(t.Context()); !host.IsAbsent(err) {
		t.Errorf("no database: %v", err)
	}
	if _, err := hosttest.New(t, "incomplete: true\n-- root/etc/hostname --\nx\n").Packages(t.Context()); err == nil || host.IsAbsent(err) {
		t.Errorf("nothing collected: %v", err)
	}
	if _, err := hosttest.New(t, "-- denied/var/lib/dpkg/status --\n").Packages(t.Context()); err == nil || host.IsAbsent(err) {
		t.Errorf("denied: %v", err)
	}
	_, err := hosttest.New(t, "-- root/var/lib/dpkg/status --\nPackage: a\n\nVersion: 1\n").Packages(t.Context())
	if err == nil || !strings.Contains(err.Error(), "/var/lib/dpkg/status:3:") {
		t.Errorf("broken: %v", err)
	}
}

// TestPackagesAgainstDpkgQuery compares with dpkg-query on this machine.
func TestPackagesAgainstDpkgQuery(t *testing.T) {
	query := means.Tool(t, "dpkg-query")
	src, err := host.NewLive()
	if err != nil {
		t.Fatal(err)
	}
	ps, err := host.New(src).Packages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(query, "-W", "-f", "${Package} ${Version} ${Architecture} ${db:Status-Status}\n").Output()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{}
	for line := range bytes.Lines(out) {
		want[strings.TrimSpace(string(line))] = true
	}
	for _, p := range ps {
		line := p.Name + " " + p.Version + " " + p.Arch + " " + p.Status
		if !want[line] {
			t.Errorf("dpkg-query does not list %q", line)
		}
		delete(want, line)
	}
	for line := range want {
		t.Errorf("not read: %q", line)
	}
}

func FuzzPackages(f *testing.F) {
	f.Add([]byte(strings.SplitN(dpkgText, "\n", 2)[1]))
	f.Add([]byte("Package: a\n\n\n b\nx"))
	f.Fuzz(func(t *testing.T, b []byte) {
		ps, err := host.ParseDpkg("status", b)
		for _, p := range ps {
			if err == nil && (p.Name == "" && !bytes.Contains(bytes.ToLower(b), []byte("package:")) || p.Status == "") {
				t.Fatalf("%+v", p)
			}
		}
		host.ParseRPM(b)
	})
}

// BenchmarkParseDpkg reads this machine's status file, repeated to 10 MB.
func BenchmarkParseDpkg(b *testing.B) {
	one, err := os.ReadFile("/var/lib/dpkg/status")
	if err != nil {
		means.Missing(b, "needs dpkg's status: "+err.Error())
	}
	for _, c := range []struct {
		name string
		text []byte
	}{{"own", one}, {"10MB", bytes.Repeat(append(one, '\n'), 10<<20/len(one)+1)}} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(c.text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := host.ParseDpkg("status", c.text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
