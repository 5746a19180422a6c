package host

import (
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"fettle/internal/means"
)

// TestRules adds a rule and a neighbour with ip(8), in a network of its own, and reads them.
func TestRules(t *testing.T) {
	ip := means.Tool(t, "ip")
	if !means.Inside(t, syscall.CLONE_NEWNET, time.Minute) {
		return
	}
	for _, args := range []string{
		"link set lo up", "link add va type veth peer name vb", "link set va up", "address add 10.9.9.1/24 dev va",
		"rule add from 10.9.9.0/24 table 100 priority 500", "rule add fwmark 7 table 100 priority 501",
		"neigh add 10.9.9.7 lladdr 02:00:00:00:00:07 dev va nud permanent",
		"neigh add 10.9.9.8 lladdr 02:00:00:00:00:08 dev va nud reachable",
		"neigh add 10.9.9.9 lladdr 02:00:00:00:00:09 dev va nud permanent extern_learn",
	} {
		if out, err := exec.Command(ip, strings.Fields(args)...).CombinedOutput(); err != nil {
			t.Fatalf("ip %s: %v, %s", args, err, out)
		}
	}
	var rules []PolicyRule
	b, err := readRules(t.Context())
	if err == nil {
		err = json.Unmarshal(b, &rules)
	}
	want := PolicyRule{Family: "inet", Priority: 500, Src: "10.9.9.0/24", Dst: "all", Table: "100", Protocol: "unspec"}
	marked := PolicyRule{Family: "inet", Priority: 501, Src: "all", Dst: "all", Mark: "0x7", Table: "100", Protocol: "unspec"}
	for i := range rules { // newer versions of ip(8) say boot
		rules[i].Protocol = strings.Replace(rules[i].Protocol, "boot", "unspec", 1)
	}
	if err != nil || !slices.Contains(rules, want) || !slices.Contains(rules, marked) {
		t.Errorf("%+v, %v", rules, err)
	}
	var neighbours []Neighbour
	b, err = readNeighbours(t.Context())
	if err == nil {
		err = json.Unmarshal(b, &neighbours)
	}
	if err != nil || !slices.Equal(neighbours, []Neighbour{{"10.9.9.7", "va", "02:00:00:00:00:07"}}) {
		t.Errorf("%+v, %v", neighbours, err)
	}
}
