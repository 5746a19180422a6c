// Package dmi reads what dmidecode(8) prints of the firmware's SMBIOS tables
// (DSP0134, System Management BIOS Reference Specification).
package dmi

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"fettle/host"
)

// Record is one structure of the tables.
type Record struct {
	Type   int
	Title  string // "Port Connector Information"
	Values map[string]string
}

// maxRecords bounds what a made-up table can take; servers have a few hundred.
const maxRecords = 10_000

// Parse reads dmidecode's output: "Handle …, DMI type N, …", a title, and
// indented lines "Name: value". Lists below a name are left out.
func Parse(text string) ([]Record, error) {
	var out []Record
	var at *Record
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		switch {
		case strings.HasPrefix(line, "Handle "):
			n, err := typeOf(line)
			if err != nil {
				return out, err
			}
			if len(out) == maxRecords {
				return out, fmt.Errorf("more than %d structures: refused", maxRecords)
			}
			out = append(out, Record{Type: n, Values: map[string]string{}})
			at = &out[len(out)-1]
		case at == nil:
		case line == "":
			at = nil
		case !strings.HasPrefix(line, "\t"):
			at.Title = line
		case !strings.HasPrefix(line, "\t\t"):
			if name, value, ok := strings.Cut(line[1:], ":"); ok {
				at.Values[name] = strings.TrimSpace(value)
			}
		}
	}
	if len(out) == 0 {
		return nil, errors.New("dmidecode shows no structure of the firmware's")
	}
	return out, nil
}

func typeOf(line string) (int, error) {
	_, rest, ok := strings.Cut(line, "DMI type ")
	number, _, _ := strings.Cut(rest, ",")
	n, err := strconv.Atoi(number)
	if !ok || err != nil || n < 0 || n > 255 {
		return 0, fmt.Errorf("a line of dmidecode's names no type: %.80q", line)
	}
	return n, nil
}

// Read asks a host.
func Read(ctx context.Context, h *host.Host) ([]Record, error) {
	out, err := h.Run(ctx, "dmidecode")
	if err != nil {
		return nil, err
	}
	r, err := Parse(string(out.Stdout))
	if err != nil && out.Exit != 0 {
		err = fmt.Errorf("dmidecode: exit status %d: %.200s", out.Exit, strings.TrimSpace(string(out.Stderr)))
	}
	return r, err
}
