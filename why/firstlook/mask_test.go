package firstlook

import "testing"

func TestMasked(t *testing.T) {
	for in, want := range map[string]string{
		"eth0: link up at 1000 Mbps":       "eth#: link up at # Mbps",
		"dev sda1, sector 0x1f3a":          "dev sda#, sector #x#f#a",
		"id c46a21c3-e8ad-4a3a-9429-86e6b": "id #-#-#-#-#",
		"dead beef":                        "dead beef",
		"10.0.0.1:443":                     "#.#.#.#:#",
		"":                                 "",
		"7":                                "#",
		"ab7":                              "#",
		"7ab":                              "#",
		"xy7":                              "xy#",
		"7xy8z9":                           "#xy#z#",
		"no number":                        "no number",
		"7 8":                              "# #",
		"md127p1: DEAD1 ä7":                "md#p#: # ä#",
	} {
		if got := string(masked(nil, []byte(in))); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// TestMaskedAlike: texts that differ in numbers alone are one group, others are not.
func TestMaskedAlike(t *testing.T) {
	for _, c := range []struct {
		a, b  string
		alike bool
	}{
		{"a1 b2", "a22 b3", true}, {"x 0f", "x 7", true}, {"pid 7", "pid 99999", true}, {"sda1", "sdb1", false}, {"12", "1 2", false},
	} {
		l := New()
		for _, text := range []string{c.a, c.b} {
			l.Write([]byte("Jan  2 03:04:05 host app[1]: " + text + "\n"))
		}
		if got := len(l.groups.known) == 1; got != c.alike {
			t.Errorf("%q and %q: masked %q and %q", c.a, c.b, masked(nil, []byte(c.a)), masked(nil, []byte(c.b)))
		}
	}
}
