package powercut

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
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
	// The second flush had nothing to write: it leaves the state before it. Three
	// are at marks.
	if kinds[Durable] != 3+3 || kinds[Torn] != 1 || kinds[Subset] == 0 {
		t.Errorf("kinds %v", kinds)
	}
	if i := slices.IndexFunc(cuts, func(c Cut) bool { return c.Kind == Torn }); cuts[i].Class != "sector 16" ||
		cuts[i].Prefix != l.MarkAt("second")-2 {
		t.Errorf("the torn one: %v", cuts[i])
	}
	// A flush is named after what was written last before it.
	for _, c := range cuts {
		if want := class(l.Entries[max(c.At-1, 0)].Sector); c.Kind == Subset && c.Class != want {
			t.Errorf("%v: not %s", c, want)
		}
	}
	for seed := range uint64(50) { // a write is torn within itself
		some, _ := Cuts(l, 0, len(l.Entries), class, rand.New(rand.NewPCG(seed, 1)))
		for _, c := range some {
			if c.Kind == Torn && (c.Some[0].Sectors == 0 || c.Some[0].Sectors >= l.Entries[c.At].Sectors) {
				t.Errorf("%v: %d of %d sectors", c, c.Some[0].Sectors, l.Entries[c.At].Sectors)
			}
		}
	}
	again, _ := Cuts(l, 0, len(l.Entries), class, testRand())
	if fmt.Sprint(again) != fmt.Sprint(cuts) {
		t.Error("with the same seed there are other cuts")
	}
	// Between two marks.
	cuts, points = Cuts(l, l.MarkAt("first"), l.MarkAt("second"), class, testRand())
	if points != 2 || len(cuts) != 3 || cuts[0].Class != classSaid || cuts[0].Prefix != l.MarkAt("first")+1 {
		t.Errorf("between the marks: %d points, %v", points, cuts)
	}
}

