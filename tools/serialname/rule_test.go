package serialname

import (
	"strings"
	"testing"

	"fettle/host/format/udev"
)

func TestNames(t *testing.T) {
	for _, good := range []string{"radish", "meter-1", "meters/hall", "GPS.0", strings.Repeat("x", 64)} {
		if err := CheckName(good); err != nil {
			t.Error(err)
		}
	}
	for _, bad := range []string{"", "ttyUSB0", "serial/by-id", "../x", "a/../b", "/x", "a/b/c", "1x", "x y", "x\"y", "x,y", "null",
		"sda", "x$y", strings.Repeat("x", 65), "näme"} {
		if err := CheckName(bad); err == nil {
			t.Errorf("%q is a name", bad)
		}
	}
}

// Whatever a device says of itself, the rule is one that udev reads as meant.
func TestPatternsAreQuoted(t *testing.T) {
	d := &Device{Kernel: "ttyUSB0", Vendor: "0403", Product: "6001", Serial: `A"*[8]?\|` + "\n" + "é$attr{x}%k", Interface: "00"}
	text, err := Lines(d, Wanted{Name: "radish", By: BySerial})
	if err != nil {
		t.Fatal(err)
	}
	rules, errs := udev.Parse("x.rules", []byte(text))
	if len(errs) > 0 || len(rules) != 1 {
		t.Fatalf("%v: %s", errs, text)
	}
	for _, tok := range rules[0].Tokens {
		if tok.Attr == "serial" && tok.Value != "A???8?????*$attr{x}%k" {
			t.Errorf("serial is matched by %q", tok.Value)
		}
	}
	for c, want := range map[rune]string{' ': " ", '~': "~", '\x1f': "?", '\x7f': "*", '|': "?"} {
		if got := pattern(string(c)); got != want {
			t.Errorf("%q is matched by %q, want %q", c, got, want)
		}
	}
	if _, err := Lines(d, Wanted{Name: "radish", By: ByProbe, Probe: []string{"/usr/bin/x", "a b"}}); err == nil {
		t.Error("an argument with a blank stands in a rule")
	}
}

// TestLines: what tells a device apart, and what it is given.
func TestLines(t *testing.T) {
	d := Device{Kernel: "ttyUSB0", Vendor: "0403", Product: "6011", Serial: "A1", IDPath: "pci-1", Interface: "01", SubPort: "2"}
	const kind = `SUBSYSTEM=="tty", KERNEL=="ttyUSB[0-9]*", ATTRS{idVendor}=="0403", ATTRS{idProduct}=="6011", `
	const port, name = `ENV{ID_USB_INTERFACE_NUM}=="01", ENV{.ID_PORT}=="2", `, `SYMLINK+="r", ENV{FETTLE_SERIAL_NAME}="r"`
	const ignore = `, ENV{ID_MM_PORT_IGNORE}="1"` + "\n"
	bare := Device{Kernel: "ttyACM3", Vendor: "1", Product: "2", Interface: "00"}
	for _, c := range []struct {
		name string
		d    Device
		w    Wanted
		want string
	}{
		{"serial number", d, Wanted{By: BySerial}, kind + `ATTRS{serial}=="A1", ` + port + name + ignore},
		{"a modem", d, Wanted{By: BySerial, Modem: true}, kind + `ATTRS{serial}=="A1", ` + port + name + "\n"},
		{"port", d, Wanted{By: ByPlug}, kind + `ENV{ID_PATH}=="pci-1", ` + port + name + ignore},
		{"probe", d, Wanted{By: ByProbe, Probe: []string{"/bin/x", "nmea"}, Profile: "g-1"}, kind + `IMPORT{db}="FETTLE_r_g_1"` + "\n" +
			kind + `ENV{FETTLE_r_g_1}=="", ENV{FETTLE_SERIAL_NAME}=="", PROGRAM=="/bin/x nmea $devnode", ENV{FETTLE_r_g_1}="yes"` + "\n" +
			kind + `ENV{FETTLE_r_g_1}=="", ENV{FETTLE_r_g_1}="no"` + "\n" + kind + `ENV{FETTLE_r_g_1}=="yes", ` + name + ignore},
		{"no serial number", bare, Wanted{By: BySerial}, "/dev/ttyACM3 has no serial number: choose --by port or --by probe"},
		{"no path", bare, Wanted{By: ByPlug}, "udev has no ID_PATH for /dev/ttyACM3: is udev running, and is 60-serial.rules there?"},
		{"something else", bare, Wanted{By: "colour"}, `"colour": a device is identified by serial, port or probe`},
		{"one port", Device{Kernel: "ttyACM3", Vendor: "1", Product: "2", Serial: "B", Interface: "00"}, Wanted{By: BySerial},
			`SUBSYSTEM=="tty", KERNEL=="ttyACM[0-9]*", ATTRS{idVendor}=="1", ATTRS{idProduct}=="2", ATTRS{serial}=="B", ` +
				`ENV{ID_USB_INTERFACE_NUM}=="00", ` + name + ignore},
	} {
		c.w.Name = "r"
		got, err := Lines(&c.d, c.w)
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}

// Setting a name again replaces its lines, and no other's.
func TestNamesAreReplaced(t *testing.T) {
	text := WithName(WithName("", "gps", "A\nB\n"), "meter", "C\n")
	text = WithName(text, "gps", "D\n")
	if strings.Contains(text, "A\n") || strings.Contains(text, "B\n") || strings.Count(text, "# name gps\n") != 1 ||
		!strings.Contains(text, "# name meter\nC\n") {
		t.Error(text)
	}
	if again := WithName(text, "gps", "D\n"); again != text {
		t.Errorf("set again:\n%s", again)
	}
	longer := WithName(WithName("", "gps2", "A\n"), "gps", "B\n")
	if got := WithoutName(longer, "gps"); !strings.HasSuffix(got, "# name gps2\nA\n") {
		t.Errorf("without gps, gps2 is lost:\n%s", got)
	}
	if got := WithName("X", "gps", "D\n"); got != "X\n# name gps\nD\n" {
		t.Errorf("after a line without an end: %q", got)
	}
	if !strings.HasPrefix(text, rulesHead) {
		t.Error("the head is gone")
	}
}

func TestChoose(t *testing.T) {
	devices := []Device{{Kernel: "ttyUSB0"}, {Kernel: "ttyACM1", Links: []string{"radish", "serial/by-id/usb-x"}}}
	for _, name := range []string{"ttyACM1", "/dev/ttyACM1", "radish", "/dev/serial/by-id/usb-x"} {
		if d, err := Choose(devices, name); err != nil || d.Kernel != "ttyACM1" {
			t.Errorf("%s: %v, %v", name, d, err)
		}
	}
	if _, err := Choose(nil, "radish"); err == nil || err.Error() != "radish is not a USB serial device that is plugged in: there is none" {
		t.Error(err)
	}
	for name, want := range map[string]string{"/dev/null": "there are ttyUSB0, ttyACM1", "by-id/usb-x": "is not a USB serial device"} {
		if _, err := Choose(devices, name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
