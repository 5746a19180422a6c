package cachesim

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"

	"fettle/tools/measure/blockcache/trace"
)

// Curve is a policy's miss ratio over the cache's size.
type Curve struct {
	Policy string  `json:"policy"`
	Points []Point `json:"points"`
}

// Point is one cache, simulated over the whole trace.
type Point struct {
	Blocks    int     `json:"blocks"`
	Requests  int     `json:"requests"` // those that count: after the warm-up
	Hits      int     `json:"hits"`
	MissRatio float64 `json:"miss_ratio"`
	// BytesPerBlock is the memory that simulating it took.
	BytesPerBlock float64 `json:"bytes_per_block"`
	// Counts are smq's: what it moved, the warm-up included.
	Counts *Counts `json:"counts,omitempty"`
}

// Sweep is many caches simulated over one trace.
type Sweep struct {
	Kinds []Kind
	Sizes []int // in blocks
	SMQ   SMQ
	// Warmup requests at the start fill the cache and do not count.
	Warmup int
	// Cores is how many run at a time; 0 is all.
	Cores int
	// Progress, where not nil, is told of requests simulated, of all.
	Progress func(done, all int64)
}

// Took is what a sweep cost.
type Took struct {
	Requests int64         `json:"requests"` // simulated, over all caches
	Elapsed  time.Duration `json:"elapsed_ns"`
	CPU      time.Duration `json:"cpu_ns"` // of this process, over all cores
}

// Run simulates them all, many at a time.
func (s Sweep) Run(ctx context.Context, t *trace.Trace) ([]Curve, Took, error) {
	if s.Warmup < 0 || s.Warmup >= t.Len() {
		return nil, Took{}, fmt.Errorf("a warm-up of %d requests: the trace has %d", s.Warmup, t.Len())
	}
	in, err := newInput(t, s.SMQ, s.Kinds)
	if err != nil {
		return nil, Took{}, err
	}
	curves := make([]Curve, len(s.Kinds))
	type job struct{ kind, size int }
	var jobs []job
	for i, k := range s.Kinds {
		curves[i] = Curve{k.Name, make([]Point, len(s.Sizes))}
		for j, n := range s.Sizes {
			if n < 1 || n > maxSize {
				return nil, Took{}, fmt.Errorf("a cache of %d blocks: it has 1 to %d", n, maxSize)
			}
			jobs = append(jobs, job{i, j})
		}
	}
	// The largest first: they take longest and most memory.
	slices.SortStableFunc(jobs, func(a, b job) int { return s.Sizes[b.size] - s.Sizes[a.size] })
	cores := s.Cores
	if cores <= 0 {
		cores = runtime.GOMAXPROCS(0)
	}
	var (
		mu   sync.Mutex
		took Took
		wg   sync.WaitGroup
		next = make(chan job)
		all  = int64(len(jobs)) * int64(t.Len())
	)
	tell := func(n int64) {
		mu.Lock()
		defer mu.Unlock()
		took.Requests += n
		if s.Progress != nil {
			s.Progress(took.Requests, all)
		}
	}
	start, cpu := time.Now(), cpuTime()
	for range min(cores, len(jobs)) {
		wg.Go(func() {
			for j := range next {
				p := s.Kinds[j.kind].make(s.Sizes[j.size], in)
				curves[j.kind].Points[j.size] = run(ctx, p, s.Sizes[j.size], t, s.Warmup, tell)
			}
		})
	}
	for _, j := range jobs {
		next <- j
	}
	close(next)
	wg.Wait()
	took.Elapsed, took.CPU = time.Since(start), cpuTime()-cpu
	return curves, took, ctx.Err()
}

// cpuTime is that of this process until now.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// stride is how many requests are simulated between two looks at the clock.
const stride = 1 << 18

func run(ctx context.Context, p Policy, size int, t *trace.Trace, warmup int, tell func(int64)) Point {
	pt := Point{Blocks: size, Requests: t.Len() - warmup}
	for i := 0; i < t.Len() && ctx.Err() == nil; {
		end := min(i+stride, t.Len())
		if i < warmup {
			end = min(end, warmup)
		}
		var writes []bool
		if t.Writes != nil {
			writes = t.Writes[i:end]
		}
		if n := replay(p, t.Blocks[i:end], writes); i >= warmup {
			pt.Hits += n
		}
		tell(int64(end - i))
		i = end
	}
	pt.MissRatio = 1 - float64(pt.Hits)/float64(pt.Requests)
	pt.BytesPerBlock = float64(p.Bytes()) / float64(size)
	if q, ok := p.(*smq); ok {
		pt.Counts = &q.Counts
	}
	return pt
}

// replay has a cache handle requests and returns how many hit.
func replay(p Policy, blocks []uint32, writes []bool) int {
	if r, ok := p.(replayer); ok {
		return r.replay(blocks, writes)
	}
	hits := 0
	if writes == nil {
		for _, b := range blocks {
			if p.Access(b, false) {
				hits++
			}
		}
		return hits
	}
	for i, b := range blocks {
		if p.Access(b, writes[i]) {
			hits++
		}
	}
	return hits
}

// Sizes are n cache sizes from one thousandth of span to all of it, evenly
// spaced on a logarithmic scale.
func Sizes(span int64, n int) []int {
	var out []int
	lo, hi := max(float64(span)/1000, 1), float64(min(span, maxSize))
	for i := range n {
		f := 1.0
		if n > 1 {
			f = float64(i) / float64(n-1)
		}
		size := int(lo*math.Pow(hi/lo, f) + 0.5)
		if len(out) == 0 || size > out[len(out)-1] {
			out = append(out, size)
		}
	}
	return out
}
