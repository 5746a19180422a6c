// Package watch looks again and again at the bad blocks that MD has recorded
// for the members of its arrays, and tells of what is new: mdadm --monitor and
// /proc/mdstat do not.
package watch

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"fettle/host"
	"fettle/host/mdraid"
	"fettle/internal/exposition"
	"fettle/internal/sorted"
)

// Member is one member of an array, with what is recorded for it now.
type Member struct {
	Array, Name string
	Bad         []mdraid.Range // merged, in sectors from the member's start; waiting ones too
}

func (m *Member) key() string { return m.Array + "/" + m.Name }

// Sectors is how many sectors of 512 bytes are recorded.
func (m *Member) Sectors() (n uint64) {
	for _, r := range m.Bad {
		n += r.Count
	}
	return n
}

// Look reads the lists of all members from sysfs. The kernel prints no more
// than a page of each (block/badblocks.c badblocks_show).
func Look(ctx context.Context, h *host.Host) ([]Member, error) {
	dirs, err := h.Glob(ctx, "/sys/block", "md*")
	if err != nil {
		return nil, err
	}
	var out []Member
	for _, dir := range dirs {
		devs, err := h.Glob(ctx, dir+"/md", "dev-*")
		if host.IsAbsent(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, d := range devs {
			m := Member{Array: path.Base(dir), Name: strings.ReplaceAll(strings.TrimPrefix(path.Base(d), "dev-"), "!", "/")}
			for _, f := range []string{"bad_blocks", "unacknowledged_bad_blocks"} {
				text, err := h.ReadString(ctx, d+"/"+f)
				if host.IsAbsent(err) {
					continue // the member left meanwhile, or the kernel is older than 3.1
				}
				if err != nil {
					return nil, err
				}
				rs, err := mdraid.ParseSysfs(text)
				if err != nil {
					return nil, &host.SyntaxError{Path: d + "/" + f, Msg: err.Error()}
				}
				m.Bad = append(m.Bad, rs...)
			}
			m.Bad = mdraid.Merge(m.Bad)
			out = append(out, m)
		}
	}
	return out, nil
}

// Watcher remembers the last look.
type Watcher struct {
	// Host gives a host for each look: one remembers what it has read.
	Host func() *host.Host
	// Tell is given what happened, a line each.
	Tell func(line string)
	// Publish is given the metrics after each look.
	Publish func(metrics []byte) error

	last    map[string]Member
	failing string // what the last look failed with
}

// Run looks immediately, and then every interval, until ctx ends. A look that
// fails is told once, and ends nothing.
func (w *Watcher) Run(ctx context.Context, interval time.Duration) error {
	for tick := time.NewTicker(interval); ; {
		if err := w.look(ctx); err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			tick.Stop()
			return nil
		}
	}
}

// look looks once. Its error is that of Publish.
func (w *Watcher) look(ctx context.Context) error {
	ms, err := Look(ctx, w.Host())
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		if w.failing != err.Error() {
			w.failing = err.Error()
			w.Tell("could not look: " + w.failing)
		}
		return w.publish(nil, false)
	}
	if w.failing != "" {
		w.failing = ""
		w.Tell("looking works again")
	}
	w.compare(ms)
	return w.publish(ms, true)
}

// compare tells what is new, and what is gone.
func (w *Watcher) compare(ms []Member) {
	first := w.last == nil
	now := map[string]Member{}
	for _, m := range ms {
		now[m.key()] = m
		was := w.last[m.key()]
		switch fresh := without(m.Bad, was.Bad); {
		case len(fresh) > 0 && first:
			w.Tell(fmt.Sprintf("%s: %d bad sectors are recorded: %s", m.key(), m.Sectors(), mdraid.Text(m.Bad, 8)))
		case len(fresh) > 0:
			w.Tell(
				fmt.Sprintf(
					"%s: NEW bad blocks: %s (%d sectors recorded in all); see fettle explain mdadm-bad-blocks",
					m.key(),
					mdraid.Text(fresh, 8),
					m.Sectors(),
				),
			)
		case len(m.Bad) < len(was.Bad) || m.Sectors() < was.Sectors():
			w.Tell(fmt.Sprintf("%s: %d bad sectors are recorded, %d fewer than before", m.key(), m.Sectors(), was.Sectors()-m.Sectors()))
		}
	}
	if first {
		w.Tell(fmt.Sprintf("watching %d members of MD arrays", len(ms)))
	}
	w.last = now
}

// without returns the parts of a that no range of b covers; both are merged.
func without(a, b []mdraid.Range) []mdraid.Range {
	var out []mdraid.Range
	for _, r := range a {
		at, end := r.Start, r.Start+r.Count
		for _, o := range b {
			if o.Start+o.Count <= at || o.Start >= end {
				continue
			}
			if o.Start > at {
				out = append(out, mdraid.Range{Start: at, Count: o.Start - at})
			}
			at = max(at, o.Start+o.Count)
		}
		if at < end {
			out = append(out, mdraid.Range{Start: at, Count: end - at})
		}
	}
	return out
}

func (w *Watcher) publish(ms []Member, up bool) error {
	if w.Publish == nil {
		return nil
	}
	return w.Publish(Metrics(ms, up, time.Now()))
}

// Metrics writes the Prometheus text format 0.0.4.
func Metrics(ms []Member, up bool, now time.Time) []byte {
	var page exposition.Text
	ms = slices.Clone(ms)
	sorted.By(ms, func(x, y Member) int { return strings.Compare(x.key(), y.key()) })
	gauge := func(name, help string, value func(m *Member) uint64) {
		page.Gauge(name, help)
		for i := range ms {
			exposition.Add(&page, value(&ms[i]), "array", ms[i].Array, "member", ms[i].Name)
		}
	}
	gauge("fettle_md_bad_sectors", "Sectors of 512 bytes in the bad blocks list of an MD member.", (*Member).Sectors)
	gauge("fettle_md_bad_ranges", "Ranges in the bad blocks list of an MD member.", func(m *Member) uint64 { return uint64(len(m.Bad)) })
	page.Gauge("fettle_watch_up", "Whether the last look worked.")
	exposition.Add(&page, up)
	page.Gauge("fettle_watch_last_look_seconds", "When the last look was, since the epoch.")
	exposition.Add(&page, now.Unix())
	return []byte(page.String())
}
