package disks

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"fettle/host"
	"fettle/internal/lazy"
)

// Siblings are the names of the block devices that do like work for one thing.
type Siblings struct {
	Name    string // "md0", "vg-raid", the label or UUID of a btrfs
	Kind    string // "md raid1", "device mapper", "btrfs"
	Members []string
	images  bool // of a RAID or mirror of LVM
	// Unsure is why nobody knows whether they do like work.
	Unsure error
}

const deviceMapper = "device mapper"

// notAlike are parts of LVM volumes that do unlike work: caches, thin pools,
// snapshots, metadata (lvm2, lib/metadata/lv_manip.c names them so).
var notAlike = lazy.Regexp(`_(c(data|meta|pool|orig|vol)|t(data|meta)|rmeta_\d+|cow|pmspare|vdata|wcorig)$|-cow$|-real$`)

// image is a part of a RAID or mirror of LVM.
var image = lazy.Regexp(`_[rm]image_\d+$`)

// Layout lists the groups of siblings on a host: MD arrays, device-mapper
// devices that spread over several disks, btrfs over several devices. It reads
// sysfs, and asks dmsetup of volumes of which that does not tell.
func Layout(ctx context.Context, h *host.Host) ([]Siblings, error) {
	names, err := h.ReadDir(ctx, "/sys/block")
	if err != nil {
		return nil, err
	}
	var out []Siblings
	targets := sync.OnceValues(func() (map[string][]string, error) { return targetsOf(ctx, h) })
	for _, e := range names {
		if !strings.HasPrefix(e.Name, "md") && !strings.HasPrefix(e.Name, "dm-") {
			continue
		}
		s, err := stacked(ctx, h, e.Name)
		if err != nil {
			return nil, err
		}
		if len(s.Members) > 1 && s.spreads(targets) {
			out = append(out, s)
		}
	}
	bt, err := btrfs(ctx, h)
	return append(out, bt...), err
}

// spreads tells whether all members work for each large request. A volume that
// was extended onto a second disk is linear: each has its own part of the data.
func (s *Siblings) spreads(targets func() (map[string][]string, error)) bool {
	if s.Kind != deviceMapper || s.images {
		return s.Kind != "md linear"
	}
	of, err := targets()
	s.Unsure = err
	return err != nil || slices.ContainsFunc(of[s.Name], func(t string) bool { return t == "striped" || t == "raid" || t == "mirror" })
}

// targetsOf are the kinds of targets of each device, from lines as
// "vg-lv: 0 2048 linear" (dmsetup(8)).
func targetsOf(ctx context.Context, h *host.Host) (map[string][]string, error) {
	out, err := h.Run(ctx, "dmsetup", "status")
	if err == nil && out.Exit != 0 {
		err = fmt.Errorf("dmsetup status: exit status %d", out.Exit)
	}
	if err != nil {
		return nil, fmt.Errorf("whether it is striped is not known: %w", err)
	}
	of := map[string][]string{}
	for line := range strings.Lines(string(out.Stdout)) {
		name, rest, _ := strings.Cut(line, ": ")
		if f := strings.Fields(rest); len(f) >= 3 {
			of[name] = append(of[name], f[2])
		}
	}
	return of, nil
}

// stacked is an MD array or a device-mapper device with what it is on.
func stacked(ctx context.Context, h *host.Host, name string) (Siblings, error) {
	dir := path.Join("/sys/block", name)
	s := Siblings{Name: name, Kind: deviceMapper, images: true}
	if strings.HasPrefix(name, "md") {
		level, err := h.ReadString(ctx, dir+"/md/level")
		if err != nil && !host.IsAbsent(err) {
			return s, err
		}
		if level == "" {
			return s, nil
		}
		s.Kind = "md " + level
	} else {
		n, err := h.ReadString(ctx, dir+"/dm/name")
		uuid, err2 := h.ReadString(ctx, dir+"/dm/uuid")
		if err := errors.Join(err, err2); err != nil {
			return s, err
		}
		s.Name = n
		if strings.HasPrefix(uuid, "mpath-") {
			return s, nil // paths to one disk, of which one may rest
		}
	}
	members, err := h.ReadDir(ctx, dir+"/slaves")
	if host.IsAbsent(err) {
		return s, nil
	}
	if err != nil {
		return s, err
	}
	for _, m := range members {
		n := ""
		if strings.HasPrefix(s.Kind, "md ") {
			// Whoever writes only to it knows that it is slow; one that failed does nothing.
			state, err := h.ReadString(ctx, dir+"/md/dev-"+m.Name+"/state")
			if err != nil && !host.IsAbsent(err) {
				return s, err
			}
			if strings.Contains(state, "write_mostly") || strings.Contains(state, "faulty") {
				continue
			}
		}
		if strings.HasPrefix(m.Name, "dm-") {
			var err error
			n, err = h.ReadString(ctx, "/sys/block/"+m.Name+"/dm/name")
			if err != nil && !host.IsAbsent(err) {
				return s, err
			}
			if strings.Contains(n, "_rmeta_") {
				continue
			}
			if notAlike().MatchString(n) {
				return Siblings{}, nil
			}
		}
		s.images = s.images && image().MatchString(n)
		s.Members = append(s.Members, m.Name)
	}
	return s, nil
}

// btrfs lists file systems over several devices.
func btrfs(ctx context.Context, h *host.Host) ([]Siblings, error) {
	var out []Siblings
	ids, err := h.Glob(ctx, "/sys/fs/btrfs", "*-*-*")
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		devs, err := h.ReadDir(ctx, id+"/devices")
		if host.IsAbsent(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		s := Siblings{Name: path.Base(id), Kind: "btrfs"}
		switch label, err := h.ReadString(ctx, id+"/label"); {
		case err != nil && !host.IsAbsent(err):
			return nil, err
		case label != "":
			s.Name = label
		}
		for _, d := range devs {
			s.Members = append(s.Members, d.Name)
		}
		if len(s.Members) > 1 {
			out = append(out, s)
		}
	}
	return out, nil
}

// Group puts loads to names; members without one are left out.
func (s Siblings) Group(loads map[string]Load) Group {
	g := Group{Name: s.Name, Kind: s.Kind, Unsure: s.Unsure}
	for _, m := range s.Members {
		if l, ok := loads[m]; ok {
			g.Members = append(g.Members, l)
		}
	}
	return g
}
