package netbootstale

import (
	"os"
	"strings"
	"testing"
	"time"

	"fettle/engine/remedy/step"
	"fettle/engine/trap"
	"fettle/engine/trap/traptest"
	"fettle/host/hosttest"
)

// TestHeld: what is said of servers by what they hold. The configuration's server is tftpd-hpa with /srv/tftp (inode 70),
// dnsmasq with /srv/pxe (inode 75), or none.
func TestHeld(t *testing.T) {
	const (
		hpa     = "-- root/etc/default/tftpd-hpa --\nTFTP_DIRECTORY=\"/srv/tftp\"\n-- stat/srv/tftp --\nmode 0755 type dir ino 70\n"
		masq    = "-- root/etc/dnsmasq.conf --\nenable-tftp\ntftp-root=/srv/pxe\n-- stat/srv/pxe --\nmode 0755 type dir ino 75\n"
		aFile   = "-- stat/etc/map --\nmode 0644 type file ino 76\n"
		table   = "-- table/held --\n"
		stale   = "found warning NAME: the running COMM still serves a folder that was moved or deleted: clients get its old files"
		clear   = "clear in.tftpd: serves the folder that has its name now"
		unasked = "unknown: what the running servers hold: reading held: "
	)
	found := func(name, comm string) string { return strings.NewReplacer("NAME", name, "COMM", comm).Replace(stale) }
	for name, c := range map[string]struct{ host, want string }{
		"not asked":             {"-- uncollected/table/held --\n" + hpa, unasked + "not collected"},
		"not asked, none there": {"-- uncollected/table/held --\n", "not-applicable: no TFTP server is configured here"},
		"denied": {"-- denied/table/held --\n",
			"unknown: needs root: what the running servers hold: reading held: permission denied"},
		"denied, a web server": {table + `[{"pid":1,"comm":"nginx","denied":true}]`, ""},
		"denied, in.tftpd":     {table + `[{"pid":1,"comm":"in.tftpd","denied":true}]`, "unknown in.tftpd: needs root: what it holds"},
		"one denied, one fine": {hpa + table +
			`[{"pid":1,"comm":"in.tftpd","denied":true},{"pid":2,"comm":"in.tftpd","cwd":{"path":"/srv/tftp","ino":70}}]`, clear},
		"one old, one fine": {hpa + table +
			`[{"pid":1,"comm":"in.tftpd","cwd":{"path":"/x","ino":1}},{"pid":2,"comm":"in.tftpd","cwd":{"path":"/srv/tftp","ino":70}}]`, clear},
		"in /":    {hpa + table + `[{"pid":1,"comm":"in.tftpd","cwd":{"path":"/","ino":2}}]`, clear},
		"nowhere": {hpa + table + `[{"pid":1,"comm":"in.tftpd","cwd":{"ino":2}}]`, clear},
		"another device": {hpa + table + `[{"pid":1,"comm":"in.tftpd","cwd":{"path":"/srv/tftp","ino":70,"dev":9}}]`,
			found("in.tftpd", "in.tftpd")},
		"another inode": {hpa + table + `[{"pid":1,"comm":"in.tftpd","cwd":{"path":"/srv/tftp","ino":71}}]`, found("in.tftpd",
			"in.tftpd")},
		"a folder that is gone": {table + `[{"pid":1,"comm":"in.tftpd","paths":["/gone"],"cwd":{"path":"/x","ino":1}}]`, found("in.tftpd",
			"in.tftpd")},
		"a file that is gone": {table + `[{"pid":1,"comm":"in.tftpd","paths":["/etc/map.txt"],"cwd":{"path":"/x","ino":1}}]`, clear},
		"a file":              {aFile + table + `[{"pid":1,"comm":"in.tftpd","paths":["/etc/map"],"cwd":{"path":"/x","ino":1}}]`, clear},
		"a folder that is closed": {"-- denied/closed --\n" + table +
			`[{"pid":1,"comm":"in.tftpd","paths":["/closed"],"cwd":{"path":"/x","ino":1}}]`, "unknown in.tftpd: needs root: "},
		"dnsmasq's, hpa's elsewhere": {masq + table + `[{"pid":1,"comm":"in.tftpd","cwd":{"path":"/x","ino":1}}]`, clear},
		"mounted": {hpa + table + `[{"pid":1,"comm":"nginx","paths":["/srv/tftp/"],"mounts":[{"path":"/srv/tftp","ino":1}]}]`,
			found("nginx", "nginx")},
		"mounted, the same": {hpa + table + `[{"pid":1,"comm":"nginx","paths":["/srv/tftp"],"mounts":[{"path":"/srv/tftp","ino":70}]}]`,
			""},
		"mounted elsewhere": {hpa + table + `[{"pid":1,"comm":"nginx","paths":["/srv/tftp"],"mounts":[{"path":"/var","ino":1}]}]`, ""},
		"mounted, by configuration": {masq + table + `[{"pid":1,"comm":"dnsmasq","mounts":[{"path":"/srv/pxe","ino":1}]}]`, found("dnsmasq",
			"dnsmasq")},
		"mounted, another's": {masq + table + `[{"pid":1,"comm":"nginx","mounts":[{"path":"/srv/pxe","ino":1}]}]`, ""},
		"hpa's, mounted":     {hpa + table + `[{"pid":1,"comm":"nginx","mounts":[{"path":"/srv/tftp","ino":1}]}]`, ""},
		"linux":              {table + `[{"pid":1,"comm":"nginx","files":[{"path":"/a/linux"}]}]`, found("nginx", "nginx")},
		"vmlinuz":            {table + `[{"pid":1,"comm":"nginx","files":[{"path":"/a/vmlinuz-6.1"}]}]`, found("nginx", "nginx")},
		"another file":       {table + `[{"pid":1,"comm":"nginx","files":[{"path":"/a/log"}]}]`, ""},
	} {
		var got []string
		for line := range strings.SplitSeq(traptest.Lines(traptest.Run(t, &Trap, hosttest.New(t, c.host+"\n"))), "\n") {
			if !strings.Contains(line, " /srv/") && (!strings.HasPrefix(line, "not-applicable") || strings.HasPrefix(c.want, "not-applicable")) {
				got = append(got, line)
			}
		}
		if all := strings.Join(got, "\n"); !strings.HasPrefix(all, c.want) || c.want == "" && all != "" {
			t.Errorf("%s: %q, want %q", name, all, c.want)
		}
	}
}

