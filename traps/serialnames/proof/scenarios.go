// Package proof shows serial-names on throwaway machines.
package proof

import (
	"slices"
	"time"

	"fettle/lab"
)

// needs is a machine with USB, which Debian's kernel for virtual machines
// lacks, and with real udev. Two converters, of FTDI's ids, differ by serial
// number alone; gps has two more, wired to each other.
var needs = lab.Needs{Engine: "qemu", Kernel: "linux-image-amd64", MemMiB: 512, Limit: 5 * time.Minute,
	Modules: []string{"xhci_pci", "usbserial", "ftdi_sio"},
	Tools:   []string{"systemd-udevd", "udevadm", "readlink", "cat", "grep", "sh", "test", "wc"},
	Files:   []string{"/usr/lib/udev/rules.d/50-udev-default.rules", "/usr/lib/udev/rules.d/60-serial.rules"},
	Devices: []string{"-device", "qemu-xhci,id=usb",
		"-chardev", "null,id=a", "-device", "usb-serial,bus=usb.0,port=1,chardev=a,always-plugged=on,serial=A8003Ye7",
		"-chardev", "null,id=b", "-device", "usb-serial,bus=usb.0,port=2,chardev=b,always-plugged=on,serial=A8004Zz1"},
}

// udevd is udev at work, and both devices found.
var udevd = []lab.Act{
	{Start: []string{"systemd-udevd"}},
	{Until: []string{"udevadm", "control", "--ping"}},
	{Run: []string{"udevadm", "trigger", "--action=add", "--settle"}},
	{Until: []string{"test", "-e", "/dev/serial/by-path"}},
	{Until: []string{"test", "-e", "/dev/ttyUSB1"}},
}

// serial shows which device a number is now.
func serial(tty string) []string {
	return []string{"cat", "/sys/class/tty/" + tty + "/device/../../serial"}
}

// plug pulls both devices out, and puts them in again in an order.
func plug(first, second string) []lab.Act {
	usb := func(file, port string) lab.Act {
		return lab.Act{Write: &lab.File{Path: "/sys/bus/usb/drivers/usb/" + file, Content: port}}
	}
	return []lab.Act{
		usb("unbind", "1-1"), usb("unbind", "1-2"), {Run: []string{"udevadm", "settle"}},
		usb("bind", first), {Run: []string{"udevadm", "settle"}}, {Until: []string{"test", "-e", "/dev/ttyUSB0"}},
		usb("bind", second), {Run: []string{"udevadm", "settle"}}, {Until: []string{"test", "-e", "/dev/ttyUSB1"}},
		{Run: []string{"udevadm", "settle"}},
	}
}

func is(run []string, has string) lab.Act {
	return lab.Act{Expect: &lab.Expect{Run: run, Has: has, Within: 10 * time.Second}}
}

