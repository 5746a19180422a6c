package dmcachesmq

import (
	"strings"
	"testing"

	"fettle/engine/trap/traptest"
)

func TestGolden(t *testing.T) { traptest.Golden(t, &Trap) }

func TestLore(t *testing.T) {
	if a, err := Trap.Lore.Article(); err != nil || len(a.Symptoms) < 3 {
		t.Errorf("%+v, %v", a, err)
	}
}

func TestParseStatus(t *testing.T) {
	for text, want := range map[string]string{
		"a: 0 1 cache 8 1/2 128 3/4":                                                    "line 1: cache a: the line is too short",
		"a: 0 1 cache 8 1/2 128 3/x 1 2 3 4 5 6 7 0 0 smq 0":                            `line 1: cache a: "3/x" where`,
		"l: 0 1 linear\na: 0 1 cache x 1/2 128 3/4 1 2 3 4 5 6 7 0 0 smq 0":             `line 2: cache a: "x" where a number`,
		"a: 0 1 cache 8 1/2 128 3/4 1 2 3 4 5 6 7 99999999999999999999 0 smq 0":         "cache a",
		"a: 0 1 cache 8 1/2 128 3/4 1 2 3 4 5 6 7 9 writeback 2 migration_threshold 20": "the line is too short",
	} {
		if _, err := parseStatus([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func FuzzStatus(f *testing.F) {
	f.Add("vg-data: 0 209715200 cache 8 1200/8192 128 8192/8192 1 2 3 4 5 6 7 1 writeback 2 migration_threshold 2048 smq 0 rw -\n")
	f.Add("vg-data: 0 209715200 cache Fail\n")
	f.Fuzz(func(t *testing.T, s string) {
		caches, err := parseStatus([]byte(s))
		for _, c := range caches {
			if r := c.hitRatio(); err == nil && (r < 0 || r > 1) && c.accesses() >= c.readHits {
				t.Errorf("hit ratio %v of %q", r, s)
			}
		}
	})
}
