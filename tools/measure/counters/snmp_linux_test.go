package counters_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"fettle/internal/means"
	"fettle/tools/measure/counters"
)

func TestMain(m *testing.M) {
	if os.Getenv("FETTLE_TEST_REGISTER") != "" {
		register()
		return
	}
	os.Exit(m.Run())
}

// agent starts a real snmpd in the caller's network namespace, with loopback up.
func agent(t *testing.T, conf string, args ...string) (stop func()) {
	t.Helper()
	lo, err := netlink.LinkByName("lo")
	if err == nil {
		err = netlink.LinkSetUp(lo)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "snmpd.conf")
	if err == nil {
		err = os.WriteFile(file, []byte(conf), 0o600)
	}
	if err != nil {
		t.Error(err)
		runtime.Goexit()
	}
	cmd := exec.Command(means.Tool(t, "snmpd"), append([]string{"-f", "-Lf", filepath.Join(dir, "log"), "-C", "-c", file,
		"-p", filepath.Join(dir, "pid")}, append(args, "udp:127.0.0.1:16161")...)...)
	cmd.Env = append(os.Environ(), "SNMP_PERSISTENT_DIR="+dir+"/state", "FETTLE_TEST_REGISTER=1", "MIBS=")
	if err := cmd.Start(); err != nil {
		t.Error(err)
		runtime.Goexit()
	}
	for range 100 {
		if b, _ := os.ReadFile("/proc/thread-self/net/udp"); strings.Contains(string(b), ":3F21 00000000:0000 ") { // 16161
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	return func() { cmd.Process.Kill(); cmd.Wait() }
}

func v2c(community string) counters.SNMP {
	return counters.SNMP{Host: "127.0.0.1", Port: 16161, Timeout: 2 * time.Second, Secrets: counters.Secrets{Community: community}}
}

const agentConf = `rocommunity right-community
createUser anna SHA-256 "anna authenticates" AES "anna has privacy"
rouser anna priv
`

// TestSNMP asks a real agent in several ways, right and wrong.
func TestSNMP(t *testing.T) {
	t.Parallel()
	means.Tool(t, "snmpd")
	inNamespace(t, func() {
		if err := netlink.LinkAdd(&netlink.Veth{LinkAttrs: link("va"), PeerName: "vb"}); err != nil {
			t.Error(err)
			return
		}
		defer agent(t, agentConf)()
		anna := func(auth, priv, authKey, privKey string) counters.SNMP {
			c := v2c("")
			c.User, c.Auth, c.Priv, c.AuthKey, c.PrivKey = "anna", auth, priv, authKey, privKey
			return c
		}
		quick := func(c counters.SNMP) counters.SNMP { c.Timeout = 300 * time.Millisecond; return c }
		narrow := v2c("right-community")
		narrow.Bits = 32
		noName := v2c("right-community")
		noName.Host = "host.invalid"
		bob := anna("", "", "", "")
		bob.User = "bob"
		closed := quick(v2c("right-community"))
		closed.Port = 16162
		for _, c := range []struct {
			name  string
			conf  counters.SNMP
			iface string
			width int
			want  string // of the error
		}{
			{"v2c", v2c("right-community"), "va", 64, ""},
			{"v2c, 32 bits", narrow, "va", 32, ""},
			{"v3", anna("sha-256", "aes", "anna authenticates", "anna has privacy"), "va", 64, ""},
			{"community", quick(v2c("wrong-community")), "va", 0, "no answer in 1 tries of 300ms: a wrong community"},
			{"port", closed, "va", 0, "no agent listens there"},
			{"interface", v2c("right-community"), "eth7", 0, "eth7: there is no such interface; there are lo, va, vb"},
			{"auth key", quick(anna("SHA-256", "AES", "anna is another", "anna has privacy")), "va", 0, `wrong authentication key ` +
				`or protocol for user "anna"`},
			{"priv key", quick(anna("SHA-256", "AES", "anna authenticates", "anna is no one")), "va", 0, "privacy key"},
			{"user", quick(bob), "va", 0, `the agent has no user "bob"`},
			{"short key", anna("SHA-256", "", "short", ""), "va", 0, "must have 8 characters"},
			{"protocol", anna("ROT13", "", "long enough", ""), "va", 0, "is no authentication protocol"},
			{"host", noName, "va", 0, "there is no such host"},
		} {
			src, err := counters.OpenSNMP(t.Context(), c.conf, []string{c.iface})
			if c.want != "" {
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("%s: error %v, want %q", c.name, err, c.want)
				}
				if err != nil {
					noSecret(t, err.Error())
					noSecret(t, fmt.Sprintf("%v %+v %#v", c.conf, c.conf, c.conf))
				}
				continue
			}
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
				continue
			}
			rs, err := src.Read(t.Context())
			if err != nil || len(rs) != 1 || rs[0].Name != "va" || rs[0].Index == 0 {
				t.Errorf("%s: %+v %v", c.name, rs, err)
			} else if f := src.Facts(rs[0]); f.Width != c.width || !f.Told || f.MaxRate != 0 {
				t.Errorf("%s: %+v", c.name, f)
			}
			src.Close()
		}
	})
}

