package paste

import (
	"context"
	"slices"
	"strings"
	"testing"

	"fettle/engine/trap"
	"fettle/internal/means"
	"fettle/traps"
)

// found are the traps and subjects that the checks find on a paste and not on nothing.
func found(t *testing.T, text string) []string {
	t.Helper()
	h, _ := Host(text)
	if h == nil {
		return nil
	}
	var out []string
	for _, f := range Checked(context.Background(), h, traps.All()) {
		for _, o := range f.Outcomes {
			out = append(out, strings.TrimSpace(f.Trap+" "+o.Subject))
		}
	}
	return out
}

const bridge = `2: eth0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 9000 qdisc fq master br0 state UP group default qlen 1000
    link/ether 52:54:00:00:00:01 brd ff:ff:ff:ff:ff:ff promiscuity 1 minmtu 68 maxmtu 9000
    bridge_slave state forwarding priority 32 cost 100 hairpin off
3: tap0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc fq master br0 state UP group default qlen 1000
    link/ether 52:54:00:00:00:02 brd ff:ff:ff:ff:ff:ff promiscuity 1 minmtu 68 maxmtu 65521
    tun type tap pi off vnet_hdr on persist on
    bridge_slave state forwarding priority 32 cost 100 hairpin off
4: br0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc noqueue state UP group default qlen 1000
    link/ether 52:54:00:00:00:03 brd ff:ff:ff:ff:ff:ff promiscuity 0 minmtu 68 maxmtu 65535
    bridge forward_delay 0 hello_time 200 max_age 2000
`

func TestHost(t *testing.T) {
	ksm := "/sys/kernel/mm/ksm/full_scans:0\n/sys/kernel/mm/ksm/pages_shared:211\n/sys/kernel/mm/ksm/pages_sharing:903\n" +
		"/sys/kernel/mm/ksm/pages_to_scan:100\n/sys/kernel/mm/ksm/pages_unshared:512004400\n/sys/kernel/mm/ksm/run:1\n" +
		"/sys/kernel/mm/ksm/sleep_millisecs:20\n"
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"degraded": {"Personalities : [raid1]\nmd0 : active raid1 sdb1[1](F) sda1[0]\n      1046528 blocks super 1.2 [2/1] [U_]\n      \n" +
			"unused devices: <none>\n", []string{"raid-degraded md0"}},
		"whole": {"md0 : active raid1 sdb1[1] sda1[0]\n      1046528 blocks super 1.2 [2/2] [UU]\n", nil},
		"KSM":   {ksm, []string{"ksm-scan-rate scan-rate"}},
		"KSM by name": {"pages_shared 1022\npages_sharing 4410\npages_unshared 512004400\npages_to_scan 100\nsleep_millisecs 20\nfull_scans 2\n",
			[]string{"ksm-scan-rate scan-rate"}},
		"bridge":         {bridge, []string{"bridge-mtu br0"}},
		"bridge of 1500": {strings.ReplaceAll(bridge, "mtu 9000", "mtu 1500"), nil},
		"sysctl":         {"net.ipv4.ip_forward = 1\nvm.swappiness = 60\n", nil},
		"prose":          {"my disk is slow", nil},
	} {
		got := found(t, c.text)
		slices.Sort(got)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestMembers: of how many members some are missing is what the paste says.
func TestMembers(t *testing.T) {
	h, _ := Host("md2 : active raid5 sdd1[3] sdc1[2] sdb2[1]\n      2917676544 blocks level 5, 256k chunk, algorithm 2 [4/3] [_UUU]\n")
	for _, r := range Checked(context.Background(), h, traps.All()) {
		for _, o := range r.Outcomes {
			if o.Detail != "1 of 4 missing or rebuilding" {
				t.Errorf("%s: %q", r.Trap, o.Detail)
			}
		}
	}
}

// TestNeverClear: what is not pasted was not looked at.
func TestNeverClear(t *testing.T) {
	h, _ := Host("md0 : active raid1 sdb1[1] sda1[0]\n      1046528 blocks super 1.2 [2/2] [UU]\n")
	for _, r := range Checked(context.Background(), h, traps.All()) {
		for _, o := range r.Outcomes {
			if o.Status != trap.Found {
				t.Errorf("%s: %v", r.Trap, o)
			}
		}
	}
}

func FuzzHost(f *testing.F) {
	f.Add(bridge)
	f.Add("md0 : active raid1 a\n[2/1] [U_]\nvm.x = -- root/x --\nrun 1\npages_to_scan 3\npages_shared 2\n")
	f.Fuzz(func(t *testing.T, text string) { Host(text) })
}

func TestFuzz(t *testing.T) { means.Fuzz(t) }
