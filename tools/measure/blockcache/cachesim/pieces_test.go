package cachesim

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"fettle/tools/measure/blockcache/trace"
)

// TestPoliciesByName: which there are, how smq's switches are set, and what is refused.
func TestPoliciesByName(t *testing.T) {
	for name, want := range map[string]string{
		"lru": "", "smq": "", "smq-4.11": "", "smq+eager=off": "", "smq-4.11+enter-top=yes+eager=true": "",
		"smq+write-extra=0": "", "smq+write-extra=64": "", "smq+cache-period=24h": "", "smq+cache-period=1ns": "",
		"smq+sentinels=no+old-core=false": "",
		"lru+eager=on": `policy "lru+eager=on" is not known; it is one of smq, smq-4.11, lru, lfu, arc, 2q, ` +
			"s3fifo, sieve, belady, belady-bypass",
		"smq-4.12":               `policy "smq-4.12" is not known`,
		"smq+what=on":            `policy "smq+what=on": smq has no switch "what"; it has cache-period, eager, enter-top, `,
		"smq+eager=on+":          `policy "smq+eager=on+": smq has no switch ""`,
		"smq+eager":              `policy "smq+eager": eager: "" is neither on nor off`,
		"smq+write-extra=65":     `policy "smq+write-extra=65": write-extra: "65" is no number of levels`,
		"smq+write-extra=-1":     `write-extra: "-1" is no number of levels`,
		"smq+write-extra=x":      `write-extra: "x" is no number of levels`,
		"smq+cache-period=0s":    `policy "smq+cache-period=0s": cache-period: "0s" is no time between 0 and a day`,
		"smq+cache-period=24h1s": `cache-period: "24h1s" is no time between 0 and a day`,
		"smq+cache-period=long":  `cache-period: "long" is no time between 0 and a day`,
	} {
		k, err := Find(name)
		if want == "" && (err != nil || k.Name != name || k.About == "") || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %+v %v, want %q", name, k.Name, err, want)
		}
	}
	base, err := Find("smq-4.11+write-extra=7+cache-period=3s+eager=on+sentinels=off")
	if err != nil {
		t.Fatal(err)
	}
	want := Before2017
	want.WriteExtra, want.CachePeriod, want.Eager, want.Sentinels = 7, 3*time.Second, true, false
	p, err := base.New(10, &trace.Trace{BlockSize: 65536, Blocks: []uint32{1}, Span: 2}, SMQ{})
	if err != nil || p.(*smq).rules != want || Before2017.WriteExtra != 2 {
		t.Errorf("the rules are %+v, want %+v (%v)", p.(*smq).rules, want, err)
	}
}

