package firstlook

import (
	"bytes"
	"testing"
	"testing/quick"
)

func TestMasked(t *testing.T) {
	for in, want := range map[string]string{
		"eth0: link up at 1000 Mbps":       "eth#: link up at # Mbps",
		"dev sda1, sector 0x1f3a":          "dev sda#, sector #x#f#a",
		"id c46a21c3-e8ad-4a3a-9429-86e6b": "id #-#-#-#-#",
		"dead beef":                        "dead beef",
		"10.0.0.1:443":                     "#.#.#.#:#",
	} {
		if got := string(masked([]byte(in))); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// TestMaskedHash: two texts have one hash exactly where they are masked alike.
func TestMaskedHash(t *testing.T) {
	alike := func(a, b []byte) bool {
		same := bytes.Equal(masked(a), masked(b))
		return same == (maskedHash(1, a) == maskedHash(1, b))
	}
	if err := quick.Check(alike, nil); err != nil {
		t.Error(err)
	}
	for _, p := range [][2]string{{"a1 b2", "a22 b3"}, {"x 0f", "x 7"}, {"sda1", "sdb1"}, {"12", "1 2"}, {"pid 7", "pid 99999"}} {
		if !alike([]byte(p[0]), []byte(p[1])) {
			t.Errorf("%q and %q: masked %q and %q", p[0], p[1], masked([]byte(p[0])), masked([]byte(p[1])))
		}
	}
}
