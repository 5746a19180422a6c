// Package mdstat reads /proc/mdstat: which MD arrays run, and how many of their
// members (drivers/md/md.c, md_seq_show and status_resync; Linux 6.1).
package mdstat

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"fettle/host"
	"fettle/internal/lazy"
)

// File is where the kernel lists its arrays. Without MD it is not there.
const File = "/proc/mdstat"

// Array is one running array.
type Array struct {
	Name   string // "md0"
	Level  string // "raid1"; empty where it is inactive
	Active bool
	// Redundant: the level tells members that work from those that are missing.
	Redundant bool
	Disks     int    // members that it should have
	Missing   int    // of these
	Marks     string // "[2/1] [U_]"
	Action    string // "recovery", "resync", "check", "reshape"; empty while it is idle
	Members   []string
}

// Rebuilding tells that a member is being filled.
func (a *Array) Rebuilding() bool { return a.Action == "recovery" || a.Action == "reshape" }

var (
	headLine  = lazy.Regexp(`^(\S+) : (active|inactive|broken)((?: \([a-z-]+\))*)(?: (raid[0-9]+|linear|multipath|faulty))?(?: |$)`)
	members   = lazy.Regexp(`\[(\d{1,5})/(\d{1,5})\] \[[U_]+\]`)
	oneMember = lazy.Regexp(`^([^\s\[\]]+)\[\d+\](?:\([A-Z]\))*$`)
	action    = lazy.Regexp(`\b(recovery|resync|reshape|check|repair) ?=`)
)

// Read reads the arrays of a host; none where the kernel has no MD.
func Read(ctx context.Context, h *host.Host) ([]Array, error) {
	b, err := h.ReadFile(ctx, File)
	if host.IsAbsent(err) {
		return nil, nil
	}
	if err != nil {
		if errors.Is(err, host.ErrNotCollected) { // a capture of before anybody asked for it
			if all, serr := fromSysfs(ctx, h); serr == nil {
				return all, nil
			}
		}
		return nil, err
	}
	return Parse(string(b)), nil
}

// fromSysfs is what the folders of the arrays say (Documentation/admin-guide/md.rst).
func fromSysfs(ctx context.Context, h *host.Host) ([]Array, error) {
	disks, err := h.ReadDir(ctx, "/sys/block")
	if err != nil || len(disks) == 0 {
		return nil, cmp.Or(err, host.ErrNotCollected) // that there are none was not seen
	}
	var all []Array
	for _, disk := range disks {
		if !strings.HasPrefix(disk.Name, "md") {
			continue
		}
		dir := "/sys/block/" + disk.Name
		degraded, err := h.ReadString(ctx, dir+"/md/degraded")
		if host.IsAbsent(err) { // none behind it, or one of a level without redundancy
			continue
		}
		if err != nil {
			return nil, err
		}
		a := Array{Name: disk.Name, Active: true, Redundant: true}
		if a.Missing, err = strconv.Atoi(degraded); err != nil {
			return nil, err
		}
		disks, _ := h.ReadString(ctx, dir+"/md/raid_disks")
		a.Disks, _ = strconv.Atoi(disks)
		a.Disks = max(a.Disks, a.Missing)
		a.Level, _ = h.ReadString(ctx, dir+"/md/level")
		doing, _ := h.ReadString(ctx, dir+"/md/sync_action")
		switch doing {
		case "recover":
			a.Action = "recovery"
		case "idle":
		default:
			a.Action = doing
		}
		a.Marks = fmt.Sprintf("[%d/%d]", a.Disks, a.Disks-a.Missing)
		all = append(all, a)
	}
	return all, nil
}

// Parse reads the text. An array's lines after the first are indented.
func Parse(text string) []Array {
	var all []Array
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if m := headLine().FindStringSubmatch(line); m != nil {
			all = append(all, Array{Name: m[1], Active: m[2] == "active", Level: m[4], Members: memberNames(line)})
			continue
		}
		if len(all) == 0 || !strings.HasPrefix(line, " ") {
			continue
		}
		a := &all[len(all)-1]
		a.count(members(), line)
		if m := action().FindStringSubmatch(line); m != nil {
			a.Action = m[1]
		}
	}
	return all
}

// memberNames reads "sdb1[1](F) sda1[0]".
func memberNames(line string) (names []string) {
	for _, word := range strings.Fields(line) {
		if m := oneMember().FindStringSubmatch(word); m != nil {
			names = append(names, m[1])
		}
	}
	return names
}

func (a *Array) count(marks *regexp.Regexp, line string) {
	m := marks.FindStringSubmatch(line)
	if m == nil || !a.Active {
		return
	}
	all, _ := strconv.Atoi(m[1]) // five digits at most
	working, _ := strconv.Atoi(m[2])
	a.Redundant, a.Disks, a.Missing, a.Marks = true, all, max(all-working, 0), m[0]
}
