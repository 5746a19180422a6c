package cachesim

// wanted is called for a miss that is worth a promotion; e is the block's entry
// when it is on its way in or out. wait is how long that holds the request back.
func (p *smq) wanted(block uint32, e int32, write bool, now int64) (wait int64) {
	sectors := p.blockSectors()
	whole := write && p.conf.WholeBlocks
	if p.rules.OldCore && !whole && (p.migrating+1)*sectors >= p.conf.MigrationThreshold {
		return 0
	}
	if p.free.n == 0 {
		if !p.rules.EvictAtOnce {
			if !p.enoughFree() {
				p.queueDemotion(now)
			}
			return 0
		}
		if e != none {
			return 0
		}
		old := p.clean.peek(levels, !p.rules.Sentinels)
		if old == none {
			return 0 // all dirty, or too fresh
		}
		p.clean.remove(old)
		p.release(old)
		p.Counts.Demotions++
	}
	if e != none || p.queued() >= maxWork {
		return 0
	}
	e = p.free.head
	p.free.remove(p.nodes, e)
	p.nodes[e].key = block
	p.index.insert(block, e)
	p.level[e], p.state[e] = 0, isPromoting
	if p.rules.EnterTop {
		p.level[e] = levels - 1
	}
	took := int64(p.conf.Copy) + int64(p.conf.Commit)
	switch {
	case whole: // the write itself goes to the cache, and its promotion is complete with it
		took = int64(p.conf.Hit) + int64(p.conf.Commit)
		p.state[e] |= isDirty
		wait = took - int64(p.conf.Miss)
	case p.rules.OldCore: // the request waits for its block
		wait = took + int64(p.conf.Hit) - int64(p.conf.Miss)
	default: // the copy begins when the request itself is done
		took += int64(p.conf.Miss)
	}
	p.start(promote, e, now+took)
	return max(0, wait)
}

func (p *smq) blockSectors() int64 {
	if s := p.clock.blockSize / 512; s > 0 {
		return s
	}
	return 128
}

// release frees a block's entry.
func (p *smq) release(e int32) {
	p.index.remove(p.nodes[e].key)
	p.state[e] = 0
	p.free.pushTail(p.nodes, e)
}

// enoughFree: a quarter of the cache is free, or about to be.
func (p *smq) enoughFree() bool {
	return int(p.free.n)+p.work[demote].n >= len(p.state)*freePercent/100
}

// queueDemotion demotes a clean block of the lower half of the levels, or, where
// there is none, has a dirty one written back.
func (p *smq) queueDemotion(now int64) {
	e := p.clean.peek(levels/2, true)
	if e == none {
		if p.dirty.n > 0 {
			p.queueWriteback(now, false)
		}
		return
	}
	if p.queued() >= maxWork {
		return
	}
	p.clean.remove(e)
	p.state[e] |= isDemoting
	p.start(demote, e, now+int64(p.conf.Commit))
}

// queueWriteback has the oldest dirty block written back; unless idle, one that
// has stood for a while.
func (p *smq) queueWriteback(now int64, idle bool) bool {
	e := p.dirty.peek(levels, idle)
	if e == none || p.queued() >= maxWork {
		return false
	}
	p.dirty.remove(e)
	p.state[e] |= isWriting
	p.start(writeback, e, now+int64(p.conf.Copy)+int64(p.conf.Commit))
	return true
}

func (p *smq) queued() int { return p.work[promote].n + p.work[demote].n + p.work[writeback].n }

func (p *smq) start(kind int, e int32, done int64) {
	p.work[kind].push(e, done)
	if kind != demote {
		p.migrating++
	}
	p.due = min(p.due, done)
}

// doneAt is when an entry's work of a kind will be done.
func (p *smq) doneAt(kind int, e int32) int64 {
	w := &p.work[kind]
	for i := range w.n {
		if j := (w.first + i) & (len(w.at) - 1); w.entry[j] == e {
			return w.at[j]
		}
	}
	return 0
}

// complete ends the oldest work of a kind.
func (p *smq) complete(kind int) {
	e := p.work[kind].pop()
	if kind != demote {
		p.migrating--
	}
	p.state[e] &^= isPending
	switch kind {
	case promote:
		p.Counts.Promotions++
		if p.state[e]&isDirty != 0 {
			p.enqueue(e)
		} else {
			p.clean.push(e) // behind the sentinels, old and new
		}
	case demote:
		p.Counts.Demotions++
		p.release(e)
	case writeback:
		p.Counts.Writebacks++
		p.state[e] &^= isDirty
		p.enqueue(e)
	}
}

// catchUp does in order what was due until now: work that is complete, ticks,
// and what an idle device is used for.
func (p *smq) catchUp(now int64) {
	// Nothing changes in an hour without requests that does not in ten minutes.
	p.waker = max(p.waker, now-600*second)
	for {
		at, what := p.waker, -1
		if p.tickDone != 0 && p.tickDone <= at {
			at, what = p.tickDone, -2
		}
		for kind := range p.work {
			if w := &p.work[kind]; w.n > 0 && w.at[w.first] < at {
				at, what = w.at[w.first], kind
			}
		}
		if at > now {
			p.due = at
			return
		}
		switch what {
		case -1:
			p.tick(at)
			p.waker = at + second
		case -2:
			p.tick(at)
			p.tickDone = 0
		default:
			p.complete(what)
		}
		if what != -2 || !p.rules.IdleWriteback {
			p.writebacks(at)
		}
	}
}

// writebacks is the core's worker looking for dirty blocks.
func (p *smq) writebacks(now int64) {
	if p.dirty.n == 0 {
		return
	}
	idle := now-p.lastDone >= idleAfter
	sectors, limit := p.blockSectors(), p.conf.MigrationThreshold
	if p.rules.IdleWriteback {
		for idle && (p.migrating+1)*sectors <= limit && p.queueWriteback(now, true) {
		}
		return
	}
	for (p.migrating+1)*sectors < limit {
		max := uint(levels)
		if !idle && int(p.dirty.n) <= len(p.state)-len(p.state)*5/100 {
			max = 1 // CLEAN_TARGET_CRITICAL of 4.9: 5 % are clean
		}
		e := p.dirty.peek(max, false)
		if e == none || p.queued() >= maxWork {
			return
		}
		p.dirty.remove(e)
		p.state[e] |= isWriting
		p.start(writeback, e, now+int64(p.conf.Copy)+int64(p.conf.Commit))
	}
}
