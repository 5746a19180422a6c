package powercut

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

func testRand() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

func TestCuts(t *testing.T) {
	l := small(t)
	class := func(s uint64) string { return fmt.Sprint("sector ", s) }
	cuts, points := Cuts(l, 0, len(l.Entries), class, testRand())
	if points != 4 {
		t.Errorf("%d flushes and FUA writes, there are 4", points)
	}
	kinds := map[Kind]int{}
	for _, c := range cuts {
		kinds[c.Kind]++
		for _, p := range c.Some {
			e := l.Entries[p.Entry]
			switch {
			case p.Entry < c.Prefix || p.Entry > c.At:
				t.Errorf("%v: entry %d was not under way", c, p.Entry)
			case c.Kind == Subset && (e.Flags&(FUA|Flush|Mark) != 0 || p.Entry == c.At):
				t.Errorf("%v: entry %d is durable or is none", c, p.Entry)
			case c.Kind == Torn && (p.Entry != c.At || p.Sectors == 0 || p.Sectors >= e.Sectors):
				t.Errorf("%v: %d of %d sectors", c, p.Sectors, e.Sectors)
			}
		}
	}
	// The second flush had nothing to write: it leaves the state before it.
	if kinds[Durable] != 3 || kinds[Torn] != 1 || kinds[Subset] == 0 {
		t.Errorf("kinds %v", kinds)
	}
	if i := slices.IndexFunc(cuts, func(c Cut) bool { return c.Kind == Torn }); cuts[i].Class != "sector 16" || cuts[i].Prefix != l.MarkAt("second")-2 {
		t.Errorf("the torn one: %v", cuts[i])
	}
	again, _ := Cuts(l, 0, len(l.Entries), class, testRand())
	if fmt.Sprint(again) != fmt.Sprint(cuts) {
		t.Error("with the same seed there are other cuts")
	}
	// Between two marks.
	cuts, points = Cuts(l, l.MarkAt("first"), l.MarkAt("second"), class, testRand())
	if points != 2 || len(cuts) != 2 {
		t.Errorf("between the marks: %d points, %v", points, cuts)
	}
}

// A flush of one disk leaves what the other has cached.
func TestPerDisk(t *testing.T) {
	l := &Log{SectorSize: 512, Entries: []Entry{
		{Sector: 1, Sectors: 1}, {Sector: 101, Sectors: 1}, {Sector: 2, Sectors: 1},
		{Sector: 100, Flags: Flush}, {Mark: "a", Flags: Mark},
		{Sector: 102, Sectors: 1}, {Sector: 103, Sectors: 1, Flags: FUA},
		{Sector: 0, Flags: Flush | FUA}, {Sector: 3, Sectors: 1, Flags: FUA}, {Mark: "b", Flags: Mark},
	}}
	var got []uint64
	for _, e := range l.PerDisk(func(s uint64) int { return int(s / 100) }).Entries {
		got = append(got, e.Sector)
	}
	want := []uint64{101, 100, 0, 103, 1, 2, 0, 3, 0, 102}
	if !slices.Equal(got, want) {
		t.Errorf("order %v, expected %v", got, want)
	}
}

// All subsets of what a flush had before it are drawn at some time.
func TestSubset(t *testing.T) {
	l := small(t)
	flush := slices.IndexFunc(l.Entries, func(e Entry) bool { return e.Flags&Flush != 0 })
	seen := map[string]bool{}
	rnd := testRand()
	for range 1000 {
		var in []int
		for _, p := range subset(l, 0, flush, rnd) {
			in = append(in, p.Entry)
		}
		slices.Sort(in)
		seen[fmt.Sprint(in)] = true
	}
	if len(seen) != 1<<flush {
		t.Errorf("%d subsets of %d writes", len(seen), flush)
	}
}

func TestSample(t *testing.T) {
	var cuts []Cut
	for i := range 1000 {
		c := Cut{At: i, Class: "data"}
		if i%100 == 0 {
			c.Class = "root"
		}
		cuts = append(cuts, c)
	}
	count := func(cuts []Cut) map[string]int {
		n := map[string]int{}
		for i, c := range cuts {
			n[c.Class]++
			if i > 0 && cuts[i-1].At >= c.At {
				t.Fatal("out of order")
			}
		}
		return n
	}
	for _, c := range []struct {
		n, root, data int
	}{{2000, 10, 990}, {1000, 10, 990}, {100, 10, 90}, {20, 10, 10}, {10, 5, 5}} {
		if got := count(Sample(cuts, c.n)); got["root"] != c.root || got["data"] != c.data {
			t.Errorf("of 1000, %d: %v, expected %d and %d", c.n, got, c.root, c.data)
		}
	}
	s := Sample(cuts, 100)
	if s[0].At > 100 || s[len(s)-1].At < 900 {
		t.Errorf("the sample reaches from %d to %d", s[0].At, s[len(s)-1].At)
	}
}