func noSecret(t *testing.T, text string) {
	t.Helper()
	for _, s := range []string{"right-community", "wrong-community", "anna authenticates", "anna has privacy", "anna is another",
		"anna is no one", "long enough"} {
		if strings.Contains(text, s) {
			t.Errorf("a secret is printed: %s", text)
		}
	}
}

// TestAgentRestarts: an interface made anew and an agent started anew are
// told from a counter that wrapped.
func TestAgentRestarts(t *testing.T) {
	means.Short(t, "takes seconds")
	t.Parallel()
	means.Tool(t, "snmpd")
	inNamespace(t, func() {
		veth := &netlink.Veth{LinkAttrs: link("va"), PeerName: "vb"}
		if err := netlink.LinkAdd(veth); err != nil {
			t.Error(err)
			return
		}
		stop := agent(t, agentConf)
		src, err := counters.OpenSNMP(t.Context(), v2c("right-community"), []string{"va"})
		if err != nil {
			t.Error(err)
			return
		}
		defer src.Close()
		s := counters.Series{}
		read := func() {
			rs, err := src.Read(t.Context())
			if err != nil || len(rs) != 1 {
				t.Errorf("%v %v", rs, err)
				return
			}
			s.Samples = append(s.Samples, counters.Sample{T: time.Now(), V: rs[0].In, Gone: rs[0].Absent, Index: rs[0].Index, Epoch: rs[0].Epoch})
		}
		time.Sleep(1100 * time.Millisecond) // so that sysUpTime of the next one is lower
		read()
		stop()
		defer agent(t, agentConf)()
		read()
		netlink.LinkDel(veth)
		netlink.LinkAdd(&netlink.Veth{LinkAttrs: link("va"), PeerName: "vb"})
		time.Sleep(3200 * time.Millisecond) // snmpd keeps the table for 3 s
		read()                              // the old one, which snmpd still shows
		read()
		v := counters.Judge(s)
		var got []counters.Event
		for _, iv := range v.Intervals {
			got = append(got, iv.Event)
		}
		if g := fmt.Sprint(got); g != "[reset rise re-created]" && g != "[reset re-created]" {
			t.Errorf("events %v of %+v", got, s.Samples)
		}
	})
}

