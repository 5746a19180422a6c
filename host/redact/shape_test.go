package redact

import (
	"strings"
	"testing"
)

// TestNamedDevices: a device that somebody named is replaced, one that the kernel numbers is not.
func TestNamedDevices(t *testing.T) {
	r, err := New([]byte("0123456789abcdef"))
	if err != nil {
		t.Fatal(err)
	}
	for name, kept := range map[string]bool{
		"/dev/mapper/control": true, "/dev/md/control": false, "/dev/zvol/control": false,
		"/dev/md/127": true, "/dev/mapper/127": false, "/dev/md/payroll": false, "/dev/mapper/payroll": false,
	} {
		if out := r.Source(name); (out == name) != kept {
			t.Errorf("%s becomes %s; kept: %t", name, out, kept)
		}
	}
}

// TestNetworkLengths: of a network the rest stays zero, whatever follows its length.
func TestNetworkLengths(t *testing.T) {
	r, err := New([]byte("0123456789abcdef"))
	if err != nil {
		t.Fatal(err)
	}
	for text, zeros := range map[string]bool{
		"10.1.0.0/16": true, "10.1.0.0/16,": true, "10.1.0.0/16:": true, "2001:db8:1::/048": true, "10.1.0.0/": false, "10.1.0.0/x": false,
		"10.1.0.1/16": false, "10.1.0.0/33": false,
	} {
		out := r.Text(text)
		addr, _, _ := strings.Cut(out, "/")
		if got := strings.HasSuffix(addr, ".0.0") || strings.HasSuffix(addr, "::"); got != zeros {
			t.Errorf("%s becomes %s; its end is zero: %t", text, out, zeros)
		}
	}
}

// TestWhoCronRuns: of /etc/crontab the sixth word is a user, of a user's table it is the command.
func TestWhoCronRuns(t *testing.T) {
	r, err := New([]byte("0123456789abcdef"))
	if err != nil {
		t.Fatal(err)
	}
	r.LearnUser("walburga")
	for line, names := range map[string][]string{
		"17 * * * * walburga /usr/bin/true": {"/etc/crontab", "/etc/cron.d/x"},
		"@daily walburga /usr/bin/true":     {"/etc/crontab", "/etc/cron.d/x"},
		"17 * * * * /usr/bin/true":          {"/var/spool/cron/crontabs/walburga"},
		"@daily /usr/bin/true":              {"/var/spool/cron/crontabs/walburga"},
	} {
		for _, name := range names {
			want := strings.Replace(line, "walburga", r.User("walburga"), 1)
			if out := r.keptLine(name, line); out != want {
				t.Errorf("%s: %s becomes %s, want %s", name, line, out, want)
			}
		}
	}
	if out := r.keptLine("/etc/crontab", "17 * * * * stranger /usr/bin/true"); strings.Contains(out, "stranger") {
		t.Errorf("a user whom nobody knows: %s", out)
	}
}
