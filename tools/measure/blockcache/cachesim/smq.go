package cachesim

import "math/bits"

// smq is dm-cache's stochastic multi-queue with the part of dm-cache's core
// that decides when its work is done, as drivers/md/dm-cache-policy-smq.c and
// dm-cache-target.c describe them. Times are in nanoseconds.
//
// Blocks cached are in 64 levels; a hit moves a block up by one, once in a
// cache period. Blocks missed are counted in coarser hotspot blocks, which move
// up likewise; what is missed in a hotspot block of a high enough level is
// promoted. How high depends on whether hits concentrate in the upper levels.
type smq struct {
	conf  SMQ
	rules Rules
	clock clock

	nodes  []node // cache blocks, and behind them the sentinels
	level  []uint8
	state  []uint8
	hitBit []uint64 // moved up in this cache period
	free   list
	clean  mqueue
	dirty  mqueue
	index  index
	stats  accesses

	hot      mqueue
	hotTick  []uint32 // the tick in which a hotspot block last moved up
	hotUsed  int32
	hotIndex index
	hotStats accesses
	each     uint32 // cache blocks in a hotspot block
	shift    uint8  // log2 of each
	jump     uint8  // by how many levels a hotspot block moves up

	readLevel, writeLevel uint8 // that a promotion needs; 64 is out of reach
	tickNo                uint32
	newest                [2]int32 // sentinels moved last, of dirty and clean: 0 or 1
	nextDirty, nextClean  int64    // when they are moved
	nextHot, nextCache    int64    // when the queues are put in order

	work      [3]ring // what is under way, by kind
	migrating int64   // copies
	due       int64   // when something is to be done before a request
	tickDone  int64   // when the request that ticks is done; 0 when the next one shall
	waker     int64   // the core's own tick, once a second
	lastDone  int64   // when the last request was done

	// Counts are what dmsetup status counts too.
	Counts Counts
}

// Counts are what a cache moved.
type Counts struct {
	Promotions, Demotions, Writebacks int64
}

// An entry's state.
const (
	isDirty     = 1 << iota
	isPromoting // and not there yet
	isDemoting
	isWriting
	isPending = isPromoting | isDemoting | isWriting
)

// Kinds of work.
const (
	promote = iota
	demote
	writeback
)

const (
	second        = int64(1e9)
	hotPeriod     = second      // HOTSPOT_UPDATE_PERIOD
	writebackMark = 10 * second // WRITEBACK_PERIOD
	demoteMark    = 60 * second // DEMOTE_PERIOD
	idleAfter     = second      // HZ in spare_migration_bandwidth
	maxWork       = 4096        // btracker_create
	freePercent   = 25          // FREE_TARGET
	sentinels     = 4 * levels
)

func newSMQ(size int, in *input, rules Rules) *smq {
	count, each := hotspots(size, in.smq.OriginBlocks)
	p := &smq{
		conf: in.smq, rules: rules, clock: newClock(in),
		nodes: make([]node, size+sentinels), level: make([]uint8, size+sentinels),
		state: make([]uint8, size), hitBit: make([]uint64, (size+63)/64),
		free: newList(), index: newIndex(size, in.smq.OriginBlocks),
		hotTick: make([]uint32, count), hotIndex: newIndex(count, (in.smq.OriginBlocks+int64(each)-1)/int64(each)),
		each: each, shift: uint8(bits.TrailingZeros32(each)), jump: 1, readLevel: levels, writeLevel: levels, tickNo: 1,
		nextDirty: writebackMark, nextClean: demoteMark,
	}
	p.clean.init(p.nodes, p.level, size)
	p.dirty.init(p.nodes, p.level, size)
	p.hot.init(make([]node, count), make([]uint8, count), count)
	p.hot.topLevels, p.hot.inTop = 8, int32(min(count/levels, size/int(each)))
	for i := range int32(size) {
		p.free.pushTail(p.nodes, i)
	}
	for q, queue := range []*mqueue{&p.dirty, &p.clean} {
		for which := range int32(2) {
			for l := range uint8(levels) {
				s := p.sentinel(q, l, which)
				p.level[s] = l
				queue.push(s)
			}
		}
		p.newest[q] = 1
	}
	return p
}

// sentinel is a level's first or second one, in dirty (0) or clean (1).
func (p *smq) sentinel(queue int, level uint8, which int32) int32 {
	return int32(len(p.state)) + (int32(queue)*2+which)*levels + int32(level)
}

func (p *smq) Access(block uint32, write bool) bool {
	now := p.clock.arrive()
	if now >= p.due {
		p.catchUp(now)
	}
	hit, wait := p.lookup(block, write, now)
	took := int64(p.conf.Miss)
	if hit {
		took = int64(p.conf.Hit)
	}
	done := now + wait + took
	p.clock.depart(done)
	p.lastDone = max(p.lastDone, done)
	if p.tickDone == 0 {
		p.tickDone = done
		p.due = min(p.due, done)
	}
	return hit
}

