package serialname

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"syscall"
	"testing"

	"fettle/host"
	"fettle/host/format/udev"
	"fettle/host/hosttest"
)

const hub = "sys/devices/pci0000:00/0000:00:14.0/usb1"

// plugged is a converter as sysfs shows it.
func plugged(kernel, port, product string) string {
	usb := hub + "/" + port
	iface := usb + "/" + port + ":1.0"
	own := iface + "/" + kernel
	var b strings.Builder
	for _, l := range [][2]string{{"link/sys/class/tty/" + kernel, "../../" + strings.TrimPrefix(own, "sys/") + "/tty/" + kernel},
		{"link/" + own + "/tty/" + kernel + "/subsystem", "/sys/class/tty"}, {"root/" + own + "/tty/" + kernel + "/dev", "188:" + kernel[6:]},
		{"link/" + own + "/subsystem", "/sys/bus/usb-serial"}, {"link/" + own + "/driver", "/sys/bus/usb-serial/drivers/ftdi_sio"},
		{"root/" + own + "/port_number", "0"}, {"link/" + iface + "/subsystem", "/sys/bus/usb"},
		{"link/" + iface + "/driver", "/sys/bus/usb/drivers/usbserial"}, {"root/" + iface + "/bInterfaceNumber", "01"},
		{"root/" + iface + "/bInterfaceClass", "02"},
		{"root/" + iface + "/bInterfaceSubClass", "03"}, {"root/" + iface + "/bInterfaceProtocol", "04"},
		{"link/" + usb + "/subsystem", "/sys/bus/usb"}, {"root/" + usb + "/idVendor", "0403"}, {"root/" + usb + "/idProduct", product},
		{"root/" + usb + "/serial", "A1"}, {"root/" + usb + "/manufacturer", "FTDI"}, {"root/" + usb + "/product", "UART"}} {
		fmt.Fprintf(&b, "-- %s --\n%s\n", l[0], l[1])
	}
	return b.String()
}

// leaving is a host whose devices are pulled out while one file is read.
type leaving struct {
	*hosttest.Source
	at string
}

func (l leaving) ReadFile(ctx context.Context, name string, limit int64) ([]byte, error) {
	if strings.HasSuffix(name, l.at) && l.at != "" {
		return nil, &fs.PathError{Op: "read", Path: name, Err: syscall.ENODEV}
	}
	return l.Source.ReadFile(ctx, name, limit)
}

