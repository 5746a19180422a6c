package mdadmbadblocks

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/format/mdstat"
	"fettle/host/mdraid"
)

// array is one running MD array as sysfs shows it (Documentation/admin-guide/md.rst).
type array struct {
	name     string       // "md0"
	level    string       // "raid1", "raid10", …
	metadata string       // "1.2", "0.90", "external:imsm/…"
	disks    string       // raid_disks
	degraded string       // number of missing members
	action   string       // idle, resync, recover, check, …
	bitmap   string       // "none", "+8", "file"; empty where the kernel does not say
	state    string       // clean, active, inactive, …
	policy   string       // consistency_policy: bitmap, resync, journal, ppl; empty before Linux 4.12
	listed   mdstat.Array // what /proc/mdstat says, where that can be read
	members  []member
	err      error   // why the array could not be read at all
	unread   []error // what the check does without, and a plan does not
}

// member is one device of an array.
type member struct {
	name     string // "sda1"
	state    string // "in_sync,write_mostly", "spare", "faulty"
	hasList  bool
	bad      []mdraid.Range // from the member's start
	pending  []mdraid.Range // seen, not yet written to the list
	unlisted bool           // there are entries, but nobody collected which
	dataOff  uint64         // sectors
	array    string         // UUIDs of the superblock; empty when it was not read
	device   string
	err      error // why hasList is not known
	evidence []trap.Evidence
}

func (a *array) external() bool { return strings.HasPrefix(a.metadata, "external:") }

// redundant tells how many members the array can lose; RAID10 is taken at the
// one that it can surely lose.
func (a *array) redundant() int {
	switch a.level {
	case "raid1":
		return max(0, atoi(a.disks)-1)
	case "raid4", "raid5", "raid10":
		return 1
	case "raid6":
		return 2
	}
	return 0
}

// readArrays reads every running array. Where nothing runs, there is none. One
// that cannot be read has its err set: it does not hide the others.
func readArrays(ctx context.Context, h *host.Host) ([]array, error) {
	if !h.Running() {
		return nil, nil
	}
	dirs, err := h.Glob(ctx, "/sys/block", "md*")
	listed := known(ctx, h)
	if err != nil {
		if len(listed) == 0 {
			return nil, err
		}
		for _, a := range listed { // a report that was cut down holds some of their folders
			dirs = append(dirs, "/sys/block/"+a.Name)
		}
	}
	var out []array
	for _, dir := range dirs {
		a := array{name: path.Base(dir)}
		for _, l := range listed {
			if l.Name == a.name {
				a.listed = l
			}
		}
		there, err := h.Exists(ctx, dir+"/md")
		if err == nil && there {
			err = a.read(ctx, h, dir+"/md")
		}
		switch {
		case err != nil:
			a.err = err
			out = append(out, a)
		case a.state == "clear": // a device node without an array behind it
		case len(a.members) > 0 || a.external():
			out = append(out, a)
		}
	}
	return out, nil
}

func (a *array) read(ctx context.Context, h *host.Host, md string) (err error) {
	for _, f := range []struct {
		file string
		to   *string
	}{{"level", &a.level}, {"metadata_version", &a.metadata}, {"raid_disks", &a.disks}, {"array_state", &a.state}} {
		if *f.to, err = h.ReadString(ctx, md+"/"+f.file); err != nil && !host.IsAbsent(err) {
			if len(a.listed.Members) == 0 {
				return err
			}
			a.unread = append(a.unread, err)
		}
	}
	if a.level == "" {
		a.level = a.listed.Level
	}
	if a.state == "clear" {
		return nil
	}
	// Levels without redundancy, and older kernels, lack some of these.
	a.degraded = a.maybe(ctx, h, md+"/degraded")
	a.action = a.maybe(ctx, h, md+"/sync_action")
	a.bitmap = a.maybe(ctx, h, md+"/bitmap/location")
	a.policy = a.maybe(ctx, h, md+"/consistency_policy")
	return a.readMembers(ctx, h, md)
}

// known are the arrays of /proc/mdstat; none where it cannot be read.
func known(ctx context.Context, h *host.Host) []mdstat.Array {
	all, _ := mdstat.Read(ctx, h)
	return all
}

// maybe reads a file that need not be there, and remembers when it is there
// and does not tell.
func (a *array) maybe(ctx context.Context, h *host.Host, file string) string {
	v, err := h.ReadString(ctx, file)
	if err != nil && !host.IsAbsent(err) {
		a.unread = append(a.unread, err)
	}
	return v
}

