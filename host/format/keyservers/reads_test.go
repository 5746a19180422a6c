package keyservers

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fettle/host/hosttest"
	"fettle/internal/means"
)

const dead = "keyserver hkp://subkeys.pgp.net\n"

// What the versions of Debian 8 to 13 and Ubuntu 16.04 to 20.04 were seen to read.
func TestWhoReadsWhat(t *testing.T) {
	all := []string{"options", "gpg.conf", "dirmngr.conf"}
	for _, c := range []struct {
		packages, files, want string
	}{
		{"gnupg 1.4.23-1.1", "options dirmngr.conf", "options"},
		{"gnupg1 1:1.4.23-2+b1", "options gpg.conf gpg.conf-1.4", "gpg.conf-1.4"},
		{"gnupg2 2.0.26-6", "options dirmngr.conf", "options"},
		{"gnupg2 2.1.11-6ubuntu2", "options dirmngr.conf", "options dirmngr.conf"},
		{"gpg 2.2.19-3ubuntu2", "options gpg.conf", "gpg.conf"},
		{"gpg 2.2.19-3ubuntu2", "options", "options"},
		{"gnupg2 2.1.0-1", "options dirmngr.conf", "options dirmngr.conf"},
		{"gpg x", "options", ""},
		{"gpg 2.2.27-2+deb11u2", "options", ""},
		{"gpg 2.2.40-1.1+deb12u2", "options gpg.conf dirmngr.conf", "gpg.conf dirmngr.conf"},
		{"gpg 2.2.40-1.1", "gpg.conf-2.2 gpg.conf gpg.conf-1", "gpg.conf-2.2"},
		{"gpg 2.4.7-21", "options gpg.conf-2.2", ""},
		{"gpg 2.4.7-21, gnupg1 1.4.23-1", "options gpg.conf-2", "gpg.conf-2 options"},
		{"vim 2:9.0", strings.Join(all, " "), "gpg.conf dirmngr.conf"},
	} {
		var b strings.Builder
		b.WriteString("-- root/etc/passwd --\nana:x:1000:1000::/home/ana:/bin/bash\n" +
			"-- root/etc/group --\nana:x:1000:\n-- root/var/lib/dpkg/status --\n")
		for p := range strings.SplitSeq(c.packages, ", ") {
			name, v, _ := strings.Cut(p, " ")
			fmt.Fprintf(&b, "Package: %s\nStatus: install ok installed\nArchitecture: amd64\nVersion: %s\n\n", name, v)
		}
		for f := range strings.SplitSeq(c.files, " ") {
			fmt.Fprintf(&b, "-- root/home/ana/.gnupg/%s --\n%s", f, dead)
		}
		var got []string
		for _, f := range Configured(t.Context(), hosttest.New(t, b.String()), func(error) {}) {
			got = append(got, filepath.Base(f.Path))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s with %s: reads %q, want %q", c.packages, c.files, got, c.want)
		}
	}
}

// The file for all users is read since the option parser of libgpg-error.
func TestSystemFile(t *testing.T) {
	for version, want := range map[string]int{"1.4.23-1": 0, "2.2.19-3": 0, "2.2.27-2": 1, "2.4.7-21": 1} {
		h := hosttest.New(t, "-- root/etc/gnupg/gpg.conf --\n"+dead+"-- root/var/lib/dpkg/status --\nPackage: gnupg\n"+
			"Status: install ok installed\nArchitecture: amd64\nVersion: "+version+"\n\n")
		if got := Configured(t.Context(), h, func(error) {}); len(got) != want {
			t.Errorf("%s: %+v", version, got)
		}
	}
}

// The installed programs are asked: each file holds an option that none knows.
func TestAgainstGPG(t *testing.T) {
	for _, program := range []string{"gpg", "gpg1"} {
		file := means.Tool(t, program)
		out, err := exec.Command(file, "--version").Output()
		if err != nil {
			t.Fatal(err)
		}
		first, _, _ := strings.Cut(string(out), "\n")
		v, ok := parseVersion(first[strings.LastIndexByte(first, ' ')+1:])
		if !ok {
			t.Fatalf("%s calls itself %q", program, first)
		}
		names := append(v.names(), "options", "gpg.conf-3", "gpg.conf-2.9")
		for _, name := range names {
			home := t.TempDir()
			if err := os.WriteFile(filepath.Join(home, name), []byte("no-such-option\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			said, _ := exec.Command(file, "--homedir", home, "--batch", "--list-keys").CombinedOutput()
			if read := strings.Contains(string(said), name+":1: "); read != slices.Contains(v.names(), name) {
				t.Errorf("%s %v: %s is read: %v\n%s", program, v, name, read, said)
			}
		}
	}
}
