package proof

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strings"

	"fettle/host"
	"fettle/host/mdraid"
	"fettle/lab"
)

// superblocks reads the members of many kinds of arrays both by
// host.MDMembers with mdraid, and by mdadm, and compares all that both tell.
func superblocks(ctx context.Context, b *lab.Bench) error {
	r := &rig{Bench: b}
	if err := r.need(5, 24); err != nil {
		return err
	}
	b.Columns("Level", "Metadata", "Lists", "Members", "Compared", "Differences")
	total := 0
	for _, k := range []struct {
		arrayKind
		bitmap string
	}{{arrayKind{"0", 2}, "none"}, {arrayKind{"1", 2}, "internal"}, {arrayKind{"5", 3}, "internal"}, {arrayKind{"6", 4}, "none"},
		{arrayKind{"10", 4}, "internal"}} {
		for _, version := range []string{"1.0", "1.1", "1.2"} {
			for _, lists := range []string{"none", "empty", "entries"} {
				diffs, compared, err := r.compare(ctx, k.arrayKind, k.bitmap, version, lists)
				if err != nil {
					return fmt.Errorf("RAID%s, metadata %s, %s: %w", k.level, version, lists, err)
				}
				total += len(diffs)
				b.Row("RAID"+k.level, version, lists, fmt.Sprint(k.n), fmt.Sprint(compared), fmt.Sprint(len(diffs)))
				for _, d := range diffs {
					b.Note("RAID%s, metadata %s, %s: %s", k.level, version, lists, d)
				}
			}
		}
	}
	if total > 0 {
		return fmt.Errorf("%d differences", total)
	}
	return nil
}

type arrayKind struct {
	level string
	n     int
}

// entered are the bad blocks of the comparison, in sectors of the member:
// more than one, touching the 512 sectors that one entry can hold, and near
// the member's end.
var entered = [][2]int{{4096, 8}, {5000, 512}, {9000, 1300}, {40000, 1}}

func (r *rig) compare(ctx context.Context, k arrayKind, bitmap, version, lists string) (diffs []string, compared int, err error) {
	conf := "CREATE bbl=yes\n"
	if lists == "none" {
		conf = "CREATE bbl=no\n"
	}
	if err := os.MkdirAll("/etc/mdadm", 0o755); err != nil {
		return nil, 0, err
	}
	if err := os.WriteFile("/etc/mdadm/mdadm.conf", []byte(conf), 0o644); err != nil {
		return nil, 0, err
	}
	args := []string{"--metadata=" + version}
	if k.level != "0" {
		args = append(args, "--bitmap="+bitmap)
	}
	if err := r.create(k.level, k.n, args...); err != nil {
		return nil, 0, err
	}
	defer func() {
		if rerr := r.remove(); err == nil {
			err = rerr
		}
	}()
	if lists == "entries" && k.level != "0" { // RAID0 keeps none: a failed read fails
		for _, e := range entered {
			if err := r.enterBad("loop1", e[0], e[1]); err != nil {
				return nil, 0, err
			}
		}
	}
	for range 20 { // until md has written its last superblock: both must have read the same
		var before, after []host.MDMember
		if before, err = readMembers(ctx); err != nil {
			return nil, 0, err
		}
		if diffs, compared, err = r.compareAll(before, k.n); err != nil {
			return diffs, compared, err
		}
		if after, err = readMembers(ctx); err != nil || reflect.DeepEqual(before, after) {
			return diffs, compared, err
		}
	}
	return diffs, compared, errors.New("the superblocks change all the time")
}

func readMembers(ctx context.Context) ([]host.MDMember, error) {
	src, err := host.NewLive()
	if err != nil {
		return nil, err
	}
	defer src.Close()
	return host.New(src).MDMembers(ctx)
}

func (r *rig) compareAll(raw []host.MDMember, n int) (diffs []string, compared int, err error) {
	seen := 0
	for _, m := range raw {
		if m.Array != "md0" {
			continue
		}
		seen++
		d, n, err := r.compareMember(m)
		if err != nil {
			return diffs, compared, fmt.Errorf("%s: %w", m.Device, err)
		}
		diffs, compared = append(diffs, d...), compared+n
	}
	if seen != n {
		diffs = append(diffs, fmt.Sprintf("%d members were read", seen))
	}
	return diffs, compared, nil
}

