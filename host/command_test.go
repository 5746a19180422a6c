package host

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestAllowed(t *testing.T) {
	for line, want := range map[string]bool{
		"systemctl show --property=Id,Type -- ssh.service": true,
		"systemctl show ssh.service":                       true,
		"systemctl list-units --all --no-legend":           true,
		"systemctl list-units":                             true,
		"systemctl show -- --host=x.service":               true, // a name
		"systemctl":                                        false,
		"systemctl restart ssh.service":                    false,
		"systemctl show --host=admin@192.0.2.1":            false, // starts ssh
		"systemctl show -H 192.0.2.1":                      false,
		"systemctl show -M box":                            false,
		"systemctl list-unit-files --root=/mnt":            false,
		"systemctl list-unit-files --image=/tmp/x":         false,
		"systemctl show ssh.service --user":                false,
		"mdadm --examine /dev/sda1":                        true,
		"mdadm --examine /dev/../etc/shadow":               false,
		"mdadm --stop /dev/md0":                            false,
		"rpm -qa --qf %{NAME}":                             true,
		"rpm -qa --eval %{lua:x}":                          false,
		"cat /etc/shadow":                                  false,
		"ss -ltn":                                          true,
		"ss -K dst 192.0.2.1":                              false, // ends connections
		"dmidecode":                                        true,
		"dmidecode --dump-bin /etc/x":                      false,
		"ipmitool -I open sol info 1":                      true,
		"ipmitool -I open sol set enabled true 1":          false,
		"ipmitool -I lanplus -H 192.0.2.1 sol info 1":      false,
		"dmsetup status":                                   true,
		"dmsetup targets":                                  true,
		"dmsetup remove x":                                 false,
		"dmsetup status --udevcookie 1":                    false,
		"lvs -a":                                           false,
		"zpool list -v -p -P":                              true,
		"zpool iostat -v -l -p -P":                         true,
		"zpool iostat -v -l -p -P -y 1 1":                  true,
		"zpool iostat -v -l -p -P -y 60 1":                 true,
		"zpool iostat -v -l -p -P -y 61 1":                 false, // longer than it may run
		"zpool iostat -v -l -p -P -y 0 1":                  false,
		"zpool iostat -v -l -p -P -y x 1":                  false,
		"zpool iostat -v -l -p -P -y 5":                    false, // without an end
		"zpool destroy tank":                               false,
		"passwd -S -a":                                     true,
		"passwd -d root":                                   false,
		"dmesg":                                            true,
		"mdadm --examine-badblocks /dev/sda1":              true,
		"mdadm --examine /dev/sda1 /dev/sdb1":              false,
		"mdadm --examine sda1":                             false,
		"rpm -qa --qf %{NAME} x":                           false,
		"rpm -e --qf x":                                    false,
		"nft -s list ruleset":                              true,
		"nft -c -f /etc/nftables.conf":                     true,
		"nft -f /etc/nftables.conf":                        false,
		"nft flush ruleset":                                false,
		"iptables-legacy-save":                             true,
		"iptables-legacy-save -f /etc/x":                   false,
		"named-checkconf":                                  true,
		"named-checkconf -z":                               true,
		"named-checkconf -t /mnt":                          false,
		"systemctl list-units --state=failed,auto-restart --all --plain --no-legend --no-pager": true,
		"systemctl list-units --state=failed":                                                   false,
		"journalctl -b -o json --no-pager -n 1":                                                 true,
		"journalctl -b -o json --no-pager -n 20000":                                             true,
		"journalctl -b -o json --no-pager -n 20001":                                             false,
		"journalctl -b -o json --no-pager -n 0":                                                 false,
		"journalctl -b -o json --no-pager -n 10 --since=@12345678901":                           true,
		"journalctl -b -o json --no-pager -n 10 --since=@123456789012":                          false,
		"journalctl -b -o json --no-pager -n 10 -u a.service PRIORITY=3":                        true,
		"journalctl -o json --no-pager -n 10 --since=@1 --until=@2 -u a.service":                true,
		"journalctl -o json --no-pager -n 10 --until=@2 --since=@1":                             false,
		"lvs -a --reportformat json --units b --config activation{x=1} -o lv_name a":            false,
	} {
		f := strings.Fields(line)
		if err := (Command{Name: f[0], Args: f[1:]}).Allowed(); (err == nil) != want {
			t.Errorf("%s: %v", line, err)
		}
	}
	isolated := func(line string) bool {
		f := strings.Fields(line)
		return Commands[f[0]].For(f[1:]).Isolated
	}
	for line, want := range map[string]bool{"nft -s list ruleset": false, "nft -c -f /etc/nftables.conf": true, "sshd -t": true,
		"ss -ltn": false} {
		if isolated(line) != want {
			t.Errorf("%s: apart from the host %v, want %v", line, !want, want)
		}
	}
	lvs := []string{"-a", "--reportformat", "json", "--units", "b", "--config", LVMReadOnly, "-o", "vg_name,lv_name"}
	if err := (Command{Name: "lvs", Args: lvs}).Allowed(); err != nil {
		t.Error(err)
	}
	for at, bad := range map[int]string{6: LVMReadOnly + ` shell{history_size=9}`, 8: "lv_name --driverloaded y", 0: "--all"} {
		args := slices.Clone(lvs)
		args[at] = bad
		if err := (Command{Name: "lvs", Args: args}).Allowed(); err == nil {
			t.Errorf("lvs %q is allowed", args)
		}
	}
}