func TestBoundsOfSimulations(t *testing.T) {
	tr := &trace.Trace{BlockSize: 65536, Blocks: []uint32{99}, Span: 100}
	k, _ := Find("smq")
	for _, c := range []struct {
		size int
		conf SMQ
		want string // "": it is made
	}{
		{1, SMQ{}, ""}, {10, SMQ{Hit: time.Hour, Miss: time.Hour, Copy: time.Hour, Commit: time.Hour}, ""},
		{10, SMQ{Copy: time.Hour + 1}, "smq: a copy of 1h0m0.000000001s: it is between 0 and an hour"},
		{10, SMQ{Commit: -1}, "smq: a commit of -1ns: it is between 0 and an hour"}, {10, SMQ{Miss: -1}, "smq: a "},
		{10, SMQ{Hit: -1}, "smq: a hit of -1ns"},
		{10, SMQ{Rate: 1e9}, ""}, {10, SMQ{Rate: 1.1e9}, "smq: 1.1e+09 requests a second: it is 0 to 1e9"},
		{10, SMQ{Rate: math.NaN()}, "smq: NaN requests a second"},
		{10, SMQ{Depth: 4096}, ""}, {10, SMQ{Depth: 4097}, "smq: 4097 requests in flight: it is 1 to 4096"}, {10, SMQ{Depth: 1}, ""},
		{10, SMQ{OriginBlocks: 100}, ""}, {10, SMQ{OriginBlocks: 99}, "smq: an origin of 99 blocks, but the trace asks for block 99"},
		{0, SMQ{}, "a cache of 0 blocks: it has 1 to 536870912"}, {maxSize + 1, SMQ{}, "a cache of 536870913 blocks: it has 1 to 536870912"},
	} {
		_, err := k.New(c.size, tr, c.conf)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%d blocks, %+v: %v, want %q", c.size, c.conf, err, c.want)
		}
	}
	conf, err := SMQ{Miss: 7 * time.Millisecond}.defaults(tr)
	if want := (SMQ{OriginBlocks: 100, Depth: 8, Hit: 100 * time.Microsecond, Miss: 7 * time.Millisecond, Copy: 7 * time.Millisecond,
		Commit: time.Millisecond, MigrationThreshold: 2048}); err != nil || conf != want {
		t.Errorf("defaults %+v (%v), want %+v", conf, err, want)
	}
	lru, _ := Find("lru")
	for _, c := range []struct {
		s    Sweep
		want string
	}{
		{Sweep{Warmup: -1}, "a warm-up of -1 requests: the trace has 1"}, {Sweep{Warmup: 1}, "a warm-up of 1 requests: the trace has 1"},
		{Sweep{Sizes: []int{3, maxSize + 1}}, "a cache of 536870913 blocks: it has 1 to 536870912"}, {Sweep{SMQ: SMQ{Depth: -2}}, "in flight"},
	} {
		c.s.Kinds = []Kind{lru}
		if _, _, err := c.s.Run(t.Context(), tr); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %s", c.s, err, c.want)
		}
	}
	for _, c := range []struct {
		span int64
		n    int
		want []int
	}{{100_000, 1, []int{100_000}}, {100_000, 2, []int{100, 100_000}}, {1000, 4, []int{1, 10, 100, 1000}}, {500, 2, []int{1, 500}},
		{5, 0, nil}, {1 << 40, 1, []int{maxSize}}} {
		if got := Sizes(c.span, c.n); !slices.Equal(got, c.want) {
			t.Errorf("%d sizes to %d: %v, want %v", c.n, c.span, got, c.want)
		}
	}
}

// TestSweepOfALongTrace: the warm-up ends where it is told to, and all requests after it count once.
func TestSweepOfALongTrace(t *testing.T) {
	tr := &trace.Trace{BlockSize: 65536, Blocks: make([]uint32, stride+1000), Span: 1 << 20}
	for i := range tr.Blocks {
		tr.Blocks[i] = uint32(i / 2) // each asked for twice in a row
	}
	lru, _ := Find("lru")
	smq, _ := Find("smq")
	for _, warmup := range []int{0, 10, stride, stride + 1, stride + 500} {
		var told []int64
		curves, took, err := Sweep{Kinds: []Kind{lru, smq}, Sizes: []int{4, 2}, Cores: 1, Warmup: warmup,
			Progress: func(done, all int64) {
				told = append(told, done)
				if all != 4*int64(tr.Len()) {
					t.Errorf("of %d requests", all)
				}
			}}.Run(t.Context(), tr)
		if err != nil {
			t.Fatal(err)
		}
		requests := tr.Len() - warmup
		hits := tr.Len()/2 - warmup/2
		for i, p := range curves[0].Points {
			if p.Blocks != []int{4, 2}[i] || p.Requests != requests || p.Hits != hits || p.MissRatio != 1-float64(hits)/float64(requests) ||
				p.BytesPerBlock <= 0 || p.Counts != nil || curves[1].Points[i].Counts == nil {
				t.Errorf("after %d: %+v, want %d hits of %d", warmup, p, hits, requests)
			}
		}
		if curves[0].Policy != "lru" || curves[1].Policy != "smq" || took.Requests != 4*int64(tr.Len()) || !slices.IsSorted(told) ||
			told[len(told)-1] != took.Requests || took.Elapsed <= 0 {
			t.Errorf("after %d: %+v, told %v", warmup, took, told)
		}
	}
}

