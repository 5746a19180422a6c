package disks

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// TestRealZpool reads what zpool of OpenZFS 2.1.11 and 2.4.4 printed in the lab.
func TestRealZpool(t *testing.T) {
	for _, c := range []struct {
		file, pool, data string
		reports          int
		rest             string // further top-level vdevs, with their classes
	}{
		{"zpool-2.1.11-list-vpP.txt", "tank", "mirror-0 0 117440512 2, mirror-1 0 503316480 2", 0, "/dev/mapper/disk6 special, " +
			"/dev/mapper/disk4 logs, /dev/mapper/disk5 cache"},
		{"zpool-2.1.11-list-v.txt", "tank", "mirror-0 3932160 113246208 2, " +
			"mirror-1 16148070 487587840 2", 0, "disk6 special, disk4 logs, disk5 cache"},
		{"zpool-2.1.11-iostat-vlpPy.txt", "tank", "mirror-0 11010048 106430464 2, " +
			"mirror-1 46792704 456523776 2", 1, "/dev/mapper/disk6 special, /dev/mapper/disk4 logs, " +
			"/dev/mapper/disk5 cache"},
		{"zpool-2.1.11-iostat-vl-twice.txt", "tank", "mirror-0 17616077 99824435 2, " +
			"mirror-1 74973184 427819008 2", 2, "disk6 special, disk4 logs, disk5 cache"},
		{"zpool-2.1.11-iostat-vlpP.txt", "plain", "/dev/mapper/disk0 52224 117388288 0, /dev/mapper/disk2 55296 503261184 0", 1, ""},
		{"zpool-2.4.4-list-vpP.txt", "tank", "mirror-0 6422528 111017984 2, " +
			"mirror-1 33030144 470286336 2", 0, "/dev/mapper/disk6 special, /dev/mapper/disk4 logs, " +
			"/dev/mapper/disk5 cache"},
		{"zpool-2.4.4-iostat-vlpPy.txt", "tank", "mirror-0 22282240 95158272 2, " +
			"mirror-1 102236160 401080320 2", 1, "/dev/mapper/disk6 special, /dev/mapper/disk4 logs, " +
			"/dev/mapper/disk5 cache"},
	} {
		f, err := os.Open("testdata/" + c.file)
		if err != nil {
			t.Fatal(err)
		}
		pools, err := ParseZpool(c.file, f, 0)
		f.Close()
		if err != nil || len(pools) != 1 || pools[0].Name != c.pool || pools[0].Reports != c.reports {
			t.Errorf("%s: %+v, %v", c.file, pools, err)
			continue
		}
		var data, rest []string
		for _, v := range pools[0].Children {
			if v.Class == "" {
				data = append(data, fmt.Sprintf("%s %.0f %.0f %d", v.Name, v.Alloc, v.Free, len(v.Children)))
			} else {
				rest = append(rest, v.Name+" "+v.Class)
			}
		}
		if got := strings.Join(data, ", "); got != c.data {
			t.Errorf("%s: %s, want %s", c.file, got, c.data)
		}
		if got := strings.Join(rest, ", "); got != c.rest {
			t.Errorf("%s: %s, want %s", c.file, got, c.rest)
		}
	}
}

// What a mirror's sides wrote counts once, in figures that zpool printed.
func TestRealMirrors(t *testing.T) {
	f, err := os.Open("testdata/zpool-2.1.11-iostat-vlpPy.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	pools, err := ParseZpool("f", f, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	s := DefaultRule.Shares(pools[0].Data())
	if s[0].WrittenBytes != 2339005 || s[1].WrittenBytes != 10161651 {
		t.Errorf("%+v", s)
	}
	if s[0].Written < s[0].Low-nearEnough || s[0].Written > s[0].High+nearEnough {
		t.Errorf("written %.3f, predicted %.3f (%.3f to %.3f)", s[0].Written, s[0].Predicted, s[0].Low, s[0].High)
	}
}
