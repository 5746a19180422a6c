package spcr

import (
	"encoding/binary"
	"testing"

	"fettle/internal/means"
)

func table(space byte, address uint64, speed byte) []byte {
	b := make([]byte, 80)
	copy(b, "SPCR")
	binary.LittleEndian.PutUint32(b[4:], 80)
	b[40], b[58] = space, speed
	binary.LittleEndian.PutUint64(b[44:], address)
	return b
}

func TestParse(t *testing.T) {
	for _, tt := range []struct {
		b    []byte
		want Port
		ok   bool
	}{
		{table(1, 0x2f8, 7), Port{1, 0x2f8, true, 115200}, true},
		{table(1, 0x3f8, 0), Port{0, 0x3f8, true, 0}, true},
		{table(0, 0x9000000, 7), Port{-1, 0x9000000, false, 115200}, true},
		{table(0, 0x3f8, 3), Port{-1, 0x3f8, false, 9600}, true},
		{table(1, 0x2f8, 9), Port{}, false},
		{table(1, 0x2f8, 7)[:70], Port{}, false},
		{[]byte("DSDT"), Port{}, false},
		{nil, Port{}, false},
	} {
		got, err := Parse(tt.b)
		if (err == nil) != tt.ok || tt.ok && got != tt.want {
			t.Errorf("%+v, %v; want %+v", got, err, tt.want)
		}
	}
}

func TestFuzz(t *testing.T) { means.Fuzz(t) }

func FuzzParse(f *testing.F) {
	f.Add(table(1, 0x2f8, 7))
	f.Fuzz(func(t *testing.T, b []byte) {
		if p, err := Parse(b); err == nil && (p.Unit < -1 || p.Unit > 3) {
			t.Errorf("%+v", p)
		}
	})
}
