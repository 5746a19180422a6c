package bmc

import (
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"

	"fettle/host/format/spcr"
	"fettle/host/hosttest"
)

// TestFind: the firmware's table counts most, then what BMC and kernel say; what is missing for an answer is said.
func TestFind(t *testing.T) {
	table := make([]byte, 80)
	copy(table, "SPCR\x50\x00\x00\x00")
	table[40], table[44], table[45], table[58] = 1, 0xf8, 0x02, 7 // COM2 at 115200
	const (
		device   = "-- root/dev/ipmi0 --\n"
		acpi     = "-- root/sys/firmware/acpi/tables/SPMI --\n"
		sol      = "-- command/ipmitool -I open sol info 1 --\n"
		enabled  = sol + "Enabled : true\nVolatile Bit Rate (kbps) : 57.6\n"
		disabled = sol + "Enabled : false\n"
		com1     = "0: uart:16550A port:000003F8 irq:4\n"
		com2     = "1: uart:16550A port:000002F8 irq:3\n"
		dmi      = "-- command/dmidecode --\n"
		plugged  = "Handle 0x0008, DMI type 8, 9 bytes\nPort Connector Information\n\tInternal Reference Designator: COM1\n" +
			"\tInternal Connector Type: None\n\tExternal Reference Designator: COM1\n\tExternal Connector Type: DB-9 male\n" +
			"\tPort Type: Serial Port 16550A Compatible\n\n"
	)
	spcr := "-- raw" + spcr.Path + " --\n" + strconv.Quote(string(table)) + "\n"
	unplugged := strings.NewReplacer("COM1", "COM2", "DB-9 male", "None").Replace(plugged)
	serial := func(lines string) string {
		return "-- root/proc/tty/driver/serial --\nserinfo:1.0 driver revision:\n" + lines
	}
	const unknown = "there is a BMC, and which serial port is its is not known: "
	for _, c := range []struct{ name, text, want string }{
		{"the firmware's table", spcr, "ttyS1 115200, firmware, {false false 0}"},
		{"and a BMC", spcr + device + enabled, "ttyS1 115200, firmware, {true true 57600}"},
		{"and a BMC that says nothing", spcr + device, "ttyS1 115200, firmware, {false false 0}"},
		{"and no BMC that could answer", spcr + enabled, "ttyS1 115200, firmware, {false false 0}"},
		{"a table that may not be read", "-- denied/sys/firmware/acpi/tables/SPCR --\n" + device + enabled + serial(com2), "permission denied"},
		{"nothing", "", ErrNone.Error()},
		{"a device that may not be looked at", "-- denied/dev/ipmi/0 --\n", "whether there is a BMC: stat of /dev/ipmi/0: permission denied"},
		{"another that is there", "-- denied/dev/ipmi0 --\n" + acpi + enabled + serial(com2),
			"ttyS1 57600, /proc/tty/driver/serial: the host's only one, {true true 57600}"},
		{"the only port", device + enabled + serial(com2), "ttyS1 57600, /proc/tty/driver/serial: the host's only one, {true true 57600}"},
		{"disabled", device + disabled + serial(com2), ErrDisabled.Error()},
		{"no ipmitool", device + serial(com2), unknown},
		{"a BMC that does not say", device + sol + "exit 1\nInfo: SOL parameter\n" + serial(com2),
			unknown + "ipmitool sol info 1: exit status 1"},
		{"no list of ports", device + enabled, unknown},
		{"no port", device + enabled + serial(""), unknown + "the kernel has found no serial port of a PC's"},
		{"two", device + enabled + serial(com1+com2) + dmi + plugged + unplugged,
			"ttyS1 57600, dmidecode: COM2 has no plug, {true true 57600}"},
		{"two with plugs", device + enabled + serial(com1+com2) + dmi + plugged, unknown + "of 1 serial ports that dmidecode lists 0 have"},
		{"two and no dmidecode", device + enabled + serial(com1+com2), unknown},
	} {
		p, err := Find(t.Context(), hosttest.New(t, c.text))
		from := strings.Replace(p.From, "/sys/firmware/acpi/tables/SPCR", "firmware", 1)
		got := fmt.Sprintf("ttyS%d %d, %s, %v", p.Unit, p.Speed, from, p.SOL)
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, c.want) || (c.want == unknown) && got == unknown {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// TestNumbered: by which labels boards name their ports.
func TestNumbered(t *testing.T) {
	for label, want := range map[string]int{"COM1": 0, "com_4": 3, "COM5": -1, "COM0": -1, "COM A": 0, "COM D": 3, "COM E": -1, "ttyS0": 0,
		"ttyS3": 3,
		"ttyS4": -1, "JCOM 2": 1, "Serial-Port B": 1, "J9": -1, "": -1, "COM": -1} {
		if got, ok := numbered(label); ok != (want >= 0) || ok && got != want {
			t.Errorf("%s: %d, %v", label, got, ok)
		}
	}
}

// TestSpeeds: a speed that no port has is none.
func TestSpeeds(t *testing.T) {
	for value, want := range map[string]int{"115.2": 115200, "9.6": 9600, "0": 0, "-1": 0, "999999.9": 999999900, "1000000": 0, "NaN": 0} {
		if got := ParseSOL("Volatile Bit Rate (kbps) : " + value).Speed; got != want {
			t.Errorf("%s: %d, want %d", value, got, want)
		}
	}
	for _, c := range []struct{ bmc, expected int }{{0, 115200}, {115200, 0}, {115200, 115200}} {
		if got := strings.Join(Silent(SOL{Known: true, Enabled: true, Speed: c.bmc}, "", c.expected), " "); strings.Contains(got,
			"bits per second") {
			t.Errorf("%+v: %s", c, got)
		}
	}
}

// TestOtherAnswers: what answers without being a BMC is none.
func TestOtherAnswers(t *testing.T) {
	t.Parallel()
	c, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	go func() {
		b, n := make([]byte, 256), 0
		for {
			_, from, err := c.ReadFromUDP(b)
			if err != nil {
				return
			}
			c.WriteToUDP([][]byte{{7, 0, 0xff, 7}, {6, 0, 0xff}, nil}[min(n, 2)], from)
			n++
		}
	}()
	if got, err := Probe(t.Context(), c.LocalAddr().String()); got != Mute || err != nil {
		t.Errorf("%d, %v", got, err)
	}
}
