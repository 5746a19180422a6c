package cachesim

// tick is smq_tick: the core calls it when a request that it chose is done,
// chooses the next one, and calls it once a second besides.
func (p *smq) tick(now int64) {
	if now > p.nextDirty {
		p.nextDirty = now + writebackMark
		p.moveSentinels(0)
	}
	if now > p.nextClean {
		p.nextClean = now + demoteMark
		p.moveSentinels(1)
	}
	p.tickNo++
	p.setPromoteLevels()
	if now > p.nextHot {
		switch p.hotStats.confidence() {
		case poor:
			p.jump = 4
		case fair:
			p.jump = 2
		case well:
			p.jump = 1
		}
		p.hot.redistribute(p.rules.RaiseToHead)
		p.hotStats = accesses{}
		p.nextHot = now + hotPeriod
	}
	if now > p.nextCache {
		clear(p.hitBit)
		p.dirty.redistribute(p.rules.RaiseToHead)
		p.clean.redistribute(p.rules.RaiseToHead)
		p.stats = accesses{}
		p.nextCache = now + int64(p.rules.CachePeriod)
	}
}

// moveSentinels puts the older sentinel of each level at its tail.
func (p *smq) moveSentinels(queue int) {
	q := &p.dirty
	if queue == 1 {
		q = &p.clean
	}
	p.newest[queue] = 1 - p.newest[queue]
	for l := range uint8(levels) {
		s := p.sentinel(queue, l, p.newest[queue])
		q.remove(s)
		q.push(s)
	}
}

// promoteLevels by how many sixteenths of the accesses hit the upper quarter:
// smq promotes most where the cache does neither well nor badly.
var promoteLevels = [17]uint8{1, 1, 1, 2, 4, 6, 7, 8, 7, 6, 4, 4, 3, 3, 2, 2, 1}

func (p *smq) setPromoteLevels() {
	n := uint8(levels / 2)
	if p.free.n == 0 {
		all := uint64(p.stats.hits) + uint64(p.stats.misses)
		i := uint64(0)
		if all > 0 {
			i = uint64(p.stats.hits) << 4 / all
		}
		n = promoteLevels[i]
	}
	if p.rules.Eager {
		n = max(n, levels)
	}
	switch p.hotStats.confidence() {
	case poor:
		n /= 4
	case fair:
		n /= 2
	}
	p.readLevel = levels - n
	p.writeLevel = levels - n + uint8(p.rules.WriteExtra)
}
