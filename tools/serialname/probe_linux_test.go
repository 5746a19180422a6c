package serialname

import (
	"bytes"
	"context"
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fettle/host/hosttest"
	"fettle/internal/means"
)

// pty is a terminal: what is written to the first comes out of the file named.
func pty(t *testing.T) (*os.File, string) {
	t.Helper()
	m, name := means.Terminal(t)
	raw, err := unix.IoctlGetTermios(int(m.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	raw.Lflag &^= unix.ECHO | unix.ICANON // or the terminal answers what is said before it is opened
	if err := unix.IoctlSetTermios(int(m.Fd()), unix.TCSETS, raw); err != nil {
		t.Fatal(err)
	}
	return m, name
}

func profile(t *testing.T, name string) *Profile {
	t.Helper()
	all, err := Profiles(t.Context(), hosttest.New(t, "-- root/etc/x --\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		if p.Name == name {
			return &p
		}
	}
	t.Fatalf("no profile %s", name)
	return nil
}

// talks is what real devices say, by itself or when they are asked.
var talks = []struct {
	profile string
	asked   string // what it answers to; empty: it talks by itself
	says    string
}{
	{"nmea-gps", "", "$GPGGA,123519,4807.038,N,01131.000,E,1,08,0.9,545.4,M,46.9,M,,*47\r\n"},
	{"nmea-gps", "", "$GNRMC,,V,,,,,,,,,,N*4D\r\n"},
	{
		"current-cost",
		"",
		"<msg><src>CC128-v0.11</src><dsb>00089</dsb><time>13:02:39</time><tmpr>18.7</tmpr><sensor>1</sensor><id>01234</id><type>1</" +
			"type><ch1><watts>00345</watts></ch1></msg>\r\n",
	},
	{
		"current-cost",
		"",
		"<msg><date><dsb>00030</dsb><hr>00</hr><min>20</min><sec>11</sec></date><src><name>CC02</name><id>00077</id></src></msg>",
	},
	{"at-modem", "AT\r", "AT\r\r\nOK\r\n"},
	{"at-modem", "AT\r", "0\r"}, // ATV0
	{"modbus-rtu", "\x01\x03\x00\x00\x00\x01\x84\x0a", "\x01\x03\x02\x00\x17\xf8\x4a"},
	{"modbus-rtu", "\x01\x03\x00\x00\x00\x01\x84\x0a", "\x01\x83\x02\xc0\xf1"}, // illegal data address
	{"sunspec-inverter", "\x01\x03\x9c\x40\x00\x02\xeb\x8f", "\x01\x03\x04SunS\x96\xf0"},
	{"voltronic-inverter", "QPI\xbe\xac\r", "(PI30\x9a\x0b\r"},
	{"banner", "", "radish 1.0 ready\r\n"},
}

func TestProfilesHearRealDevices(t *testing.T) {
	for _, c := range talks {
		t.Run(c.profile, func(t *testing.T) {
			t.Parallel()
			m, name := pty(t)
			p := profile(t, c.profile)
			if p.Writes() != (c.asked != "") {
				t.Fatalf("writes: %v", p.Writes())
			}
			go device(m, c.asked, c.says)
			start := time.Now()
			heard, err := Probe(t.Context(), name, p)
			if err != nil || len(heard.Said) == 0 || !strings.Contains(c.says, string(heard.Said)) {
				t.Errorf("%q, %v after %s", heard.Said, err, time.Since(start))
			}
		})
	}
}

// device talks, again and again or each time it is asked.
func device(m *os.File, asked, says string) {
	if asked == "" {
		for {
			if _, err := m.WriteString(says); err != nil {
				return
			}
			time.Sleep(100 * time.Millisecond)
		}
	}
	var heard []byte
	buf := make([]byte, 256)
	for {
		n, err := m.Read(buf)
		if err != nil {
			return
		}
		if heard = append(heard, buf[:n]...); bytes.HasSuffix(heard, []byte(asked)) {
			heard = nil
			m.WriteString(says)
		}
	}
}

// Damaged messages, other devices' and noise are nobody's; and a probe that
// listens has written nothing.
func TestNotRecognised(t *testing.T) {
	for name, c := range map[string]struct{ profile, says string }{
		"a wrong checksum":    {"nmea-gps", "$GPGGA,123519,4807.038,N,01131.000,E,1,08,0.9,545.4,M,46.9,M,,*48\r\n"},
		"another device":      {"nmea-gps", "<msg><src>CC128-v0.11</src></msg>\r\n"},
		"half a message":      {"current-cost", "<msg>"},
		"noise without end":   {"nmea-gps", strings.Repeat("\x00\xff$GP*", 500)},
		"nothing":             {"nmea-gps", ""},
		"a modbus crc broken": {"modbus-rtu", "\x01\x03\x02\x00\x17\xf8\x4b"},
		"an echo":             {"modbus-rtu", "\x01\x03\x00\x00\x00\x01\x84\x0a"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, tty := pty(t)
			p := *profile(t, c.profile)
			p.Speed, p.Listen = p.Speed[:1], 300*time.Millisecond
			if c.says != "" {
				go device(m, "", c.says)
			}
			start := time.Now()
			if heard, err := Probe(t.Context(), tty, &p); !errors.Is(err, ErrNoAnswer) {
				t.Errorf("%q, %v", heard.Said, err)
			}
			if took := time.Since(start); took > p.Limit()+means.Patience {
				t.Errorf("took %s of %s", took, p.Limit())
			}
			if !p.Writes() && unsent(t, m) {
				t.Error("a probe that listens has sent something")
			}
		})
	}
}

func unsent(t *testing.T, m *os.File) bool {
	fds := []unix.PollFd{{Fd: int32(m.Fd()), Events: unix.POLLIN}}
	if _, err := unix.Poll(fds, 0); err != nil {
		t.Fatal(err)
	}
	return fds[0].Revents&unix.POLLIN != 0
}

// A device that vanishes while it is asked ends the probe at once.
func TestVanishes(t *testing.T) {
	m, tty := pty(t)
	p := *profile(t, "current-cost")
	time.AfterFunc(200*time.Millisecond, func() { m.Close() })
	_, err := Probe(t.Context(), tty, &p)
	if err == nil || errors.Is(err, ErrNoAnswer) || !strings.Contains(err.Error(), "went away") {
		t.Error(err)
	}
}

// The settings of a line are as they were, also after a probe was cut off.
func TestSettingsStay(t *testing.T) {
	m, tty := pty(t)
	was, err := unix.IoctlGetTermios(int(m.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	Probe(ctx, tty, profile(t, "nmea-gps"))
	if now, err := unix.IoctlGetTermios(int(m.Fd()), unix.TCGETS); err != nil || *now != *was {
		t.Errorf("%+v, before %+v; %v", now, was, err)
	}
}

func TestNotASerialLine(t *testing.T) {
	p := profile(t, "nmea-gps")
	for name, want := range map[string]string{"/dev/null": "not a serial line", "/dev/nothing-there": "no such file"} {
		if _, err := Probe(t.Context(), name, p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Others can open a line after a probe, also one that somebody holds open all the while.
func TestLockEnds(t *testing.T) {
	_, tty := pty(t)
	held, err := os.OpenFile(tty, os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	locked := func() bool {
		n, err := unix.IoctlGetInt(int(held.Fd()), unix.TIOCGEXCL)
		if err != nil {
			t.Fatal(err)
		}
		return n != 0
	}
	l, err := open(tty, false)
	if err != nil {
		t.Fatal(err)
	}
	if !locked() {
		t.Error("others can open the line during a probe")
	}
	if l.close(); locked() {
		t.Error("nobody else can open the line after a probe")
	}
}

// Of a device that talks without end the last 8 KiB are kept, so that a probe's memory is
// bounded; what is said within them is recognised.
func TestChattyDevice(t *testing.T) {
	for _, c := range []struct {
		noise int // bytes between two words
		heard bool
	}{{maxHeard / 2, true}, {3 * maxHeard, false}} {
		m, tty := pty(t)
		p := &Profile{Speed: []int{9600}, Listen: 500 * time.Millisecond, Expect: regexp.MustCompile(`(?s)BEGIN.*END`)}
		if c.heard {
			p.Listen = means.Patience
		}
		l, err := open(tty, false)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.raw(9600); err != nil {
			t.Fatal(err)
		}
		go m.WriteString("BEGIN" + strings.Repeat(".", c.noise) + "END")
		said, err := l.listen(t.Context(), p)
		if l.close(); c.heard != (err == nil) {
			t.Errorf("two words with %d bytes between: %d bytes, %v", c.noise, len(said), err)
		}
	}
}
