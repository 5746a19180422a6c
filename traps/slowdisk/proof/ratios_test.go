package proof

import "testing"

// A stated gain of 4 is one of 2 where writes touch two of four members.
func TestComesTrue(t *testing.T) {
	mirror, wide, striped, parity := array{"raid1", 2}, array{"raid1", 3}, array{"raid10", 4}, array{"raid5", 4}
	for _, c := range []struct {
		array
		stated   string
		measured float64
		ok       bool
	}{
		{mirror, "3.9", 5.3, true}, {mirror, "3.9", 7.9, false}, {mirror, "3.9", 1.9, false}, {mirror, "3.9", 1, false},
		{mirror, "", 5, false}, {mirror, "-", 5, false}, {wide, "3.9", 7.7, true}, {wide, "3.9", 7.9, false},
		{striped, "4", 2, true}, {striped, "4", 0.9, false}, {striped, "4", 4.1, false}, {parity, "16.5", 7.7, true}, {parity, "16.5", 4, false},
	} {
		if err := c.comesTrue(c.stated, c.measured); (err == nil) != c.ok {
			t.Errorf("%s of %d, stated %q, measured %.1f: %v", c.level, c.disks, c.stated, c.measured, err)
		}
	}
}
