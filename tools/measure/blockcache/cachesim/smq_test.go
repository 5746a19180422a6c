package cachesim

import (
	"strings"
	"testing"
	"time"

	"fettle/tools/measure/blockcache/trace"
)

// smqBy is a cache that a test drives by hand.
func smqBy(t *testing.T, rules Rules, size int, conf SMQ) *smq {
	t.Helper()
	in, err := newInput(&trace.Trace{BlockSize: 65536, Span: 1 << 20}, conf, nil)
	if err != nil {
		t.Fatal(err)
	}
	return newSMQ(size, in, rules)
}

func TestHotspots(t *testing.T) {
	for _, c := range []struct {
		cache  int
		origin int64
		count  int
		each   uint32
	}{
		{1000, 1 << 20, 1024, 16}, // at least 1024
		{8192, 1 << 20, 2048, 16}, // a quarter
		{1024, 4096, 1024, 4},     // 16 and 8 would cover more than the origin
		{1 << 20, 1 << 20, 1 << 18, 4},
		{1024, 500, 1024, 1},
	} {
		if count, each := hotspots(c.cache, c.origin); count != c.count || each != c.each {
			t.Errorf("cache %d, origin %d: %d hotspots of %d, want %d of %d", c.cache, c.origin, count, each, c.count, c.each)
		}
	}
}

// TestPromoteLevels is the table of SMQ's thresholds, for a full cache.
func TestPromoteLevels(t *testing.T) {
	for _, c := range []struct {
		rules       Rules
		cacheHits   uint32 // of 16
		hotHits     uint32 // of 16
		full        bool
		read, write uint8
	}{
		{Mended, 0, 0, true, 48, 48},
		{Mended, 0, 1, true, 32, 32},
		{Mended, 8, 2, true, 0, 0},
		{Mended, 8, 2, false, 0, 0},
		// A full cache whose hits do not concentrate, and a hotspot queue without
		// confidence: 1/4 is 0, and no block reaches level 64. That is the trap.
		{Before2017, 0, 0, true, 64, 66},
		{Before2017, 16, 1, true, 64, 66},
		{Before2017, 7, 2, true, 56, 58},
		{Before2017, 7, 1, true, 60, 62},
		{Before2017, 7, 0, true, 62, 64},
		{Before2017, 0, 0, false, 56, 58},
		{Before2017, 0, 2, false, 32, 34},
	} {
		p := smqBy(t, c.rules, 64, SMQ{})
		if c.full {
			p.free = newList()
		}
		p.stats = accesses{c.cacheHits, 16 - c.cacheHits}
		p.hotStats = accesses{c.hotHits, 16 - c.hotHits}
		p.setPromoteLevels()
		if p.readLevel != c.read || p.writeLevel != c.write {
			t.Errorf("%+v: levels %d and %d", c, p.readLevel, p.writeLevel)
		}
	}
}

// fill makes a full cache of clean blocks 0..size-1, all at one level.
func fill(p *smq, level uint8) {
	for b := range uint32(len(p.state)) {
		e := p.free.head
		p.free.remove(p.nodes, e)
		p.nodes[e].key, p.level[e] = b, level
		p.index.insert(b, e)
		p.clean.push(e)
	}
}

// TestFullCache: what a promotion into a full cache does, before and after.
func TestFullCache(t *testing.T) {
	const size = 64
	mended := smqBy(t, Mended, size, SMQ{})
	fill(mended, 10)
	for i := range 40 {
		mended.wanted(uint32(1000+i), none, false, 0)
	}
	if n := mended.work[demote].n; n != size/4 || mended.work[promote].n != 0 {
		t.Errorf("mended: %d demotions and %d promotions are under way, want a quarter of the cache and none", n, mended.work[promote].n)
	}
	high := smqBy(t, Mended, size, SMQ{})
	fill(high, 32)
	high.wanted(1000, none, false, 0)
	if high.queued() != 0 {
		t.Error("mended: a block of the upper half was demoted")
	}
	old := smqBy(t, Before2017, size, SMQ{MigrationThreshold: 1 << 20})
	fill(old, 63)
	old.wanted(1000, none, false, 0)
	if old.queued() != 0 {
		t.Error("old: a block behind its sentinels was evicted")
	}
	old.moveSentinels(1)
	old.moveSentinels(1)
	old.wanted(1000, none, false, 0)
	if old.work[promote].n != 1 || old.index.find(0) != none || old.Counts.Demotions != 1 {
		t.Error("old: the oldest clean block was not replaced at once")
	}
	few := smqBy(t, Before2017, size, SMQ{}) // 2048 sectors, 128 a block
	for i := range 40 {
		few.wanted(uint32(i), none, false, 0)
	}
	if n := few.work[promote].n; n != 15 {
		t.Errorf("old: %d promotions at a time; below 2048 sectors are 15", n)
	}
}

// TestWhereBlocksEnter: at the top, or at the bottom and first to go.
func TestWhereBlocksEnter(t *testing.T) {
	for _, c := range []struct {
		rules Rules
		level uint8
	}{{Mended, 63}, {Before2017, 0}} {
		p := smqBy(t, c.rules, 64, SMQ{})
		p.wanted(7, none, false, 0)
		p.catchUp(int64(time.Second) / 2) // before a tick spreads the blocks over the levels
		e := p.index.find(7)
		if e == none || p.level[e] != c.level || p.clean.n != 1 {
			t.Fatalf("%+v: entry %d at level %d", c.rules, e, p.level[max(e, 0)])
		}
		if p.clean.peek(levels, false) != none {
			t.Errorf("%+v: the new block can be evicted before a sentinel passed it", c.rules)
		}
	}
}