// TestList: what is told of a device, which others there are, and what could not be read.
func TestList(t *testing.T) {
	one, two := plugged("ttyUSB0", "1-1", "6001"), plugged("ttyUSB10", "1-1.2", "6010")
	const first = "ttyUSB0 1-1 0403:6001 A1 FTDI UART 01 02/03/04 0 ftdi_sio"
	const usb, iface = hub + "/1-1", hub + "/1-1/1-1:1.0"
	database := "-- root/run/udev/data/c188:0 --\nS:radish\nS:gps\nE:ID_PATH=pci-1\nE:ID_MM_PORT_IGNORE=1\nE:FETTLE=1\n" +
		"G:ID_X=1\nE:ID_SERIAL\n"
	for _, c := range []struct{ name, text, change, to, leaves, want string }{
		{name: "none", text: "-- root/sys/x --\n"},
		{name: "no terminals told", text: "-- denied/sys/class/tty --\n", want: "listing /sys/class/tty: permission denied"},
		{name: "in the order of their numbers, among others",
			text: strings.ReplaceAll(plugged("ttyUSB2", "1-3", "6001"), "../../devices", "/sys/devices") + two + one +
				"-- link/sys/class/tty/tty0 --\n../../devices/virtual/tty/tty0\n-- root/sys/class/tty/console/dev --\n5:1\n",
			want: first + "; ttyUSB2 1-3 0403:6001 A1 FTDI UART 01 02/03/04 0 ftdi_sio; " +
				"ttyUSB10 1-1.2 0403:6010 A1 FTDI UART 01 02/03/04 0 ftdi_sio"},
		{name: "udev's database", text: one + database, want: first + " pci-1 gps,radish"},
		{name: "database denied", text: one + "-- denied/run/udev/data/c188:0 --\n", want: "reading /run/udev/data/c188:0: permission denied"},
		{name: "a link denied", text: one + "-- denied/sys/class/tty/ttyUSB0 --\n",
			want: "reading link /sys/class/tty/ttyUSB0: permission denied"},
		{name: "not a usb-serial port", text: one, change: "/sys/bus/usb-serial\n", to: "/sys/bus/acm\n",
			want: "ttyUSB0 1-1 0403:6001 A1 FTDI UART 01 02/03/04  usbserial"},
		{name: "no driver", text: one, change: "link/" + iface + "/ttyUSB0/driver", to: "link/x",
			want: "ttyUSB0 1-1 0403:6001 A1 FTDI UART 01 02/03/04 0 "},
		{name: "no vendor", text: one + two, change: "root/" + usb + "/idVendor", to: "root/x",
			want: "ttyUSB10 1-1.2 0403:6010 A1 FTDI UART 01 02/03/04 0 ftdi_sio"},
		{name: "no product", text: one, change: "root/" + usb + "/idProduct", to: "root/x"},
		{name: "no interface", text: one, change: "link/" + iface + "/subsystem", to: "link/x"},
		{name: "no device", text: one, change: "link/" + usb + "/subsystem", to: "link/x"},
		{name: "pulled out", text: one, leaves: "/idVendor"},
		{name: "pulled out later", text: one, leaves: "/manufacturer", want: "ttyUSB0 1-1 0403:6001 A1  UART 01 02/03/04 0 ftdi_sio"},
		{name: "a subsystem denied", text: one + "-- denied/" + usb + "/subsystem --\n",
			want: "reading link /" + usb + "/subsystem: permission denied"},
		{name: "a driver denied", text: one + "-- denied/" + iface + "/driver --\n",
			want: "reading link /" + iface + "/driver: permission denied"},
		{name: "a number denied", text: one + "-- denied/" + usb + "/serial --\n", want: "reading /" + usb + "/serial: permission denied"},
		{name: "its file's numbers denied", text: one + "-- denied/" + iface + "/ttyUSB0/tty/ttyUSB0/dev --\n",
			want: "reading /" + iface + "/ttyUSB0/tty/ttyUSB0/dev: permission denied"},
	} {
		if c.change != "" && !strings.Contains(c.text, c.change) {
			t.Fatalf("%s: there is no %q", c.name, c.change)
		}
		src, _, err := hosttest.Parse([]byte(strings.Replace(c.text, c.change, c.to, 1)))
		if err != nil {
			t.Fatal(err)
		}
		ds, err := List(t.Context(), host.New(leaving{src, c.leaves}))
		var got []string
		for _, d := range ds {
			got = append(got, strings.TrimSuffix(fmt.Sprintf("%s %s %s %s %s %s %s %s %s %s", d.Kernel, d.Port, d.IDs(), d.Serial, d.Manufacturer,
				d.Model, d.Interface, d.ACM, d.SubPort, d.Driver)+" "+strings.TrimSpace(d.IDPath+" "+strings.Join(d.Links, ",")), " "))
		}
		if err != nil {
			got = append(got, err.Error())
		}
		if said := strings.Join(got, "; "); said != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, said, c.want)
		}
	}
}

