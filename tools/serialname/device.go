// Package serialname identifies USB serial devices: by what distinguishes them,
// by the names that udev's rules give them, and by what answers at the other
// end.
package serialname

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"syscall"

	"fettle/host"
	"fettle/host/format/udev"
	"fettle/internal/lazy"
	"fettle/internal/sorted"
)

// Device is one USB serial port as sysfs and udev's database show it.
type Device struct {
	Kernel string `json:"kernel"` // "ttyUSB0"
	Path   string `json:"path"`   // in /sys: "/sys/devices/…/ttyUSB0/tty/ttyUSB0"

	Vendor       string `json:"vendor"`  // four hexadecimal digits
	Product      string `json:"product"` // the same
	Serial       string `json:"serial,omitempty"`
	Manufacturer string `json:"manufacturer,omitempty"`
	Model        string `json:"model,omitempty"`

	// Port is where it is plugged in, as the kernel counts: bus, then the ports
	// of hubs ("1-1.2"). Buses are counted in the order in which their
	// controllers are found; IDPath names the controller.
	Port      string `json:"port"`
	IDPath    string `json:"id_path,omitempty"` // udev's ID_PATH: "pci-0000:00:14.0-usb-0:1.2:1.0"
	Interface string `json:"interface"`         // two hexadecimal digits: "00"
	// SubPort tells the ports of one interface apart; empty where there is one.
	SubPort string `json:"sub_port,omitempty"`
	Driver  string `json:"driver,omitempty"`
	// Links are the names below /dev that udev gave it, sorted.
	Links []string `json:"links,omitempty"`

	// ACM is the interface's class, subclass and protocol: "02/02/01".
	ACM string `json:"-"`

	chain []udev.Node
	env   map[string]string
	major string // "188:0"
}

// IDs is vendor and product: "0403:6001".
func (d *Device) IDs() string { return d.Vendor + ":" + d.Product }

// Dev is the device's own file.
func (d *Device) Dev() string { return "/dev/" + d.Kernel }

// Choose finds the device that somebody named: by the kernel's name or by a link
// of udev's, with /dev/ or without.
func Choose(devices []Device, named string) (*Device, error) {
	name := strings.TrimPrefix(named, "/dev/")
	var have []string
	for i := range devices {
		d := &devices[i]
		if d.Kernel == name || slices.Contains(d.Links, name) {
			return d, nil
		}
		have = append(have, d.Kernel)
	}
	if len(have) == 0 {
		return nil, fmt.Errorf("%s is not a USB serial device that is plugged in: there is none", named)
	}
	return nil, fmt.Errorf("%s is not a USB serial device that is plugged in: there are %s", named, strings.Join(have, ", "))
}

