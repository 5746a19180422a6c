package proof

import "testing"

func TestComesTrue(t *testing.T) {
	for _, c := range []struct {
		stated   string
		measured float64
		ok       bool
	}{{"3.9", 5.3, true}, {"3.9", 7.9, false}, {"3.9", 1.9, false}, {"3.9", 1, false}, {"", 5, false}, {"-", 5, false}} {
		if err := comesTrue(c.stated, c.measured); (err == nil) != c.ok {
			t.Errorf("stated %q, measured %.1f: %v", c.stated, c.measured, err)
		}
	}
}