// TestAsRulesSeeIt: the environment that rules ask for, and attributes of its own folder alone.
func TestAsRulesSeeIt(t *testing.T) {
	const path = "/devices/pci0000:00/0000:00:14.0/usb1/1-1/1-1:1.0/ttyUSB7/tty/ttyUSB7"
	plain := "DEVNAME=/dev/ttyUSB7 ID_BUS=usb ID_MODEL_ID=6001 ID_USB_INTERFACE_NUM=01 ID_VENDOR_ID=0403 MAJOR=188 MINOR=7 SUBSYSTEM=tty"
	for _, c := range []struct{ name, text, want string }{
		{"without a database", plugged("ttyUSB7", "1-1", "6001"), strings.Replace(plain, " ID_USB", " ID_SERIAL_SHORT=A1 ID_USB", 1)},
		{"without a serial number", strings.Replace(plugged("ttyUSB7", "1-1", "6001"), "root/"+hub+"/1-1/serial", "root/x", 1), plain},
		{"with one", plugged("ttyUSB7", "1-1", "6001") + "-- root/run/udev/data/c188:7 --\n" +
			"E:ID_PATH=p=q\nE:ID_MM_X=1\nE:X=1\nG:ID_Y=1\nE:ID_Z\nE:ID_BUS=u\n",
			strings.NewReplacer("BUS=usb", "BUS=u", " ID_USB", " ID_PATH=p=q ID_SERIAL_SHORT=A1 ID_USB").Replace(plain)},
	} {
		ds, err := List(t.Context(), hosttest.New(t, c.text))
		if err != nil || len(ds) != 1 {
			t.Fatalf("%s: %v, %v", c.name, ds, err)
		}
		d := ds[0].Rules()
		var env []string
		for k, v := range d.Env {
			env = append(env, k+"="+v)
		}
		slices.Sort(env)
		if got := strings.Join(env, " "); got != c.want || d.DevPath != path || d.DevNode != "/dev/ttyUSB7" || d.Action != "add" {
			t.Errorf("%s:\n got %s of %s\nwant %s", c.name, got, d.DevPath, c.want)
		}
		for name, want := range map[string]string{"dev": "188:7\n", "no": "", "../../port_number": "", "/etc/passwd": ""} {
			if v, ok := d.Chain[0].Attr(name); v != want || ok != (want != "") {
				t.Errorf("attribute %s: %q, %v", name, v, ok)
			}
		}
	}
}

