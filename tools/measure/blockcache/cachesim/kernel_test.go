package cachesim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"fettle/internal/means"
	"fettle/tools/measure/blockcache/trace"
)

// smqLoads are what the model and the kernel's smq are given. A quiet time in the
// midst lets dirty blocks be written back.
var smqLoads = []struct {
	name  string
	w     trace.Workload
	size  int
	quiet time.Duration
}{
	{"zipf:1.2, reads", trace.Workload{Pattern: "zipf:1.2", Blocks: 8_000, Requests: 60_000, Seed: 1, Rate: 1999}, 800, 0},
	{
		"zipf:0.9, a third writes",
		trace.Workload{Pattern: "zipf:0.9", Blocks: 8_000, Requests: 60_000, Seed: 2, WritePct: 33, Rate: 701},
		2000,
		3 * time.Minute,
	},
	{"hot tenth, slowly", trace.Workload{Pattern: "hot:10:90", Blocks: 20_000, Requests: 60_000, Seed: 3, WritePct: 10, Rate: 151}, 1000, 0},
	{
		"hot tenth that moves",
		trace.Workload{Pattern: "moved", Blocks: 8_000, Requests: 60_000, Seed: 4, WritePct: 5, Rate: 503},
		600,
		time.Minute,
	},
	{"uniform, small", trace.Workload{Pattern: "uniform", Blocks: 100_000, Requests: 40_000, Seed: 5, WritePct: 50, Rate: 307}, 64, 0},
}

// smqEvery is after how many requests counts are compared.
const smqEvery = 2000

// smqRun is what one policy did with one load: hits, promotions, demotions and
// writebacks, from the beginning to each 2000th request.
type smqRun struct {
	Load   string     `json:"load"`
	Policy string     `json:"policy"`
	Counts [][4]int64 `json:"counts"`
}

// smqKernel is all that was asked of the kernel's smq. Levels are those that promotions
// need, by policy, as drive.c prints them.
type smqKernel struct {
	Levels [][]string `json:"levels"`
	Runs   []smqRun   `json:"runs"`
}

// smqPolicies are the kernel's smq of 6.1, and the same with the rules of before
// 2017 (lab/kernels/smq-old), without the core of then.
var smqPolicies = []string{"smq", "smq-4.11+old-core=off"}

// smqTimes: a commit takes no time, as in the driver, which holds no request back.
var smqTimes = SMQ{Miss: 5 * time.Millisecond, Copy: 5 * time.Millisecond, Commit: 1}

// TestAsKernelSMQ compares the model, count for count, with the kernel's own
// drivers/md/dm-cache-policy-smq.c: testdata/smq/kernel.json, which FETTLE_LONG=1
// compares with what testdata/smq/drive.c does around that file of Debian's
// linux-source-6.1, and UPDATE=1 writes anew.
func TestAsKernelSMQ(t *testing.T) {
	const file = "testdata/smq/kernel.json"
	var want smqKernel
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &want); err != nil {
		t.Fatal(err)
	}
	if os.Getenv("FETTLE_LONG") == "1" {
		got := kernelSMQ(t)
		if os.Getenv("UPDATE") == "1" {
			out, _ := json.MarshalIndent(got, "", " ")
			out = regexp.MustCompile(`\n\s+(\d+,?)(\n\s+\])?`).
				ReplaceAllFunc(out, func(b []byte) []byte { return bytes.Join(bytes.Fields(b), nil) })
			if err := os.WriteFile(file, append(out, '\n'), 0o644); err != nil {
				t.Fatal(err)
			}
		} else if !reflect.DeepEqual(got, want) {
			t.Errorf("%s is not what the kernel's smq does", file)
		}
		want = got
	}
	if n := len(smqLoads) * len(smqPolicies); len(want.Runs) != n || len(want.Levels) != len(smqPolicies) {
		t.Fatalf("%d runs of the kernel's smq, want %d", len(want.Runs), n)
	}
	for i, policy := range smqPolicies {
		if got := levelsOf(t, policy); !slices.Equal(got, want.Levels[i]) {
			t.Errorf(
				"%s: promotions need the levels\n%s\nthe kernel's smq says\n%s",
				policy,
				strings.Join(got, "\n"),
				strings.Join(want.Levels[i], "\n"),
			)
		}
	}
	for _, want := range want.Runs {
		t.Run(want.Policy+", "+want.Load, func(t *testing.T) {
			for i, l := range smqLoads {
				if l.name == want.Load {
					compareSMQ(t, i, want)
				}
			}
		})
	}
}

func smqTrace(t *testing.T, i int) *trace.Trace {
	t.Helper()
	l := smqLoads[i]
	l.w.BlockSize = 65536
	tr, err := l.w.Make()
	if err != nil {
		t.Fatal(err)
	}
	for k := tr.Len() / 2; k < tr.Len(); k++ {
		tr.Times[k] += int64(l.quiet)
	}
	return tr
}

