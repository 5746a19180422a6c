package spcr

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"fettle/host/hosttest"
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
		{append([]byte("SPCR\x3b\x00\x00\x00"), table(1, 0x2f8, 7)[8:59]...), Port{1, 0x2f8, true, 115200}, true},
		{[]byte("DSDT"), Port{}, false},
		{nil, Port{}, false},
	} {
		got, err := Parse(tt.b)
		if (err == nil) != tt.ok || tt.ok && got != tt.want {
			t.Errorf("%+v, %v; want %+v", got, err, tt.want)
		}
	}
}

// TestRead: of a table that is none, or that nobody could read, the file is named.
func TestRead(t *testing.T) {
	for text, want := range map[string]string{
		"-- raw" + Path + " --\n" + strconv.Quote(string(table(1, 0x2f8, 7))) + "\n": "{1 760 true 115200} <nil>",
		"-- root" + Path + " --\nDSDT\n": "{0 0 false 0} " + Path +
			": no SPCR table, or one that is cut off",
		"-- denied" + Path + " --\n": "{0 0 false 0} reading " + Path + ": permission denied",
		"":                           "{0 0 false 0} reading " + Path + ": ",
	} {
		p, err := Read(t.Context(), hosttest.New(t, text))
		if got := fmt.Sprint(p, " ", err); !strings.HasPrefix(got, want) {
			t.Errorf("%q: %s; want %s", text, got, want)
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
