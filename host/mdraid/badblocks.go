package mdraid

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"fettle/internal/sorted"
)

// Range is a run of bad sectors of a member, counted from the member's start
// (data offset included), as in /sys/block/mdX/md/dev-Y/bad_blocks.
type Range struct {
	Start uint64 `json:"start"` // sector
	Count uint64 `json:"count"` // sectors
}

func (r Range) String() string { return fmt.Sprintf("%d+%d", r.Start, r.Count) }

// ParseList reads the on-disk list: 64-bit entries, sector<<10 | count, both
// in units of 1<<shift sectors, until one of all ones (md.c super_1_load).
func ParseList(b []byte, shift uint8) ([]Range, error) {
	if shift > 52 {
		return nil, fmt.Errorf("bad blocks list: shift %d, expected at most 52", shift)
	}
	var out []Range
	for len(b) >= 8 {
		e := binary.LittleEndian.Uint64(b)
		b = b[8:]
		if e == math.MaxUint64 {
			return out, nil
		}
		start, count := e>>10, e&0x3ff
		if start > math.MaxUint64>>shift || count > math.MaxUint64>>shift {
			return out, fmt.Errorf("bad blocks list: entry %016x lies beyond any device at shift %d", e, shift)
		}
		if count == 0 {
			return out, fmt.Errorf("bad blocks list: entry %016x covers no sector", e)
		}
		out = append(out, Range{start << shift, count << shift})
	}
	return out, nil // a full list has no end mark
}

// List reads the member's list from the sectors that it takes. Unless the
// feature bit says that it was ever used, what lies there means nothing.
func (s *Superblock) List(area []byte) ([]Range, error) {
	if !s.HasBBL() || s.Features&FeatureBadBlocks == 0 {
		return nil, nil
	}
	return ParseList(area, s.BBLShift)
}

// ParseSysfs reads bad_blocks or unacknowledged_bad_blocks of sysfs: lines of
// "START COUNT" in sectors (block/badblocks.c badblocks_show).
func ParseSysfs(text string) ([]Range, error) {
	var out []Range
	for i, line := range strings.Split(strings.TrimSpace(text), "\n") {
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		if len(f) != 2 {
			return out, fmt.Errorf("line %d: %q, expected START COUNT", i+1, line)
		}
		start, err1 := strconv.ParseUint(f[0], 10, 64)
		count, err2 := strconv.ParseUint(f[1], 10, 64)
		if err1 != nil || err2 != nil {
			return out, fmt.Errorf("line %d: %q, expected two numbers", i+1, line)
		}
		out = append(out, Range{start, count})
	}
	return out, nil
}

// Shared returns the sectors that both lists hold.
func Shared(a, b []Range) []Range {
	var out []Range
	for _, x := range a {
		for _, y := range b {
			from, to := max(x.Start, y.Start), min(x.Start+x.Count, y.Start+y.Count)
			if from < to {
				out = append(out, Range{from, to - from})
			}
		}
	}
	sorted.By(out, func(x, y Range) int {
		if x.Start < y.Start {
			return -1
		}
		return 1
	})
	return out
}

// Merge joins ranges that overlap or touch, and sorts them.
func Merge(rs []Range) []Range {
	rs = slices.Clone(rs)
	sorted.By(rs, func(x, y Range) int { return cmp.Compare(x.Start, y.Start) })
	var out []Range
	for _, r := range rs {
		if n := len(out); n > 0 && r.Start <= out[n-1].Start+out[n-1].Count {
			out[n-1].Count = max(out[n-1].Count, r.Start+r.Count-out[n-1].Start)
			continue
		}
		out = append(out, r)
	}
	return out
}

// Text writes the first n ranges, and how many more there are.
func Text(rs []Range, n int) string {
	var parts []string
	for i, r := range rs {
		if i == n {
			parts = append(parts, fmt.Sprintf("and %d more", len(rs)-n))
			break
		}
		parts = append(parts, r.String())
	}
	return strings.Join(parts, ", ")
}
