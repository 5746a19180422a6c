package host

import (
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"fettle/internal/means"
)

// Sockets that wait for others are those that ss(8) lists, and their holder is found.
func TestListenersAreThoseOfSS(t *testing.T) {
	ss, ip := means.Tool(t, "ss"), means.Tool(t, "ip")
	if !means.Inside(t, syscall.CLONE_NEWNET, time.Minute) {
		return
	}
	if out, err := exec.Command(ip, "link", "set", "lo", "up").CombinedOutput(); err != nil {
		t.Fatalf("%s", out)
	}
	for _, at := range []string{"tcp 127.0.0.1:80", "tcp [::1]:81", "tcp :82", "tcp4 0.0.0.0:83"} {
		network, addr, _ := strings.Cut(at, " ")
		l, err := net.Listen(network, addr)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
	}
	for _, addr := range []string{"127.0.0.1:53", "[::1]:53"} {
		l, err := net.ListenPacket("udp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
	}
	for _, other := range []string{"tcp 127.0.0.1:80", "udp 127.0.0.1:53"} { // connected: nobody waits for others there
		network, addr, _ := strings.Cut(other, " ")
		c, err := net.Dial(network, addr)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	src, err := NewLive()
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	all, err := New(src).Listeners(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got, want []string
	for _, l := range all {
		if l.PID != os.Getpid() || l.Comm == "" {
			t.Errorf("%+v is not held by this test, %d", l, os.Getpid())
		}
		got = append(got, l.Proto+" "+net.JoinHostPort(l.Address, strconv.Itoa(l.Port)))
	}
	out, err := exec.Command(ss, "-H", "-l", "-t", "-u", "-n").Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		want = append(want, f[0]+" "+strings.Replace(f[4], "*:", "[::]:", 1))
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) || len(got) != 6 {
		t.Errorf("got  %s\nwant %s", strings.Join(got, ", "), strings.Join(want, ", "))
	}
}

func TestParseSocketsRefuses(t *testing.T) {
	for text, want := range map[string]string{"0100007F:0050": "127.0.0.1:80", "00000000000000000000000001000000:FFFF": "[::1]:65535",
		"0000000000000000FFFF00000100007F:0016": "127.0.0.1:22", "0100007F:": "", "0100007F": "", "0100007F:10000": "", "01007F:0050": "",
		"0100007F00:0050": "", "0100007F0100007F:0050": "", "": "", "xx00007F:0050": ""} {
		if at, err := parseSocketAddress(text); (err == nil) != (want != "") || err == nil && at.String() != want {
			t.Errorf("%q: %s, %v, want %q", text, at, err, want)
		}
	}
	waits := "   0: 0100007F:0050 0 0A 0 0 0 0 0 77 1\n   1: 0100007F:0051 0 07 0 0 0 0 0 78 1\n   2: 0100007F:0052 0 01 0 0 0 0 0 79 1\n"
	for proto, port := range map[string]int{"tcp": 0x50, "udp": 0x51} {
		got, err := parseSockets(proto, "  sl  local_address\n"+waits)
		if len(got) != 1 || got[77+uint64(port-0x50)].Port != port || err != nil {
			t.Errorf("%s: %+v, %v, want the one at port %d that waits", proto, got, err, port)
		}
	}
	const head = "  sl  local_address\n"
	for text, ok := range map[string]bool{
		head: true,
		head + "   0: 0100007F:0050 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 77 1\n":      true,
		head + "   0: 0100007:0050 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 77 1\n":       false,
		head + "   0: 0100007F:0050 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 seventy 1\n": false,
		head + "   0: 0100007F:0050 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 77\n":        true,
		head + "   0: 0100007F:0050\n": true, // cut short
	} {
		if _, err := parseSockets("tcp", text); (err == nil) != ok || err != nil && !strings.HasPrefix(err.Error(),
			"line 2 of the tcp sockets: ") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestCandidates: the first process of each name is looked at before the second of any.
func TestCandidates(t *testing.T) {
	running := &processTable{at: time.Now()}
	for i, comm := range []string{"systemd", "sleep", "sleep", "sshd", "sleep", "nginx", "nginx"} {
		running.all = append(running.all, Process{PID: i + 1, Comm: comm})
	}
	got, err := candidates(t.Context(), running)
	if want := []int{1, 2, 4, 6, 3, 7, 5}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
}
