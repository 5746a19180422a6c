package serialname

import (
	"strings"
	"testing"

	"fettle/host/format/udev"
)

func TestNames(t *testing.T) {
	for _, good := range []string{"radish", "meter-1", "meters/hall", "GPS.0"} {
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
	if _, err := Lines(d, Wanted{Name: "radish", By: ByProbe, Probe: []string{"/usr/bin/x", "a b"}}); err == nil {
		t.Error("an argument with a blank stands in a rule")
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
	for name, want := range map[string]string{"/dev/null": "there are ttyUSB0, ttyACM1", "by-id/usb-x": "is not a USB serial device"} {
		if _, err := Choose(devices, name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