// List lists the USB serial devices of a running host, by kernel name, numbers
// as numbers. A device that goes meanwhile is left out.
func List(ctx context.Context, h *host.Host) ([]Device, error) {
	es, err := h.ReadDir(ctx, "/sys/class/tty")
	if host.IsAbsent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []Device
	for _, e := range es {
		to, err := h.Readlink(ctx, "/sys/class/tty/"+e.Name)
		if host.IsAbsent(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		full := path.Join("/sys/class/tty", to)
		if path.IsAbs(to) {
			full = path.Clean(to)
		}
		m := usbPort().FindStringSubmatch(full)
		if m == nil {
			continue
		}
		d, ok, err := read(ctx, h, e.Name, full, m[1])
		if err != nil {
			return nil, err
		}
		if ok {
			out = append(out, d)
		}
	}
	sorted.By(out, func(a, b Device) int { return natural(a.Kernel, b.Kernel) })
	return out, nil
}

// usbPort finds the interface in a path of sysfs: BUS-PORT[.PORT…]:CONFIG.INTERFACE.
var usbPort = lazy.Regexp(`^/sys/devices/.*/(\d+-\d+(?:\.\d+)*):\d+\.\d+/`)

// natural compares names with the numbers at their ends.
func natural(a, b string) int {
	if len(a) != len(b) && strings.TrimRight(a, "0123456789") == strings.TrimRight(b, "0123456789") {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}

// read reads one device; false: it is gone.
func read(ctx context.Context, h *host.Host, kernel, full, port string) (Device, bool, error) {
	d := Device{Kernel: kernel, Path: full, Port: port}
	var failed error
	d.chain = chain(ctx, h, full, &failed)
	usb := find(d.chain, "usb", func(n udev.Node) bool { return n.Kernel == port })
	iface := find(d.chain, "usb", func(n udev.Node) bool { return strings.HasPrefix(n.Kernel, port+":") })
	if failed != nil || usb == nil || iface == nil {
		return d, false, failed
	}
	d.Vendor, d.Product, d.Serial = attr(usb, "idVendor"), attr(usb, "idProduct"), attr(usb, "serial")
	d.Manufacturer, d.Model = attr(usb, "manufacturer"), attr(usb, "product")
	d.Interface = attr(iface, "bInterfaceNumber")
	d.ACM = attr(iface, "bInterfaceClass") + "/" + attr(iface, "bInterfaceSubClass") + "/" + attr(iface, "bInterfaceProtocol")
	d.Driver = iface.Driver
	if n := find(d.chain, "usb-serial", nil); n != nil {
		d.SubPort, d.Driver = attr(n, "port_number"), n.Driver
	}
	if d.Vendor == "" || d.Product == "" {
		return d, false, failed // pulled out while it was read
	}
	d.major = attr(&d.chain[0], "dev")
	if err := d.readDatabase(ctx, h); err != nil {
		return d, false, err
	}
	return d, failed == nil, failed
}

func find(chain []udev.Node, subsystem string, also func(udev.Node) bool) *udev.Node {
	for i := range chain {
		if chain[i].Subsystem == subsystem && (also == nil || also(chain[i])) {
			return &chain[i]
		}
	}
	return nil
}

func attr(n *udev.Node, name string) string {
	v, _ := n.Attr(name)
	return strings.TrimSpace(v)
}

// chain is the device and its parents: folders above it that have a subsystem,
// as libudev sees them. What nobody could read is in failed.
func chain(ctx context.Context, h *host.Host, full string, failed *error) []udev.Node {
	var out []udev.Node
	for dir := full; strings.HasPrefix(dir, "/sys/devices/") && len(out) < 40; dir = path.Dir(dir) {
		subsystem, err := h.Readlink(ctx, dir+"/subsystem")
		if err != nil {
			if !host.IsAbsent(err) {
				*failed = err
			}
			continue
		}
		driver, err := h.Readlink(ctx, dir+"/driver")
		if err != nil && !host.IsAbsent(err) && !gone(err) {
			*failed = err
		}
		out = append(out, udev.Node{Kernel: path.Base(dir), Subsystem: path.Base(subsystem), Driver: base(driver),
			Attr: func(name string) (string, bool) {
				if strings.Contains(name, "..") || path.IsAbs(name) {
					return "", false
				}
				b, err := h.ReadFile(ctx, path.Join(dir, name))
				if err != nil && !host.IsAbsent(err) && !gone(err) {
					*failed = err
				}
				return string(b), err == nil
			}})
	}
	return out
}

// gone tells whether a device went while it was read.
func gone(err error) bool {
	return errors.Is(err, syscall.ENODEV) || errors.Is(err, syscall.ENXIO) || errors.Is(err, syscall.EIO)
}

func base(p string) string {
	if p == "" {
		return ""
	}
	return path.Base(p)
}

// readDatabase adds what udev's builtins found out: /run/udev/data/cMAJOR:MINOR
// (libsystemd, src/libsystemd/sd-device/device-private.c). Without it the
// environment is made of what sysfs says.
func (d *Device) readDatabase(ctx context.Context, h *host.Host) error {
	d.env = map[string]string{"ID_BUS": "usb", "ID_VENDOR_ID": d.Vendor, "ID_MODEL_ID": d.Product,
		"ID_USB_INTERFACE_NUM": d.Interface, "SUBSYSTEM": "tty", "DEVNAME": d.Dev()}
	if d.Serial != "" {
		d.env["ID_SERIAL_SHORT"] = d.Serial
	}
	d.env["MAJOR"], d.env["MINOR"], _ = strings.Cut(d.major, ":")
	b, err := h.ReadFile(ctx, "/run/udev/data/c"+d.major)
	if host.IsAbsent(err) {
		return nil
	}
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(b)) {
		line = strings.TrimRight(line, "\n")
		if name, ok := strings.CutPrefix(line, "S:"); ok {
			d.Links = append(d.Links, name)
		}
		key, value, ok := strings.Cut(strings.TrimPrefix(line, "E:"), "=")
		// What builtins found out; what rules set comes of the rules.
		if ok && strings.HasPrefix(line, "E:ID_") && !strings.HasPrefix(key, "ID_MM_") {
			d.env[key] = value
		}
	}
	slices.Sort(d.Links)
	d.IDPath = d.env["ID_PATH"]
	return nil
}

// Rules is the device as udev's rules see it when it is plugged in.
func (d *Device) Rules() *udev.Device {
	return &udev.Device{Action: "add", DevPath: strings.TrimPrefix(d.Path, "/sys"), DevNode: d.Dev(), Chain: d.chain, Env: d.env}
}
