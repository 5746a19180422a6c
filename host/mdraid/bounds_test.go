package mdraid

import (
	"bytes"
	"encoding/binary"
	"os"
	"reflect"
	"strings"
	"testing"
)

// superblock is a real one, changed, with a checksum that fits.
func superblock(t *testing.T, change func([]byte)) []byte {
	t.Helper()
	b, err := os.ReadFile("testdata/raid1-1.2.sb")
	if err != nil {
		t.Fatal(err)
	}
	change(b)
	n := headerSize + 2*int(binary.LittleEndian.Uint32(b[220:]))
	b = append(b, make([]byte, max(0, n-len(b)))...)
	binary.LittleEndian.PutUint32(b[216:], kernelsSum(b[:n]))
	return b
}

// kernelsSum is calc_sb_1_csum, written otherwise: all half words, each where it is in its word.
func kernelsSum(b []byte) uint32 {
	var sum uint64
	for i, half := range b {
		if i < 216 || i >= 220 {
			sum += uint64(half) << (8 * (i % 4))
		}
	}
	return uint32(sum) + uint32(sum>>32)
}

// A member's role is in the table of roles, by its number there; who has none is a spare.
func TestRoles(t *testing.T) {
	for _, c := range []struct {
		devices, number uint32
		want            string
	}{
		{4, 0, "active 7"}, {4, 1, "faulty"}, {4, 2, "journal"}, {4, 3, "active 1"},
		{3, 3, "spare"}, {3, 2, "journal"}, {0, 0, "spare"}, {maxDevs, 1, "faulty"},
	} {
		b := superblock(t, func(b []byte) {
			le := binary.LittleEndian
			le.PutUint32(b[160:], c.number)
			le.PutUint32(b[220:], c.devices)
			for i, role := range []uint16{7, 0xfffe, 0xfffd, 1} {
				le.PutUint16(b[headerSize+2*i:], role)
			}
		})
		n := headerSize + 2*int(c.devices)
		if s, err := Parse(b[:n]); err != nil || s.Role.String() != c.want {
			t.Errorf("%d of %d: %+v, %v, want %s", c.number, c.devices, s, err, c.want)
		}
		if got := Length(b[:n]); got != n {
			t.Errorf("%d devices: %d bytes, want %d", c.devices, got, n)
		}
		if _, err := Parse(b[:n-1]); err == nil {
			t.Errorf("%d devices, a byte less: no error", c.devices)
		}
		if got := Length(b[:n-1]); got != 0 || Anonymous(b[:n-1]) != nil {
			t.Errorf("%d devices, a byte less: %d bytes", c.devices, got)
		}
	}
	b := superblock(t, func(b []byte) { binary.LittleEndian.PutUint32(b[220:], maxDevs+1) })
	if _, err := Parse(b); err == nil || Length(b) != 0 {
		t.Errorf("%d devices: %v, %d bytes", maxDevs+1, err, Length(b))
	}
}

// A member may hold more than the superblock behind it, and names leave it for good.
func TestAnonymous(t *testing.T) {
	good := superblock(t, func(b []byte) { b[184] = 3 })
	whole, err := Parse(good)
	if err != nil {
		t.Fatal(err)
	}
	if !whole.WriteMostly() || !whole.Failfast() || !whole.HasBitmap() {
		t.Errorf("%+v", whole)
	}
	out := Anonymous(good)
	got, err := Parse(out)
	if err != nil {
		t.Fatal(err)
	}
	want := *whole
	want.SetName, want.SetUUID, want.DeviceUUID = "", "00000000:00000000:00000000:00000000", "00000000:00000000:00000000:00000000"
	if !reflect.DeepEqual(*got, want) {
		t.Errorf("got %+v, want %+v", *got, want)
	}
	if len(out) != Length(good) || !strings.Contains(string(good), "lab:0") {
		t.Errorf("%d bytes of %d; the original changed", len(out), Length(good))
	}
	bad := bytes.Clone(good)
	bad[216] ^= 1
	if _, err := Parse(Anonymous(bad)); err == nil || !strings.Contains(err.Error(), "checksum") {
		t.Errorf("a wrong checksum was put right: %v", err)
	}
}

func TestHasBBL(t *testing.T) {
	for _, c := range []struct {
		size   uint16
		offset int32
		want   bool
	}{{8, 16, true}, {1, -8, true}, {0, 16, false}, {8, 0, false}} {
		s := &Superblock{BBLSize: c.size, BBLOffset: c.offset, SuperOffset: 81904, Features: FeatureBadBlocks}
		if s.HasBBL() != c.want {
			t.Errorf("%d sectors at %d: %v", c.size, c.offset, s.HasBBL())
		}
		if got, want := s.BBLStart(), (81904+int64(c.offset))*512; got != want {
			t.Errorf("at %d: %d, want %d", c.offset, got, want)
		}
	}
}

// The last position is 8 KiB before the end, rounded down to 4 KiB; a smaller device has none.
func TestPositionsAtTheEnd(t *testing.T) {
	for size, want := range map[int64][]int64{
		8 << 10: {4096, 0}, 12<<10 - 512: {4096, 0}, 12 << 10: {4096, 0, 4096}, 16<<10 + 512: {4096, 0, 8192},
	} {
		if got := Positions(size); !reflect.DeepEqual(got, want) {
			t.Errorf("%d bytes: %v, want %v", size, got, want)
		}
	}
}

func TestListsAtTheirBounds(t *testing.T) {
	one := func(e uint64) []byte { return binary.LittleEndian.AppendUint64(nil, e) }
	if got, err := ParseList(one(1), 52); err != nil || !reflect.DeepEqual(got, []Range{{0, 1 << 52}}) {
		t.Errorf("shift 52: %v, %v", got, err)
	}
	if _, err := ParseList(nil, 53); err == nil || !strings.Contains(err.Error(), "shift 53, expected at most 52") {
		t.Error(err)
	}
	if got, err := ParseList(one(1<<20<<10|2), 43); err != nil || !reflect.DeepEqual(got, []Range{{1 << 63, 2 << 43}}) {
		t.Errorf("the last sectors that a number can name: %v, %v", got, err)
	}
	if _, err := ParseList(one(1<<21<<10|2), 43); err == nil || !strings.Contains(err.Error(), "beyond any device at shift 43") {
		t.Error(err)
	}
	if got, err := ParseSysfs("1 2\n\n3 4\n"); err != nil || !reflect.DeepEqual(got, []Range{{1, 2}, {3, 4}}) {
		t.Errorf("%v, %v", got, err)
	}
	for text, want := range map[string]string{
		"1 2\n3\n": `line 2: "3", expected START COUNT`, "1 2\n3 x\n": `line 2: "3 x", expected two numbers`,
	} {
		if _, err := ParseSysfs(text); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	a, b := []Range{{500, 8}, {100, 10}}, []Range{{110, 5}, {95, 6}, {508, 1}, {499, 2}}
	if got, want := Shared(a, b), []Range{{100, 1}, {500, 1}}; !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got, want := Merge([]Range{{10, 5}, {16, 1}, {15, 1}, {18, 1}}), []Range{{10, 7}, {18, 1}}; !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := Text([]Range{{1, 2}, {3, 4}}, 2); got != "1+2, 3+4" {
		t.Error(got)
	}
}
