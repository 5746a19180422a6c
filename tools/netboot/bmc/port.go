package bmc

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"fettle/host"
	"fettle/host/format/dmi"
	"fettle/host/format/spcr"
)

// Port is the serial console that a host's firmware and BMC offer.
type Port struct {
	spcr.Port
	From string // what names it
	SOL  SOL    // what the BMC says of serial over LAN, where it was asked
}

// ErrNone: neither the firmware nor a BMC offers a serial console.
var ErrNone = errors.New("the firmware names no serial console, and there is no BMC")

// ErrDisabled: the BMC does not show a serial port.
var ErrDisabled = errors.New("serial over LAN is disabled in the BMC (ipmitool sol info 1)")

// Find finds the port on which the host's own BMC shows it: the firmware's table
// says so where there is one. Else, where there is a BMC, it is the only serial
// port of the host, or the only one that the firmware lists without a plug.
func Find(ctx context.Context, h *host.Host) (Port, error) {
	p, err := spcr.Read(ctx, h)
	if err != nil && !host.IsAbsent(err) {
		return Port{}, err
	}
	there, berr := present(ctx, h)
	if err == nil {
		out := Port{Port: p, From: spcr.Path}
		if there {
			out.SOL, _ = ask(ctx, h) // what it says is welcome, and not needed
		}
		return out, nil
	}
	switch {
	case berr != nil:
		return Port{}, fmt.Errorf("whether there is a BMC: %w", berr)
	case !there:
		return Port{}, ErrNone
	}
	const unknown = "there is a BMC, and which serial port is its is not known: %w"
	sol, err := ask(ctx, h)
	if err != nil {
		return Port{}, fmt.Errorf(unknown, err)
	}
	if !sol.Enabled {
		return Port{}, ErrDisabled
	}
	unit, from, err := guess(ctx, h)
	if err != nil {
		return Port{}, fmt.Errorf(unknown, err)
	}
	return Port{Port: spcr.Port{Unit: unit, IO: true, Speed: sol.Speed}, From: from, SOL: sol}, nil
}

// devices are the kernel's to a BMC (drivers/char/ipmi/ipmi_devintf.c); SPMI is
// the table by which firmware tells of one (IPMI 2.0, appendix C3).
var devices = []string{"/dev/ipmi0", "/dev/ipmi/0", "/dev/ipmidev/0", "/sys/firmware/acpi/tables/SPMI"}

// present tells whether there is a BMC. One of its signs is enough; without any,
// what could not be looked at is an error.
func present(ctx context.Context, h *host.Host) (bool, error) {
	var unread error
	for _, d := range devices {
		_, err := h.Stat(ctx, d)
		if err == nil {
			return true, nil
		}
		if unread == nil && !host.IsAbsent(err) {
			unread = err
		}
	}
	return false, unread
}

// ask asks the host's own BMC.
func ask(ctx context.Context, h *host.Host) (SOL, error) {
	out, err := h.Run(ctx, "ipmitool", "-I", "open", "sol", "info", "1")
	if err != nil {
		return SOL{}, err
	}
	s := ParseSOL(string(out.Stdout))
	if !s.Known {
		return s, fmt.Errorf("ipmitool sol info 1: exit status %d: %.200s", out.Exit, strings.TrimSpace(string(out.Stderr)))
	}
	return s, nil
}

// uarts is where the kernel lists its serial ports; root alone may read it.
const uarts = "/proc/tty/driver/serial"

// guess is the only port there is, else the only one without a plug.
func guess(ctx context.Context, h *host.Host) (unit int, from string, err error) {
	text, err := h.ReadString(ctx, uarts)
	if err != nil {
		return 0, "", err
	}
	units := parseUARTs(text)
	switch len(units) {
	case 0:
		return 0, "", errors.New("the kernel has found no serial port of a PC's")
	case 1:
		return units[0], uarts + ": the host's only one", nil
	}
	records, err := dmi.Read(ctx, h)
	if err != nil {
		return 0, "", err
	}
	unit, name, err := unplugged(records)
	if err != nil {
		return 0, "", err
	}
	return unit, "dmidecode: " + name + " has no plug", nil
}

// parseUARTs reads lines as "1: uart:16550A port:000002F8 irq:3 tx:0 rx:0"
// (drivers/tty/serial/serial_core.c, uart_line_info).
func parseUARTs(text string) []int {
	var out []int
	for line := range strings.Lines(text) {
		number, rest, ok := strings.Cut(line, ":")
		n, err := strconv.Atoi(number)
		if !ok || err != nil || strings.Contains(rest, "uart:unknown") {
			continue
		}
		if _, port, ok := strings.Cut(rest, "port:"); ok {
			port, _, _ = strings.Cut(strings.TrimSpace(port), " ")
			if address, err := strconv.ParseUint(port, 16, 64); err == nil && spcr.Unit(address) == n {
				out = append(out, n)
			}
		}
	}
	return out
}

// portConnector is the type of structures for plugs (DSP0134, section 7.9).
const portConnector = 8

// unplugged is the one serial port, of several that the firmware lists, that has no
// connector at all: nothing but a BMC can be behind it.
func unplugged(records []dmi.Record) (unit int, name string, err error) {
	found, serial := 0, 0
	for _, r := range records {
		if r.Type != portConnector || !strings.HasPrefix(r.Values["Port Type"], "Serial Port") {
			continue
		}
		serial++
		none := func(s string) bool { return s == "" || s == "None" }
		if !none(r.Values["External Connector Type"]) || !none(r.Values["Internal Connector Type"]) {
			continue
		}
		for _, label := range []string{r.Values["External Reference Designator"], r.Values["Internal Reference Designator"]} {
			if n, ok := numbered(label); ok {
				unit, name, found = n, label, found+1
				break
			}
		}
	}
	if found != 1 {
		return 0, "", fmt.Errorf(
			"of %d serial ports that dmidecode lists %d have a number and no plug; on many boards it is ttyS1",
			serial,
			found,
		)
	}
	return unit, name, nil
}

// numbered reads "COM2", "COM B", "Serial Port 2", "ttyS1" as a unit.
func numbered(label string) (int, bool) {
	label = strings.ToUpper(strings.NewReplacer(" ", "", "_", "", "-", "").Replace(label))
	if label == "" {
		return 0, false
	}
	last := label[len(label)-1]
	switch {
	case strings.HasPrefix(label, "TTYS") && last >= '0' && last <= '3':
		return int(last - '0'), true
	case strings.HasPrefix(label, "COM") || strings.HasPrefix(label, "JCOM") || strings.HasPrefix(label, "SERIAL"):
		if last >= '1' && last <= '4' {
			return int(last - '1'), true
		}
		if last >= 'A' && last <= 'D' {
			return int(last - 'A'), true
		}
	}
	return 0, false
}
