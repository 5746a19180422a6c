package trace

import (
	"math"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fettle/internal/means"
)

// TestZipfAsFio has fio itself draw from zipf:1.2 and compares: which block has
// which rank (fio's hash, up to its seed's offset), and how often each is drawn.
func TestZipfAsFio(t *testing.T) {
	fio := means.Tool(t, "fio")
	const blocks, requests = 1000, 100_000
	log := filepath.Join(t.TempDir(), "iolog")
	out, err := exec.Command(fio, "--name=z", "--ioengine=null", "--rw=randread", "--bs=64k", "--size=64000k", "--norandommap",
		"--io_size=6400000k",
		"--random_distribution=zipf:1.2", "--write_iolog="+log).
		CombinedOutput()
	if err != nil {
		t.Fatalf("%v %s", err, out)
	}
	theirs, err := Open("", Options{BlockSize: block}, log)
	if err != nil {
		t.Fatal(err)
	}
	ours, err := Workload{Pattern: "zipf:1.2", Blocks: blocks, Requests: requests, Seed: 7, BlockSize: block}.Make()
	if err != nil {
		t.Fatal(err)
	}
	if theirs.Len() != requests {
		t.Fatalf("fio drew %d times", theirs.Len())
	}
	count := func(tr *Trace) []int {
		n := make([]int, blocks)
		for _, b := range tr.Blocks {
			n[b]++
		}
		return n
	}
	a, b := count(theirs), count(ours)
	// The block of rank 0 gives the offset, and that all others.
	top := func(n []int) uint64 { return uint64(slices.Index(n, slices.Max(n))) }
	var rankA, rankB [blocks]int
	for rank := range uint64(blocks) {
		// The hash wraps at 2^64 before the modulus, and the offset is below 2^32: no second wrap for these ranks.
		h := rank * hashFactor % blocks
		rankA[rank], rankB[rank] = a[(h+top(a))%blocks], b[(h+top(b))%blocks]
	}
	for rank := range 200 {
		x, y := float64(rankA[rank]), float64(rankB[rank])
		if d := math.Abs(x - y); d > 5*math.Sqrt(x+y)+1 {
			t.Errorf("rank %d was drawn %g times by fio, %g times here", rank, x, y)
		}
	}
	if rankA[0] < 10*rankA[20] {
		t.Errorf("fio's ranks do not fall: %v", rankA[:30])
	}
}

func TestWorkloads(t *testing.T) {
	share := func(pattern string, below uint32) float64 {
		tr, err := Workload{Pattern: pattern, Blocks: 1000, Requests: 200_000, Seed: 5, BlockSize: block}.Make()
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, b := range tr.Blocks {
			if b < below {
				n++
			}
		}
		return float64(n) / float64(tr.Len())
	}
	for _, c := range []struct {
		pattern string
		below   uint32
		want    float64
	}{{"uniform", 100, 0.1}, {"hot", 100, 0.9}, {"hot:20:80", 200, 0.8}, {"hot:20:80", 600, 0.9}, {"moved", 100, 0.9/2 + 0.1/2/9}} {
		if got := share(c.pattern, c.below); math.Abs(got-c.want) > 0.005 {
			t.Errorf("%s: the first %d blocks take %.3f of the requests, want %.3f", c.pattern, c.below, got, c.want)
		}
	}
	one, _ := Workload{Pattern: "zipf:1.1", Blocks: 50, Requests: 100, Seed: 3, BlockSize: block}.Make()
	two, _ := Workload{Pattern: "zipf:1.1", Blocks: 50, Requests: 100, Seed: 3, BlockSize: block}.Make()
	if !slices.Equal(one.Blocks, two.Blocks) {
		t.Error("one seed made two loads")
	}
}

func TestBadWorkloads(t *testing.T) {
	good := Workload{Pattern: "uniform", Blocks: 10, Requests: 10, BlockSize: block}
	for _, c := range []struct {
		change func(*Workload)
		want   string
	}{
		{func(w *Workload) { w.Pattern = "zipf" }, "zipf:THETA"},
		{func(w *Workload) { w.Pattern = "zipf:1" }, "not 1"},
		{func(w *Workload) { w.Pattern = "zipf:NaN" }, "zipf:THETA"},
		{func(w *Workload) { w.Pattern = "hot:0:90" }, "both in percent"},
		{func(w *Workload) { w.Pattern, w.Blocks = "hot:99:1", 1 }, "none left"},
		{func(w *Workload) { w.Pattern = "pareto:0.2" }, "is not known"},
		{func(w *Workload) { w.Blocks = 0 }, "a device of 0 blocks"},
		{func(w *Workload) { w.Requests = -1 }, "-1 requests"},
		{func(w *Workload) { w.WritePct = math.NaN() }, "cannot write"},
		{func(w *Workload) { w.Rate = -1 }, "requests a second"},
	} {
		w := good
		c.change(&w)
		if _, err := w.Make(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", w, err)
		}
	}
}

func TestNextAccess(t *testing.T) {
	tr := &Trace{Blocks: []uint32{3, 1, 3, 3, 1}, Span: 4}
	if got := tr.NextAccess(); !slices.Equal(got, []uint32{2, 4, 3, Never, Never}) {
		t.Error(got)
	}
	if tr.Distinct() != 2 {
		t.Error(tr.Distinct())
	}
	// A few requests at the end of a device of 256 TiB.
	far := &Trace{Blocks: []uint32{Never - 1, 1, Never - 1, Never - 1, 1}, Span: Never}
	if got := far.NextAccess(); !slices.Equal(got, []uint32{2, 4, 3, Never, Never}) || far.Distinct() != 2 {
		t.Error(got, far.Distinct())
	}
}

func TestRegroup(t *testing.T) {
	tr := &Trace{BlockSize: 4096, Blocks: []uint32{0, 15, 16, 40}, Span: 41}
	got, err := tr.Regroup(65536)
	if err != nil || !slices.Equal(got.Blocks, []uint32{0, 0, 1, 2}) || got.Span != 3 {
		t.Errorf("%+v %v", got, err)
	}
	if _, err := tr.Regroup(6000); err == nil {
		t.Error("blocks of 6000 bytes hold no whole blocks of 4096")
	}
}