// TestArrivals: at a rate, at the trace's times, or when one of those in flight is done.
func TestArrivals(t *testing.T) {
	times := []int64{0, 5, 5, 90}
	for _, c := range []struct {
		name  string
		in    input
		takes []int64
		want  []int64
	}{
		{"a rate", input{t: &trace.Trace{Times: times}, smq: SMQ{Rate: 4e8}}, []int64{9, 9, 9, 9}, []int64{0, 2, 5, 7}},
		{"times", input{t: &trace.Trace{Times: times}, smq: SMQ{Depth: 2}}, []int64{9, 9, 9, 9}, times},
		{"two in flight", input{t: &trace.Trace{}, smq: SMQ{Depth: 2}}, []int64{10, 3, 3, 20, 1}, []int64{0, 0, 3, 6, 10}},
		{"one", input{t: &trace.Trace{}, smq: SMQ{Depth: 1}}, []int64{10, 3, 5}, []int64{0, 10, 13}},
	} {
		k := newClock(&c.in)
		for i, want := range c.want {
			at := k.arrive()
			if at != want {
				t.Errorf("%s: request %d comes at %d, want %d", c.name, i, at, want)
			}
			k.depart(at + c.takes[i])
		}
	}
}

// TestTwoQByItsPaper: as it is written, with lists that are searched from end to end, also in caches of a few blocks.
func TestTwoQByItsPaper(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 2))
	for _, size := range []int{1, 2, 3, 4, 5, 7, 8, 9, 12, 20} {
		p := newTwoQ(size)
		var in, out, main []uint32 // the first came last
		kin, kout := size/4, size/2
		last := func(l *[]uint32) uint32 { x := (*l)[len(*l)-1]; *l = (*l)[:len(*l)-1]; return x }
		for i := range 4000 {
			b := r.Uint32N(uint32(3 * size))
			if i%3 == 0 {
				b = r.Uint32N(uint32(size))
			}
			want := true
			switch at := slices.Index(main, b); {
			case at >= 0:
				main = slices.Insert(slices.Delete(main, at, at+1), 0, b)
			case slices.Contains(in, b):
			default:
				want = false
				again := slices.Index(out, b)
				if again >= 0 {
					out = slices.Delete(out, again, again+1)
				}
				if len(in)+len(main) == size { // reclaim
					if len(in) > kin || len(main) == 0 {
						x := last(&in)
						if kout > 0 {
							if len(out) == kout {
								last(&out)
							}
							out = slices.Insert(out, 0, x)
						}
					} else {
						last(&main)
					}
				}
				if again >= 0 {
					for len(main) >= size-kin {
						last(&main)
					}
					main = slices.Insert(main, 0, b)
				} else {
					in = slices.Insert(in, 0, b)
				}
			}
			if got := p.Access(b, false); got != want {
				t.Fatalf("%d blocks, request %d for %d: hit %v; in %v, out %v, main %v", size, i, b, got, in, out, main)
			}
		}
	}
}

// TestBytesGrowWithTheCache: each block takes some dozens.
func TestBytesGrowWithTheCache(t *testing.T) {
	tr := &trace.Trace{BlockSize: 65536, Blocks: make([]uint32, 10), Span: 1 << 20}
	for _, k := range Kinds {
		small, err1 := k.New(10_000, tr, SMQ{})
		large, err2 := k.New(20_000, tr, SMQ{})
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		if each := float64(large.Bytes()-small.Bytes()) / 10_000; each < 5 || each > 100 {
			t.Errorf("%s takes %.0f bytes a block", k.Name, each)
		}
	}
}
