package caches

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"fettle/tools/measure/blockcache"
	"fettle/tools/measure/blockcache/cachesim"
	"fettle/tools/measure/blockcache/trace"
	"fettle/tools/measure/render"
)

// below is a text without the plot, which ends with its legend.
func below(text, legend string) string {
	_, after, _ := strings.Cut(text, legend+"\n")
	return after
}

func TestBlockcache(t *testing.T) {
	run := func(kind string, iops float64, p50 time.Duration) *blockcache.Run {
		r := &blockcache.Run{Kind: kind, Series: blockcache.Series{Interval: time.Second, IOPS: []float64{iops, iops, iops}}}
		r.Totals.IOPS = iops
		if p50 > 0 {
			r.Totals.Percentiles = []blockcache.Percentile{{Percent: 50, Took: p50}, {Percent: 99, Took: 3 * p50}}
		}
		return r
	}
	runs := Blockcache{
		{Run: run("slow", 400, 40*time.Millisecond), Label: "slow", Median: 400},
		{Run: run("cached", 3000, 500*time.Microsecond), Label: "cached, behind smq", Median: 3000,
			Verdict: &blockcache.Verdict{
				Answer:     blockcache.Fast,
				Confidence: 0.99,
				Slow:       400,
				Fast:       3100,
				Cached:     3000,
				Within:     [2]float64{2900, 3050},
			},
			Notes: []string{"its job is not that of the baselines"}},
		{Run: run("cached", 10, 0), Label: "short", Median: 10, Why: "it has 3 intervals, and 24 are needed"},
	}
	want := `
run                 median IOPS    latency       99 %
slow                        400    40.0 ms   120.0 ms
cached, behind smq         3000     500 µs     1.5 ms
short                        10          -          -

cached, behind smq: converges to fast (confidence 99 %).
  3000 requests a second in the last quarter (95 %: 2900 to
  3050), 7.5 times the slow device, 97 % of the fast one.
  Note: its job is not that of the baselines.
short: no verdict: it has 3 intervals, and 24 are needed.
`
	if got := below(runs.Text(render.Terminal{Width: 60}), "C  short"); got != want {
		t.Errorf("%s\nwant%s", got, want)
	}
	if got := document(t, runs); got["format"] != "fettle-blockcache" || len(got["runs"].([]any)) != 3 {
		t.Errorf("%v", got)
	}
}

func TestCachesim(t *testing.T) {
	curves := []cachesim.Curve{{Policy: "lru", Points: []cachesim.Point{{Blocks: 2, MissRatio: 1}, {Blocks: 512, MissRatio: 0.12345}}},
		{Policy: "belady", Points: []cachesim.Point{{Blocks: 2, MissRatio: 0.5}, {Blocks: 512, MissRatio: 0.1}}}}
	cost := cachesim.Took{Requests: 12_000_000, Elapsed: 2 * time.Second, CPU: 3 * time.Second}
	for _, c := range []struct {
		name string
		of   Cachesim
		want string
	}{
		{"blocks of a device", Cachesim{Trace: &trace.Trace{Name: "job\x1b[2J", BlockSize: 65536, Blocks: []uint32{1, 2, 2}, Span: 1024},
			Warmup: 1, Curves: curves, Cost: cost},
			`job\x1b[2J: 3 requests for 2 different blocks of 64 KiB: 128 KiB, of a device of
64 MiB; the first 1 do not count.

Miss ratio, %:
    cache  of origin     lru  belady
  128 KiB      0.2 %  100.00   50.00
   32 MiB     50.0 %   12.35   10.00

Simulated 12 million requests in 2.0 s, 3.0 s of CPU time: 4.0 million per CPU second.
`},
		{"objects", Cachesim{Trace: &trace.Trace{Name: "cdn", Blocks: []uint32{1, 2, 2}, Span: 3, Renumbered: true},
			SMQ: cachesim.SMQ{OriginBlocks: 2048}, Curves: curves[:1],
			Cost: cachesim.Took{Requests: 9_999_999}},
			`cdn: 3 requests for 2 different blocks.
The trace's ids were renumbered: smq cannot see which blocks are neighbours.

Miss ratio, %:
       cache  of origin     lru
    2 blocks      0.1 %  100.00
  512 blocks     25.0 %   12.35

Simulated 9999999 requests in 0.0 s, 0.0 s of CPU time: 10000.0 million per CPU second.
`},
	} {
		if got := c.of.Text(render.Terminal{Width: 80}); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
		if got := document(t, c.of); got["format"] != "fettle-cachesim" || got["requests"] != 3.0 || got["distinct_blocks"] != 2.0 {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	for _, c := range []struct {
		of trace.Trace
		x  string
		at float64
	}{
		{trace.Trace{BlockSize: 65536, Span: 1024}, "cache, MiB", 32}, {trace.Trace{BlockSize: 65536, Span: 8<<14 - 1}, "cache, MiB", 32},
		{trace.Trace{BlockSize: 65536, Span: 8 << 14}, "cache, GiB", 32.0 / 1024}, {trace.Trace{Span: 1 << 40}, "cache, blocks", 512},
	} {
		p := Cachesim{Trace: &c.of, Curves: curves}.Plot()
		if p.X != c.x || p.Curves[0].X[1] != c.at || p.Curves[1].Y[0] != 50 {
			t.Errorf("%+v: %+v", &c.of, p)
		}
	}
}

// TestCachesimPlots: curves of more than two points are drawn, at most 100 columns wide.
func TestCachesimPlots(t *testing.T) {
	points := []cachesim.Point{{Blocks: 2, MissRatio: 1}, {Blocks: 64, MissRatio: 0.5}, {Blocks: 512, MissRatio: 0.1}}
	for _, c := range []struct{ points, columns, widest int }{{2, 300, 0}, {3, 60, 60}, {3, 300, 100}} {
		s := Cachesim{Trace: &trace.Trace{Name: "cdn", Blocks: []uint32{1}, Span: 2}, Curves: []cachesim.Curve{{Policy: "lru",
			Points: points[:c.points]}},
			Cost: cachesim.Took{Requests: 10_000_000}}
		text := s.Text(render.Terminal{Width: c.columns})
		widest := 0
		for line := range strings.Lines(text) {
			if strings.Contains(line, "+---") { // the axis
				widest = len(line) - 1
			}
		}
		if drawn := strings.Contains(text, "% of the requests miss"); drawn != (c.points > 2) || widest > c.widest || drawn &&
			widest < c.widest-10 {
			t.Errorf("%d points on %d columns: drawn %v, %d columns wide\n%s", c.points, c.columns, drawn, widest, text)
		}
		if !strings.Contains(text, "Simulated 10 million requests") {
			t.Error(text)
		}
	}
}

func TestSize(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1024: "1 KiB", 65536: "64 KiB", 3 << 29: "1.5 GiB",
		1 << 40: "1 TiB", 5 << 50: "5120 TiB"} {
		if got := size(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}

// document is a result's JSON, read back.
func document(t *testing.T, r render.Result) (out map[string]any) {
	t.Helper()
	var b bytes.Buffer
	if err := render.Write(&b, "json", r, render.Terminal{}); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b.Bytes(), &out); err != nil {
		t.Fatal(err)
	}
	return out
}
