package paste

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"fettle/engine/trap"
	"fettle/host"
)

const absent, unasked = "absent", "not collected"

// content is what a host has in a file, absent, or unasked.
func content(t *testing.T, h *host.Host, name string) string {
	t.Helper()
	s, err := h.ReadString(t.Context(), name)
	_, serr := h.Stat(t.Context(), name)
	switch {
	case errors.Is(err, host.ErrAbsent) && errors.Is(serr, host.ErrAbsent):
		return absent
	case errors.Is(err, host.ErrNotCollected):
		return unasked
	case err != nil:
		t.Errorf("%s: %v", name, err)
	}
	return strings.TrimSpace(s)
}

// TestFiles: a paste becomes the files that say the same, and no others.
func TestFiles(t *testing.T) {
	const md, ksm = "/sys/block/md0/md/", "/sys/kernel/mm/ksm/"
	const head = "md0 : active raid1 sdb1[1] sda1[0]\n"
	for text, want := range map[string]map[string]string{
		head + "      1046528 blocks super 1.2 [2/2] [UU]\n": {md + "raid_disks": "2", md + "degraded": "0",
			md + "sync_action": "idle"},
		head + "      1046528 blocks super 1.2 [4/1] [U___]\n": {md + "raid_disks": "4", md + "degraded": "3",
			"/sys/block/md1/md/degraded": unasked},
		head + "      1046528 blocks [2/3] [UU]\n      1 blocks [3/3] [UUU]\n":       {md + "raid_disks": "3", md + "degraded": "0"},
		head + "      1 blocks [2/1] [U_]\n      [==>...]  recovery = 12.6% (1/2)\n": {md + "sync_action": "recover", md + "degraded": "1"},
		head + "      1 blocks [2/2] [UU]\n      resync=DELAYED\n":                   {md + "sync_action": "resync"},
		head + "      1 blocks [2/2] [UU]\n      [>....]  check =  0.1% (1/2)\n":     {md + "sync_action": "check"},
		"md9 : active (auto-read-only) raid5 a[0]\n 1 blocks [3/3] [UUU]\n" + head + " 1 blocks [2/1] [U_]\n": {
			md + "degraded": "1", "/sys/block/md9/md/degraded": "0", "/sys/block/md9/md/raid_disks": "3"},
		"pages_to_scan 100\nrun 0\nsleep_millisecs 20\n": {ksm + "run": "0", ksm + "pages_to_scan": "100", ksm + "pages_sharing": "0",
			ksm + "pages_unshared": "0",
			ksm + "pages_volatile": "0", ksm + "pages_shared": "0", ksm + "full_scans": absent, "/sys/kernel/mm/other": unasked},
		"pages_to_scan 100\npages_sharing 7\nsleep_millisecs 20\n":        {ksm + "run": "1", ksm + "pages_sharing": "7"},
		"pages_to_scan 100\npages_sharing 0\nsleep_millisecs 20\n":        {ksm + "run": absent},
		"pages_to_scan 100\nfull_scans 0\nsleep_millisecs 20\n":           {ksm + "run": absent, ksm + "full_scans": "0"},
		"pages_to_scan 100\npages_sharing 7\nrun 0\nsleep_millisecs 20\n": {ksm + "run": "0"},
		"/sys/kernel/mm/ksm/pages_to_scan:100\n/sys/kernel/mm/ksm/run:2\n/sys/kernel/mm/ksm/advisor_mode:[none] scan-time\n": {
			ksm + "run": "2", ksm + "advisor_mode": "[none] scan-time"},
		"net.ipv4.ip_forward = 1\nnet.ipv4.conf.eth0/5.rp_filter = 2\nnet.core.wmem =\n": {"/proc/sys/net/ipv4/ip_forward": "1",
			"/proc/sys/net/ipv4/conf/eth0.5/rp_filter": "2", "/proc/sys/net/core/wmem": "", "/proc/sys/vm/swappiness": unasked},
		"vm.a..b = 1\nvm.c = 2\nvm.d* = 3\nvm.e = 4\n": {"/proc/sys/vm/a//b": unasked, "/proc/sys/vm/c": "2", "/proc/sys/vm/d*": unasked,
			"/proc/sys/vm/e": "4"},
		"Jan  2 03:04:05 h app: x\n> vm.swappiness = 10\n": {"/proc/sys/vm/swappiness": "10"},
	} {
		h, of := Host(text)
		if h == nil || len(of) == 0 {
			t.Errorf("%q is not read", text)
			continue
		}
		for name, value := range want {
			if got := content(t, h, name); got != value {
				t.Errorf("%q: %s is %q, want %q", text, name, got, value)
			}
		}
	}
	for _, text := range []string{"", "a\n", "run 1\npages_to_scan 100\n", "run 1\npages_sharing 7\nsleep_millisecs 20\n",
		" 1 blocks [2/1] [U_]\n",
		"[==>...] recovery = 1%\n", head, head + " 1 blocks [2/3] [UU]\n", "vm.* = 1\n", "2: eth0 mtu 9000\n", strings.Repeat("vm.a = 1\n",
			Limit/9) + "123456\n\n"} {
		if h, of := Host(text); h != nil || of != nil {
			t.Errorf("%.40q is read as %q", text, of)
		}
	}
	if h, _ := Host("vm.a = 1\n" + strings.Repeat("\n", Limit-9)); h == nil {
		t.Error("what is just short enough is not read")
	}
}