// TestRestart: a service is restarted by the plan, everything else by hand.
func TestRestart(t *testing.T) {
	for _, c := range []struct{ held, want string }{
		{`{"pid":1,"comm":"in.tftpd","unit":"a.service","cwd":{"path":"/a","deleted":true}}`, "restart a.service"},
		{`{"pid":1,"comm":"in.tftpd","unit":"session-3.scope","cwd":{"path":"/a","deleted":true}}`, "restart in.tftpd in the way it was started"},
		{`{"pid":1,"comm":"nginx","unit":"a.service","container":"c","root":{"path":"/a","deleted":true}}`, "restart the container c"},
	} {
		h := hosttest.New(t, "-- table/held --\n["+c.held+"]\n")
		plans := traptest.Plans(t, &Trap, h, traptest.Run(t, &Trap, h))
		if first, _, _ := strings.Cut(plans, "\n"); !strings.HasSuffix(first, ": "+c.want) {
			t.Errorf("%s: %s, want %s", c.held, plans, c.want)
		}
	}
	if _, err := restart(trap.Finding{}); err == nil {
		t.Error("a plan without facts")
	}
}

// TestPlan: which tree is fetched, and from where; and which folders are left to the admin.
func TestPlan(t *testing.T) {
	const (
		dir    = "/srv/tftp/debian-installer/amd64"
		initrd = `"parts":["gzip"],"distribution":"Debian","description":"12 (bookworm) - installer build b1"}`
		suite  = `{"codename":"bookworm",` + initrd
		apt    = "-- root/etc/apt/sources.list --\ndeb http://deb.example.org/debian bookworm main\n"
	)
	tree := func(initrd string) string {
		return "-- root" + dir + "/linux --\nx\n-- root" + dir + "/initrd.gz --\nx\n-- table/kernel " + dir + "/linux --\n" +
			`{"form":"bzImage","release":"6.1.0-47-amd64"}` + "\n-- table/initrd " + dir + "/initrd.gz --\n" + initrd + "\n"
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		subject, host string
		given         []string
		want          string // flags, or why there is no plan
	}{
		"by its sources": {dir, tree(suite) + apt, nil, "--suite bookworm --arch amd64 --mirror http://deb.example.org/debian"},
		"another mirror": {dir, tree(suite) + apt, []string{"mirror=http://a/debian"}, "--suite bookworm --arch amd64 --mirror http://a/debian"},
		"another keyring": {dir, tree(suite) + apt, []string{"keyring=/k.gpg"},
			"--suite bookworm --arch amd64 --mirror http://deb.example.org/debian --keyring /k.gpg"},
		"a package": {dir, tree("{" + initrd), []string{"deb=/a.deb"}, "--deb /a.deb"},
		"no mirror": {dir, tree(suite), nil, "--suite bookworm --arch amd64 --mirror http://deb.debian.org/debian"},
		"no suite": {dir, tree("{"+initrd) + apt, nil, "no plan: " + dir +
			" does not tell which suite and architecture it installs: fetch a tree with fettle netboot fetch"},
		"another layout": {"/srv/tftp/amd64", tree(suite), nil, "no plan: /srv/tftp/amd64 is not laid out as Debian's netboot.tar.gz"},
		"not there":      {dir, apt, nil, "no plan: "},
		"a link":         {dir, "-- link" + dir + " --\n/srv/a\n", nil, "no plan: " + dir + " is a link: replace its target"},
		"none in it": {dir, "-- root" + dir + "/notes --\nx\n", nil, "no plan: " + dir +
			" holds 0 kernels with initrds: choose the one to replace (fettle netboot fetch)"},
		"no initrd": {dir, strings.Replace(tree(suite), "-- table/initrd", "-- denied/table/initrd", 1), nil, "no plan: the initrd: "},
		"closed":    {dir, "-- stat" + dir + " --\nmode 0700 type dir\n-- denied" + dir + " --\n", nil, "no plan: "},
	} {
		h := hosttest.New(t, "time: 2026-11-29T12:00:00Z\n"+c.host)
		f, err := Trap.Choose(trap.Finding{Subject: c.subject}, c.given)
		if err != nil {
			t.Fatal(err)
		}
		p, err := plan(t.Context(), h, f)
		if err != nil {
			if got := "no plan: " + err.Error(); !strings.HasPrefix(got, c.want) || len(p.Steps) > 0 {
				t.Errorf("%s: %s, want %s", name, got, c.want)
			}
			continue
		}
		fetch, swap := p.Steps[0].(step.Command), p.Steps[1].(step.Command)
		stage := fetch.Do[3]
		if !strings.HasPrefix(stage, "/srv/tftp/.fettle-netboot-20261129-120000-") {
			t.Errorf("%s: the stage is %s", name, stage)
		}
		if got := strings.Join(fetch.Do, " "); got != self+" netboot fetch "+stage+" --stage --like /srv/tftp "+c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		if got := strings.Join(swap.Do, " "); got != self+" netboot swap /srv/tftp "+stage || fetch.Limit < 20*time.Minute {
			t.Errorf("%s: %s; the fetch may take %s", name, got, fetch.Limit)
		}
		if old := "The old tree (b1) stays in " + stage + "/debian-installer/amd64."; p.Notes[len(p.Notes)-1] != old {
			t.Errorf("%s: %q, want %q", name, p.Notes, old)
		}
	}
}
