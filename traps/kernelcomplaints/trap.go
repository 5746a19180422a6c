// Package kernelcomplaints finds what the kernel complains of in its log:
// grouped by kind and by disk, link or program, and counted.
package kernelcomplaints

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"time"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/fact/container"
	"fettle/host/fact/journal"
	"fettle/internal/units"
)

//go:embed lore.md
var lore trap.Lore

// Trap is kernel-complaints.
var Trap = trap.Trap{Lore: lore, Cost: trap.Instant, Limit: 30 * time.Second, Check: check}

func check(ctx context.Context, h *host.Host, r *trap.Report) error {
	if container.Of(ctx, h) != "" {
		r.NotApplicable("", "a container has no kernel of its own: the log is on the host")
		return nil
	}
	l, err := journal.Kernel(ctx, h)
	if err != nil {
		return err
	}
	said := 0
	portable, unread := h.Glob(ctx, "/sys/class/power_supply", "BAT*")
	for _, g := range group(l) {
		if g.kind.cable && len(portable) > 0 {
			continue // its user pulls the cable, or lets it sleep
		}
		f, ok := judge(ctx, h, l, g)
		switch {
		case !ok:
			continue
		case g.kind.cable && unread != nil:
			r.Unknown(f.Subject, fmt.Errorf("%s, which matters unless the host is a laptop: %w", f.Summary, unread), f.Evidence...)
		default:
			r.Found(f)
		}
		said++
	}
	if said == 0 {
		r.Clear(
			"",
			"the kernel log contains no complaint that matters",
			trap.Ev(l.Source, "%s %s", units.Count(l.Lines, "line", "lines"), journal.Looked(l)),
		)
	}
	return nil
}

// complaint is what the kernel said of one kind about one thing.
type complaint struct {
	kind        *kind
	what        string // a disk, a link, a program; empty where the kind names none
	count       int
	first, last time.Time
	lines       []host.Message
}

// group sorts the messages of the log into complaints: each belongs to the
// first kind that knows it.
func group(l host.Log) []*complaint {
	var out []*complaint
	for _, m := range l.Messages {
		k, what := kindOf(m.Text)
		if k == nil {
			continue
		}
		i := slices.IndexFunc(out, func(c *complaint) bool { return c.kind == k && c.what == what })
		if i < 0 {
			i = len(out)
			out = append(out, &complaint{kind: k, what: what, first: m.First})
		}
		c := out[i]
		c.count += m.Count
		c.last = m.Last
		if m.First.Before(c.first) {
			c.first = m.First
		}
		c.lines = append(c.lines, m)
	}
	return out
}

// kindOf is the kind of the first message that a line holds, and what it speaks of.
func kindOf(text string) (*kind, string) {
	hits := said().Said("kernel", text)
	if len(hits) == 0 {
		return nil, ""
	}
	h := hits[0]
	k := kinds[said().Message(h.Index).About]
	what := h.Field("disk", "dm", "md", "dev", "nvme", "ata", "iface", "name", "host")
	switch k.subject {
	case "task":
		what = h.Field("text")
	case "program":
		what = h.Field("name", "word")
	case "CPU", "kernel", "power supply":
		what = ""
	}
	if k.name != nil {
		what = k.name(what)
	}
	if k.innocent != nil && k.innocent(what) {
		return nil, ""
	}
	return k, what
}

// judge makes a finding of a complaint that is heard often enough.
func judge(ctx context.Context, h *host.Host, l host.Log, c *complaint) (trap.Finding, bool) {
	k := c.kind
	if c.count < k.least || k.lately && (l.Until.Sub(c.last) > 48*time.Hour || c.last.Sub(c.first) > time.Duration(c.count)*24*time.Hour) {
		return trap.Finding{}, false
	}
	f := trap.Finding{
		Subject:  strings.TrimSpace(k.subject + " " + c.what),
		Severity: k.severity,
		Summary:  k.summary,
		ByHand:   k.advice(c.what),
		Detail:   trap.Prose(units.Count(c.count, "line", "lines") + " " + journal.Looked(l)),
	}
	if k.grows > 0 && c.count >= k.grows {
		f.Severity++
	}
	switch {
	case k.subject == "disk" && gone(ctx, h, c.what):
		f.Severity, f.ByHand = trap.Notice, "nothing if somebody unplugged it; otherwise check its cable and power"
		f.Summary = "the kernel reported I/O errors, and the disk is gone"
	case k.subject == onDisk && gone(ctx, h, disk(c.what)):
		f.Severity, f.ByHand = trap.Notice, "nothing if somebody unplugged it; otherwise check its cable and power, and the file system: fsck -n"
		f.Summary = "the kernel could not read or write this file system, and its disk is gone"
	case k.subject == "disk" && path(ctx, h, c.what):
		f.Severity, f.ByHand = trap.Notice, "nothing where the array refuses I/O on its passive "+
			"paths; otherwise multipath -ll shows which path fails"
		f.Summary = "the kernel reports I/O errors on this path of a multipath disk, which has others"
	}
	for _, m := range c.lines[max(0, len(c.lines)-5):] {
		f.Evidence = append(f.Evidence, trap.Ev(journal.Source(l, m), "%s", journal.Said(m)))
	}
	return f, true
}

// advice is what to do by hand.
func (k *kind) advice(what string) string {
	said := k.byHand
	for _, d := range notDisks {
		if k.subject == "disk" && strings.HasPrefix(what, d.prefix) {
			said = d.byHand
		}
	}
	return strings.ReplaceAll(said, "WHAT", what)
}

// path tells that a disk is one way of several to a disk of multipathd. An array with
// passive paths refuses to be read through them: each boot logs that.
func path(ctx context.Context, h *host.Host, disk string) bool {
	holders, err := h.ReadDir(ctx, "/sys/block/"+disk+"/holders")
	if err != nil {
		return false
	}
	return slices.ContainsFunc(holders, func(e host.Entry) bool {
		uuid, err := h.ReadString(ctx, "/sys/block/"+e.Name+"/dm/uuid")
		return err == nil && strings.HasPrefix(uuid, "mpath-")
	})
}

// gone tells that a disk was taken out: the kernel does not know it any more.
func gone(ctx context.Context, h *host.Host, disk string) bool {
	if disk == "" {
		return false
	}
	if _, err := h.Stat(ctx, "/sys/block"); err != nil {
		return false
	}
	_, err := h.Stat(ctx, "/sys/block/"+disk)
	return host.IsAbsent(err)
}
