package udev

import (
	"strings"
	"testing"

	"fettle/internal/means"
)

func TestParse(t *testing.T) {
	rules, errs := Parse("x.rules", []byte(`# comment
KERNEL=="ttyUSB*", \
    # between
    ATTRS{idVendor}=="0403" ATTRS{idProduct}!="6001", \
    SYMLINK+="radish"

SUBSYSTEM == "tty", ENV{A.b}:="say \"x\"", i"x"
KERNEL=i"TTY*", PROGRAM="/bin/x /dev/%k"
KERNEL="x
KERNEL{x=="y"
=="z"
LABEL="end" \`))
	want := []string{
		`2 KERNEL{}=="ttyUSB*" ATTRS{idVendor}=="0403" ATTRS{idProduct}!="6001" SYMLINK{}+="radish"`,
		`8 KERNEL{}="TTY*" PROGRAM{}="/bin/x /dev/%k"`,
	}
	var got []string
	for _, r := range rules {
		var b strings.Builder
		for _, tok := range r.Tokens {
			b.WriteString(" " + tok.Key + "{" + tok.Attr + "}" + tok.Op + `"` + tok.Value + `"`)
		}
		got = append(got, strings.TrimPrefix(r.At(), "x.rules:")+b.String())
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	var lines []int
	for _, e := range errs {
		lines = append(lines, e.Line)
	}
	if len(errs) != 5 {
		t.Errorf("errors: %v", errs)
	}
}

func TestGlob(t *testing.T) {
	for _, c := range []struct {
		pattern, s string
		want       bool
	}{
		{"ttyUSB*", "ttyUSB0", true}, {"ttyUSB*|ttyACM*", "ttyACM1", true}, {"ttyUSB[0-9]*", "ttyUSBx", false},
		{"?*", "", false}, {"", "", true}, {"a|", "", true}, {"[!a]b", "cb", true}, {"[!a]b", "ab", false}, {"[]x]", "]", true},
		{`a\*`, "a*", true}, {`a\*`, "ab", false}, {"[a", "[a", true}, {"1-1.*:1.0", "1-1.2:1.0", true}, {"*a*b*c", "xxaxxbxxc", true},
		{strings.Repeat("*a", 50), strings.Repeat("a", 1000), true}, {strings.Repeat("*a", 50) + "b", strings.Repeat("a", 5000), false},
	} {
		if got := matches(c.pattern, c.s, false); got != c.want {
			t.Errorf("%q %q: %v", c.pattern, c.s, got)
		}
	}
	if !matches("TTY*", "ttyUSB0", true) {
		t.Error("whatever the case")
	}
}

// converter is a USB serial converter as sysfs has it.
func converter(serial string) *Device {
	attrs := func(m map[string]string) func(string) (string, bool) {
		return func(n string) (string, bool) { v, ok := m[n]; return v, ok }
	}
	return &Device{Action: "add", DevPath: "/devices/pci0/usb1/1-1/1-1:1.0/ttyUSB0/tty/ttyUSB0", DevNode: "/dev/ttyUSB0",
		Env: map[string]string{"ID_PATH": "pci-0000:00:04.0-usb-0:1:1.0", "MAJOR": "188", "MINOR": "0"},
		Chain: []Node{
			{Kernel: "ttyUSB0", Subsystem: "tty", Attr: attrs(map[string]string{"dev": "188:0\n"})},
			{Kernel: "ttyUSB0", Subsystem: "usb-serial", Driver: "ftdi_sio", Attr: attrs(map[string]string{"port_number": "0\n"})},
			{Kernel: "1-1:1.0", Subsystem: "usb", Driver: "ftdi_sio", Attr: attrs(map[string]string{"bInterfaceNumber": "00\n"})},
			{
				Kernel:    "1-1",
				Subsystem: "usb",
				Driver:    "usb",
				Attr:      attrs(map[string]string{"idVendor": "0403\n", "idProduct": "6001\n", "serial": serial + "\n", "product": "USB Serial \n"}),
			},
		}}
}

func TestApply(t *testing.T) {
	for name, c := range map[string]struct{ rules, want string }{
		"the note's": {`KERNEL=="ttyUSB*", ATTRS{idVendor}=="0403", ATTRS{idProduct}=="6001", ATTRS{serial}=="A8003Ye7", ` +
			`SYMLINK+="radish"`, "radish"},
		"another serial":          {`KERNEL=="ttyUSB*", ATTRS{serial}=="B*", SYMLINK+="radish"`, ""},
		"attributes of two":       {`ATTRS{idVendor}=="0403", ATTRS{bInterfaceNumber}=="00", SYMLINK+="radish"`, ""},
		"a missing attribute, !=": {`ATTR{nothing}!="x", SYMLINK+="radish"`, ""},
		"blanks at the end":       {`ATTRS{product}=="USB Serial", SYMLINK+="a"` + "\n" + `ATTRS{product}=="USB Serial ", SYMLINK+="b"`, "a"},
		"a program":               {`PROGRAM="/usr/bin/usbtest /dev/%k", SYMLINK+="%c"` + "\n" + `PROGRAM=="/bin/true $devnode", SYMLINK+="meter"`, "meter?"},
		"jumps": {`SUBSYSTEM=="tty", GOTO="end"` + "\n" + `SYMLINK+="radish"` + "\n" + `LABEL="end", SYMLINK+="after"`,
			"after"},
		"no jump, no label":        {`SUBSYSTEM!="tty", GOTO="end"` + "\n" + `SYMLINK+="radish"` + "\n" + `LABEL="end"`, "radish"},
		"environment":              {`ENV{x}="$attr{port_number}$$%%"` + "\n" + `ENV{x}=="0$%", ENV{ID_PATH}=="pci-*", SYMLINK+="p-$env{x}-%n-%k"`, "p-0$%-0-ttyUSB0"},
		"what a program decides":   {`IMPORT{program}="/bin/x /dev/%k", ENV{y}="1"` + "\n" + `ENV{y}=="1", SYMLINK+="a"`, "a?"},
		"replaced and taken":       {`SYMLINK+="a b c"` + "\n" + `SYMLINK-="b"` + "\n" + `DRIVERS=="ftdi_sio", SYMLINK="d"` + "\n" + `SYMLINK+="/dev/e"`, "d e"},
		"final":                    {`SYMLINK:="a"` + "\n" + `SYMLINK+="b"`, "a"},
		"the parent's kernel name": {`KERNELS=="1-1:1.0", SUBSYSTEMS=="usb", SYMLINK+="port1"`, "port1"},
	} {
		rules, errs := Parse("/etc/udev/rules.d/x.rules", []byte(c.rules))
		if len(errs) > 0 {
			t.Fatal(name, errs)
		}
		var got []string
		for _, l := range (&Rules{Rules: rules}).Apply(converter("A8003Ye7")).Links {
			if l.Maybe {
				l.Name += "?"
			}
			got = append(got, l.Name)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %q, expected %q", name, got, c.want)
		}
	}
}

func TestFuzz(t *testing.T) { means.Fuzz(t) }

// FuzzRules: no rules make the reader or what follows them panic or hang.
func FuzzRules(f *testing.F) {
	f.Add(
		[]byte(
			`KERNEL=="ttyUSB*", ATTRS{a}!="[!x-z]*", PROGRAM="x", GOTO="e"` + "\n" + `LABEL="e", SYMLINK+="$attr{serial} %c %E{A}", ENV{B}="$env{A}"`,
		),
	)
	f.Add([]byte("# x\nA==\"\\\n\"b\"\nSYMLINK:=e\"a\\\"b\"\n"))
	f.Add([]byte(strings.Repeat("ENV{A}=\"x$env{A}$env{A}\"\n", 100) + `SYMLINK+="$env{A}"`))
	f.Fuzz(func(t *testing.T, text []byte) {
		rules, _ := Parse("/etc/x.rules", text)
		for _, l := range (&Rules{Rules: rules}).Apply(converter("A")).Links {
			if strings.HasPrefix(l.Name, "/") || l.Name == "" || strings.HasPrefix(l.Name, "..") {
				t.Errorf("a link %q", l.Name)
			}
		}
	})
}