// compareMember compares one member with what mdadm prints of it.
func (r *rig) compareMember(m host.MDMember) (diffs []string, compared int, err error) {
	if m.Denied || m.Failed != "" {
		return nil, 0, fmt.Errorf("not read: %s", m.Failed)
	}
	sb, err := mdraid.Parse(m.Superblock)
	if err != nil {
		return nil, 0, err
	}
	text, err := r.Run("mdadm", "--examine", "/dev/"+m.Device)
	if err != nil {
		return nil, 0, err
	}
	said := map[string]string{}
	for line := range strings.Lines(text) {
		if k, v, ok := strings.Cut(line, " : "); ok {
			said[strings.TrimSpace(k)] = strings.TrimSpace(v)
		}
	}
	check := func(key, ours string, pick string) {
		theirs := said[key]
		if m := regexp.MustCompile(pick).FindStringSubmatch(theirs); m != nil {
			theirs = m[1]
		}
		if compared++; theirs != ours {
			diffs = append(diffs, fmt.Sprintf("%s: %s is %q for fettle and %q for mdadm", m.Device, key, ours, theirs))
		}
	}
	check("Feature Map", fmt.Sprintf("%#x", sb.Features), "(.*)")
	check("Array UUID", sb.SetUUID, "(.*)")
	check("Device UUID", sb.DeviceUUID, "(.*)")
	check("Name", sb.SetName, `^(\S+)`)
	check("Raid Level", map[int32]string{0: "raid0", 1: "raid1", 5: "raid5", 6: "raid6", 10: "raid10"}[sb.Level], "(.*)")
	check("Raid Devices", fmt.Sprint(sb.RaidDisks), "(.*)")
	check("Avail Dev Size", fmt.Sprint(sb.DataSize), `^(\d+) sectors`)
	if _, ok := said["Data Offset"]; !ok { // mdadm leaves out 0
		said["Data Offset"] = "0 sectors"
	}
	check("Data Offset", fmt.Sprint(sb.DataOffset), `^(\d+) sectors`)
	check("Super Offset", fmt.Sprint(sb.SuperOffset), `^(\d+) sectors`)
	check("Events", fmt.Sprint(sb.Events), "(.*)")
	check("Device Role", strings.Replace(sb.Role.String(), "active", "Active device", 1), "(.*)")
	check("Checksum", fmt.Sprintf("%x - correct", mdraid.Checksum(m.Superblock[:mdraid.Length(m.Superblock)])), "(.*)")
	log := ""
	if sb.HasBBL() {
		log = fmt.Sprintf("%d entries available at offset %d sectors", int(sb.BBLSize)*512/8, sb.BBLOffset)
		if sb.Features&mdraid.FeatureBadBlocks != 0 {
			log += " - bad blocks present."
		}
	}
	check("Bad Block Log", log, "(.*)")
	list, err := r.badblocks(m.Device)
	if err != nil {
		return diffs, compared, err
	}
	ours := "none"
	if sb.HasBBL() {
		ours = "empty"
		ranges, err := sb.List(m.BadBlocks)
		if err != nil {
			return diffs, compared, err
		}
		if len(ranges) > 0 {
			ours = mdraid.Text(ranges, len(ranges))
		}
		kernel, err := mdraid.ParseSysfs(md("dev-" + m.Device + "/bad_blocks"))
		if err != nil {
			return diffs, compared, err
		}
		if compared++; mdraid.Text(mdraid.Merge(kernel), 99) != mdraid.Text(mdraid.Merge(ranges), 99) {
			diffs = append(diffs, fmt.Sprintf("%s: the list says %v and the kernel %v", m.Device, ranges, kernel))
		}
	}
	if compared++; ours != list {
		diffs = append(diffs, fmt.Sprintf("%s: the list is %q for fettle and %q for mdadm", m.Device, ours, list))
	}
	return diffs, compared, nil
}
