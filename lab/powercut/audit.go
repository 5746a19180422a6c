package powercut

import (
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"strconv"
	"strings"
)

// Blocks of ext4's journal, include/linux/jbd2.h.
const (
	jbd2Magic      = 0xc03b3998
	jbd2Descriptor = 1
	jbd2Commit     = 2
	block          = 4096
)

// impossible lists what no disk can hold: data of a record that is logged after the
// mark which says that it is durable, and a descriptor of a transaction that is
// logged after the transaction's commit. The log must be of whole arrays: a member
// that is filled again gets both later, and may. group tells which disks hold one
// file system.
func impossible(l *Log, group func(sector uint64) int) ([]string, error) {
	type transaction struct {
		group int
		id    uint32
	}
	var out []string
	records, marked, buf := blocksOf{seed: maphash.MakeSeed()}, -1, make([]byte, block)
	committed := map[transaction]int{}
	for i, e := range l.Entries {
		if text, ok := strings.CutPrefix(e.Mark, writerMark); ok && e.Flags&Mark != 0 {
			n, err := strconv.Atoi(text)
			if err != nil {
				return nil, fmt.Errorf("mark %q: %w", e.Mark, err)
			}
			marked = n
		}
		if e.Flags&(Mark|Discard) != 0 {
			continue
		}
		for at := int64(0); at+block <= int64(e.Sectors)*int64(l.SectorSize); at += block {
			if _, err := l.r.ReadAt(buf, e.at+at); err != nil {
				return nil, fmt.Errorf("reading the data of entry %d: %w", i, err)
			}
			if n, ok := records.of(buf, marked); ok {
				out = append(out, fmt.Sprintf("entry %d is of record %d, and %d was said to be durable", i, n, marked))
			}
			if binary.BigEndian.Uint32(buf) != jbd2Magic {
				continue
			}
			t := transaction{group(e.Sector), binary.BigEndian.Uint32(buf[8:])}
			switch c, ok := committed[t]; binary.BigEndian.Uint32(buf[4:]) {
			case jbd2Commit:
				committed[t] = i
			case jbd2Descriptor:
				if ok {
					out = append(out, fmt.Sprintf("entry %d begins transaction %d, which entry %d commits", i, t.id, c))
				}
			}
		}
	}
	return out, nil
}

// blocksOf knows the blocks of the writer's records.
type blocksOf struct {
	seed maphash.Seed
	by   map[uint64]int
	n    int // records it knows
}

// of tells which of the records up to last a block belongs to.
func (b *blocksOf) of(p []byte, last int) (n int, ok bool) {
	for ; b.n <= last; b.n++ {
		if b.by == nil {
			b.by = map[uint64]int{}
		}
		for r := record(b.n); len(r) > 0; r = r[block:] {
			b.by[maphash.Bytes(b.seed, r[:block])] = b.n
		}
	}
	n, ok = b.by[maphash.Bytes(b.seed, p)]
	return n, ok
}

// undecided finds a plain write that is logged after a write with FUA to the same
// sectors, with no flush between: dm-log-writes keeps a plain write back until the
// next flush, so the log does not tell which of the two came last.
func (l *Log) undecided() error {
	var fua []int
	for i, e := range l.Entries {
		switch s := (span{e.Sector, e.Sector + e.Sectors}); {
		case e.Flags&Mark != 0:
		case e.Flags&Flush != 0:
			fua = nil
		case e.Flags&FUA != 0:
			fua = append(fua, i)
		default:
			for _, f := range fua {
				if o := l.Entries[f]; s.meets(span{o.Sector, o.Sector + o.Sectors}) {
					return fmt.Errorf("the log of writes does not tell which of the entries %d and %d came last", f, i)
				}
			}
		}
	}
	return nil
}

// tellsFlushes refuses a log whose flushes are not told apart: all but a few seem to be the
// root's, which is disk 0, though each record of the array was durable.
func (l *Log) tellsFlushes(disk func(sector uint64) int) error {
	records, most, of := 0, 0, map[int]int{}
	for _, e := range l.Entries {
		switch d := disk(e.Sector); {
		case e.Flags&Mark != 0 && strings.HasPrefix(e.Mark, writerMark):
			records++
		case e.Flags&Flush != 0 && d > 0:
			of[d]++
			most = max(most, of[d])
		}
	}
	if most < records {
		return fmt.Errorf("the log of writes does not tell whose a flush is: no disk of the array has more than %d for %d records", most, records)
	}
	return nil
}
