// Package process reads the kernel's data about one process.
package process

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"fettle/host"
)

// Stat is what is asked for of /proc/PID/stat (proc_pid_stat(5)).
type Stat struct {
	User, System time.Duration // of the CPU, fields 14 and 15
	Start        time.Duration // after the kernel's start, field 22
}

// ReadStat asks a host.
func ReadStat(ctx context.Context, h *host.Host, pid int) (Stat, error) {
	name := fmt.Sprintf("/proc/%d/stat", pid)
	text, err := h.ReadString(ctx, name)
	if err != nil {
		return Stat{}, err
	}
	s, ok := parse(text)
	if !ok {
		return Stat{}, &host.SyntaxError{Path: name, Msg: "is not of the form that proc_pid_stat(5) gives"}
	}
	return s, nil
}

// Booted is when the kernel was started, by its uptime.
func Booted(ctx context.Context, h *host.Host) (time.Time, error) {
	up, err := h.ReadString(ctx, "/proc/uptime")
	if err != nil {
		return time.Time{}, err
	}
	var seconds float64
	if _, err := fmt.Sscanf(up, "%f", &seconds); err != nil {
		return time.Time{}, &host.SyntaxError{Path: "/proc/uptime", Msg: "does not begin with a number"}
	}
	return h.Now().Add(-time.Duration(seconds * float64(time.Second))), nil
}

// tick is USER_HZ's: every Linux of ours shows 100 a second.
const tick = time.Second / 100

// parse reads the line "PID (NAME) STATE …", whose name may hold anything.
func parse(text string) (s Stat, ok bool) {
	const first = 3 // the number of the field behind the name
	f := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	for field, to := range map[int]*time.Duration{14: &s.User, 15: &s.System, 22: &s.Start} {
		if len(f) <= field-first {
			return Stat{}, false
		}
		ticks, err := strconv.ParseUint(f[field-first], 10, 38) // sums of two fit into a Duration
		if err != nil {
			return Stat{}, false
		}
		*to = time.Duration(ticks) * tick
	}
	return s, true
}
