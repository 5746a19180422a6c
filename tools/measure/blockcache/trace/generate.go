package trace

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
)

// Workload is a made-up load.
type Workload struct {
	// Pattern is "zipf:THETA", "uniform", or "hot:BLOCKS:REQUESTS", where the first
	// BLOCKS percent of the device take REQUESTS percent of the requests (fio's
	// zoned:REQUESTS/BLOCKS); "hot" is hot:10:90, the hot tenth. "moved" is the
	// same, but after half of the requests the other end of the device is hot:
	// the cache is full of other data.
	Pattern   string
	Blocks    int64 // of the device
	Requests  int
	Seed      uint64
	WritePct  float64 // of the requests
	BlockSize int64   // in bytes
	// Rate is that of the requests, in requests a second; 0 leaves out the times.
	Rate float64
}

// Make makes the load. The same seed gives the same requests.
func (w Workload) Make() (*Trace, error) {
	switch {
	case w.Blocks < 1 || w.Blocks >= Never:
		return nil, fmt.Errorf("a device of %d blocks: it has 1 to %d", w.Blocks, int64(Never)-1)
	case w.Requests < 1 || w.Requests >= Never:
		return nil, fmt.Errorf("%d requests: it is 1 to %d", w.Requests, int64(Never)-1)
	case w.WritePct < 0 || w.WritePct > 100 || w.WritePct != w.WritePct:
		return nil, fmt.Errorf("%g %% of the requests cannot write: it is 0 to 100", w.WritePct)
	case w.Rate < 0 || w.Rate > 1e9 || w.Rate != w.Rate:
		return nil, fmt.Errorf("%g requests a second: it is 0 to 1e9", w.Rate)
	}
	r := rand.New(rand.NewPCG(w.Seed, 0x66657474))
	next, err := w.pattern(r)
	if err != nil {
		return nil, err
	}
	t := &Trace{Name: w.Pattern, BlockSize: w.BlockSize, Blocks: make([]uint32, w.Requests), Span: w.Blocks}
	for i := range t.Blocks {
		t.Blocks[i] = uint32(next())
	}
	if w.WritePct > 0 {
		t.Writes = make([]bool, w.Requests)
		for i := range t.Writes {
			t.Writes[i] = r.Float64()*100 < w.WritePct
		}
	}
	if w.Rate > 0 {
		t.Times = make([]int64, w.Requests)
		for i := range t.Times {
			t.Times[i] = int64(float64(i) / w.Rate * 1e9)
		}
	}
	return t, nil
}

func (w Workload) pattern(r *rand.Rand) (func() int64, error) {
	kind, arg, _ := strings.Cut(w.Pattern, ":")
	switch kind {
	case "uniform":
		if arg != "" {
			return nil, fmt.Errorf("workload %q: uniform has no parameter", w.Pattern)
		}
		return func() int64 { return r.Int64N(w.Blocks) }, nil
	case "zipf":
		theta, err := strconv.ParseFloat(arg, 64)
		if err != nil || !(theta > 0 && theta <= 10) || theta == 1 {
			return nil, fmt.Errorf("workload %q: zipf:THETA with THETA above 0, at most 10, and not 1, as fio has it", w.Pattern)
		}
		return newZipf(w.Blocks, theta, r).next, nil
	case "hot", "moved":
		if arg == "" {
			arg = "10:90"
		}
		a, b, _ := strings.Cut(arg, ":")
		blocks, err1 := strconv.ParseFloat(a, 64)
		share, err2 := strconv.ParseFloat(b, 64)
		if err1 != nil || err2 != nil || !(blocks > 0 && blocks < 100) || !(share > 0 && share <= 100) {
			return nil, fmt.Errorf("workload %q: %s:BLOCKS:REQUESTS, both in percent, such as %[2]s:10:90", w.Pattern, kind)
		}
		hot := max(1, int64(float64(w.Blocks)*blocks/100))
		if hot >= w.Blocks {
			return nil, fmt.Errorf("workload %q: a device of %d blocks has none left that are not hot", w.Pattern, w.Blocks)
		}
		n := 0
		return func() int64 {
			at := hot + r.Int64N(w.Blocks-hot)
			if r.Float64()*100 < share {
				at = r.Int64N(hot)
			}
			if n++; kind == "moved" && n > w.Requests/2 {
				at = w.Blocks - 1 - at
			}
			return at
		}, nil
	}
	return nil, fmt.Errorf("workload %q is not known: it is zipf:THETA, uniform, hot:BLOCKS:REQUESTS or moved:BLOCKS:REQUESTS", w.Pattern)
}

// zipf draws block numbers as fio 3.33 does (lib/zipf.c, after Gray et al.,
// "Quickly generating billion-record synthetic databases", 1994): the rank by
// inversion of an approximated distribution, the ranks spread over the device
// by a multiplicative hash and an offset that the seed gives. Only fio's
// random bits themselves are others.
type zipf struct {
	r                 *rand.Rand
	n                 int64
	zetan, alpha, eta float64
	second            float64 // below it, of rank 2
	offset            uint64
}

// zetaTerms is where fio stops adding up zeta(n).
const zetaTerms = 10_000_000

// hashFactor is fio's GOLDEN_RATIO_64 (hash.h).
const hashFactor = 0x61C8864680B583EB

func newZipf(n int64, theta float64, r *rand.Rand) *zipf {
	z := &zipf{r: r, n: n, offset: uint64(r.Uint32())}
	for i := min(n, zetaTerms); i >= 1; i-- {
		z.zetan += math.Pow(float64(i), -theta)
	}
	z.second = 1 + math.Pow(0.5, theta)
	z.alpha = 1 / (1 - theta)
	z.eta = (1 - math.Pow(2/float64(n), 1-theta)) / (1 - z.second/z.zetan)
	return z
}

func (z *zipf) next() int64 {
	return int64((uint64(z.rank())*hashFactor + z.offset) % uint64(z.n))
}

// rank is 0 for the block asked for most.
func (z *zipf) rank() int64 {
	u := z.r.Float64()
	switch v := u * z.zetan; {
	case v < 1 || z.n < 2:
		return 0
	case v < z.second:
		return 1
	}
	return min(int64(float64(z.n)*math.Pow(z.eta*u-z.eta+1, z.alpha)), z.n-1)
}