func (a *array) readMembers(ctx context.Context, h *host.Host, md string) error {
	dirs, err := h.Glob(ctx, md, "dev-*")
	if err != nil {
		if len(a.listed.Members) == 0 {
			return err
		}
		a.unread = append(a.unread, err)
	}
	for _, name := range a.listed.Members { // one whose folder a report lacks does not hide the others
		if dir := md + "/dev-" + strings.ReplaceAll(name, "/", "!"); !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	raw, tableErr := h.MDMembers(ctx)
	for _, dir := range dirs {
		m := member{name: strings.ReplaceAll(strings.TrimPrefix(path.Base(dir), "dev-"), "!", "/")}
		m.state = a.maybe(ctx, h, dir+"/state")
		if err := m.readSysfs(ctx, h, dir); err != nil {
			m.err = err
		}
		if !a.external() && a.metadata != "0.90" {
			m.readSuperblock(ctx, h, a.name, raw, tableErr)
		}
		a.members = append(a.members, m)
	}
	return nil
}

// readSysfs reads the entries that the kernel holds. The files are there, and
// empty, whether or not the member has a list at all.
func (m *member) readSysfs(ctx context.Context, h *host.Host, dir string) error {
	// In one order: what could not be read ends it, and a capture holds what was asked.
	for _, f := range []struct {
		name string
		to   *[]mdraid.Range
	}{{"bad_blocks", &m.bad}, {"unacknowledged_bad_blocks", &m.pending}} {
		file, to := f.name, f.to
		text, err := h.ReadString(ctx, dir+"/"+file)
		if host.IsAbsent(err) {
			continue
		}
		if err != nil {
			return err
		}
		if *to, err = mdraid.ParseSysfs(text); err != nil {
			return &host.SyntaxError{Path: dir + "/" + file, Msg: err.Error()}
		}
		if text != "" {
			m.evidence = append(m.evidence, trap.Ev(dir+"/"+file, "%s", mdraid.Text(*to, 8)))
		}
	}
	m.bad = append(m.bad, m.pending...)
	return nil
}

// readSuperblock finds out whether the member has a list: from the member
// itself, or from what mdadm --examine said of it in a report.
func (m *member) readSuperblock(ctx context.Context, h *host.Host, array string, raw []host.MDMember, tableErr error) {
	if tableErr != nil {
		m.examine(ctx, h, tableErr)
		return
	}
	for _, d := range raw {
		if d.Array != array || d.Device != m.name {
			continue
		}
		switch {
		case d.Denied:
			m.err = fmt.Errorf("reading the superblock of /dev/%s: %w", m.name, host.ErrDenied)
			return
		case d.Failed != "":
			m.err = fmt.Errorf("reading the superblock of /dev/%s: %s", m.name, d.Failed)
			return
		case len(d.Superblock) == 0:
			m.err = fmt.Errorf("/dev/%s holds no version 1 superblock", m.name)
			return
		}
		sb, err := mdraid.Parse(d.Superblock)
		if err != nil {
			m.err = fmt.Errorf("/dev/%s: %w", m.name, err)
			return
		}
		m.dataOff, m.array, m.device = sb.DataOffset, sb.SetUUID, sb.DeviceUUID
		m.hasList = sb.HasBBL()
		if !m.hasList {
			m.evidence = append(m.evidence, trap.Ev("superblock of /dev/"+m.name, "no bad blocks list"))
			return
		}
		m.evidence = append(
			m.evidence,
			trap.Ev("superblock of /dev/"+m.name, "bad blocks list of %d sectors, %d sectors from the superblock", sb.BBLSize, sb.BBLOffset),
		)
		stored, err := sb.List(d.BadBlocks)
		if err != nil {
			m.err = fmt.Errorf("/dev/%s: %w", m.name, err)
			return
		}
		if len(stored) > 0 && len(m.bad) == 0 {
			m.bad = stored
			m.evidence = append(m.evidence, trap.Ev("bad blocks list of /dev/"+m.name, "%s", mdraid.Text(stored, 8)))
		}
		return
	}
	m.err = errors.New("it was added during the check; run the check again")
}

// sharing lists the members that have an entry at the same place of the array
// as m, and tells on how many members, m included, one and the same sector is
// bad at most.
func (a *array) sharing(m *member) (others []string, depth int) {
	var starts, ends []uint64
	for i := range a.members {
		o := &a.members[i]
		if o.name == m.name {
			continue
		}
		shared := mdraid.Shared(m.relative(), o.relative())
		if len(shared) > 0 {
			others = append(others, o.name)
		}
		for _, r := range mdraid.Merge(shared) {
			starts, ends = append(starts, r.Start), append(ends, r.Start+r.Count)
		}
	}
	for _, at := range starts {
		n := 1
		for i := range starts {
			if starts[i] <= at && at < ends[i] {
				n++
			}
		}
		depth = max(depth, n)
	}
	return others, depth
}

// loss says what it means that one sector is bad on so many members.
func (a *array) loss(depth int) string {
	switch {
	case a.level == "raid10":
		return "Where two of these hold the same data (mdadm --detail shows the layout), it has no good copy left; or one list was copied " +
			"from another."
	case depth > a.redundant():
		return "For md, that data has no good copy left; unless one list was " +
			"copied from another, which only reading the disks themselves can tell."
	}
	return fmt.Sprintf("For md, %s can lose %d more there; or one list was copied from another.", a.name, a.redundant()-depth)
}

// relative counts the entries from where the data begins, which is what
// members of one array have in common.
func (m *member) relative() []mdraid.Range {
	var out []mdraid.Range
	for _, r := range m.bad {
		if r.Start >= m.dataOff {
			out = append(out, mdraid.Range{Start: r.Start - m.dataOff, Count: r.Count})
		}
	}
	return out
}

func (m *member) badDetail() trap.Prose {
	if m.unlisted {
		return trap.Lines("The sector numbers were not collected: mdadm --examine-badblocks /dev/" + m.name + " lists them.")
	}
	var sectors uint64
	for _, r := range m.bad {
		sectors += r.Count
	}
	s := trap.Lines(
		fmt.Sprintf(
			"%d ranges, %d sectors of 512 bytes (start+count, from the start of %s): %s",
			len(m.bad),
			sectors,
			m.name,
			mdraid.Text(m.bad, 6),
		),
	)
	if len(m.pending) > 0 {
		s = s.Also(fmt.Sprintf("%d of these are not yet written to the list.", len(m.pending)))
	}
	return s
}