// TestOf: what was read is told, each once, and of very many settings the first.
func TestOf(t *testing.T) {
	settings := func(n int) (out string) {
		for i := range n {
			out += fmt.Sprintf("vm.s%d = 1\n", i)
		}
		return out
	}
	for text, want := range map[string]string{
		"vm.a = 1\nvm.a = 2\n": "sysctl vm.a", bridge: "ip address", strings.ReplaceAll(bridge, "\n",
			"\r\n") + "vm.a = 1\r\n": "sysctl vm.a; ip address",
		"md0 : active raid1 a\n[2/2] [UU]\nmd1 : active raid1 b\n[2/2] [UU]\npages_to_scan 1\nrun 1\nfull_scans 1\n": "/proc/mdstat; " +
			"/sys/kernel/mm/ksm/",
		settings(6): "sysctl vm.s0; sysctl vm.s1; sysctl vm.s2; sysctl vm.s3; sysctl vm.s4; sysctl vm.s5",
		settings(7): "sysctl vm.s0; sysctl vm.s1; sysctl vm.s2; sysctl vm.s3; sysctl vm.s4; and other settings of sysctl",
	} {
		if _, of := Host(text); strings.Join(of, "; ") != want {
			t.Errorf("%q: %q, want %q", text, of, want)
		}
	}
	h, _ := Host("sudo ip -d link\n" + strings.ReplaceAll(bridge, "\n", "\r\n"))
	links, err := h.Links(t.Context())
	if err != nil || len(links) != 3 || links[0].MTU != 9000 || links[2].Name != "br0" || links[2].Info.Kind != "bridge" {
		t.Errorf("%+v, %v", links, err)
	}
}

// TestChecked: what a check finds on nothing at all, and what it does not find, a paste does not say; checks that take time do not run.
func TestChecked(t *testing.T) {
	check := func(id string, cost trap.Cost, f func(h *host.Host, r *trap.Report)) *trap.Trap {
		return &trap.Trap{Lore: trap.Lore("---\nid: " + id + "\ntitle: t\n---\n"), Cost: cost,
			Check: func(_ context.Context, h *host.Host, r *trap.Report) error { f(h, r); return nil }}
	}
	met := func(r *trap.Report, subject string) {
		r.Found(trap.Finding{Subject: subject, Severity: trap.Notice, Summary: "met"})
	}
	traps := []*trap.Trap{
		check("always", trap.Instant, func(_ *host.Host, r *trap.Report) { met(r, "") }),
		check("clear", trap.Instant, func(_ *host.Host, r *trap.Report) { r.Clear("", "fine") }),
		check("slow", trap.Sampled, func(_ *host.Host, r *trap.Report) { met(r, "") }),
		check("here", trap.Instant, func(h *host.Host, r *trap.Report) {
			met(r, "known")
			r.Clear("c", "fine")
			if v, err := h.ReadString(context.Background(), "/proc/sys/vm/a"); err == nil {
				met(r, v)
			}
		}),
	}
	h, _ := Host("vm.a = 7\n")
	var got []string
	for _, r := range Checked(t.Context(), h, traps) {
		for _, o := range r.Outcomes {
			got = append(got, r.Trap+" "+o.Subject)
		}
	}
	if !slices.Equal(got, []string{"here 7"}) {
		t.Errorf("%q", got)
	}
}
