package store

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Placing says how hosts are put in order.
type Placing struct {
	Group   *string // nil: as it is
	Name    string  // a name that is kept whatever the host calls itself; empty: as it is
	OwnName bool    // the host's own name again
	Labels  map[string]string
	Remove  []string // labels, by name
}

// Place puts hosts in order, all of them or none, and counts again.
func (db *DB) Place(ctx context.Context, agents []string, p Placing, log Audit) error {
	return db.within(ctx, func(t *tx) error {
		b := &batch{tx: t, tally: newTally()}
		for _, agent := range agents {
			if err := b.place(ctx, agent, p); err != nil {
				return err
			}
			log.On = agent
			if _, err := t.exec(ctx, auditInsert, auditRow(log)...); err != nil {
				return err
			}
		}
		return b.tally.flush(ctx, t)
	})
}

func (b *batch) place(ctx context.Context, agent string, p Placing) error {
	var h hostRow
	var name, own string
	var pinned int
	if err := b.scan(ctx, "SELECT id, grp, labels, name, own_name, pinned FROM hosts WHERE agent = ? AND retired = 0", []any{agent}, &h.id,
		&h.group, &h.labels, &name, &own, &pinned); err != nil {
		return err
	}
	if err := b.relabel(ctx, &h, p); err != nil {
		return err
	}
	if p.Group != nil && *p.Group != h.group {
		if err := b.regroup(ctx, &h, *p.Group); err != nil {
			return err
		}
	}
	switch {
	case p.Name != "":
		name, pinned = p.Name, 1
	case p.OwnName:
		name, pinned = own, 0
	}
	if _, err := b.exec(ctx, "UPDATE hosts SET grp = ?, labels = ?, name = ?, pinned = ? WHERE id = ?", h.group, h.labels, name, pinned,
		h.id); err != nil {
		return err
	}
	// What a channel was sent about it continues under its present name.
	if _, err := b.exec(ctx, "UPDATE told SET grp = ?, name = ? WHERE host = ?", h.group, name, h.id); err != nil {
		return err
	}
	return b.recount(ctx, &h) // rules may be about it now, or no longer
}

// regroup moves a host's findings from the sums of one group to another's.
func (b *batch) regroup(ctx context.Context, h *hostRow, group string) error {
	rows, err := b.findings(ctx, h.id)
	if err != nil {
		return err
	}
	all, cells := fleetSum(rows), worst(rows)
	all.hosts = 1
	b.tally.host(h.group, all, sums{})
	b.tally.cells(h.group, cells, nil)
	h.group = group
	b.tally.host(group, sums{}, all)
	b.tally.cells(group, nil, cells)
	return nil
}

func (b *batch) relabel(ctx context.Context, h *hostRow, p Placing) error {
	if len(p.Labels)+len(p.Remove) == 0 {
		return nil
	}
	labels := map[string]string{}
	if err := json.Unmarshal([]byte(h.labels), &labels); err != nil {
		return err
	}
	for _, name := range p.Remove {
		delete(labels, name)
	}
	maps.Copy(labels, p.Labels)
	if len(labels) > maxLabels {
		return fmt.Errorf("a host has %d labels at most", maxLabels)
	}
	text, err := labelText(labels)
	if err != nil {
		return err
	}
	h.labels = text
	return b.putLabels(ctx, h.id, labels)
}

// putLabels makes a host's rows of labels these.
func (t *tx) putLabels(ctx context.Context, host int64, labels map[string]string) error {
	if _, err := t.exec(ctx, "DELETE FROM labels WHERE host = ?", host); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		if _, err := t.exec(ctx, "INSERT INTO labels (host, name, value) VALUES (?, ?, ?)", host,
			strings.ReplaceAll(name, "\x00", ""), strings.ReplaceAll(labels[name], "\x00", "")); err != nil {
			return err
		}
	}
	return nil
}