// replay is Access without a call through an interface for each request.
func (p *smq) replay(blocks []uint32, writes []bool) (hits int) {
	for i, b := range blocks {
		if p.Access(b, writes != nil && writes[i]) {
			hits++
		}
	}
	return hits
}

// lookup finds a block, or counts the miss and promotes it. wait is how long
// the core holds the request back first.
func (p *smq) lookup(block uint32, write bool, now int64) (hit bool, wait int64) {
	h := none
	if p.rules.HotspotAlways {
		h = p.heat(block >> p.shift)
	}
	e := p.index.find(block)
	if e != none {
		switch state := p.state[e]; {
		case state&isPromoting != 0:
			if at := p.doneAt(promote, e); p.rules.OldCore || now >= at-int64(p.conf.Commit) {
				// Held back until the block is there.
				p.stats.at(p.level[e])
				return true, max(0, at-now)
			}
		case state&isDemoting != 0:
			wait = max(0, p.doneAt(demote, e)-now)
		default:
			p.stats.at(p.level[e])
			p.touch(e)
			if write && !p.conf.Writethrough && state&isDirty == 0 {
				p.setDirty(e)
			}
			return true, 0
		}
	}
	p.stats.misses++
	if h == none {
		h = p.heat(block >> p.shift)
	}
	need := p.readLevel
	if write {
		need = p.writeLevel
		if p.conf.WholeBlocks && !p.conf.Writethrough && p.free.n > 0 {
			need = 0
		}
	}
	if p.hot.level[h] >= need {
		wait += p.wanted(block, e, write, now)
	}
	return false, wait
}

// touch moves a block up by a level, once in a cache period.
func (p *smq) touch(e int32) {
	bit := uint64(1) << (e % 64)
	if p.state[e]&isPending != 0 || p.hitBit[e/64]&bit != 0 {
		return
	}
	p.hitBit[e/64] |= bit
	queue, q := 1, &p.clean
	if p.state[e]&isDirty != 0 {
		queue, q = 0, &p.dirty
	}
	switch {
	case p.rules.Sentinels:
		// The block displaced is at once one that may go.
		q.raise(e, 1, func(l uint8, _ int) int32 { return p.sentinel(queue, l, 1-p.newest[queue]) })
	case queue == 0:
		q.raise(e, 1, func(l uint8, passed int) int32 {
			switch passed {
			case 0:
				return p.sentinel(0, l, 1-p.newest[0])
			case 1:
				return p.sentinel(0, l, p.newest[0])
			}
			return none
		})
	default:
		q.raise(e, 1, nil)
	}
}

func (p *smq) setDirty(e int32) {
	if p.state[e]&isPending != 0 {
		p.state[e] |= isDirty
		return
	}
	p.clean.remove(e)
	p.state[e] |= isDirty
	p.enqueue(e)
}

// enqueue puts a block into the queue it belongs to.
func (p *smq) enqueue(e int32) {
	q, queue := &p.clean, 1
	if p.state[e]&isDirty != 0 {
		q, queue = &p.dirty, 0
	}
	if p.rules.Sentinels {
		q.pushBefore(p.sentinel(queue, p.level[e], 1-p.newest[queue]), e)
		return
	}
	q.push(e)
}

// heat counts an access to a hotspot block and returns its entry.
func (p *smq) heat(key uint32) int32 {
	h := p.hotIndex.find(key)
	if h != none {
		p.hotStats.at(p.hot.level[h])
		by := p.jump
		if p.hotTick[h] == p.tickNo {
			by = 0
		}
		p.hotTick[h] = p.tickNo
		p.hot.raise(h, by, nil)
		return h
	}
	p.hotStats.misses++
	if int(p.hotUsed) < len(p.hotTick) {
		h = p.hotUsed
		p.hotUsed++
		p.hot.level[h] = 0
	} else {
		// The oldest of the lowest level makes room; the newcomer takes its level: 0,
		// which no full queue is without.
		h = p.hot.peek(levels, true)
		p.hot.remove(h)
		p.hotIndex.remove(p.hot.nodes[h].key)
		p.hotTick[h] = 0
	}
	p.hot.nodes[h].key = key
	p.hotIndex.insert(key, h)
	p.hot.push(h)
	return h
}

// Bytes is for all arrays, and what is under way.
func (p *smq) Bytes() int64 {
	n := int64(len(p.nodes))*13 + int64(len(p.state)) + int64(len(p.hitBit))*8 + p.index.bytes()
	n += int64(len(p.hotTick))*(13+4) + p.hotIndex.bytes()
	for i := range p.work {
		n += int64(len(p.work[i].at))*8 + int64(len(p.work[i].entry))*4
	}
	return n
}

// Moved is what was promoted, demoted and written back until now.
func (p *smq) Moved() Counts { return p.Counts }
