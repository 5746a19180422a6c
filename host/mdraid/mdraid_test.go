package mdraid

import (
	"encoding/binary"
	"os"
	"reflect"
	"strings"
	"testing"

	"fettle/internal/means"
)

// The superblocks were made by mdadm 4.2 on Linux 6.1; what stands here is
// what mdadm --examine said of them.
func TestParseRealSuperblocks(t *testing.T) {
	for file, want := range map[string]Superblock{
		"testdata/raid1-1.2.sb": {Features: FeatureBitmap, SetUUID: "24e3c4d3:265b251c:ce30bb17:a6eb931f", SetName: "lab:0", Level: 1,
			Size: 79872, RaidDisks: 2, BitmapOff: 8, DataOffset: 2048, DataSize: 79872, SuperOffset: 8,
			DeviceUUID: "2646f113:d61c124e:9ffa6f5d:72d708d4",
			Events:     17, ResyncOff: 1<<64 - 1, Role: 0, BBLShift: 0, BBLSize: 8, BBLOffset: 16},
		"testdata/raid1-1.0.sb": {SetUUID: "ad6b6445:eb395518:2f31780a:ba1021d6", SetName: "lab:1", Level: 1,
			Size: 81792, RaidDisks: 2, DataSize: 81888, SuperOffset: 81904, DeviceUUID: "6295d80b:b4196665:d8192b7c:cf3bdf2f",
			Events: 17, ResyncOff: 1<<64 - 1, Role: 0, BBLSize: 8, BBLOffset: -8},
	} {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Parse(b)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if !reflect.DeepEqual(*got, want) {
			t.Errorf("%s:\n got %+v\nwant %+v", file, *got, want)
		}
		if !got.HasBBL() || got.WriteMostly() || got.Failfast() {
			t.Errorf("%s: list %v, write-mostly %v, failfast %v", file, got.HasBBL(), got.WriteMostly(), got.Failfast())
		}
	}
}

func TestParseRefuses(t *testing.T) {
	good, err := os.ReadFile("testdata/raid1-1.2.sb")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, want string
		spoil      func(b []byte) []byte
	}{
		{"short", "expected at least 256", func(b []byte) []byte { return b[:200] }},
		{"magic", "magic", func(b []byte) []byte { b[0] = 0; return b }},
		{"version", "major version 0", func(b []byte) []byte { b[4] = 0; return b }},
		{"many devices", "do not fit", func(b []byte) []byte { binary.LittleEndian.PutUint32(b[220:], 5000); return b }},
		{"devices overflow", "do not fit", func(b []byte) []byte { binary.LittleEndian.PutUint32(b[220:], 1<<31); return b }},
		{"one bit", "checksum", func(b []byte) []byte { b[130] ^= 1; return b }},
	} {
		if _, err := Parse(c.spoil([]byte(string(good)))); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

func TestPositions(t *testing.T) {
	if got, want := Positions(40<<20), []int64{4096, 0, 81904 * 512}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := Positions(4096); len(got) != 2 {
		t.Errorf("tiny device: %v", got)
	}
}

func TestParseList(t *testing.T) {
	le := func(es ...uint64) []byte {
		var b []byte
		for _, e := range es {
			b = binary.LittleEndian.AppendUint64(b, e)
		}
		return b
	}
	end := ^uint64(0)
	for _, c := range []struct {
		name  string
		in    []byte
		shift uint8
		want  []Range
		err   bool
	}{
		{"empty", le(end), 0, nil, false},
		{"two", le(1000<<10|8, 2048<<10|1, end, 7<<10|7), 0, []Range{{1000, 8}, {2048, 1}}, false},
		{"shifted", le(1000<<10|8, end), 3, []Range{{8000, 64}}, false},
		{"upper half", le(5<<40<<10|1023, end), 0, []Range{{5 << 40, 1023}}, false},
		{"full list has no end", le(1<<10 | 1), 0, []Range{{1, 1}}, false},
		{"torn", le(1<<10 | 1)[:5], 0, nil, false},
		{"no sectors", le(9<<10, end), 0, nil, true},
		{"beyond", le(^uint64(0)-1024, end), 20, nil, true},
		{"silly shift", le(end), 200, nil, true},
	} {
		got, err := ParseList(c.in, c.shift)
		if (err != nil) != c.err || !c.err && !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: got %v, %v; want %v", c.name, got, err, c.want)
		}
	}
}

func TestParseSysfs(t *testing.T) {
	got, err := ParseSysfs("1000 8\n2048 1\n")
	if want := []Range{{1000, 8}, {2048, 1}}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, %v", got, err)
	}
	if got, err := ParseSysfs("\n"); got != nil || err != nil {
		t.Errorf("empty: %v, %v", got, err)
	}
	for _, bad := range []string{"1000", "a b", "1 2 3", "-1 4"} {
		if _, err := ParseSysfs(bad); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
}

func TestShared(t *testing.T) {
	a := []Range{{100, 10}, {500, 8}}
	b := []Range{{105, 20}, {507, 1}, {900, 1}}
	if got, want := Shared(a, b), []Range{{105, 5}, {507, 1}}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := Text([]Range{{1, 2}, {3, 4}, {5, 6}}, 2); got != "1+2, 3+4, and 1 more" {
		t.Errorf("text: %s", got)
	}
}

func TestFuzz(t *testing.T) { means.Fuzz(t) }

func FuzzParse(f *testing.F) {
	for _, file := range []string{"testdata/raid1-1.2.sb", "testdata/raid1-1.0.sb"} {
		b, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if s, err := Parse(b); err == nil && s.HasBBL() {
			ParseList(b, s.BBLShift)
		}
	})
}

func TestMerge(t *testing.T) {
	got := Merge([]Range{{500, 8}, {100, 10}, {105, 20}, {125, 1}, {100, 2}})
	if want := []Range{{100, 26}, {500, 8}}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func FuzzParseSysfs(f *testing.F) {
	f.Add("1000 8\n2048 1\n")
	f.Add("18446744073709551615 18446744073709551615\n")
	f.Fuzz(func(t *testing.T, text string) {
		if rs, err := ParseSysfs(text); err == nil {
			Text(rs, 2)
			Shared(rs, Merge(rs))
		}
	})
}

// TestListUnused: without the feature bit the area of the list was never
// written, and what lies there is no list (super_1_load, drivers/md/md.c).
func TestListUnused(t *testing.T) {
	area := binary.LittleEndian.AppendUint64(nil, 1000<<10|8)
	for features, want := range map[uint32]int{0: 0, FeatureBadBlocks: 1} {
		s := &Superblock{BBLSize: 8, BBLOffset: 72, Features: features}
		if got, err := s.List(area); err != nil || len(got) != want {
			t.Errorf("features %#x: %v %v, want %d entries", features, got, err, want)
		}
	}
}
