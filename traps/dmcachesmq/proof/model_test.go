package proof

import (
	"testing"
	"time"

	"fettle/tools/measure/blockcache/cachesim"
	"fettle/tools/measure/blockcache/trace"
)

func TestParseCounted(t *testing.T) {
	const line = "0 524288 cache 8 29/1024 128 256/512 30412 9588 7 3 11 267 0 1 writeback 2 migration_threshold 2048 smq 0 rw - \n"
	got, err := parseCounted(line)
	if want := (counted{requests: 40010, hits: 30419, promotions: 267, demotions: 11}); err != nil || got != want {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
	for _, bad := range []string{"", "0 524288 linear 8:0 0\n", "0 524288 cache Fail\n", "0 524288 cache 8 29/1024 " +
		"128 256/512 a 1 2 3 4 5\n"} {
		if _, err := parseCounted(bad); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
}

// TestVariations: the runs are sorted, and differ, as times do.
func TestVariations(t *testing.T) {
	fine, err := trace.Workload{Pattern: "zipf:1.2", Blocks: modelOrigin / 4096, Requests: 20_000, Seed: 12, BlockSize: 4096}.Make()
	if err != nil {
		t.Fatal(err)
	}
	load, err := fine.Regroup(modelBlock)
	if err != nil {
		t.Fatal(err)
	}
	runs := variations(
		load,
		"smq",
		8,
		cachesim.SMQ{
			Depth:        modelDepth,
			OriginBlocks: modelOrigin / modelBlock,
			Hit:          500 * time.Microsecond,
			Miss:         20 * time.Millisecond,
			Copy:         20 * time.Millisecond,
		},
	)
	worst, best := runs[0].last(), runs[len(runs)-1].last()
	if len(runs) != 25 || worst.requests != 20_000 || worst.hits >= best.hits {
		t.Errorf("%d runs from %+v to %+v", len(runs), worst, best)
	}
	if r := runs[0].at(20_000).ratio(); r < 0.4 || r > 0.9 {
		t.Errorf("hit ratio %f", r)
	}
}