// TestNothingRunsUnasked: what is not among the read-only commands, is not installed or runs only apart from the host
// is not started, and each says why.
func TestNothingRunsUnasked(t *testing.T) {
	if _, err := (CommandSpec{Paths: []string{"/etc/passwd", "/bin", "/no/such"}}).Path(); !errors.Is(err, ErrNoCommand) {
		t.Errorf("what cannot be executed is taken for a program: %v", err)
	}
	if p, err := (CommandSpec{Paths: []string{"/no/such", "/bin/sh", "/bin/cat"}}).Path(); err != nil || p != "/bin/sh" {
		t.Errorf("the first that is there: %q, %v", p, err)
	}
	was := Commands["dmesg"]
	defer func() { Commands["dmesg"] = was }()
	Commands["dmesg"] = CommandSpec{Paths: []string{"/no/such"}, Allow: was.Allow}
	for line, want := range map[string]string{"cat /etc/shadow": "not one of the read-only commands",
		"dmesg -C": "not among the read-only ones", "sshd -t": "in a confinement only", "dmesg": ErrNoCommand.Error()} {
		f := strings.Fields(line)
		if out, err := runCommand(t.Context(), Command{Name: f[0], Args: f[1:]}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v, want an error with %q", line, out, err, want)
		}
	}
	a, b := Command{Name: "x", Args: []string{"a b"}}, Command{Name: "x", Args: []string{"a", "b"}}
	if a.Key() == b.Key() || a.String() != "x a b" {
		t.Errorf("two calls have one key, %q; or %q is not what it calls", a.Key(), a)
	}
}

// TestEveryCommandIsBounded: each has places, arguments that it may have, and time and room for an answer, but not without end.
func TestEveryCommandIsBounded(t *testing.T) {
	for name, c := range Commands {
		if c.Allow == nil || c.Allow([]string{"--no-such-option"}) || c.Limit < 4*time.Second || c.Limit > 2*time.Minute ||
			c.MaxOutput < 1<<20 || c.MaxOutput > 64<<20 {
			t.Errorf("%s may run for %s and print %d bytes", name, c.Limit, c.MaxOutput)
		}
		if len(c.Paths) == 0 || slices.ContainsFunc(c.Paths, func(p string) bool { return !strings.HasPrefix(p, "/") }) {
			t.Errorf("%s is looked for at %q", name, c.Paths)
		}
	}
	if len(Commands) < 40 || len(Commands["systemctl"].Paths) == 0 || !Commands["php-fpm8.2"].Isolated {
		t.Errorf("of %d commands some are missing", len(Commands))
	}
}
