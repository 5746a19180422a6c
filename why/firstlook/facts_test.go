package firstlook

import (
	"slices"
	"strings"
	"testing"

	"fettle/host/hosttest"
)

// TestFacts: what the host knows of a thing that a line names.
func TestFacts(t *testing.T) {
	h := hosttest.New(t, `hostname: web1
-- command/systemctl show --property=LoadState,ActiveState,SubState,StateChangeTimestamp,User,NRestarts,Result -- a.service --
LoadState=loaded
ActiveState=active
SubState=running
User=www-data
NRestarts=3
Result=success
-- command/systemctl show --property=LoadState,ActiveState,SubState,StateChangeTimestamp,User,NRestarts,Result -- b.service --
LoadState=loaded
ActiveState=inactive
SubState=dead
NRestarts=0
-- command/systemctl show --property=LoadState,ActiveState,SubState,StateChangeTimestamp,User,NRestarts,Result -- c.service --
LoadState=not-found
-- command/systemctl show --property=LoadState,ActiveState,SubState,StateChangeTimestamp,User,NRestarts,Result -- d.service --
exit 1
LoadState=loaded
-- command/ss -ltn --
State  Recv-Q Send-Q Local Address:Port Peer Address:Port
LISTEN 0      511    0.0.0.0:80         0.0.0.0:*
LISTEN 0      511    [::]:80            [::]:*
ESTAB  0      511    10.0.0.1:81        10.0.0.2:80
-- root/sys/class/block/sda1/size --
2000000
-- root/sys/class/block/sda1/device/model --
WDC 1
-- root/sys/class/block/sda1/ro --
1
-- root/sys/class/block/sdb/size --
4000000000
-- root/sys/class/block/sdb/ro --
0
-- root/sys/class/block/sdc/size --
odd
-- root/proc/self/mountinfo --
22 1 8:1 / / rw,relatime - ext4 /dev/root rw
23 22 8:2 / /srv ro,relatime - ext4 /dev/sda1 rw
24 22 0:9 / /mnt/far rw - nfs4 far:/x rw
25 24 0:9 / /mnt/far/near rw - ext4 /dev/sdx rw
-- stat/srv/x --
mode 0640 uid 7 gid 8 type file mtime 2026-01-02T03:04:05Z
-- stat/srv/d --
mode 0755 type dir mtime 2026-01-02T03:04:05Z
-- stat/mnt/far/f --
mode 0644 type file
-- stat/mnt/far/near/f --
mode 0644 type file mtime 2026-01-02T03:04:05Z
-- link/srv/l --
/srv/x
-- denied/srv/shut --
`)
	for thing, want := range map[Thing]string{
		{"unit", "a.service"}: "active (running), restarted 3 times, runs as www-data", {"unit", "b.service"}: "inactive (dead)",
		{"unit", "c.service"}: "systemd has it as not-found", {"unit", "d.service"}: "", {"unit", "e.service"}: "",
		{"port", "80"}: "a program listens on 0.0.0.0:80, [::]:80 (TCP)", {"port", "81"}: "nothing listens on this TCP port now", {"port",
			"0"}: "nothing listens on this TCP port now",
		{"disk", "sda1"}: "WDC 1, 1.0 GB, read-only, mounted on /srv (ext4, ro)", {"disk", "sdb"}: "2048.0 GB", {"disk", "sdc"}: "",
		{"disk", "sdz"}:    "there is no such block device now",
		{"file", "/srv/x"}: "file, mode 0640, owner 7:8, changed 2026-01-02 03:04", {"file",
			"/srv/d"}: "folder, mode 0755, owner 0:0, changed 2026-01-02 03:04",
		{"file", "/srv/none"}: "does not exist now", {"file", "/srv/no/ne"}: "does not exist now, nor does /srv/no", {"file",
			"/none"}: "does not exist now",
		{"file", "/srv/shut"}: "", {"file", "/mnt/far/f"}: "", {"file", "/mnt/far"}: "", {"file",
			"/mnt/far/near/f"}: "file, mode 0644, owner 0:0, changed 2026-01-02 03:04",
		{"else", "x"}: "",
	} {
		f, ok := lookUp(t.Context(), h, thing)
		if f.Says != want || ok != (want != "") || want != "" && (f.Command == "" || f.Thing != thing) {
			t.Errorf("%v: %q, want %q", thing, f.Says, want)
		}
	}
	if f, _ := lookUp(t.Context(), h, Thing{"file", "/srv/l"}); !strings.HasPrefix(f.Says, "symbolic link, ") {
		t.Errorf("%q", f.Says)
	}
}

// TestForeign: names that may be this host's, short or long; of a unit's log any.
func TestForeign(t *testing.T) {
	for _, c := range []struct {
		q          Question
		host, boot string
		own        bool
	}{
		{Question{Hosts: []string{"web1"}}, "web1", "", true}, {Question{Hosts: []string{"web1"}}, "web1.example.org", "", true},
		{Question{Hosts: []string{"web1.example.org"}}, "web1", "", true}, {Question{Hosts: []string{"web1.example.org"}}, "web1.example.com",
			"", false},
		{Question{Hosts: []string{"web1", "web2"}}, "web1", "", false}, {Question{}, "web1", "", false}, {Question{Unit: "a.service"}, "web1",
			"", true},
		{Question{Hosts: []string{"web1"}, Boots: []string{"ab"}}, "web1", "a-b", true}, {Question{Hosts: []string{"web1"},
			Boots: []string{"ab"}}, "web1", "", true},
		{Question{Hosts: []string{"web1"}, Boots: []string{"ab", "cd"}}, "web1", "ab", false},
	} {
		if got := c.q.Foreign(c.host, c.boot); (got == "") != c.own {
			t.Errorf("%+v on %s, boot %s: %q", c.q, c.host, c.boot, got)
		}
	}
	q := Question{Days: 99, Claims: make([]Claim, maxClaims+1)}
	q.Claims[0].Things, q.Claims[0].Template = make([]Thing, maxThings+1), make([]string, maxTokens+1)
	if b := q.bounded(); b.Days != maxDays || len(b.Claims) != maxClaims || len(b.Claims[0].Things) != maxThings ||
		len(b.Claims[0].Template) != maxTokens {
		t.Errorf("%d days, %d claims", b.Days, len(b.Claims))
	}
	if b := (Question{Days: -1}).bounded(); b.Days != 0 {
		t.Errorf("%d days", b.Days)
	}
	r := &Report{Groups: make([]Group, maxClaims)}
	for days, want := range map[int]int{-1: 0, 7: 7, 31: maxDays} {
		if got := r.Ask(nil, days); got.Days != want || len(got.Claims) != maxClaims {
			t.Errorf("%d days: %d, %d claims", days, got.Days, len(got.Claims))
		}
	}
	if got := matches(Question{Claims: []Claim{{By: "kernel"}, {By: "a"}, {By: "a"}, {By: "b"}}}); !slices.Equal(got,
		[]string{"SYSLOG_IDENTIFIER=a",
			"SYSLOG_IDENTIFIER=b", "+", "_TRANSPORT=kernel"}) {
		t.Errorf("%q", got)
	}
	if got := matches(Question{Claims: []Claim{{By: "kernel"}}}); !slices.Equal(got, []string{"_TRANSPORT=kernel"}) ||
		matches(Question{}) != nil {
		t.Errorf("%q", got)
	}
	if !identifier(strings.Repeat("a", 64)) || identifier(strings.Repeat("a", 65)) || identifier("") || identifier("a=b") {
		t.Error("identifiers")
	}
}
