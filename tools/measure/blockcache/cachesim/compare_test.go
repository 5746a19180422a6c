package cachesim

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"fettle/internal/means"
	"fettle/tools/measure/blockcache/trace"
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
			for _, r := range libCacheSim(t, python, oracle, "all", comparedSizes) {
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
		means.Ends(t)
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

// TestSpeedBesideLibCacheSim says what both cost on this machine as whole processes
// that read the same file and simulate one policy at one size: CPU time and memory.
// Python's own start is told apart. TRACE_REQUESTS is how long the traces are.
func TestSpeedBesideLibCacheSim(t *testing.T) {
	means.Long(t, "measures the speed beside libCacheSim, of PyPI's libcachesim")
	python := withLibCacheSim(t)
	requests := 5_000_000
	if s := os.Getenv("TRACE_REQUESTS"); s != "" {
		var err error
		if requests, err = strconv.Atoi(s); err != nil {
			t.Fatal(err)
		}
	}
	bin := filepath.Join(means.Programs(t, "fettle-lab"), "fettle-lab")
	alone := used(t, python, "-c", "import libcachesim")
	t.Logf("Python and its import alone: %.2f s, %d MiB", alone.cpu().Seconds(), alone.mib())
	for _, pattern := range []string{"zipf:1.2", "zipf:0.9"} {
		w := trace.Workload{Pattern: pattern, Blocks: 1 << 20, Requests: requests, Seed: 1, BlockSize: 65536}
		_, oracle := written(t, w)
		for _, policy := range []string{"lru", "lfu", "arc", "2q", "s3fifo", "sieve", "belady"} {
			own := used(
				t,
				bin,
				"measure",
				"cachesim",
				oracle,
				"--block-size",
				"64KiB",
				"--cores",
				"1",
				"--policy",
				policy,
				"--size",
				"10%",
				"--format",
				"json",
			)
			var sim struct {
				Curves []struct {
					Points []struct{ Blocks, Requests, Hits int }
				}
			}
			if err := json.Unmarshal([]byte(own.out), &sim); err != nil || len(sim.Curves) != 1 || len(sim.Curves[0].Points) != 1 {
				t.Fatalf("fettle-lab printed %q: %v", own.out, err)
			}
			at := sim.Curves[0].Points[0]
			peer := used(t, python, "testdata/peer.py", oracle, policy, strconv.Itoa(at.Blocks))
			var r peerRun
			var seconds float64
			if _, err := fmt.Sscan(peer.out, &r.policy, &r.size, &r.requests, &r.misses, &seconds); err != nil {
				t.Fatalf("libCacheSim printed %q: %v", peer.out, err)
			}
			t.Logf("%s %-7s %5.2f s, %4d MiB; libCacheSim %5.2f s, %4d MiB: %.1f times, without Python's start %.1f", pattern, policy,
				own.cpu().Seconds(), own.mib(), peer.cpu().Seconds(), peer.mib(), peer.cpu().Seconds()/own.cpu().Seconds(),
				(peer.cpu()-alone.cpu()).Seconds()/own.cpu().Seconds())
			if got := at.Requests - at.Hits; got != r.misses || at.Requests != r.requests {
				t.Errorf("%s %s: %d misses of %d, libCacheSim counts %d of %d", pattern, policy, got, at.Requests, r.misses, r.requests)
			}
		}
	}
}

// ended is a process that has ended well, and what it printed.
type ended struct {
	*os.ProcessState
	out string
}

func (e ended) cpu() time.Duration { return e.UserTime() + e.SystemTime() }
func (e ended) mib() int64         { return e.SysUsage().(*syscall.Rusage).Maxrss >> 10 }

// used runs a program to its end.
func used(t *testing.T, name string, args ...string) ended {
	t.Helper()
	cmd := exec.Command(name, args...)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v %s", name, err, stderr(err))
	}
	return ended{cmd.ProcessState, string(out)}
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
		t.Fatalf(
			"%s has no libcachesim (python3 -m venv D && D/bin/pip install libcachesim, LIBCACHESIM_PYTHON=D/bin/python): %v %s",
			python,
			err,
			out,
		)
	}
	return python
}

func libCacheSim(t *testing.T, python, oracle, policy string, sizes []int) []peerRun {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, python,
		append([]string{"testdata/peer.py", oracle, policy}, strings.Fields(strings.Trim(fmt.Sprint(sizes), "[]"))...)...).
		Output()
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
