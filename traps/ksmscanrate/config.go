package ksmscanrate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"fettle/host"
	"fettle/host/format/tmpfiles"
)

// Who keeps KSM's settings over a reboot.
const (
	qemuDefault  = "/etc/default/qemu-kvm" // Debian, Ubuntu: read by qemu-kvm.service
	ksmtunedConf = "/etc/ksmtuned.conf"    // RHEL, Proxmox VE: read by ksmtuned
	dropIn       = "/etc/tmpfiles.d/fettle-ksm.conf"
)

// config is what is configured, beside what runs.
type config struct {
	wanted  string          // what wants KSM on, worded with its source; "" for nothing
	auto    string          // the same, where it leaves the choice to a program
	tuned   *tuned          // ksmtuned is in charge
	lines   []tmpfiles.Line // of tmpfiles.d that write below /sys/kernel/mm/ksm
	unknown error           // something could not be looked at
}

// why is the first reason that the configuration is not known in full.
func (c config) why() error {
	err := c.unknown
	for {
		j, ok := err.(interface{ Unwrap() []error })
		if !ok || len(j.Unwrap()) == 0 {
			return fmt.Errorf("who sets KSM up: %w", err)
		}
		err = j.Unwrap()[0]
	}
}

// tuned is how ksmtuned sets ksmd when memory is short (its own defaults
// where the file says nothing).
type tuned struct {
	maxPages  uint64
	sleepMsec uint64 // for 16 GiB; more memory shortens it, to no less than 10 ms
}

func (t tuned) rate(memTotal uint64) rate {
	sleep := t.sleepMsec
	if memTotal > 0 {
		sleep = t.sleepMsec * (16 << 30) / memTotal
	}
	return rate{pages: t.maxPages, sleep: time.Duration(max(sleep, 10)) * time.Millisecond}
}

func readConfig(ctx context.Context, h *host.Host) config {
	var c config
	var errs []error
	if s, err := shellValue(ctx, h, qemuDefault, "KSM_ENABLED"); err != nil {
		errs = append(errs, err)
	} else if s == "1" {
		c.wanted = qemuDefault + " says KSM_ENABLED=1"
	} else if strings.EqualFold(s, "AUTO") {
		c.auto = qemuDefault + " says KSM_ENABLED=AUTO: on, but not in a virtual machine"
	}
	tm := tmpfiles.Read(ctx, h)
	errs = append(errs, tm.Unread)
	for _, l := range tm.Lines {
		if l.Type == 'w' && strings.HasPrefix(l.Path, dir) {
			c.lines = append(c.lines, l)
			if l.Path == dir+"run" && l.Argument == "1" {
				c.wanted = fmt.Sprintf("%s:%d writes 1 to %srun", l.File, l.Num, dir)
			}
		}
	}
	// systemd is asked only where one of the two programs left a file: a
	// command costs more than all the rest.
	if ok, err := h.Exists(ctx, ksmtunedConf); err != nil {
		errs = append(errs, err)
	} else if ok {
		us, err := h.Units(ctx, "ksm.service", "ksmtuned.service")
		switch {
		case errors.Is(err, host.ErrNoSystemd):
		case err != nil:
			errs = append(errs, err)
		default:
			if us["ksmtuned.service"].Active() {
				t, err := readTuned(ctx, h)
				errs = append(errs, err)
				c.tuned = &t
			} else if us["ksm.service"].UnitFileState == "enabled" {
				c.wanted = "ksm.service is enabled"
			}
		}
	}
	c.unknown = errors.Join(errs...)
	return c
}

func readTuned(ctx context.Context, h *host.Host) (tuned, error) {
	t := tuned{maxPages: 1250, sleepMsec: 10}
	for name, to := range map[string]*uint64{"KSM_NPAGES_MAX": &t.maxPages, "KSM_SLEEP_MSEC": &t.sleepMsec} {
		s, err := shellValue(ctx, h, ksmtunedConf, name)
		if err != nil {
			return t, err
		}
		if n, err := strconv.ParseUint(s, 10, 32); err == nil {
			*to = n
		}
	}
	return t, nil
}

// shellValue reads NAME=value out of a file of shell assignments: the last
// one counts. "" when the file or the name is absent.
func shellValue(ctx context.Context, h *host.Host, file, name string) (string, error) {
	b, err := h.ReadFile(ctx, file)
	if host.IsAbsent(err) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	out := ""
	for line := range bytes.Lines(b) {
		if v, ok := strings.CutPrefix(strings.TrimSpace(string(line)), name+"="); ok {
			v, _, _ = strings.Cut(v, "#")
			out = strings.Trim(strings.TrimSpace(v), `"'`)
		}
	}
	return out, nil
}

// setShellValue returns the file with NAME=value: in the place of the last
// assignment, or at the end.
func setShellValue(b []byte, name, value string) []byte {
	lines := strings.SplitAfter(string(b), "\n")
	set := name + "=" + value + "\n"
	for i := len(lines) - 1; i >= 0; i-- {
		if strings.HasPrefix(strings.TrimSpace(lines[i]), name+"=") {
			lines[i] = set
			return []byte(strings.Join(lines, ""))
		}
	}
	s := string(b)
	if s != "" && !strings.HasSuffix(s, "\n") {
		s += "\n"
	}
	return []byte(s + set)
}

// nextBoot is the rate that tmpfiles.d sets at boot, and the line that says
// so; false where it does not set pages_to_scan, or leaves it to the advisor.
func (c config) nextBoot(now rate) (r rate, where string, ok bool) {
	r = now
	for _, l := range c.lines {
		n, err := strconv.ParseUint(l.Argument, 10, 32)
		switch name := strings.TrimPrefix(l.Path, dir); {
		case name == "advisor_mode" && l.Argument == "scan-time":
			return r, "", false
		case name == "pages_to_scan" && err == nil:
			r.pages, where, ok = n, fmt.Sprintf("%s:%d", l.File, l.Num), true
		case name == "sleep_millisecs" && err == nil:
			r.sleep = time.Duration(n) * time.Millisecond
		}
	}
	return r, where, ok
}