// TestPastTwoToThe32 drives a real interface past 2^32 octets, reads it through
// the 32-bit counter of a real snmpd, and compares with the kernel's own 64 bits.
func TestPastTwoToThe32(t *testing.T) {
	t.Parallel()
	means.Tool(t, "snmpd")
	means.Short(t, "takes 14 s")
	inNamespace(t, func() {
		fail := func(err error) {
			if err != nil {
				t.Error(err)
				runtime.Goexit()
			}
		}
		fail(netlink.LinkAdd(&netlink.Veth{LinkAttrs: link("va"), PeerName: "vb"}))
		var va netlink.Link
		for _, n := range []string{"va", "vb"} {
			l, err := netlink.LinkByName(n)
			fail(err)
			fail(netlink.LinkSetMTU(l, 65535))
			// Router solicitations would be counted between two looks.
			if err := os.WriteFile("/proc/sys/net/ipv6/conf/"+n+"/disable_ipv6", []byte("1"), 0o644); !errors.Is(err, fs.ErrNotExist) {
				fail(err)
			}
			fail(netlink.LinkSetUp(l))
			if n == "va" {
				va = l
			}
		}
		fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW, 0)
		fail(err)
		defer unix.Close(fd)
		frame := make([]byte, 65535+14)
		for i := range 6 {
			frame[i] = 0xff
		}
		frame[12], frame[13] = 0x88, 0xb5 // IEEE 802 local experimental ethertype
		to := &unix.SockaddrLinklayer{Ifindex: va.Attrs().Index, Halen: 6}
		send := func(octets int64) {
			for n := int64(0); n < octets; n += int64(len(frame)) {
				if err := unix.Sendto(fd, frame, 0, to); err != nil && err != unix.ENOBUFS {
					t.Error(err)
					return
				}
			}
		}
		truth := func() uint64 {
			src, err := counters.Local()
			fail(err)
			defer src.Close()
			rs, err := src.Read(t.Context())
			fail(err)
			for _, r := range rs {
				if r.Name == "vb" {
					return r.In
				}
			}
			t.Error("vb is not there")
			return 0
		}
		const rate = 400 << 20 // octets a second
		begun := time.Now()
		send(3<<30 + 300<<20) // some 700 MB before the wrap
		t.Logf("%.1f GB in %s", float64(truth())/1e9, time.Since(begun).Round(time.Millisecond))

		defer agent(t, agentConf)()
		narrow := v2c("right-community")
		narrow.Bits = 32
		src, err := counters.OpenSNMP(t.Context(), narrow, []string{"vb"})
		fail(err)
		defer src.Close()
		before := truth()
		sent := make(chan bool)
		go func() {
			defer close(sent)
			time.Sleep(500 * time.Millisecond) // the first poll reads a counter that stands still
			// Never faster than rate: a pause is not caught up with.
			for start := time.Now(); time.Since(start) < 4*time.Second; {
				next := time.Now().Add(8 << 20 * time.Second / rate)
				send(8 << 20)
				time.Sleep(time.Until(next))
			}
		}()
		// The last poll is more than 3 s, snmpd's cache, after the last frame.
		rec, err := counters.Record(t.Context(), src, counters.Plan{Names: []string{"vb"}, Interval: time.Second, For: 9 * time.Second})
		<-sent
		fail(err)
		after := truth()
		s := rec.Series[0]
		if f := s.Facts; f.Width != 32 || f.Trusted {
			t.Errorf("facts of ifInOctets: %+v", f)
		}
		s.Facts.Lag, s.Facts.MaxRate = 3200*time.Millisecond, 800e6*8 // the sender sends half of that
		v := counters.Judge(s)
		var sum uint64
		wraps, uncertain := 0, 0
		for _, iv := range v.Intervals {
			sum += iv.Octets
			if iv.Event == counters.Wrap {
				wraps++
			}
			// A poll that came late on a busy machine leaves room for another wrap.
			if iv.Mark != counters.Certain && iv.To.Sub(iv.From) < 2*time.Second {
				uncertain++
			}
		}
		t.Logf(
			"the kernel counted %d octets, SNMP's 32 bits gave %d, in %d intervals with %d wraps, %d not certain; %+v",
			after-before,
			sum,
			len(v.Intervals),
			wraps,
			uncertain,
			v.Width,
		)
		if sum != after-before || wraps != 1 || uncertain != 0 || after < 1<<32 {
			t.Errorf("they must agree, with one wrap and all rates certain: %v", v.Intervals)
		}
	})
}
