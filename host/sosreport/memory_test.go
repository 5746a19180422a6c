package sosreport

import (
	"context"
	"testing"

	"fettle/host"
)

// TestMemory: without /proc, free and lsmod tell (procps-ng 4.0.2, kmod 30).
func TestMemory(t *testing.T) {
	s := made(t, map[string]string{
		"version.txt": "sosreport: 4.9\n",
		"sos_commands/memory/free": "               total        used        free      shared  buff/cache   available\nMem:         4012352  " +
			"    612344     1100200        1024     2299808     3210400\nSwap:        2097148     2097148           0\n",
		"sos_commands/kernel/lsmod": "Module                  Size  Used by\nbr_netfilter           32768  0\nbridge                311296  " +
			"1 br_netfilter\n" +
			"nf_conntrack          188416  3 nf_nat,nft_ct,xt_MASQUERADE\n",
	})
	for name, want := range map[string]string{
		"/proc/meminfo": "MemTotal: 4012352 kB\nMemFree: 1100200 kB\nMemAvailable: 3210400 kB\nSwapTotal: 2097148 kB\nSwapFree: 0 kB\n",
		"/proc/modules": "br_netfilter 32768 0 - Live 0x0000000000000000\nbridge 311296 1 br_netfilter, Live 0x0000000000000000\n" +
			"nf_conntrack 188416 3 nf_nat,nft_ct,xt_MASQUERADE, Live 0x0000000000000000\n",
	} {
		if b, err := s.ReadFile(context.Background(), name, host.ReadLimit); err != nil || string(b) != want {
			t.Errorf("%s: %q, %v, want %q", name, b, err, want)
		}
	}
}
