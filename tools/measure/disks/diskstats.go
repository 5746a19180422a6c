package disks

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// Counters are the counters of one block device since it appeared
// (Documentation/admin-guide/iostats.rst, Linux 6.1).
type Counters struct {
	Name                             string
	Reads, ReadSectors, ReadMillis   uint64 // sectors of 512 bytes
	Writes, WriteSectors, WriteMilli uint64
	BusyMillis                       uint64
}

// ParseDiskstats reads /proc/diskstats. name is what errors call it.
func ParseDiskstats(name string, b []byte) (map[string]Counters, error) {
	out := map[string]Counters{}
	n := 0
	for line := range bytes.Lines(b) {
		n++
		f := bytes.Fields(line)
		if len(f) == 0 {
			continue
		}
		if len(f) < 14 {
			return nil, fmt.Errorf("%s:%d: %d fields, expected 14 at least", name, n, len(f))
		}
		var v [11]uint64
		for i := range v {
			u, err := strconv.ParseUint(string(f[3+i]), 10, 64)
			if err != nil {
				return nil, fmt.Errorf("%s:%d: field %d is %q, expected a number", name, n, 4+i, f[3+i])
			}
			v[i] = u
		}
		c := Counters{string(f[2]), v[0], v[2], v[3], v[4], v[6], v[7], v[9]}
		out[c.Name] = c
	}
	return out, nil
}

// ErrReset is counters that fell: the device is another one by now.
var ErrReset = errors.New("its counters were reset")

// Between is the load between two readings, d apart.
func Between(a, b Counters, d time.Duration) (Load, error) {
	if b.Reads < a.Reads || b.Writes < a.Writes || b.ReadSectors < a.ReadSectors || b.WriteSectors < a.WriteSectors {
		return Load{}, fmt.Errorf("%s: %w", b.Name, ErrReset)
	}
	l := Load{Name: b.Name, Time: d, Reads: float64(b.Reads - a.Reads), Writes: float64(b.Writes - a.Writes),
		ReadBytes: 512 * float64(b.ReadSectors-a.ReadSectors), WriteBytes: 512 * float64(b.WriteSectors-a.WriteSectors), Busy: -1}
	l.ReadWait = mean(millis(a.ReadMillis, b.ReadMillis), l.Reads)
	l.WriteWait = mean(millis(a.WriteMilli, b.WriteMilli), l.Writes)
	if d > 0 {
		l.Busy = min(1, millis(a.BusyMillis, b.BusyMillis)/float64(d.Milliseconds()))
	}
	return l, nil
}

// SinceBoot is the load since the device appeared.
func SinceBoot(c Counters) Load {
	l, _ := Between(Counters{Name: c.Name}, c, 0)
	return l
}

// millis is how far a counter of milliseconds went: the kernel prints them as
// unsigned int, so they wrap at 2^32 (block/genhd.c, diskstats_show).
func millis(a, b uint64) float64 { return float64(uint32(b) - uint32(a)) }

func mean(ms, n float64) time.Duration {
	if n == 0 {
		return 0
	}
	return time.Duration(ms / n * float64(time.Millisecond))
}
