package host_test

import (
	"bytes"
	"os"
	"os/exec"
	"slices"
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
	const rpm, bash = "-- stat/var/lib/rpm --\ntype dir\n-- command/", " --\nbash\t5.1-6.el9\tx86_64\n"
	for name, c := range map[string]struct{ text, want string }{
		"rpm beside an empty dpkg":   {"-- root/var/lib/dpkg/status --\n" + rpm + q + bash, ""},
		"rpm, and no status.d known": {"-- uncollected/var/lib/dpkg/status.d --\n" + rpm + q + bash, ""},
		"status.d denied":            {"-- denied/var/lib/dpkg/status.d --\n" + rpm + q + bash, "permission denied"},
		"a file of it denied": {"-- root/var/lib/dpkg/status.d/a --\nPackage: a\n-- denied/var/lib/dpkg/status.d/b --\n" +
			"-- stat/var/lib/dpkg/status.d/b --\ntype file\n", "permission denied"},
		"a file of it broken":   {"-- root/var/lib/dpkg/status.d/a --\nPackage\n", "status.d/a:1:"},
		"rpm fails":             {rpm + q + " --\nexit 2\n", "rpm -qa: exit status 2"},
		"rpm not installed":     {"-- stat/var/lib/rpm --\ntype dir\n", host.ErrNoCommand.Error()},
		"rpm of a root":         {"kind: root\n-- stat/var/lib/rpm --\ntype dir\n", "only rpm on the running host"},
		"rpm says odd things":   {rpm + q + bash[:4] + "bash 5.1\n", "rpm -qa:1: not of the form"},
		"the rpm folder denied": {"-- denied/usr/lib/sysimage/rpm --\n" + rpm + q + bash, "permission denied"},
		"the rpm folder unseen": {"-- uncollected/usr/lib/sysimage/rpm --\n-- command/" + q + bash, ""},
	} {
		all, err := hosttest.New(t, c.text).Packages(t.Context())
		if c.want == "" && (err != nil || len(all) != 1 || all[0].Name != "bash") ||
			c.want != "" && (err == nil || host.IsAbsent(err) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %+v, %v, want %q", name, all, err, c.want)
		}
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

func TestDpkgStatusForms(t *testing.T) {
	one := []host.Package{{Name: "a", Version: "1", Arch: "all", Status: "installed"}}
	for text, want := range map[string][]host.Package{
		"":            {},
		"\n \n\t\r\n": {},
		"Package: a\nVersion: 1\nArchitecture: all":                                                 one,
		"package:a\nVERSION:  1 \nArchitecture:all\nstatus: install ok installed\n":                 one,
		"Package: a\r\nVersion: 1\r\nArchitecture: all\r\n\r\n":                                     one,
		"\n\nPackage: a\nSection: b\n Version: 2\nVersion: 1\n#Version: 3\nArchitecture: all\n\n\n": one,
		"Package: a\nStatus: unpacked\n":                                                            {{Name: "a", Status: "unpacked"}},
		"Package: a\n \nPackage: b\n": {{Name: "a", Status: "installed"},
			{Name: "b", Status: "installed"}},
	} {
		got, err := host.ParseDpkg("status", []byte(text))
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
	for text, want := range map[string]string{"Version: 1\n": "status:1:", "Package: a\n\n\nVersion: 1\n\nPackage: b\n": "status:4:",
		"Package: a\nSection\n": "status:2:", "Package: a\nbad\n": "status:2:", " b\n": "status:1:"} {
		if got, err := host.ParseDpkg("status", []byte(text)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %+v, %v, want an error of %s", text, got, err, want)
		}
	}
	for text, want := range map[string]string{"a\t1\tall": "", "a\t1\tall\nb\t1\n": "rpm -qa:2:",
		"\t1\tall\n": "rpm -qa:1:", "a\t1\tall\tx\n": "rpm -qa:1:"} {
		got, err := host.ParseRPM([]byte(text))
		if want == "" && !slices.Equal(got, one) || want != "" && (err == nil || !strings.HasPrefix(err.Error(), want)) {
			t.Errorf("%q: %+v, %v, want %q", text, got, err, want)
		}
	}
	for status, want := range map[string]bool{"installed": true, "half-configured": true, "config-files": false, "not-installed": false} {
		if (host.Package{Status: status}).Installed() != want {
			t.Errorf("%s: installed %v", status, !want)
		}
	}
}