// A flush that has FUA and no data makes durable what was written before it; what is written later, or is a discard, is
// under way until the next. A flush with data of its own writes that, too.
func TestCutsAtFlushes(t *testing.T) {
	l := &Log{Entries: []Entry{{Sector: 1, Sectors: 1}, {Sector: 2, Flags: Flush | FUA}, {Sector: 3, Sectors: 1},
		{Sector: 4, Sectors: 2, Flags: Discard},
		{Sector: 5, Sectors: 1, Flags: Flush}, {Sector: 6, Flags: Flush}, {Sector: 7, Sectors: 1, Flags: FUA},
		{Mark: writerMark + "1", Flags: Mark}, {Sector: 8, Sectors: 2, Flags: FUA}}}
	class := func(s uint64) string { return fmt.Sprint(s) }
	var durable []string
	lost, torn := map[int]bool{}, map[string]bool{}
	for seed := range uint64(50) {
		cuts, points := Cuts(l, 0, len(l.Entries), class, rand.New(rand.NewPCG(seed, 3)))
		if points != 5 {
			t.Fatalf("%d points", points)
		}
		durable = nil
		for _, c := range cuts {
			switch c.Kind {
			case Durable:
				durable = append(durable, fmt.Sprintf("%d:%d %s", c.At, c.Prefix, c.Class))
			case Torn:
				torn[fmt.Sprint(c.At, c.Prefix, c.Some)] = true
			case Subset:
				for _, p := range c.Some {
					lost[p.Entry] = true
					if p.Entry == 3 && p.Sectors != math.MaxUint64 && p.Sectors != 1 {
						t.Errorf("of two sectors are discarded %d", p.Sectors)
					}
				}
			}
		}
	}
	if want := []string{"1:2 1", "4:5 4", "6:7 7", "8:9 8"}; !slices.Equal(durable, want) {
		t.Errorf("what is durable: %q, want %q", durable, want)
	}
	if want := map[int]bool{0: true, 2: true, 3: true}; !reflect.DeepEqual(lost, want) {
		t.Errorf("what may be lost: %v, want %v", lost, want)
	}
	if want := map[string]bool{"8 8 [{8 1}]": true}; !reflect.DeepEqual(torn, want) {
		t.Errorf("what may be torn: %v, want %v", torn, want)
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
			if whole := l.Entries[p.Entry].Sectors; p.Sectors != math.MaxUint64 && (p.Sectors == 0 || p.Sectors >= whole) {
				t.Fatalf("%d of %d sectors are cut off", p.Sectors, whole)
			}
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
	told := Sample(append(slices.Clone(cuts), Cut{At: 1000, Class: classSaid}, Cut{At: 1001, Class: classSaid}), 10)
	if n := count(told); n[classSaid] != 2 || n["root"] != 5 {
		t.Errorf("with two at marks: %v", n)
	}
	s := Sample(cuts, 100)
	if s[0].At > 100 || s[len(s)-1].At < 900 {
		t.Errorf("the sample reaches from %d to %d", s[0].At, s[len(s)-1].At)
	}
}

// Of states that are the same byte for byte, the last is kept before each mark.
func TestDistinct(t *testing.T) {
	data := bytes.Repeat([]byte{7}, 512)
	data = append(data, bytes.Repeat([]byte{8}, 512)...)
	l := &Log{SectorSize: 512, r: bytes.NewReader(data), Entries: []Entry{
		{
			Sector:  1,
			Sectors: 1,
			at:      0,
		}, {Sector: 2, Sectors: 1, at: 512}, {Sector: 1, Sectors: 1, at: 0}, {Sector: 1, Sectors: 1, at: 512}, {Mark: "m", Flags: Mark},
		{Mark: writerMark + "7", Flags: Mark},
	}}
	whole := Piece{0, 9}
	cuts := []Cut{
		{Prefix: 0, Some: []Piece{whole}}, // the same as the next
		{Prefix: 1},
		{Prefix: 2}, // the same as the next: the sector is written over with what it holds
		{Prefix: 3},
		{Prefix: 3, Some: []Piece{{3, 1}}}, // the same as {Prefix: 4}
		{Prefix: 3, Some: []Piece{{3, 1}, {0, 1}}},
		{Prefix: 4},
		{Prefix: 5, Class: classSaid}, // the same bytes; but something was said
		{Prefix: 6},                   // the same
	}
	got, err := Distinct(l, cuts)
	if err != nil {
		t.Fatal(err)
	}
	var kept []int
	for _, c := range got {
		kept = append(kept, c.Prefix*10+len(c.Some))
	}
	if !slices.Equal(kept, []int{10, 32, 40, 50, 60}) {
		t.Errorf("kept %v", kept)
	}
	// Each sector of a longer write has its own place.
	pairs := &Log{SectorSize: 512, r: bytes.NewReader(data), Entries: []Entry{{Sector: 5, Sectors: 2, at: 0}, {Sector: 5, Sectors: 1, at: 0},
		{Sector: 4, Sectors: 1, at: 512}, {Sector: 6, Sectors: 1, at: 512}}}
	for other, want := range map[int]int{2: 2, 3: 1} { // the second sector before the first, and behind it
		got, err := Distinct(pairs, []Cut{{Some: []Piece{{0, 2}}}, {Some: []Piece{{1, 1}, {other, 1}}}})
		if err != nil || len(got) != want {
			t.Errorf("with entry %d: %v, %v; want %d", other, got, err, want)
		}
	}
	// On a real log every state that is dropped is there later.
	real := small(t)
	all, _ := Cuts(real, 0, len(real.Entries), func(uint64) string { return "" }, testRand())
	kept2, err := Distinct(real, all)
	if err != nil || len(kept2) == 0 || len(kept2) > len(all) {
		t.Fatalf("%d of %d, %v", len(kept2), len(all), err)
	}
	disk := func(c Cut) string {
		m := make(memory, 64<<10)
		marks := 0
		for i := range c.Prefix {
			real.Apply(m, i, 1<<40)
			if said(real.Entries[i]) {
				marks++
			}
		}
		c.Write(real, m)
		return fmt.Sprint(marks, " ", string(m))
	}
	seen := map[string]bool{}
	for _, c := range kept2 {
		if s := disk(c); seen[s] && c.Class != classSaid {
			t.Errorf("%v is there twice", c)
		} else {
			seen[s] = true
		}
	}
	for _, c := range all {
		if !seen[disk(c)] {
			t.Errorf("%v was dropped, and nothing leaves that state", c)
		}
	}
}

func TestLimbo(t *testing.T) {
	disk := func(s uint64) int { return int(s / 100) }
	start := func(d int) uint64 { return uint64(d) * 100 }
	l := (&Log{Entries: []Entry{
		{Sector: 101, Sectors: 2, issued: 0}, // the other disk's cache has it until entry 6
		{Sector: 1, Sectors: 1, issued: 1}, {Sector: 2, Sectors: 1, issued: 2},
		{Sector: 0, Flags: Flush, issued: 3},
		{Sector: 5, Sectors: 1, issued: 4},
		{Sector: 50, Sectors: 1, Flags: FUA, issued: 5},
		{Sector: 100, Flags: Flush, issued: 6},
		{Sector: 7, Sectors: 1, issued: 7}, {Sector: 0, Flags: Flush, issued: 8},
	}}).PerDisk(disk)
	flush := slices.IndexFunc(l.Entries, func(e Entry) bool { return e.issued == 3 })
	got := limbo(l, Cut{At: flush, Prefix: flush + 1}, disk, start)
	// Entry 4 is logged with the flush of 6, and may have been issued before 3.
	if want := map[int][]span{1: {{1, 3}}, 0: {{50, 51}, {5, 6}}}; !reflect.DeepEqual(got, want) {
		t.Errorf("in limbo after the first flush: %v, want %v", got, want)
	}
	got = limbo(l, Cut{Kind: Subset, At: flush, Prefix: flush - 2}, disk, start)
	if want := map[int][]span{1: {{1, 3}}, 0: {{1, 2}, {2, 3}, {50, 51}, {5, 6}}}; !reflect.DeepEqual(got, want) {
		t.Errorf("in limbo at the first flush: %v, want %v", got, want)
	}
	if p := promised([]span{{1, 3}, {10, 12}}, []span{{2, 5}, {12, 13}}); !slices.Equal(p, []span{{10, 12}}) {
		t.Errorf("promised: %v", p)
	}
}
