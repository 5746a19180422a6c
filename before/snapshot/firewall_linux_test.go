package snapshot

import (
	"maps"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"fettle/host/format/nftables"
	"fettle/internal/means"
)

// Chains and their rules are read of what nft itself prints, nested sets and maps among them.
func TestParseRuleset(t *testing.T) {
	nft := means.Tool(t, "nft")
	if !means.Inside(t, syscall.CLONE_NEWNET, time.Minute) {
		return
	}
	c := exec.Command(nft, "-f", "-")
	c.Stdin = strings.NewReader(`table inet filter {
	set banned {
		type ipv4_addr
		elements = { 192.0.2.1, 192.0.2.2 }
	}
	chain input {
		type filter hook input priority filter; policy drop;
		ip saddr @banned counter drop
		tcp dport { 22, 80 } accept comment "the admin's words"
		tcp dport vmap { 25 : accept, 465 : drop }
	}
	chain empty { }
}
table ip other {
	chain post {
		type filter hook postrouting priority 0;
		oifname "eth0" accept
	}
}
`)
	if out, err := exec.Command(nft, "add", "table", "inet", "trial").CombinedOutput(); err != nil {
		means.Missing(t, "needs nf_tables: "+string(out))
	}
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%s", out)
	}
	read := func() map[string][]string {
		t.Helper()
		out, err := exec.Command(nft, nftables.Question...).Output()
		if err != nil {
			t.Fatal(err)
		}
		return marks(nftables.Parse(string(out)))
	}
	chains := read()
	if got := slices.Sorted(maps.Keys(chains)); !slices.Equal(got, []string{"inet filter empty", "inet filter input", "ip other post"}) {
		t.Fatal(got)
	}
	input := chains["inet filter input"]
	if n := missing(input, nil); n != 3 || hooks(input) == "" || len(chains["inet filter empty"]) != 0 {
		t.Errorf("%d rules of three; %v", n, chains)
	}
	// Elements, counters and comments change without a rule being lost; a policy does not.
	for i, args := range []string{"add element inet filter banned { 192.0.2.9 }", "chain inet filter input { policy accept; }"} {
		same := i == 0
		if out, err := exec.Command(nft, args).CombinedOutput(); err != nil {
			t.Fatalf("%s: %s", args, out)
		}
		now := read()["inet filter input"]
		if missing(input, now) != 0 || (hooks(now) == hooks(input)) != same {
			t.Errorf("%s: %v", args, now)
		}
	}
}