// TestSurvey: the names that the admin's rules give, to whom, and who would have them elsewhere.
func TestSurvey(t *testing.T) {
	ds, err := List(t.Context(), hosttest.New(t, plugged("ttyUSB0", "1-1", "6001")+plugged("ttyUSB1", "1-2", "6001")+
		plugged("ttyUSB2", "1-3", "6010")))
	if err != nil {
		t.Fatal(err)
	}
	const own, ids = "/etc/udev/rules.d/70-x.rules", `SUBSYSTEM=="tty", ATTRS{idVendor}=="0403", ATTRS{idProduct}=="6001", `
	for _, c := range []struct{ name, path, rules, want string }{
		{"to two", own, ids + `SYMLINK+="radish"`, "radish: ttyUSB0 ttyUSB1"},
		{"to two, twice", own, ids + `SYMLINK+="radish"` + "\n" + ids + `SYMLINK+="radish"`, "radish: ttyUSB0 ttyUSB1"},
		{"a package's", "/usr/lib/udev/rules.d/70-x.rules", ids + `SYMLINK+="radish"`, ""},
		{"of this boot", "/run/udev/rules.d/70-x.rules", ids + `SYMLINK+="radish"`, "radish: ttyUSB0 ttyUSB1"},
		{"of local programs", "/usr/local/lib/udev/rules.d/70-x.rules", ids + `SYMLINK+="radish"`, "radish: ttyUSB0 ttyUSB1"},
		{"a program decides", own, ids + `PROGRAM=="/bin/x", SYMLINK+="radish"` + "\n" + ids + `PROGRAM=="/bin/x", SYMLINK+="radish"`,
			"radish: maybe ttyUSB0 maybe ttyUSB1"},
		{"in the order of names", own, `KERNEL=="ttyUSB0", SYMLINK+="b"` + "\n" + `KERNEL=="ttyUSB2", SYMLINK+="a"`, "a: ttyUSB2; b: ttyUSB0"},
		{"by port, where nothing is", own, ids + `KERNELS=="1-7", SYMLINK+="radish"`, "radish: (ttyUSB0 ttyUSB1 elsewhere)"},
		{"by port, of one that has another name", own, ids + `KERNELS=="1-7", SYMLINK+="radish"` + "\n" + `KERNEL=="ttyUSB1", SYMLINK+="b"`,
			"b: ttyUSB1; radish: (ttyUSB0 elsewhere)"},
		{"by path", own, `KERNEL=="ttyUSB*", ENV{ID_VENDOR_ID}=="0403", ENV{ID_MODEL_ID}=="6010", ENV{ID_PATH}=="x", SYMLINK+="r"`,
			"r: (ttyUSB2 elsewhere)"},
		{"by path, of any product", own, `SUBSYSTEM=="tty", ATTRS{idVendor}=="0403", ENV{ID_PATH_TAG}=="x", SYMLINK+="r"`, "r:"},
		{"by path, of any vendor", own, `SUBSYSTEM=="tty", ATTRS{idProduct}=="6010", ATTRS{devpath}=="7", SYMLINK+="r"`, "r:"},
		{"by path, of another vendor", own, `SUBSYSTEM=="tty", ATTRS{idVendor}=="1", ATTRS{idProduct}=="6010", DEVPATH=="7", SYMLINK+="r"`,
			"r:"},
		{"by anything but these", own, ids + `KERNELS!="1-1", KERNELS!="1-2", ATTRS{idVendor}!="1", SYMLINK+="r"`, "r:"},
		{"by a bus", own, ids + `KERNELS=="1*x-7", SYMLINK+="r"`, "r:"},
		{"by a number without a port", own, ids + `KERNELS=="17", SYMLINK+="r"`, "r:"},
		{"of converters", own, `SUBSYSTEMS=="usb-serial", ATTRS{idVendor}=="1", SYMLINK+="/dev/r"`, "r:"},
		{"not of terminals", own, `SUBSYSTEM=="block", ATTRS{idVendor}=="1", SYMLINK+="r"`, ""},
		{"of any but terminals", own, `KERNEL!="ttyUSB*", SUBSYSTEM!="tty", SYMLINK+="r"`, ""},
		{"of other kernel names", own, `KERNEL=="sd*", SUBSYSTEMS=="scsi", SYMLINK+="r"`, ""},
		{"made of what the device is", own, `KERNEL=="ttyACM*", SYMLINK+="x-%k", SYMLINK+="y$name"`, ""},
		{"two at once", own, `KERNEL=="ttyACM*", SYMLINK+="x y"`, ""},
		{"taken away, and asked for", own, `KERNEL=="ttyACM*", SYMLINK-="x"` + "\n" + `KERNEL=="ttyACM*", SYMLINK=="x", MODE="0600"`, ""},
	} {
		rules, errs := udev.Parse(c.path, []byte(c.rules+"\n"))
		if len(errs) > 0 {
			t.Fatalf("%s: %v", c.name, errs)
		}
		s := NewSurvey(ds, &udev.Rules{Rules: rules})
		var got []string
		for _, n := range s.Names() {
			text := n.Name + ":"
			for _, d := range n.Devices {
				text += " " + d.Kernel
			}
			for _, d := range n.Maybe {
				text += " maybe " + d.Kernel
			}
			var elsewhere []string
			if len(n.Devices) == 0 {
				for _, d := range s.Elsewhere(n) {
					elsewhere = append(elsewhere, d.Kernel)
				}
			}
			if elsewhere != nil {
				text += " (" + strings.Join(elsewhere, " ") + " elsewhere)"
			}
			got = append(got, text)
		}
		if said := strings.Join(got, "; "); said != c.want {
			t.Errorf("%s: %s, want %s", c.name, said, c.want)
		}
	}
}
