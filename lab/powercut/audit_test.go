package powercut

import (
	"bytes"
	"encoding/binary"
	"testing"
)

// written is a log of blocks, one entry each; flags of FUA where a block commits.
func written(entries ...any) *Log {
	var data []byte
	l := &Log{SectorSize: 512}
	for i, x := range entries {
		switch x := x.(type) {
		case string:
			l.Entries = append(l.Entries, Entry{Flags: Mark, Mark: x})
		case []byte:
			l.Entries = append(l.Entries, Entry{Sector: uint64(8 * i), Sectors: uint64(len(x) / 512), at: int64(len(data))})
			data = append(data, x...)
		}
	}
	l.r = bytes.NewReader(data)
	return l
}

func journalBlock(kind, transaction uint32) []byte {
	b := make([]byte, block)
	binary.BigEndian.PutUint32(b, jbd2Magic)
	binary.BigEndian.PutUint32(b[4:], kind)
	binary.BigEndian.PutUint32(b[8:], transaction)
	return b
}

func TestImpossible(t *testing.T) {
	begin, commit := journalBlock(jbd2Descriptor, 7), journalBlock(jbd2Commit, 7)
	for _, c := range []struct {
		name string
		l    *Log
		want int
	}{
		{"as it must be", written(record(0), begin, commit, "written:0", record(1), journalBlock(jbd2Descriptor, 8)), 0},
		{"a record after its mark", written(record(0)[:block], "written:0", record(0)[block:2*block]), 1},
		{"a record after the mark of a later one", written(record(0), record(1), "written:0", "written:1", record(0)), recordSize / block},
		{"a commit before its descriptor", written(commit, begin), 1},
	} {
		got, err := impossible(c.l, func(uint64) int { return 0 })
		if err != nil || len(got) != c.want {
			t.Errorf("%s: %q, %v; expected %d", c.name, got, err, c.want)
		}
	}
	other := written(commit, begin)
	if got, _ := impossible(other, func(s uint64) int { return int(s) }); len(got) != 0 {
		t.Errorf("of two file systems: %q", got)
	}
}

func TestUndecided(t *testing.T) {
	fua := Entry{Sector: 8, Sectors: 8, Flags: FUA}
	over, beside := Entry{Sector: 15, Sectors: 1}, Entry{Sector: 16, Sectors: 1}
	flush := Entry{Flags: Flush}
	for _, c := range []struct {
		name    string
		entries []Entry
		ok      bool
	}{
		{"beside it", []Entry{fua, beside, flush}, true},
		{"before it", []Entry{over, fua, flush}, true},
		{"after a flush", []Entry{fua, flush, over, flush}, true},
		{"over it", []Entry{fua, over, flush}, false},
		{"over it, after a mark", []Entry{fua, {Flags: Mark, Mark: "m"}, over, flush}, false},
	} {
		if err := (&Log{Entries: c.entries}).undecided(); (err == nil) != c.ok {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// TestFlushesAreTold: a disk of the array is flushed at least as often as a record becomes durable.
func TestFlushesAreTold(t *testing.T) {
	root, first, second := Entry{Flags: Flush}, Entry{Sector: 100, Flags: Flush}, Entry{Sector: 200, Flags: Flush}
	record, said := Entry{Sector: 0, Flags: Mark, Mark: writerMark + "1"}, Entry{Flags: Mark, Mark: begun}
	for name, c := range map[string]struct {
		entries []Entry
		ok      bool
	}{
		"each":               {[]Entry{first, second, record, first, second, record}, true},
		"one was taken out":  {[]Entry{first, record, first, record}, true},
		"only some":          {[]Entry{first, second, record, root, root, record}, false},
		"the root's alone":   {[]Entry{root, root, record}, false},
		"nothing is written": {[]Entry{root, said}, true},
	} {
		err := (&Log{Entries: c.entries}).tellsFlushes(func(s uint64) int { return int(s / 100) })
		if (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}
