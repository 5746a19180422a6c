package powercut

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"fettle/internal/means"
)

// unpack reads a file of testdata. writes.log.gz was recorded by
// dm-log-writes of Linux 6.1 over a disk of 64 KiB, which was disk.gz at the end.
func unpack(t testing.TB, name string) []byte {
	t.Helper()
	f, err := os.Open("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// memory is a disk.
type memory []byte

func (m memory) WriteAt(b []byte, at int64) (int, error) {
	if at < 0 || at+int64(len(b)) > int64(len(m)) {
		return 0, io.ErrShortWrite
	}
	return copy(m[at:], b), nil
}

func small(t testing.TB) *Log {
	t.Helper()
	b := unpack(t, "writes.log.gz")
	l, err := ReadLog(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestReadLog(t *testing.T) {
	l := small(t)
	type brief struct {
		sector, sectors, flags uint64
		mark                   string
	}
	var got []brief
	for _, e := range l.Entries {
		got = append(got, brief{e.Sector, e.Sectors, e.Flags, e.Mark})
	}
	want := []brief{
		{2, 2, 0, ""}, {4, 2, 0, ""}, {32, 4, 0, ""}, {0, 0, Flush, ""}, {mark: "first", flags: Mark},
		{16, 8, FUA, ""}, {0, 0, Flush, ""}, {mark: "second", flags: Mark},
		{2, 2, Discard, ""}, {60, 1, 0, ""}, {0, 0, Flush, ""},
		{mark: "dm-log-writes-end", flags: Mark},
	}
	if !slices.Equal(got, want) {
		t.Errorf("read  %v\nwrote %v", got, want)
	}
	if l.SectorSize != 512 || l.MarkAt("second") != slices.IndexFunc(want, func(b brief) bool { return b.mark == "second" }) ||
		l.MarkAt("third") != -1 {
		t.Errorf("sectors of %d bytes, marks at %d and %d", l.SectorSize, l.MarkAt("second"), l.MarkAt("third"))
	}
}

func TestReplay(t *testing.T) {
	l, want := small(t), unpack(t, "disk.gz")
	disk := make(memory, len(want))
	for i, e := range l.Entries {
		if i == l.MarkAt("first") && (disk[1024] != 'A' || disk[16384] != 'B' || disk[8192] != 0) {
			t.Error("at the first mark, A and B and not C are on the disk")
		}
		if err := l.Apply(disk, i, e.Sectors); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(disk, want) {
		for i := range want {
			if disk[i] != want[i] {
				t.Fatalf("from byte %d the replayed disk has %q, the real one %q", i, disk[i], want[i])
			}
		}
	}
	disk = make(memory, len(want))
	if err := l.Apply(disk, l.MarkAt("second")-2, 3); err != nil || disk[8192+3*512-1] != 'C' || disk[8192+3*512] != 0 {
		t.Errorf("of 8 sectors the first 3 were to be written: %v", err)
	}
}

func TestReadLogRefuses(t *testing.T) {
	good := unpack(t, "writes.log.gz")
	put := func(at int, v uint64) []byte {
		b := bytes.Clone(good)
		binary.LittleEndian.PutUint64(b[at:], v)
		return b
	}
	for _, c := range []struct {
		name string
		b    []byte
		err  string
	}{
		{"empty", nil, "superblock"},
		{"not a log", put(0, 1), "magic"},
		{"newer", put(8, 2), "version 2"},
		{"too many entries", put(16, math.MaxUint64), "entries"},
		{"one entry too many", put(16, 1<<22+1), "a log of 4194305 entries; at most 4194304 are read"},
		{"as many as there may be", put(16, 1<<22), "ends within entry "},
		{"sectors of 256 bytes", put(24, 256), "sectors of 256 bytes"},
		{"sectors of 128 KiB", put(24, 1<<17), "sectors of 131072 bytes"},
		{"sectors of 1000 bytes", put(24, 1000), "sectors of 1000 bytes"},
		{"sectors of 0 bytes", put(24, 0), "sectors of 0 bytes"},
		{"cut off in an entry", good[:512], "ends within entry 0"},
		{"cut off in data", good[:1024+512], "within the data of entry 0"},
		{"an entry too far", put(512, math.MaxUint64), "entry 0 of the log is damaged"},
		{"an entry too long", put(512+8, 1<<40), "within the data of entry 0"},
		{"a mark too long", put(512+16, Mark|1<<32), ""},
	} {
		b := c.b
		if c.name == "a mark too long" {
			binary.LittleEndian.PutUint64(b[512+24:], 481)
			c.err = "a mark of 481 bytes"
		}
		if _, err := ReadLog(bytes.NewReader(b), int64(len(b))); err == nil || !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestFuzz(t *testing.T) { means.Fuzz(t) }

func FuzzReadLog(f *testing.F) {
	b := unpack(f, "writes.log.gz")
	f.Add(b[:16<<10])
	f.Add(b[:1024])
	f.Add([]byte("hswvsgfsj"))
	f.Fuzz(func(t *testing.T, b []byte) {
		l, err := ReadLog(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return
		}
		disk := make(memory, 64<<10)
		for i, e := range l.Entries {
			if e.Flags&Discard == 0 && e.at+int64(e.Sectors)*int64(l.SectorSize) > int64(len(b)) && e.Flags&Mark == 0 {
				t.Fatalf("entry %d reaches beyond the log", i)
			}
			if e.Sectors < 1<<10 { // a discard may be as long as it says
				l.Apply(disk, i, e.Sectors)
			}
		}
		cuts, points := Cuts(l, 0, len(l.Entries), func(uint64) string { return "" }, testRand())
		marks := 0
		for _, e := range l.Entries {
			if said(e) {
				marks++
			}
		}
		if len(cuts) > 2*points+marks {
			t.Fatalf("%d states at %d points and %d marks", len(cuts), points, marks)
		}
	})
}
