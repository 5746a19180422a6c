package powercut

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"fettle/host"
	"fettle/host/mdraid"
)

// difference is where copies differ: sectors of the members in group, from
// where the data of the array begins on each.
type difference struct {
	span
	group []int
}

func (d difference) String() string {
	return fmt.Sprintf("sectors %d to %d of members %v", d.from, d.to-1, d.group)
}

// differences finds where the copies of an idle array differ. Mirrors are read
// and compared; of parity arrays md is asked, one row of chunks after the other.
func (rc raidCase) differences(d *disk) ([]difference, *mdraid.Superblock, error) {
	raw, err := host.ReadMDMember(base(d.parts[0]))
	if err != nil {
		return nil, nil, err
	}
	sb, err := mdraid.Parse(raw.Superblock)
	if err != nil {
		return nil, nil, err
	}
	// The block devices were read by others before md wrote to them.
	if err := os.WriteFile("/proc/sys/vm/drop_caches", []byte("3\n"), 0); err != nil {
		return nil, nil, err
	}
	var out []difference
	switch rc.RAID {
	case "1":
		out, err = compare(d, sb, []int{0, 1})
	case "10": // two near copies: neighbours hold the same
		for i := 0; i < rc.Members && err == nil; i += 2 {
			var more []difference
			more, err = compare(d, sb, []int{i, i + 1})
			out = append(out, more...)
		}
	default:
		out, err = rows(sb, rc.Members)
	}
	return out, sb, err
}

// compare reads two members.
func compare(d *disk, sb *mdraid.Superblock, pair []int) ([]difference, error) {
	var files [2]*os.File
	for i, m := range pair {
		f, err := os.Open(d.parts[m])
		if err != nil {
			return nil, err
		}
		defer f.Close()
		files[i] = f
	}
	var out []difference
	bufs := [2][]byte{make([]byte, mib), make([]byte, mib)}
	for at := uint64(0); at < sb.Size; at += mib / sector {
		n := min(mib, (sb.Size-at)*sector)
		for i, f := range files {
			if _, err := f.ReadAt(bufs[i][:n], int64(sb.DataOffset+at)*sector); err != nil && err != io.EOF {
				return nil, err
			}
		}
		for k := uint64(0); k < n; k += sector {
			if bytes.Equal(bufs[0][k:k+sector], bufs[1][k:k+sector]) {
				continue
			}
			s := at + k/sector
			if last := len(out) - 1; last >= 0 && out[last].to == s {
				out[last].to++
			} else {
				out = append(out, difference{span{s, s + 1}, pair})
			}
		}
	}
	return out, nil
}

// rows asks md about each row of chunks: its mismatch_cnt does not say where.
func rows(sb *mdraid.Superblock, members int) ([]difference, error) {
	chunk, err := strconv.ParseUint(md("chunk_size"), 10, 64)
	if err != nil || chunk < sector {
		return nil, fmt.Errorf("the array has chunks of %q bytes", md("chunk_size"))
	}
	chunk /= sector
	all := make([]int, members)
	for i := range all {
		all[i] = i
	}
	set := func(file string, v string) error { return os.WriteFile("/sys/block/md0/md/"+file, []byte(v), 0) }
	defer set("sync_max", "max")
	defer set("sync_min", "0")
	var out []difference
	for at := uint64(0); at+chunk <= sb.Size; at += chunk {
		// The window is moved from its far end, so that it is never empty.
		if err := set("sync_max", fmt.Sprint(at+chunk)); err != nil {
			return nil, err
		}
		if err := set("sync_min", fmt.Sprint(at)); err != nil {
			return nil, err
		}
		n, err := scrubWindow()
		if err != nil {
			return nil, err
		}
		if n != "0" {
			out = append(out, difference{span{at, at + chunk}, all})
		}
	}
	return out, nil
}

// scrubWindow has md compare what lies between sync_min and sync_max. It stops
// at the end and waits there (md.rst, sync_max) until it is told to be idle.
func scrubWindow() (string, error) {
	if err := os.WriteFile("/sys/block/md0/md/sync_action", []byte("check"), 0); err != nil {
		return "", err
	}
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		done, _, _ := strings.Cut(md("sync_completed"), " ")
		if md("sync_action") == "idle" || done == md("sync_max") {
			break
		}
		if time.Now().After(end) {
			return "", fmt.Errorf("a check up to sector %s stays at %s", md("sync_max"), md("sync_completed"))
		}
	}
	n := md("mismatch_cnt")
	if err := os.WriteFile("/sys/block/md0/md/sync_action", []byte("idle"), 0); err != nil {
		return "", err
	}
	return n, settled()
}