var Scenarios = []lab.Scenario{
	{
		Name: "ups-by-number", About: "NUT names its UPS /dev/ttyUSB0, and two converters are there", Needs: needs,
		Subject: "/etc/nut/ups.conf",
		Prepare: slices.Concat(udevd, []lab.Act{{Write: &lab.File{Path: "/etc/nut/ups.conf", Mode: 0o640,
			Content: "[rack]\n\tdriver = blazer_ser\n\tport = /dev/ttyUSB0\n"}}}),
		Files: map[string]string{"/etc/nut/ups.conf": "[rack]\n\tdriver = blazer_ser\n" +
			"\tport = /dev/serial/by-id/usb-QEMU_QEMU_USB_SERIAL_A8003Ye7-if00-port0\n"},
		Probes: []lab.Probe{{Name: "port of ups.conf", Run: []string{"grep", "port", "/etc/nut/ups.conf"}, Find: `= (\S+)`,
			Want: []string{"/dev/ttyUSB0", "/dev/serial/by-id/.*A8003Ye7.*", "/dev/ttyUSB0"}}},
	},
	{
		Name: "rule-not-applied", About: "a rule was written, and udev not told", Needs: needs, Subject: "/dev/radish",
		Prepare: slices.Concat(udevd, []lab.Act{{Write: &lab.File{Path: "/etc/udev/rules.d/60-local.rules", Content: byNumber}}}),
		Probes: []lab.Probe{{Name: "/dev/radish", Run: []string{"sh", "-c", "readlink /dev/radish || echo none"},
			Want: []string{"none", "ttyUSB0", ""}}},
		UndoKeeps: true,
	},
	{
		Name: "two-match", About: "a rule by vendor and product alone, and two converters", Needs: needs, Subject: "/dev/radish", Unfixable: true,
		Prepare: slices.Concat([]lab.Act{{Write: &lab.File{Path: "/etc/udev/rules.d/60-local.rules",
			Content: "KERNEL==\"ttyUSB*\", \\\n    ATTRS{idVendor}==\"0403\", ATTRS{idProduct}==\"6001\", \\\n    SYMLINK+=\"radish\"\n"}}}, udevd),
		// Both devices claim the link: what udev itself says.
		Probes: []lab.Probe{
			{
				Name: "devices that claim /dev/radish",
				Run:  []string{"sh", "-c", "grep -l S:radish /run/udev/data/c188:* | wc -l"},
				Want: []string{"2"},
			},
		},
	},
	{
		Name: "by-serial", About: "the note's rule, by serial number", Needs: needs, Innocent: true,
		Prepare: slices.Concat([]lab.Act{{Write: &lab.File{Path: "/etc/udev/rules.d/60-local.rules", Content: byNumber}}}, udevd),
	},
	{
		Name: "order-of-plugging", About: "numbers change with the order of plugging; a name that was set holds", Needs: needs,
		Steps: []lab.Step{
			{Name: "two converters", Acts: slices.Concat(udevd, []lab.Act{is(serial("ttyUSB0"), "A8003Ye7"), is(serial("ttyUSB1"), "A8004Zz1")})},
			{Name: "named", Acts: []lab.Act{
				{Run: []string{"fettle", "serialname", "set", "meter", "--for", "ttyUSB0", "--yes"}},
				is([]string{"readlink", "/dev/meter"}, "ttyUSB0"),
			}},
			{Name: "plugged the other way round", Acts: slices.Concat(plug("1-2", "1-1"), []lab.Act{
				is(serial("ttyUSB0"), "A8004Zz1"), is(serial("ttyUSB1"), "A8003Ye7"),
				is([]string{"readlink", "/dev/meter"}, "ttyUSB1"),
			})},
			{Name: "plugged back", Acts: slices.Concat(plug("1-1", "1-2"), []lab.Act{
				is(serial("ttyUSB0"), "A8003Ye7"), is([]string{"readlink", "/dev/meter"}, "ttyUSB0"),
			})},
			{Name: "by port", Acts: []lab.Act{
				{Run: []string{"fettle", "serialname", "set", "socket", "--for", "ttyUSB1", "--by", "port", "--yes"}},
				is([]string{"readlink", "/dev/socket"}, "ttyUSB1"),
			}},
			{Name: "plugged the other way round again", Acts: slices.Concat(plug("1-2", "1-1"), []lab.Act{
				is([]string{"readlink", "/dev/socket"}, "ttyUSB0"), is([]string{"readlink", "/dev/meter"}, "ttyUSB1"),
			})},
			{Name: "undone", Acts: []lab.Act{
				{Run: []string{"fettle", "undo", "--yes"}},
				{Run: []string{"test", "!", "-e", "/dev/socket"}},
				is([]string{"readlink", "/dev/meter"}, "ttyUSB1"),
			}},
		},
	},
	{
		Name: "asked-what-it-is", About: "two converters without serial numbers, of which one has a GPS receiver", Needs: gps,
		Steps: []lab.Step{
			{Name: "four converters", Acts: slices.Concat(udevd, []lab.Act{{Until: []string{"test", "-e", "/dev/ttyUSB3"}},
				// ttyUSB0 and ttyUSB1 are wired to each other, as are ttyUSB2 and ttyUSB3.
				{Run: []string{"stty", "-F", "/dev/ttyUSB0", "raw", "-echo"}}, {Run: []string{"stty", "-F", "/dev/ttyUSB2", "raw", "-echo"}},
				{
					Start: []string{
						"sh",
						"-c",
						`while :; do printf '$GPGGA,123519,4807.038,N,01131.000,E,1,08,0.9,545.4,M,46.9,M,,*47\r\n'; sleep 0.3; done > /dev/ttyUSB0`,
					},
				},
				{Start: []string{"sh", "-c", `while :; do printf 'radish 1.0: 21 C\r\n'; sleep 0.3; done > /dev/ttyUSB2`}},
			})},
			{Name: "probed", Acts: []lab.Act{
				is([]string{"fettle", "serialname", "probe", "--profile", "nmea-gps", "/dev/ttyUSB1"}, "GPGGA"),
				{
					Expect: &lab.Expect{
						Run:    []string{"fettle", "serialname", "probe", "--profile", "nmea-gps", "/dev/ttyUSB3"},
						Status: 1,
						Has:    "not recognised",
					},
				},
			}},
			{Name: "named by what it says", Acts: []lab.Act{
				{Run: []string{"chmod", "755", "/"}}, // udev runs nothing as root that others could replace
				{Run: []string{"fettle", "serialname", "set", "gps", "--for", "ttyUSB1", "--by", "probe", "--profile", "nmea-gps", "--yes"}},
				is([]string{"readlink", "/dev/gps"}, "ttyUSB1"),
				{Run: []string{"udevadm", "trigger", "--action=add", "--settle", "/sys/class/tty/ttyUSB3"}},
				is([]string{"readlink", "/dev/gps"}, "ttyUSB1"),
			}},
		},
	},
}

const byNumber = "KERNEL==\"ttyUSB*\", \\\n    ATTRS{idVendor}==\"0403\", ATTRS{idProduct}==\"6001\", \\\n    " +
	"ATTRS{serial}==\"A8003Ye7\", \\\n    SYMLINK+=\"radish\"\n"

var gps = func() lab.Needs {
	n := needs
	n.Tools = append(slices.Clone(n.Tools), "sleep", "chmod", "stty")
	n.Devices = []string{"-device", "qemu-xhci,id=usb"}
	for i, chardev := range []string{"socket,id=c0,server=on,wait=off,path=/tmp/x", "socket,id=c1,path=/tmp/x",
		"socket,id=c2,server=on,wait=off,path=/tmp/y", "socket,id=c3,path=/tmp/y"} {
		id := string(rune('0' + i))
		port := string(rune('1' + i))
		n.Devices = append(
			n.Devices,
			"-chardev",
			chardev,
			"-device",
			"usb-serial,bus=usb.0,port="+port+",chardev=c"+id+",always-plugged=on,serial=",
		)
	}
	return n
}()
