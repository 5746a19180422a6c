// Package devicetimeoutatboot finds missing devices for which the boot waited.
package devicetimeoutatboot

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"fettle/engine/message"
	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/fact/journal"
	"fettle/host/format/fstab"
)

//go:embed lore.md
var lore trap.Lore

// Trap is device-timeout-at-boot.
var Trap = trap.Trap{Lore: lore, Cost: trap.Instant, Limit: 30 * time.Second, Check: check}

// said is what systemd prints, as the lore lists it. The job's line has the unit alone
// since systemd 215; the status line has it after "device" (systemd 248), or the path (before).
var said = sync.OnceValue(func() *message.Set { return message.MustSet(lore.Messages()) })

func check(ctx context.Context, h *host.Host, r *trap.Report) error {
	if err := h.Systemd(ctx); errors.Is(err, host.ErrNoSystemd) {
		r.NotApplicable("", err.Error())
		return nil
	} else if err != nil {
		return err
	}
	l, err := journal.Manager(ctx, h)
	if err != nil {
		return err
	}
	found := map[string][]host.Message{}
	for _, m := range l.Messages {
		for _, h := range said().Said(m.By, m.Text) {
			if said().Message(h.Index).About != "timeout" {
				continue
			}
			dev := strings.TrimSuffix(h.Field("device", "word"), ".")
			if strings.HasSuffix(dev, ".device") {
				dev = host.UnitPath(dev)
			}
			found[dev] = append(found[dev], m)
			break
		}
	}
	entries, unread := fstab.Read(ctx, h)
	maps.DeleteFunc(found, func(dev string, _ []host.Message) bool {
		e, ok := lineOf(entries, dev)
		return ok && optional(e)
	})
	for _, dev := range slices.Sorted(maps.Keys(found)) {
		if unread != nil { // it may be one that is allowed to be missing
			r.Unknown(dev, fmt.Errorf("the boot waited for it until the timeout; whether it must be there is not known: %w", unread))
			continue
		}
		ms := found[dev]
		line, listed := lineOf(entries, dev)
		f := trap.Finding{
			Subject:  dev,
			Severity: trap.Warning,
			Summary:  "the boot waited for it until the timeout, and continued without what needs it",
			ByHand:   "blkid shows which devices there are; " + wants(line, listed, dev),
		}
		if listed && slices.Contains(line.Options, "nofail") {
			f.Severity, f.Summary = trap.Notice, "did not come in time: nofail in fstab let the boot go on without it"
		}
		if there, err := h.Exists(ctx, dev); err == nil && there {
			f.Severity, f.Summary = trap.Notice, "appeared too late: the boot continued without it"
			f.ByHand = "give it more time: x-systemd.device-timeout=5min in its line of /etc/fstab"
		}
		if slight(dev) {
			f.Severity = trap.Notice
			f.ByHand = "systemctl mask " + unitName(dev) + " if nothing needs it"
		}
		for _, m := range ms[:min(3, len(ms))] {
			f.Evidence = append(f.Evidence, trap.Ev(journal.Source(l, m), "%s", journal.Said(m)))
		}
		r.Found(f)
	}
	if len(found) == 0 {
		summary := "no boot waited for a missing device"
		if l.Cut {
			summary += " since the log begins"
		}
		r.Clear("", summary, trap.Ev(l.Source, "%s", journal.Looked(l)))
	}
	return nil
}

// slight are devices that nothing but a login prompt, or nothing at all, waits for.
func slight(dev string) bool {
	base := path.Base(dev)
	return strings.HasPrefix(base, "tpm") || strings.HasPrefix(base, "tty") || strings.HasPrefix(base, "hvc") ||
		strings.HasPrefix(base, "sclp")
}

// lineOf is the line of fstab that asks for the device.
func lineOf(entries []fstab.Entry, dev string) (fstab.Entry, bool) {
	i := slices.IndexFunc(entries, func(e fstab.Entry) bool { return fstab.Device(e.Device) == dev })
	if i < 0 {
		return fstab.Entry{}, false
	}
	return entries[i], true
}

// optional tells that the line says how long to wait for a device that may be missing: a
// backup disk, a stick. Nothing at boot is ordered after it (systemd.mount(5), nofail).
func optional(e fstab.Entry) bool {
	return slices.Contains(e.Options, "nofail") &&
		slices.ContainsFunc(e.Options, func(o string) bool { return strings.HasPrefix(o, "x-systemd.device-timeout=") })
}

// wants says which line asks for the device.
func wants(line fstab.Entry, listed bool, dev string) string {
	if listed {
		return "fix or remove line " + strconv.Itoa(line.Line) + " of /etc/fstab (" + line.Mount + ")"
	}
	return "fix the line of /etc/fstab or /etc/crypttab that needs it (grep " + path.Base(dev) + ")"
}

// unitName is the opposite of an unescaped name, for the few names of slight devices.
func unitName(dev string) string {
	return strings.ReplaceAll(strings.TrimPrefix(dev, "/"), "/", "-") + ".device"
}
