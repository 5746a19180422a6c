package serve

import (
	"encoding/binary"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fettle/internal/means"
)

// TestSlowInitrd: a client takes its initrd a block at a time from a real dnsmasq. It
// is not called stuck while it does, and is when it stops.
func TestSlowInitrd(t *testing.T) {
	dnsmasq := means.Tool(t, "dnsmasq")
	if !inNamespace(t) {
		return
	}
	run(t, "", "ip", "link", "set", "lo", "up")
	root := t.TempDir()
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "initrd.gz"), make([]byte, 4<<20), 0o644); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(dnsmasq, "--keep-in-foreground", "--conf-file=/dev/null", "--port=0", "--listen-address=127.0.0.1", "--bind-interfaces",
		"--enable-tftp", "--tftp-root="+root, "--pid-file", "--log-facility=-", "--user=root")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { c.Process.Kill(); c.Wait() }()

	var told []string
	p := Progress{Conf: conf(), Tell: func(s string) { told = append(told, s) }}
	now := time.Date(2026, 1, 2, 22, 44, 46, 0, time.UTC)
	for _, l := range []string{"dnsmasq-dhcp[9]: 5 vendor class: PXEClient:Arch:00000:UNDI:002001",
		"dnsmasq-dhcp[9]: 5 DHCPDISCOVER(br0) 52:54:00:12:34:56 ",
		"dnsmasq-dhcp[9]: 5 DHCPACK(br0) 127.0.0.1 52:54:00:12:34:56 web1", "dnsmasq-tftp[9]: sent /x/linux to 127.0.0.1"} {
		p.Line(l, now)
	}
	u, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer u.Close()
	take := request(t, u)
	tick := func() {
		now = now.Add(5 * time.Second)
		p.Under(Transfers(c.Process.Pid), now)
		p.Quiet(now, 30*time.Second)
	}
	for range 24 { // two minutes by the clock of this server
		take()
		tick()
	}
	said := strings.Join(told, "\n")
	if strings.Contains(said, "no initrd") || !strings.Contains(said, "is being sent initrd.gz: ") {
		t.Errorf("while it is sent:\n%s", said)
	}
	for range 8 {
		tick()
	}
	if said := strings.Join(told, "\n"); !strings.Contains(said, "and no initrd") {
		t.Errorf("after it stopped:\n%s", said)
	}
}

// request asks for initrd.gz (RFC 1350); take takes some blocks of it.
func request(t *testing.T, u *net.UDPConn) (take func()) {
	t.Helper()
	server := &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 69}
	buf := make([]byte, 1024)
	read := func(send []byte, to *net.UDPAddr) (*net.UDPAddr, uint16) {
		t.Helper()
		for range 50 {
			u.WriteToUDP(send, to)
			u.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
			n, from, err := u.ReadFromUDP(buf)
			if err == nil && n > 4 && buf[1] == 3 {
				return from, binary.BigEndian.Uint16(buf[2:])
			}
		}
		t.Fatal("dnsmasq does not answer")
		return nil, 0
	}
	from, block := read(append([]byte{0, 1}, "initrd.gz\x00octet\x00"...), server)
	return func() {
		for range 20 {
			from, block = read([]byte{0, 4, byte(block >> 8), byte(block)}, from)
		}
	}
}
