package cachesim

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fettle/internal/means"
	"fettle/measure/blockcache/trace"
)

// compared are the loads whose misses are compared with libCacheSim's.
var compared = []trace.Workload{
	{Pattern: "zipf:1.2", Blocks: 8_000, Requests: 60_000, Seed: 1, BlockSize: 65536},
	{Pattern: "zipf:0.8", Blocks: 8_000, Requests: 60_000, Seed: 2, BlockSize: 65536},
	{Pattern: "hot:10:90", Blocks: 8_000, Requests: 60_000, Seed: 3, BlockSize: 65536},
	{Pattern: "uniform", Blocks: 8_000, Requests: 60_000, Seed: 4, BlockSize: 65536},
}

var comparedSizes = []int{50, 200, 1000, 2000, 6000}

// peer is what libCacheSim said of one cache.
type peer struct {
	Load   string `json:"load"`
	Policy string `json:"policy"`
	Size   int    `json:"size"`
	Misses int    `json:"misses"`
}

// TestAsLibCacheSim compares the misses with those that libCacheSim 0.3.5
// (PyPI) counted on the same traces: testdata/libcachesim.json, which
// FETTLE_LONG=1 with libcachesim at hand makes anew. All policies are specified to
// the last block, so the counts are the same.
func TestAsLibCacheSim(t *testing.T) {
	const file = "testdata/libcachesim.json"
	var peers []peer
	if os.Getenv("FETTLE_LONG") == "1" {
		python := withLibCacheSim(t)
		for _, w := range compared {
			tr, oracle := written(t, w)
			for _, r := range libCacheSim(t, python, oracle, comparedSizes) {
				if r.requests != tr.Len() {
					t.Fatalf("libCacheSim read %d requests of %d", r.requests, tr.Len())
				}
				peers = append(peers, peer{w.Pattern, r.policy, r.size, r.misses})
			}
		}
		if os.Getenv("UPDATE") == "1" {
			out, _ := json.MarshalIndent(peers, "", " ")
			if err := os.WriteFile(file, append(out, '\n'), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	} else {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(b, &peers); err != nil {
			t.Fatal(err)
		}
	}
	if want := len(compared) * len(comparedSizes) * 7; len(peers) != want {
		t.Fatalf("%d counts of libCacheSim's, want %d", len(peers), want)
	}
	loads := map[string]*trace.Trace{}
	for _, w := range compared {
		tr, err := w.Make()
		if err != nil {
			t.Fatal(err)
		}
		loads[w.Pattern] = tr
	}
	for _, want := range peers {
		k, err := Find(want.Policy)
		if err != nil {
			t.Fatal(err)
		}
		tr := loads[want.Load]
		p, err := k.New(want.Size, tr, SMQ{})
		if err != nil {
			t.Fatal(err)
		}
		if got := tr.Len() - replay(p, tr.Blocks, nil); got != want.Misses {
			t.Errorf("%s, %s of %d blocks: %d misses, libCacheSim counts %d", want.Load, want.Policy, want.Size, got, want.Misses)
		}
	}
}

// TestSpeedBesideLibCacheSim says how fast both are on this machine, over the same
// trace, in CPU time. libCacheSim's has the reading of the trace's file in it, which takes it little.
func TestSpeedBesideLibCacheSim(t *testing.T) {
	means.Long(t, "measures the speed beside libCacheSim, of PyPI's libcachesim")
	python := withLibCacheSim(t)
	for _, pattern := range []string{"zipf:1.2", "zipf:0.9"} {
		w := trace.Workload{Pattern: pattern, Blocks: 1 << 20, Requests: 5_000_000, Seed: 1, BlockSize: 65536}
		const size = 1 << 20 / 10
		tr, oracle := written(t, w)
		next := tr.NextAccess()
		for _, r := range libCacheSim(t, python, oracle, []int{size}) {
			k, err := Find(r.policy)
			if err != nil {
				t.Fatal(err)
			}
			start := cpuTime()
			p := k.make(size, &input{t: tr, next: next})
			misses := tr.Len() - replay(p, tr.Blocks, nil)
			took := cpuTime() - start
			t.Logf("%s %-7s misses %d, libCacheSim %d; %.1f M requests a CPU second, libCacheSim %.1f: %.1f times", pattern, r.policy, misses, r.misses,
				float64(tr.Len())/took.Seconds()/1e6, float64(tr.Len())/r.took.Seconds()/1e6, r.took.Seconds()/took.Seconds())
			if misses != r.misses {
				t.Errorf("%s: %d misses, libCacheSim counts %d", r.policy, misses, r.misses)
			}
		}
	}
}

// written makes a load and writes it for libCacheSim.
func written(t *testing.T, w trace.Workload) (*trace.Trace, string) {
	t.Helper()
	tr, err := w.Make()
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "trace.oracleGeneral")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := trace.WriteOracle(f, tr); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return tr, name
}

type peerRun struct {
	policy                 string
	size, requests, misses int
	took                   time.Duration
}

// withLibCacheSim returns a Python that has libcachesim: LIBCACHESIM_PYTHON, or python3.
func withLibCacheSim(t *testing.T) string {
	t.Helper()
	python := os.Getenv("LIBCACHESIM_PYTHON")
	if python == "" {
		python = "python3"
	}
	if out, err := exec.Command(python, "-c", "import libcachesim").CombinedOutput(); err != nil {
		t.Fatalf("%s has no libcachesim (python3 -m venv D && D/bin/pip install libcachesim, LIBCACHESIM_PYTHON=D/bin/python): %v %s", python, err, out)
	}
	return python
}

func libCacheSim(t *testing.T, python, oracle string, sizes []int) []peerRun {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, python, append([]string{"testdata/peer.py", oracle}, strings.Fields(strings.Trim(fmt.Sprint(sizes), "[]"))...)...).Output()
	if err != nil {
		t.Fatalf("libCacheSim: %v %s", err, stderr(err))
	}
	var runs []peerRun
	for line := range strings.Lines(string(out)) {
		var r peerRun
		var s float64
		if _, err := fmt.Sscan(line, &r.policy, &r.size, &r.requests, &r.misses, &s); err != nil {
			t.Fatalf("libCacheSim printed %q: %v", line, err)
		}
		r.took = time.Duration(s * float64(time.Second))
		runs = append(runs, r)
	}
	return runs
}

func stderr(err error) []byte {
	if e, ok := err.(*exec.ExitError); ok {
		return e.Stderr
	}
	return nil
}
