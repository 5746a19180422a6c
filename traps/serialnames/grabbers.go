package serialnames

import (
	"context"
	"errors"
	"path"
	"slices"
	"strings"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/format/udev"
	"fettle/internal/lazy"
	"fettle/tools/serialname"
)

// modemProtocol is an interface by which a device calls itself a modem with AT
// commands. With its default policy ModemManager 1.14 and later talks to such
// ports, and to those of makers that it knows (src/mm-filter.c).
var modemProtocol = lazy.Regexp(`^02/02/0[1-6]$`)

// modemManager finds ports with a name, or in use by a configuration, that
// ModemManager sends AT commands to.
func (l *looked) modemManager(ctx context.Context) (said bool) {
	var ports []int
	for i := range l.survey.Devices {
		d, o := &l.survey.Devices[i], l.survey.Outcomes[i]
		ignored := o.Env["ID_MM_PORT_IGNORE"] == "1" || o.Env["ID_MM_DEVICE_IGNORE"] == "1" || o.Env["ID_MM_CANDIDATE"] != "1"
		if d.Driver == "cdc_acm" && modemProtocol().MatchString(d.ACM) && !ignored && l.wanted(d, o) {
			ports = append(ports, i)
		}
	}
	if len(ports) == 0 {
		return false
	}
	u, err := l.h.Unit(ctx, "ModemManager.service")
	switch {
	case errors.Is(err, host.ErrNoSystemd) || err == nil && !u.Active():
		return false
	case err != nil:
		l.r.Unknown("ModemManager", err)
		return true
	}
	for _, i := range ports {
		d := &l.survey.Devices[i]
		l.r.Found(trap.Finding{Subject: "ModemManager on " + d.Port + ":" + d.Interface, Severity: trap.Warning,
			Evidence: []trap.Evidence{deviceEvidence(d), trap.Ev("systemctl show ModemManager", "%s", u.ActiveState)},
			Facts:    trap.FactsOf(facts{Ignore: d.Kernel}),
			Summary: "ModemManager sends AT commands to a serial port in use: they " +
				"disturb its reader for half a minute after each plug-in and start",
		})
	}
	return true
}

// wanted tells whether somebody refers to the device by a name of its own.
func (l *looked) wanted(d *serialname.Device, o udev.Outcome) bool {
	names := []string{d.Dev()}
	for _, g := range o.Links {
		if serialname.Own(g.Rule) {
			return true
		}
		names = append(names, "/dev/"+g.Name)
	}
	return slices.ContainsFunc(l.configs, func(c config) bool { return slices.ContainsFunc(names, c.uses) })
}

// usbInterface is an interface's folder in /sys/bus/usb/devices.
var usbInterface = lazy.Regexp(`^(\d+-\d+(?:\.\d+)*):\d+\.\d+$`)

// brltty finds USB serial converters that brltty has taken from their driver.
func (l *looked) brltty(ctx context.Context) (said bool) {
	var patterns []string
	for _, r := range l.survey.Rules.Rules {
		if !strings.Contains(path.Base(r.Path), "brltty") {
			continue
		}
		for _, t := range r.Tokens {
			if t.Key == "ENV" && t.Attr == "PRODUCT" && t.Op == "==" {
				patterns = append(patterns, t.Value)
			}
		}
	}
	if len(patterns) == 0 {
		return false
	}
	es, err := l.h.ReadDir(ctx, "/sys/bus/usb/devices")
	if err != nil {
		if !host.IsAbsent(err) {
			l.r.Unknown("brltty", err)
		}
		return !host.IsAbsent(err)
	}
	for _, e := range es {
		m := usbInterface().FindStringSubmatch(e.Name)
		if m == nil {
			continue
		}
		dir := "/sys/bus/usb/devices/"
		driver, err := l.h.Readlink(ctx, dir+e.Name+"/driver")
		if host.IsAbsent(err) || err == nil && path.Base(driver) != "usbfs" {
			continue
		}
		vendor, verr := l.h.ReadString(ctx, dir+m[1]+"/idVendor")
		product, perr := l.h.ReadString(ctx, dir+m[1]+"/idProduct")
		if err = errors.Join(err, verr, perr); err != nil {
			l.r.Unknown("brltty on "+m[1], err)
			said = true
			continue
		}
		ids := strings.TrimLeft(vendor, "0") + "/" + strings.TrimLeft(product, "0") + "/"
		if !slices.ContainsFunc(patterns, func(p string) bool { return strings.Contains(p, ids) }) {
			continue
		}
		said = true
		l.r.Found(trap.Finding{Subject: "brltty on " + m[1], Severity: trap.Warning,
			Evidence: []trap.Evidence{trap.Ev(dir+e.Name+"/driver", "usbfs"), trap.Ev(dir+m[1], "%s:%s", vendor, product)},
			Summary:  "brltty claims a USB serial converter as a braille display: it has no serial port",
			ByHand:   "without a braille display: apt-get purge brltty, then replug the converter"})
	}
	return said
}
