package cachesim

import "math"

// clock tells when requests arrive.
type clock struct {
	times     []int64 // of the trace
	step      float64 // between requests, in ns, when the rate is fixed
	slots     []int64 // when each request in flight will be done
	slot      int     // of the request that arrived last
	i         int
	blockSize int64
}

func newClock(in *input) clock {
	c := clock{blockSize: in.t.BlockSize}
	switch {
	case in.smq.Rate > 0:
		c.step = 1e9 / in.smq.Rate
	case in.t.Times != nil:
		c.times = in.t.Times
	default:
		c.slots = make([]int64, in.smq.Depth)
	}
	return c
}

func (c *clock) arrive() int64 {
	i := c.i
	c.i++
	switch {
	case c.step > 0:
		return int64(float64(i) * c.step)
	case c.times != nil:
		return c.times[i]
	}
	first, at := 0, int64(math.MaxInt64)
	for j, t := range c.slots {
		if t < at {
			first, at = j, t
		}
	}
	c.slot = first
	return at
}

func (c *clock) depart(done int64) {
	if c.slots != nil {
		c.slots[c.slot] = done
	}
}