// levelsOf is drive.c's "levels" of the model.
func levelsOf(t *testing.T, policy string) (out []string) {
	t.Helper()
	k, err := Find(policy)
	if err != nil {
		t.Fatal(err)
	}
	any, err := k.New(64, &trace.Trace{BlockSize: 65536, Blocks: []uint32{0}, Span: 1 << 20}, SMQ{})
	if err != nil {
		t.Fatal(err)
	}
	p := any.(*smq)
	for _, free := range []list{p.free, newList()} {
		p.free = free
		for hot := range uint32(17) {
			var line []string
			for hits := range uint32(17) {
				p.hotStats, p.stats = accesses{hot, 16 - hot}, accesses{hits, 16 - hits}
				p.setPromoteLevels()
				line = append(line, fmt.Sprintf("%d,%d", p.readLevel, p.writeLevel))
			}
			out = append(out, strings.Join(line, " "))
		}
	}
	return out
}

func compareSMQ(t *testing.T, load int, want smqRun) {
	tr := smqTrace(t, load)
	if len(want.Counts) != tr.Len()/smqEvery {
		t.Fatalf("%d counts of the kernel's, want %d", len(want.Counts), tr.Len()/smqEvery)
	}
	k, err := Find(want.Policy)
	if err != nil {
		t.Fatal(err)
	}
	p, err := k.New(smqLoads[load].size, tr, smqTimes)
	if err != nil {
		t.Fatal(err)
	}
	hits := int64(0)
	for i, b := range tr.Blocks {
		if p.Access(b, tr.Writes != nil && tr.Writes[i]) {
			hits++
		}
		if (i+1)%smqEvery != 0 {
			continue
		}
		c := p.(*smq).Moved()
		if got, k := [4]int64{hits, c.Promotions, c.Demotions, c.Writebacks}, want.Counts[i/smqEvery]; got != k {
			t.Fatalf(
				"after %d requests the model has %d hits, %d promotions, %d demotions, %d writebacks; the kernel's smq %v",
				i+1,
				got[0],
				got[1],
				got[2],
				got[3],
				k,
			)
		}
	}
}

// kernelSMQ compiles the kernel's smq, as it is and with its old rules, and runs it.
func kernelSMQ(t *testing.T) (out smqKernel) {
	const source = "/usr/src/linux-source-6.1.tar.xz"
	if _, err := os.Stat(source); err != nil {
		means.Missing(t, "the kernel's smq: apt-get install linux-source-6.1")
	}
	dir := t.TempDir()
	md := filepath.Join(dir, "drivers/md")
	run := func(stdin []byte, name string, args ...string) []byte {
		t.Helper()
		if !filepath.IsAbs(name) {
			name = means.Tool(t, name)
		}
		cmd := exec.Command(name, args...)
		cmd.Stdin = bytes.NewReader(stdin)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s %q: %v %s", name, args, err, stderr(err))
		}
		return out
	}
	run(
		nil,
		"tar",
		"-xf",
		source,
		"-C",
		dir,
		"--strip-components=1",
		"--wildcards",
		"*/drivers/md/dm-cache-policy*",
		"*/drivers/md/dm-cache-b*.h",
	)
	// Its headers are in testdata/smq/kernel.h.
	for _, name := range []string{"dm.h", "persistent-data/dm-block-manager.h", "linux/hash.h", "linux/jiffies.h", "linux/module.h",
		"linux/mutex.h", "linux/vmalloc.h", "linux/math64.h", "linux/device-mapper.h"} {
		name = filepath.Join(md, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	patch, err := os.ReadFile("../../../../lab/kernels/smq-old/smq-old.patch")
	if err != nil {
		t.Fatal(err)
	}
	for old, policy := range smqPolicies {
		drive := filepath.Join(dir, fmt.Sprint("drive", old))
		if old == 1 {
			run(patch, "patch", "-s", "-p1", "-d", dir)
		}
		run(nil, "gcc", "-O2", "-w", "-include", "testdata/smq/kernel.h", "-I"+md, "-o", drive, "testdata/smq/drive.c")
		out.Levels = append(out.Levels, strings.Split(strings.TrimSpace(string(run(nil, drive, "levels"))), "\n"))
		for i, l := range smqLoads {
			tr := smqTrace(t, i)
			var in bytes.Buffer
			for k, b := range tr.Blocks {
				write := 0
				if tr.Writes != nil && tr.Writes[k] {
					write = 1
				}
				fmt.Fprintln(&in, tr.Times[k], b, write)
			}
			cmd := exec.Command(drive, fmt.Sprint(l.size), fmt.Sprint(tr.Span), fmt.Sprint(int64(smqTimes.Miss)), fmt.Sprint(int64(smqTimes.Copy)),
				fmt.Sprint(int64(smqTimes.Commit)), "2048", fmt.Sprint(old), fmt.Sprint(smqEvery))
			cmd.Stdin = &in
			b, err := cmd.Output()
			if err != nil {
				t.Fatalf("%s, %s: %v %s", policy, l.name, err, stderr(err))
			}
			r := smqRun{Load: l.name, Policy: policy}
			for line := range strings.Lines(string(b)) {
				var c [4]int64
				if _, err := fmt.Sscan(line, &c[0], &c[1], &c[2], &c[3]); err != nil {
					t.Fatalf("%q: %v", line, err)
				}
				r.Counts = append(r.Counts, c)
			}
			out.Runs = append(out.Runs, r)
		}
	}
	return out
}
