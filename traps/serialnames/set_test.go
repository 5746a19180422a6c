package serialnames

import (
	"errors"
	"os"
	"strings"
	"testing"

	"fettle/engine/remedy"
	"fettle/engine/trap"
	"fettle/host/hosttest"
)

// TestSet: a name for a device that was chosen: by what it is known, which other rules give way, and what is refused.
func TestSet(t *testing.T) {
	b, err := os.ReadFile("testdata/healthy-names.txtar")
	if err != nil {
		t.Fatal(err)
	}
	const usb, rules = "-- root/sys/devices/pci0000:00/0000:00:14.0/usb1/", "-- root/etc/udev/rules.d/"
	const one, two = usb + "1-1/serial --\nA1\n", usb + "1-2/serial --\nA2\n"
	const own = rules + "70-fettle-serial.rules --\n# name other\nSUBSYSTEM==\"tty\", SYMLINK+=\"other\"\n"
	const gives = `SUBSYSTEM=="tty", KERNEL=="ttyUSB9", SYMLINK+="radish"`
	const serial, port, probe = `ATTRS{serial}=="A1"`, `ENV{ID_PATH}=="pci-0000:00:14.0-usb-0:1:1.0"`,
		"PROGRAM==\"/usr/bin/fettle serialname probe"
	for _, c := range []struct{ name, subject, with, host, want string }{
		{"nothing chosen", "radish", "", "", "no: which device should have the name?"},
		{"not there", "radish", "device=ttyUSB7", "", "no: ttyUSB7 is not a USB serial device that is plugged in: there are ttyUSB0, ttyUSB1"},
		{"no name", "ttyUSB3", "device=ttyUSB0", "", `no: "ttyUSB3": such names are the kernel's`},
		{"in use", "radish", "device=ttyUSB0", "-- root/dev/radish --\n-- denied/dev/radish --\n", "permission denied"},
		{"a serial number", "radish", "device=ttyUSB0", one + two, serial},
		{"one that two have", "radish", "device=ttyUSB0 by=serial", one + usb + "1-2/serial --\nA1\n",
			"no: another device here has the serial number A1 too"},
		{"one that two have, so the port", "radish", "device=ttyUSB0", one + usb + "1-2/serial --\nA1\n", port +
			"|note: The name belongs to the port 1-1:"},
		{"no serial number", "radish", "device=ttyUSB0", "", port + "|note: The name belongs to the port 1-1:"},
		{"no serial number, insisted on", "radish", "device=ttyUSB0 by=serial", "", "no: /dev/ttyUSB0 has no serial number"},
		{"by port, although it has one", "radish", "device=ttyUSB0 by=port", one + two, port},
		{"for ModemManager too", "radish", "device=ttyUSB0 modem=yes", one + two, `ENV{FETTLE_SERIAL_NAME}="radish"` +
			"\n|not: ID_MM_PORT_IGNORE"},
		{"not for ModemManager", "radish", "device=ttyUSB0", one + two, `ENV{ID_MM_PORT_IGNORE}="1"` + "\n"},
		{"a probe without a profile", "radish", "device=ttyUSB0 by=probe", "", "no: a probe needs a profile"},
		{"no such profile", "radish", "device=ttyUSB0 profile=x", "", "no: there is no profile x: "},
		{"a probe", "radish", "device=ttyUSB0 profile=nmea-gps", one, probe +
			"|not: sends bytes|note: Whenever a device of the kind 0403:6001 is plugged in, udev waits up to"},
		{"a probe that writes", "radish", "device=ttyUSB0 profile=at-modem", one, probe + "|note: The profile at-modem sends bytes"},
		{"a profile, by port", "radish", "device=ttyUSB0 by=port profile=at-modem", one, port + "|not: " + probe},
		{"a program of others", "radish", "device=ttyUSB0 profile=nmea-gps", "-- stat/usr/bin/fettle --\nmode 0755 uid 1000\n",
			"no: udev would run /usr/bin/fettle as root, and others than root can change /usr/bin/fettle"},
		{"a folder of others", "radish", "device=ttyUSB0 profile=nmea-gps", "-- stat/usr --\nmode 0775 type dir\n",
			"no: udev would run /usr/bin/fettle as root, and others than root can change /usr"},
		{"among names that fettle gave", "radish", "device=ttyUSB0", one + two + own, "# name other\n|# name radish\n"},
		{"a rule of somebody's, over two lines", "radish", "device=ttyUSB0", one + rules + "10-x.rules --\n# first\n" + strings.Replace(gives,
			`, SYM`, ", \\\n SYM", 1) +
			"\nKERNEL==\"x\"\n", "#SUBSYSTEM==\"tty\", KERNEL==\"ttyUSB9\", \\\n# SYMLINK+=\"radish\"\nKERNEL==\"x\"\n|not: #KERNEL|not: ## first|" +
			serial},
		{"twice", "radish", "device=ttyUSB0", one + rules + "10-x.rules --\n" + gives + "\n" + gives + "\n",
			"no: /etc/udev/rules.d/10-x.rules gives the name more than once"},
		{"a rule that asks for the name", "radish", "device=ttyUSB0", one + rules + "10-x.rules --\nSYMLINK==\"radish\", MODE=\"0600\"\n",
			serial + "|not: #SYMLINK"},
		{"a rule of this boot", "radish", "device=ttyUSB0", "-- root/run/udev/rules.d/10-x.rules --\n" + gives + "\n",
			"no: /run/udev/rules.d/10-x.rules:1 gives /dev/radish already"},
		{"a rule of a package", "radish", "device=ttyUSB0", one + "-- root/usr/lib/udev/rules.d/10-x.rules --\n" + gives + "\n", serial},
		{"rules that are broken", "radish", "device=ttyUSB0", one + rules + "70-fettle-serial.rules --\nbroken\n",
			"no: with the new lines, udev would not accept all of it:"},
	} {
		h := hosttest.New(t, strings.Replace(string(b), "-- want --", c.host+"-- want --", 1))
		f, err := Trap.Choose(trap.Finding{Subject: "/dev/" + c.subject, Facts: trap.FactsOf(facts{})}, strings.Fields(c.with))
		if err != nil {
			t.Fatal(err)
		}
		p, err := plan(t.Context(), h, f)
		said := remedy.Text(p, remedy.TextOptions{Width: 1000, All: true})
		said = strings.NewReplacer("\n       +", "\n", "\n        ", "\n", "\nNote: ", "\nnote: ").Replace(said)
		var no *remedy.Refusal
		if errors.As(err, &no) {
			said = "no: " + no.Why
		} else if err != nil {
			said = err.Error()
		}
		for part := range strings.SplitSeq(c.want, "|") {
			unwanted, not := strings.CutPrefix(part, "not: ")
			if strings.Contains(said, unwanted) == not {
				t.Errorf("%s: %q is expected: %v in\n%s", c.name, unwanted, !not, said)
			}
		}
	}
}
