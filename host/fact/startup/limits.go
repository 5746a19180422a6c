package startup

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"

	"fettle/host"
	"fettle/host/format/confd"
	"fettle/host/format/ini"
)

// Limit is a hard resource limit (getrlimit(2)), in the unit of its kind.
type Limit uint64

// Unlimited is RLIM_INFINITY.
const Unlimited Limit = math.MaxUint64

func (l Limit) String() string {
	if l == Unlimited {
		return "infinity"
	}
	return strconv.FormatUint(uint64(l), 10)
}

// Limits are hard limits by the names of systemd's settings (systemd.exec(5)).
type Limits map[string]Limit

// kernelNames are the limits that are read, as /proc/PID/limits names them (Linux 6.12,
// fs/proc/base.c, lnames). Those of address space, stack and the like nobody raises by hand.
var kernelNames = map[string]string{
	"LimitNOFILE": "Max open files", "LimitNPROC": "Max processes", "LimitMEMLOCK": "Max locked memory", "LimitCORE": "Max core file size",
}

// LimitNames are the names of Limits, those first that are raised most.
var LimitNames = []string{"LimitNOFILE", "LimitNPROC", "LimitMEMLOCK", "LimitCORE"}

// LimitsOf are the hard limits of a process.
func LimitsOf(ctx context.Context, h *host.Host, pid int) (Limits, error) {
	text, err := h.ReadString(ctx, fmt.Sprintf("/proc/%d/limits", pid))
	if err != nil {
		return nil, err
	}
	out := Limits{}
	for line := range strings.Lines(text) {
		for _, name := range LimitNames {
			rest, ok := strings.CutPrefix(line, kernelNames[name]+" ")
			if !ok {
				continue
			}
			if f := strings.Fields(rest); len(f) >= 2 { // soft, hard, units
				if l, ok := limit(f[1]); ok {
					out[name] = l
				}
			}
		}
	}
	return out, nil
}

// suffixes are those of sizes (systemd.syntax(7)), as powers of two.
var suffixes = map[string]uint{"": 0, "B": 0, "K": 10, "M": 20, "G": 30, "T": 40, "P": 50, "E": 60}

// limit reads a value: a number, with a suffix where it is of bytes, or infinity.
func limit(s string) (Limit, bool) {
	if s == "infinity" || s == "unlimited" {
		return Unlimited, true
	}
	digits := strings.TrimRight(s, "BKMGTPE")
	shift, ok := suffixes[s[len(digits):]]
	n, err := strconv.ParseUint(digits, 10, 64)
	return Limit(n << shift), ok && err == nil && n <= math.MaxUint64>>shift
}

// Limits are the hard limits that a unit's text sets.
func (t *Text) Limits() Limits { return t.limits("Service", "") }

// limits reads settings: "1024:524288" is the soft and the hard one.
func (t *Text) limits(section, prefix string) Limits {
	out := Limits{}
	for _, name := range LimitNames {
		v := t.Value(section, prefix+name)
		if _, hard, ok := strings.Cut(v, ":"); ok {
			v = hard
		}
		if v == "" {
			continue
		}
		l, ok := limit(v)
		if !ok { // as systemd would not take it, or a redacted capture has it: nothing is above it
			l = Unlimited
		}
		out[name] = l
	}
	return out
}

// DefaultLimits are the hard limits that the manager's configuration (systemd-system.conf(5)) gives
// services without their own; the manager's built-in ones are not in it.
func DefaultLimits(ctx context.Context, h *host.Host) (Limits, error) {
	t := &Text{}
	if err := confd.Settings(ctx, h, "systemd/system.conf", func(file string, text []byte) {
		t.Entries = append(t.Entries, ini.Parse(ini.Systemd, file, text).Entries...)
	}); err != nil {
		return nil, err
	}
	return t.limits("Manager", "Default"), nil
}