// TestWhileCopying: a read goes to the origin until the copy is there; the
// old core holds it back.
func TestWhileCopying(t *testing.T) {
	conf := SMQ{Copy: 10 * time.Millisecond, Miss: 5 * time.Millisecond, Commit: 2 * time.Millisecond}
	p := smqBy(t, Mended, 64, conf)
	p.wanted(7, none, false, 0) // done at 17 ms, locked from 15 ms
	p.readLevel = 64
	if hit, _ := p.lookup(7, false, 14e6); hit {
		t.Error("a hit while the block was being copied")
	}
	if hit, wait := p.lookup(7, false, 16e6); !hit || wait != 1e6 {
		t.Errorf("while the mapping is committed: hit %v, held back for %v", hit, time.Duration(wait))
	}
	old := smqBy(t, Before2017, 64, conf)
	old.wanted(7, none, false, 0) // done at 12 ms
	if hit, wait := old.lookup(7, false, 5e6); !hit || wait != 7e6 {
		t.Errorf("old core: hit %v, held back for %v", hit, time.Duration(wait))
	}
}

// TestWriteback: new smq writes back when nobody asks for anything, and not
// before; the old one always.
func TestWriteback(t *testing.T) {
	for _, c := range []struct {
		rules      Rules
		busy, idle bool // what is clean by then
	}{{Mended, false, true}, {Before2017, true, true}} {
		p := smqBy(t, c.rules, 64, SMQ{})
		fill(p, 0)
		for e := range int32(10) {
			p.setDirty(e)
		}
		if p.dirty.n != 10 {
			t.Fatalf("%d dirty blocks", p.dirty.n)
		}
		for ms := int64(0); ms < 900; ms += 10 {
			p.lastDone = ms * 1e6
			p.catchUp(ms * 1e6)
		}
		if got := p.dirty.n == 0; got != c.busy {
			t.Errorf("%+v: %d blocks are dirty while it is busy", c.rules, p.dirty.n)
		}
		p.catchUp(10e9)
		if got := p.dirty.n == 0; got != c.idle || p.Counts.Writebacks != 10 {
			t.Errorf("%+v: %d blocks are dirty after ten idle seconds, %d were written back", c.rules, p.dirty.n, p.Counts.Writebacks)
		}
	}
}

// TestSwitches: each of them makes a difference, for one load or another.
func TestSwitches(t *testing.T) {
	var loads []*trace.Trace
	for _, w := range []trace.Workload{
		{Pattern: "zipf:1.1", Blocks: 8_000, Requests: 100_000, WritePct: 30, Seed: 1, BlockSize: 65536, Rate: 2000},
		{Pattern: "hot:10:90", Blocks: 8_000, Requests: 100_000, WritePct: 30, Seed: 1, BlockSize: 65536, Rate: 2000},
	} {
		tr, err := w.Make()
		if err != nil {
			t.Fatal(err)
		}
		// Two quiet minutes: what waits for an idle device happens then.
		for i := tr.Len() / 2; i < tr.Len(); i++ {
			tr.Times[i] += int64(2 * time.Minute)
		}
		loads = append(loads, tr)
	}
	outcome := func(name string) (out [][2]int64) {
		k, err := Find(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, tr := range loads {
			p, err := k.New(500, tr, SMQ{})
			if err != nil {
				t.Fatal(err)
			}
			hits := replay(p, tr.Blocks, tr.Writes)
			out = append(out, [2]int64{int64(hits), p.(*smq).Counts.Writebacks})
		}
		return out
	}
	same := func(a, b [][2]int64) bool { return a[0] == b[0] && a[1] == b[1] }
	other := map[string][2]string{ // value that differs from that of smq, and of smq-4.11
		"hotspot-always": {"on", "off"}, "eager": {"off", "on"}, "write-extra": {"2", "0"}, "enter-top": {"off", "on"},
		"evict-at-once": {
			"on",
			"off",
		}, "sentinels": {"on", "off"}, "raise-to-head": {"on", "off"}, "idle-writeback": {"off", "on"}, "old-core": {"on", "off"},
		"cache-period": {"10s", "60s"},
	}
	base := [][][2]int64{outcome("smq"), outcome("smq-4.11")}
	for _, s := range Switches() {
		if same(outcome("smq+"+s+"="+other[s][0]), base[0]) && same(outcome("smq-4.11+"+s+"="+other[s][1]), base[1]) {
			t.Errorf("%s makes no difference", s)
		}
	}
	all := "smq"
	for _, s := range Switches() {
		all += "+" + s + "=" + other[s][0]
	}
	if !same(outcome(all), base[1]) {
		t.Error("smq with all switches of smq-4.11 is not smq-4.11")
	}
	for _, bad := range []string{"smq+eager", "smq+eager=maybe", "smq+nothing=on", "smq+write-extra=65", "smq+cache-period=0s",
		"lru+eager=on", "fifo", ""} {
		if _, err := Find(bad); err == nil {
			t.Errorf("policy %q was taken", bad)
		}
	}
}

func TestBadSMQ(t *testing.T) {
	tr := &trace.Trace{BlockSize: 65536, Blocks: []uint32{99}, Span: 100}
	for _, c := range []struct {
		conf SMQ
		want string
	}{
		{SMQ{Rate: -1}, "requests a second"},
		{SMQ{Depth: -1}, "in flight"},
		{SMQ{Hit: 2 * time.Hour}, "hit of 2h"},
		{SMQ{OriginBlocks: 99}, "asks for block 99"},
	} {
		k, _ := Find("smq")
		if _, err := k.New(10, tr, c.conf); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c.conf, err)
		}
	}
	k, _ := Find("lru")
	if _, err := k.New(0, tr, SMQ{}); err == nil {
		t.Error("a cache of no blocks was made")
	}
}
