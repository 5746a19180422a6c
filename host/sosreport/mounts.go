package sosreport

import (
	"strconv"
	"strings"

	"fettle/host"
)

// filesystems joins `mount -l` (what is mounted) with `df -al` and `df -ali`
// (how full local file systems are, in KiB and inodes) and the device numbers
// of PID 1's mountinfo. df gives no figure for root's reserve apart from
// "available": Free is size less used.
func (s *Source) filesystems() ([]host.Filesystem, error) {
	mounts, err := s.output("sos_commands/filesys/mount_-l", "mount")
	if err != nil {
		return nil, err
	}
	space, err := s.output("sos_commands/filesys/df_-al_-x_autofs", "sos_commands/filesys/df_-al", "df")
	if err != nil {
		return nil, err
	}
	inodes, _ := s.output("sos_commands/filesys/df_-ali_-x_autofs", "sos_commands/filesys/df_-aliT_-x_autofs", "sos_commands/filesys/df_-ali")
	info := ""
	if b, err := s.tree.ReadFile("/proc/1/mountinfo", host.ReadLimit); err == nil {
		info = string(b)
	}
	return parseFilesystems(mounts, space, inodes, info), nil
}

func parseFilesystems(mounts, space, inodes, mountinfo string) []host.Filesystem {
	dev := map[string]uint64{}
	for _, m := range host.ParseMountinfo(mountinfo) {
		dev[m.Point] = makedev(uint64(m.Major), uint64(m.Minor))
	}
	kib, ino := dfRows(space), dfRows(inodes)
	out := []host.Filesystem{}
	at := map[string]int{}
	for line := range strings.Lines(mounts) {
		device, rest, ok1 := strings.Cut(strings.TrimSpace(line), " on ")
		i := strings.LastIndex(rest, " type ")
		if !ok1 || i < 0 {
			continue
		}
		fstype, opts, _ := strings.Cut(rest[i+len(" type "):], " ")
		opts, _, _ = strings.Cut(strings.TrimPrefix(opts, "("), ")")
		v := host.Filesystem{Device: device, Mount: rest[:i], Type: fstype, Options: opts, Dev: dev[rest[:i]], Network: host.MayHang(fstype)}
		if k, ok := kib[v.Mount]; ok && !v.Network {
			v.Size, v.Free, v.Avail = k[0]<<10, (k[0]-min(k[1], k[0]))<<10, k[2]<<10
			n := ino[v.Mount]
			v.Files, v.FFree = n[0], n[2]
		}
		if j, ok := at[v.Mount]; ok { // mounted over
			out[j] = v
			continue
		}
		at[v.Mount] = len(out)
		out = append(out, v)
	}
	return out
}

// dfRows reads df's rows by mount point: total, used, available. A long
// device name puts the figures on the next line.
func dfRows(text string) map[string][3]uint64 {
	rows := map[string][3]uint64{}
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		for i := range f {
			// total, used, available, percent, mount point
			if i+4 >= len(f) || !strings.HasSuffix(f[i+3], "%") && f[i+3] != "-" || !strings.HasPrefix(f[i+4], "/") {
				continue
			}
			var v [3]uint64
			bad := false
			for j := range v {
				n, err := strconv.ParseUint(f[i+j], 10, 64)
				v[j], bad = n, bad || err != nil
			}
			if !bad {
				rows[strings.Join(f[i+4:], " ")] = v
			}
			break
		}
	}
	return rows
}
