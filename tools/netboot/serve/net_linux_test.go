package serve

import (
	"bytes"
	"context"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"fettle/internal/means"
)

// inNamespace runs a test of this binary again in a network namespace of its own.
func inNamespace(t *testing.T) bool {
	t.Helper()
	if os.Getenv("FETTLE_TEST_NETNS") == t.Name() {
		return true
	}
	means.Root(t)
	unshare := means.Tool(t, "unshare")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(unshare, "-n", self, "-test.run", "^"+t.Name()+"$", "-test.v")
	c.Env = append(os.Environ(), "FETTLE_TEST_NETNS="+t.Name())
	if out, err := c.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS") {
		t.Errorf("%v\n%s", err, out)
	}
	return false
}

func readlink(name string) string {
	to, _ := os.Readlink(name)
	return to
}

func run(t *testing.T, stdin string, argv ...string) []byte {
	t.Helper()
	c := exec.Command(means.Tool(t, argv[0]), argv[1:]...)
	c.Stdin = strings.NewReader(stdin)
	out, err := c.Output()
	if err != nil {
		t.Fatal(argv, err)
	}
	return out
}

// TestProbe: dnsmasq on one end of a pair of interfaces, the question on the other.
func TestProbe(t *testing.T) {
	means.Ends(t)
	means.Short(t, "takes seconds")
	dnsmasq := means.Tool(t, "dnsmasq")
	if !inNamespace(t) {
		return
	}
	run(t, "", "ip", "link", "add", "near", "type", "veth", "peer", "name", "far")
	// Another namespace for the other end: one's own address is not taken from a wire.
	other := exec.Command(means.Tool(t, "unshare"), "-n", "sleep", "60")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { other.Process.Kill(); other.Wait() }()
	pid := strconv.Itoa(other.Process.Pid)
	there := []string{means.Tool(t, "nsenter"), "-n", "-t", pid}
	for range 100 {
		if mine, _ := os.Readlink("/proc/self/ns/net"); mine != readlink("/proc/"+pid+"/ns/net") {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	run(t, "", "ip", "link", "set", "far", "netns", pid)
	for _, args := range []string{"addr add 192.0.2.1/24 dev far", "link set far up"} {
		if out, err := exec.Command(there[0],
			append(append([]string{}, there[1:]...), append([]string{"ip"}, strings.Fields(args)...)...)...).CombinedOutput(); err != nil {
			t.Fatal(args, err, string(out))
		}
	}
	run(t, "", "ip", "addr", "add", "192.0.2.2/24", "dev", "near")
	run(t, "", "ip", "link", "set", "near", "up")
	link, err := net.InterfaceByName("near")
	if err != nil {
		t.Fatal(err)
	}
	if found, err := Probe(t.Context(), "near", link.HardwareAddr, time.Second); err != nil || len(found) != 0 {
		t.Errorf("nobody is there: %v, %v", found, err)
	}
	c := exec.Command(
		there[0],
		append(append([]string{}, there[1:]...), dnsmasq, "--keep-in-foreground", "--conf-file=-", "--pid-file", "--log-facility=-")...)
	c.Stdin = strings.NewReader(
		"port=0\ninterface=far\nexcept-interface=lo\nbind-interfaces\nleasefile-ro\ndhcp-range=192.0.2.50,192.0.2.99\n",
	)
	var log bytes.Buffer
	c.Stderr = &log
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { c.Process.Kill(); c.Wait() }()
	var found []netip.Addr
	for range 10 { // until it listens
		if found, err = Probe(t.Context(), "near", link.HardwareAddr, 2*time.Second); len(found) > 0 || err != nil {
			break
		}
	}
	if err != nil || len(found) == 0 || found[0].String() != "192.0.2.1" {
		t.Errorf("%v, %v; dnsmasq: %s", found, err, &log)
	}
	if _, err := Probe(t.Context(), "nowhere", link.HardwareAddr, time.Second); err == nil {
		t.Error("an interface that is not there is no error")
	}
}

// TestFirewallsAsTheirProgramsPrintThem: rules that nft and iptables took.
func TestFirewallsAsTheirProgramsPrintThem(t *testing.T) {
	means.Ends(t)
	means.Tool(t, "nft")
	means.Tool(t, "iptables")
	if !inNamespace(t) {
		return
	}
	chain := func(policy, rules string) string {
		return "flush ruleset\ntable inet f {\n chain in " +
			"{\n type filter hook input priority 0; policy " + policy + ";\n" + rules + "\n }\n chain more {\n udp dport { 67, 69 } accept\n }\n}\n"
	}
	for rules, want := range map[string]Fate{
		"":                                       Passes,
		chain("accept", ""):                      Passes,
		chain("drop", ""):                        Dropped,
		chain("drop", "jump more"):               Passes,
		chain("drop", "iifname \"eth9\" accept"): Dropped,
		chain("drop", "iifname \"eth0\" accept"): Passes,
		chain("drop", "iifname \"eth*\" udp dport 60-70 counter accept"): Passes,
		chain("drop", "udp dport 69 accept"):                             Dropped,
		chain("accept", "meta l4proto udp drop"):                         Dropped,
		chain("drop", "ct state established,related accept"):             Dropped,
		chain("drop", "tcp dport 67 accept"):                             Dropped,
		chain("drop", "ip saddr 192.0.2.0/24 accept"):                    Unsure,
	} {
		run(t, "flush ruleset\n"+rules, "nft", "-f", "-")
		if got, err := NFT(run(t, "", "nft", "-j", "list", "ruleset"), "eth0", Port{"udp", 67}); err != nil || got != want {
			t.Errorf("%s\n%v, %v; want %v", rules, got, err, want)
		}
	}
	run(t, "flush ruleset\n", "nft", "-f", "-")
	for rules, want := range map[string]Fate{
		"-P INPUT ACCEPT": Passes,
		"-P INPUT DROP":   Dropped,
		"-P INPUT DROP\n-A INPUT -p udp --dport 67 -j ACCEPT":                                        Passes,
		"-P INPUT DROP\n-A INPUT -i eth0 -p udp -m multiport --dports 67,69 -j ACCEPT":               Passes,
		"-P INPUT DROP\n-A INPUT ! -i eth0 -j ACCEPT":                                                Dropped,
		"-P INPUT DROP\n-N ufw\n-A INPUT -j ufw\n-A ufw -m conntrack --ctstate NEW -j ACCEPT":        Passes,
		"-P INPUT DROP\n-A INPUT -s 192.0.2.0/24 -j ACCEPT":                                          Unsure,
		"-A INPUT -p tcp -j DROP\n-A INPUT -p udp -m udp --dport 60:70 -j REJECT":                    Dropped,
		"-P INPUT DROP\n-A INPUT -p udp -m comment --comment \"a b\" -m udp --dport 67:67 -j ACCEPT": Passes,
	} {
		run(t, "", "iptables", "-F")
		run(t, "", "iptables", "-X")
		run(t, "", "iptables", "-P", "INPUT", "ACCEPT")
		for line := range strings.Lines(rules) {
			args := strings.Fields(strings.ReplaceAll(line, "\"a b\"", "a_b"))
			run(t, "", append([]string{"iptables"}, args...)...)
		}
		if got := IPTables(string(run(t, "", "iptables", "-S")), "eth0", Port{"udp", 67}); got != want {
			t.Errorf("%s\n%v; want %v", rules, got, want)
		}
	}
}

// TestProbeFlooded: a host on the wire that answers for thousands of servers ends the
// question early, and an end of the caller's ends it at once.
func TestProbeFlooded(t *testing.T) {
	means.Ends(t)
	if !inNamespace(t) {
		return
	}
	for _, args := range []string{"link set lo up", "route add default dev lo", "addr add 192.0.2.2/24 dev lo"} {
		run(t, "", append([]string{"ip"}, strings.Fields(args)...)...)
	}
	pc, err := net.ListenPacket("udp4", ":67")
	if err != nil {
		t.Fatal(err)
	}
	defer pc.Close()
	quiet := make(chan bool, 1)
	go func() {
		b := make([]byte, 1500)
		for {
			if _, _, err := pc.ReadFrom(b); err != nil {
				return
			}
			select {
			case <-quiet:
				quiet <- true
				continue
			default:
			}
			answer := append([]byte{}, b[:240]...)
			answer[0] = 2
			for i := range 3000 {
				pc.WriteTo(append(answer[:240:240], 53, 1, 2, 54, 4, 10, 9, byte(i>>8), byte(i), 255),
					&net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 68})
			}
		}
	}()
	found, err := Probe(t.Context(), "lo", net.HardwareAddr{2, 0, 0, 0, 0, 1}, means.Patience)
	if err != nil || len(found) == 0 || len(found) > maxServers {
		t.Errorf("%d servers, %v", len(found), err)
	}
	quiet <- true
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	began := time.Now()
	if _, err := Probe(ctx, "lo", net.HardwareAddr{2, 0, 0, 0, 0, 1}, means.Patience); err == nil || time.Since(began) > means.Patience/3 {
		t.Errorf("after %s: %v", time.Since(began), err)
	}
}
