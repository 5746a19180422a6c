package blockcache

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fettle/internal/means"
)

// program writes a shell script that stands for fio.
func program(t *testing.T, dir, text string) Fio {
	t.Helper()
	return Fio{File: means.Script(t, filepath.Join(dir, "fio"), text), Version: "fio-3.99"}
}

// fakeRun does what fio does: it notes how it was called, and leaves logs and figures.
const fakeRun = `echo "$(basename "$PWD"): $*" >> CALLS
case "$*" in *create_only*) echo x > layout.txt; echo 1 > log_iops.1.log; touch target/./load.0; exit 0;; esac
ls target/. > files
for job in 1 2 10; do
  printf '500, %d00, 0, 4096\n1000, %d00, 0, 4096\n' $job $job > log_iops.$job.log
  printf '500, %d000000, 0, 4096\n1000, %d000000, 0, 4096\n' $job $job > log_lat.$job.log
done
echo '{"jobs":[{"jobname":"load","error":0,"write":{"total_ios":0},' \
  '"read":{"total_ios":650,"iops":1300,"clat_ns":{"percentile":{"50.0":7000}}}}]}' > fio.json
`

func TestRunsOfATarget(t *testing.T) {
	for _, c := range []struct {
		name   string
		kinds  []string
		rw     string
		script string
		calls  string
		done   []string
		err    string
	}{
		{name: "a cache", kinds: []string{"empty", "same", "other"}, rw: "randread", script: fakeRun,
			calls: "empty: --create_only=1 --eta=never --output=layout.txt job.fio\n" +
				"empty: --eta=never --output-format=json --output=fio.json --readonly job.fio\n" +
				"same: --eta=never --output-format=json --output=fio.json --readonly job.fio\n" +
				"other: --create_only=1 --eta=never --output=layout.txt job.fio\n" +
				"other: --eta=never --output-format=json --output=fio.json --readonly job.fio\n",
			done: []string{"empty", "same", "other"}},
		{name: "a load that writes", kinds: []string{"fast"}, rw: "randrw", script: fakeRun, done: []string{"fast"},
			calls: "fast: --create_only=1 --eta=never --output=layout.txt job.fio\n" +
				"fast: --eta=never --output-format=json --output=fio.json job.fio\n"},
		{name: "a disk that fails later", kinds: []string{"empty", "same"}, rw: "randread",
			script: `case $PWD in */same) echo "note: x"; echo "fio: io_u error on file load.0: Input/output error" >&2` + "\n" +
				`echo "fio: pid=1" >&2; exit 3;; esac` + "\n" + fakeRun,
			calls: "empty: --create_only=1 --eta=never --output=layout.txt job.fio\nempty: --eta=never --output-format=json --output=fio.json " +
				"--readonly job.fio\n",
			done: []string{"empty"},
			err:  "cache, same data again (DIR): fio failed (exit status 3): io_u error on file load.0: Input/output error"},
		{name: "no room for the files", kinds: []string{"slow"}, rw: "randread", script: "echo 'fio: no space'; exit 1\n",
			err: "slow device (DIR): fio failed (exit status 1): no space"},
		{name: "no logs", kinds: []string{"slow"}, rw: "randread", script: "exit 0\n", err: "slow device (DIR): no log of fio to read"},
	} {
		t.Run(c.name, func(t *testing.T) {
			tools, dir, out := t.TempDir(), t.TempDir(), t.TempDir()
			calls := filepath.Join(tools, "calls")
			fio := program(t, tools, strings.ReplaceAll(c.script, "CALLS", calls))
			job := parsed(t, strings.Replace(smallJob, "randread", c.rw, 1))
			m := &Measurement{Job: job, Runtime: time.Minute, Interval: 500 * time.Millisecond, Out: out}
			var told []string
			var ended []*Run
			err := m.on(t.Context(), fio, &site{Target: Target{Path: dir}, kinds: c.kinds},
				func(kind, doing string, left time.Duration) {
					if told = append(told, doing+kind); left > time.Minute || doing != "" && left != time.Minute {
						t.Errorf("%s%s: %s left", doing, kind, left)
					}
				},
				func(r *Run) { ended = append(ended, r) })
			if want := strings.ReplaceAll(c.err, "DIR", dir); err == nil && want != "" || err != nil && err.Error() != want {
				t.Errorf("%v, want %q", err, want)
			}
			if b, _ := os.ReadFile(calls); string(b) != c.calls {
				t.Errorf("fio was called so:\n%swant\n%s", b, c.calls)
			}
			var kinds []string
			for _, r := range ended {
				kinds = append(kinds, r.Kind)
				if !slices.Equal(r.Series.IOPS, []float64{1300, 1300}) || r.Totals.Requests != 650 || r.Totals.At(50) != 7000 ||
					r.Conditions.Fio != "fio-3.99" || r.Conditions.Target.Path != dir || r.Runtime != time.Minute || r.Started.Location() != time.UTC {
					t.Errorf("%s: %+v", r.Kind, r)
				}
				// Each job's latency counts as much as its requests: (1·1 + 2·2 + 10·10) / 13.
				if len(r.Latency.Y) != 2 || math.Abs(r.Latency.Y[0]-105.0/13) > 1e-9 {
					t.Errorf("%s: latencies %+v", r.Kind, r.Latency)
				}
				files, _ := filepath.Glob(filepath.Join(out, r.Kind, "*"))
				for i := range files {
					files[i] = filepath.Base(files[i])
				}
				want := "files fio.json job.fio log_iops.1.log log_iops.10.log log_iops.2.log log_lat.1.log log_lat.10.log log_lat.2.log run.json"
				if strings.Join(files, " ") != want {
					t.Errorf("%s: kept are %v, want %s", r.Kind, files, want)
				}
				if b, err := os.ReadFile(filepath.Join(out, r.Kind, "files")); err != nil || string(b) != "load.0\n" {
					t.Errorf("%s: it ran on the files %q (%v)", r.Kind, b, err)
				}
				if b, err := os.ReadFile(filepath.Join(out, r.Kind, "job.fio")); err != nil || string(b) != r.Job {
					t.Errorf("%s: its job is %q, kept is %q (%v)", r.Kind, r.Job, b, err)
				}
			}
			if !slices.Equal(kinds, c.done) {
				t.Errorf("runs %q, want %q", kinds, c.done)
			}
			if !slices.Contains(told, "making files: "+c.kinds[0]) || slices.Contains(told, "making files: same") {
				t.Errorf("told: %q", told)
			}
			if left, _ := os.ReadDir(out); len(left) != len(c.done) {
				t.Errorf("folders of runs: %v, want %q", left, c.done)
			}
			empty(t, dir)
			back, err := Load(out)
			if len(c.done) > 0 && (err != nil || len(back) != len(c.done) || back[0].Kind != c.done[0]) {
				t.Errorf("stored are %v (%v)", back, err)
			}
			if len(c.done) == 0 && (err == nil || !strings.HasPrefix(err.Error(), out+" holds no run: ")) {
				t.Errorf("stored are %v (%v)", back, err)
			}
		})
	}
}

// TestWhatFioSays: the line that tells why, also when it said much else, and nothing of one that was asked to stop.
func TestWhatFioSays(t *testing.T) {
	dir := t.TempDir()
	much := "i=0; while [ $i -lt 120 ]; do echo " + strings.Repeat("x", 200) + "; i=$((i+1)); done; echo end; exit 1\n"
	for script, want := range map[string]string{
		"exit 0\n": "",
		"echo one; echo ' fio: two'; echo 'fio: three '; echo four; exit 2\n": "fio failed (exit status 2): three",
		"echo one; echo ' last ' >&2; exit 2\n":                               "fio failed (exit status 2): last",
		"exit 7\n":                                                            "fio failed (exit status 7): it did not say why",
		much:                                                                  "fio failed (exit status 1): end",
		"echo 'fio: lost'; " + much:                                           "fio failed (exit status 1): end",
	} {
		err := program(t, dir, script).run(t.Context(), dir)
		if want == "" && err != nil || want != "" && (err == nil || err.Error() != want) {
			t.Errorf("%.60q: %v, want %q", script, err, want)
		}
	}
	over, stop := context.WithCancel(t.Context())
	stop()
	if err := program(t, dir, "exit 1\n").run(over, dir); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped: %v", err)
	}
	asked := program(t, dir, `[ "$*" = "--parse-only job.fio" ] && grep -q "^rw=randread$" job.fio`+"\n")
	m := Measurement{Job: parsed(t, smallJob), Runtime: time.Minute, Interval: time.Second}
	if err := asked.understands(t.Context(), m.jobText(false, false)); err != nil {
		t.Errorf("a job that fio takes: %v", err)
	}
	if err := asked.understands(t.Context(), "[x]\nrw=write\n"); err == nil {
		t.Error("a job that fio refuses is taken")
	}
}

func TestFindFioElsewhere(t *testing.T) {
	root := t.TempDir()
	dir := func(name, script string, mode os.FileMode) string {
		d := filepath.Join(root, name)
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
		if script == "" {
			if err := os.Mkdir(filepath.Join(d, "fio"), 0o755); err != nil {
				t.Fatal(err)
			}
		} else if err := os.Chmod(program(t, d, script).File, mode); err != nil {
			t.Fatal(err)
		}
		return d
	}
	none, folder, data := filepath.Join(root, "none"), dir("folder", "", 0), dir("data", "echo fio-3.1\n", 0o644)
	good, later := dir("good", "echo ' fio-3.0 '\n", 0o755), dir("later", "echo fio-4.1\n", 0o755)
	old, failing := dir("old", "echo fio-2.99\n", 0o755), dir("failing", "exit 1\n", 0o755)
	odd, ten := dir("odd", "echo fio-x\n", 0o755), dir("ten", "echo fio-10.2\n", 0o755)
	for _, c := range []struct {
		dirs      []string
		file, err string
	}{
		{[]string{none, folder, data, good, later}, good, ""},
		{[]string{later, good}, later, ""},
		{[]string{ten}, ten, ""},
		{[]string{none, folder}, "", "fio is not in " + none + ", " + folder + "; " + howToGetFio},
		{[]string{old, good}, "", old + "/fio is fio-2.99: too old, expected fio-3.0 or newer; " + howToGetFio},
		{[]string{failing}, "", "asking " + failing + "/fio for its version: exit status 1"},
		{[]string{odd}, "", odd + `/fio calls itself "fio-x": expected fio-3.0 or newer; ` + howToGetFio},
	} {
		f, err := findFio(t.Context(), c.dirs)
		if c.err != "" && (err == nil || err.Error() != c.err) {
			t.Errorf("%v, want %s", err, c.err)
		}
		if c.err == "" && (err != nil || f.File != c.file+"/fio" || strings.TrimSpace(f.Version) != f.Version) {
			t.Errorf("%+v (%v), want that in %s", f, err, c.file)
		}
	}
}

// TestUsersUnknown: who has a device is not known where the system's files cannot be read, and that is not nobody.
func TestUsersUnknown(t *testing.T) {
	for name, c := range map[string]struct{ make, want string }{
		"nothing":                      {"", "proc/self/mountinfo: no such file or directory"},
		"a partition without a number": {"sys/dev/block/8:0/sda1/partition=1", "sda1/dev: no such file or directory"},
		"holders that are no folder":   {"sys/dev/block/8:0/holders=x", "holders: not a directory"},
		"swaps that are no file":       {"proc/self/mountinfo= proc/swaps/", "swaps: is a directory"},
		"no swap at all":               {"proc/self/mountinfo=", ""},
	} {
		root := t.TempDir()
		put(t, root, strings.Fields(c.make)...)
		who, err := users(root, "8:0")
		if who != "" || (err == nil) != (c.want == "") || err != nil && !strings.HasSuffix(err.Error(), c.want) {
			t.Errorf("%s: %q, %v; want %q", name, who, err, c.want)
		}
	}
	gone := Target{Path: filepath.Join(t.TempDir(), "gone")}
	if _, _, err := gone.number(); err == nil || err.Error() != "stat of "+gone.Path+": no such file or directory" {
		t.Error(err)
	}
	if _, err := gone.room(); err == nil || err.Error() != "statfs of "+gone.Path+": no such file or directory" {
		t.Error(err)
	}
	if _, err := gone.hold(); err == nil {
		t.Error("a device that is gone is held")
	}
	gone.Device = true
	if _, err := gone.room(); err == nil {
		t.Error("a device that is gone has room")
	}
	if _, _, err := filesDir(gone.Path); err == nil {
		t.Error("files were made in a folder that is gone")
	}
	if err := sweep(gone.Path, func(string) {}); err == nil {
		t.Error("a folder that is gone was swept")
	}
	file := Target{Path: filepath.Join(t.TempDir(), "disk"), Device: true} // room asks a file as it does a device
	put(t, filepath.Dir(file.Path), "disk=12345")
	if n, err := file.room(); err != nil || n != 5 {
		t.Errorf("room for %d bytes (%v), want 5", n, err)
	}
}

func TestSizesAndTimes(t *testing.T) {
	for text, want := range map[string]int64{
		"1": 1, "4k": 4096, "4K": 4096, "4KiB": 4096, "4kb": 4096, "3m": 3 << 20, "2g": 2 << 30, "5T": 5 << 40, "1p": 1 << 50, "512b": 512,
		"511p": 511 << 50, "512p": 0, // more than 2^59
		"": 0, "0": 0, "-1": 0, "k": 0, "x": 0, "1.5g": 0, "1e": 0, "99999999999999999999": 0,
	} {
		if got, err := parseFioSize(text); got != want || (err == nil) != (want > 0) {
			t.Errorf("size %q: %d (%v), want %d", text, got, err, want)
		}
	}
	for text, want := range map[string]time.Duration{
		"1": time.Second, "90s": 90 * time.Second, "15m": 15 * time.Minute, "2H": 2 * time.Hour, "1d": 24 * time.Hour,
		"300ms": 300 * time.Millisecond,
		"":      0, "0": 0, "-5": 0, "s": 0, "ms": 0, "m15": 0, "1w": 0, "99999999999": 0,
	} {
		if got, err := parseFioTime(text); got != want || (err == nil) != (want > 0) {
			t.Errorf("time %q: %s (%v), want %s", text, got, err, want)
		}
	}
	for runtime, want := range map[time.Duration]time.Duration{5 * time.Second: 100 * time.Millisecond,
		10 * time.Second: 100 * time.Millisecond, 29 * time.Second: 250 * time.Millisecond,
		time.Minute: 500 * time.Millisecond, time.Hour: 500 * time.Millisecond} {
		if got := interval(runtime); got != want {
			t.Errorf("of a run of %s a reading each %s, want %s", runtime, got, want)
		}
	}
	for d, want := range map[time.Duration]string{-1: "-", 0: "-", 999_400: "999 µs", time.Millisecond: "1.0 ms", 999_940_000: "999.9 ms",
		time.Second: "1.0 s", 1500 * time.Microsecond: "1.5 ms", 90 * time.Second: "90.0 s"} {
		if got := latency(d); got != want {
			t.Errorf("%d ns: %q, want %q", d, got, want)
		}
	}
}

// TestSumAtItsBounds: what is late, what is a stall, and when a run ends.
func TestSumAtItsBounds(t *testing.T) {
	for _, c := range []struct {
		name string
		logs []string
		want []float64
	}{
		{"as late as may be", []string{"500, 100, 0, 0\n1375, 100, 0, 0\n1500, 100, 0, 0\n"}, []float64{100, 100, 100}},
		{"a millisecond more", []string{"500, 100, 0, 0\n1376, 100, 0, 0\n1500, 100, 0, 0\n"}, []float64{100, 24.8, 100}},
		{"the first line is late", []string{"875, 100, 0, 0\n1000, 100, 0, 0\n"}, []float64{100, 100}},
		{"one job ends an interval before the other", []string{"500, 100, 0, 0\n1000, 100, 0, 0\n",
			"500, 10, 0, 0\n1000, 10, 0, 0\n1500, 10, 0, 0\n"}, []float64{110, 110}},
		{"one job stalls two before", []string{"500, 100, 0, 0\n", "500, 10, 0, 0\n1000, 10, 0, 0\n1500, 10, 0, 0\n"}, []float64{110, 10, 10}},
		{"nearly an interval", []string{"500, 100, 0, 0\n950, 100, 0, 0\n"}, []float64{100, 100}},
		{"less", []string{"500, 100, 0, 0\n949, 100, 0, 0\n"}, []float64{100}},
		{"trims", []string{"500, 100, 2, 0\n1000, 50, 2, 0\n"}, []float64{100, 50}},
	} {
		var logs []Log
		for _, text := range c.logs {
			logs = append(logs, readLog(t, "iops.log", text))
		}
		got, err := Sum(logs, 500*time.Millisecond)
		if err != nil || len(got.IOPS) != len(c.want) || got.Interval != 500*time.Millisecond {
			t.Errorf("%s: %v, %v; want %v", c.name, got.IOPS, err, c.want)
			continue
		}
		for i := range c.want {
			if math.Abs(got.IOPS[i]-c.want[i]) > 1e-6 {
				t.Errorf("%s: %v; want %v", c.name, got.IOPS, c.want)
				break
			}
		}
	}
	if x := (Series{Interval: 500 * time.Millisecond, IOPS: make([]float64, 3)}).X(); !slices.Equal(x, []float64{0.25, 0.75, 1.25}) {
		t.Errorf("the middles of intervals: %v", x)
	}
	one := []Log{readLog(t, "a.log", "500, 1, 0, 0\n")}
	for _, bad := range []struct {
		lat, iops []Log
		every     time.Duration
		want      string
	}{
		{one, nil, time.Second, "1 latency logs and 0 IOPS logs do not belong together"},
		{nil, nil, time.Second, "no log of fio to read"},
		{one, one, time.Microsecond, "an interval of 1µs: fio's logs count milliseconds"},
		{one, one, time.Second, "a.log:1: the run ended after 500 ms, before one interval of 1s was over"},
	} {
		if _, err := Mean(bad.lat, bad.iops, bad.every); err == nil || err.Error() != bad.want {
			t.Errorf("%v, want %s", err, bad.want)
		}
	}
	const seven = "250, 1, 0, 0\n500, 1, 0, 0\n750, 1, 0, 0\n1000, 1, 0, 0\n1250, 1, 0, 0\n1500, 1, 0, 0\n1750, 1, 0, 0\n"
	for text, unaveraged := range map[string]bool{seven: false, seven + "1999, 1, 0, 0\n": true, seven + "2000, 1, 0, 0\n": false,
		seven + "1999, 2, 0, 0\n": false} {
		if readLog(t, "f.log", text).unaveraged(500*time.Millisecond) != unaveraged {
			t.Errorf("each line of these is taken for a request: %v\n%s", !unaveraged, text)
		}
	}
}

func TestTotalsOfReadsAndWrites(t *testing.T) {
	const job = `{"jobs":[{"jobname":"j","read":{"total_ios":%d,"iops":%d,"clat_ns":{"percentile":{"50.0":5}}},` +
		`"write":{"total_ios":%d,"iops":%d,"clat_ns":{"percentile":{"50.0":9,"0":1,"100":11}}}}]}`
	for _, c := range []struct {
		reads, writes, requests int64
		at50                    time.Duration
		percentiles             int
	}{{30, 12, 42, 5, 1}, {30, 0, 30, 5, 1}, {0, 12, 12, 9, 3}} {
		got, err := ReadTotals("out", fmt.Appendf(nil, job, c.reads, c.reads*10, c.writes, c.writes*10))
		if err != nil || got.Requests != c.requests || got.IOPS != float64(c.requests*10) || got.At(50) != c.at50 ||
			len(got.Percentiles) != c.percentiles {
			t.Errorf("%d reads, %d writes: %+v (%v)", c.reads, c.writes, got, err)
		}
	}
	for text, want := range map[string]string{
		fmt.Sprintf(job, 0, 0, 0, 0):                                    `out: fio's job "j" did no request`,
		strings.Replace(fmt.Sprintf(job, 1, 1, 0, 0), "50.0", "101", 1): `out: "101": 5 is no percentile`,
		strings.Replace(fmt.Sprintf(job, 1, 1, 0, 0), "50.0", "x", 1):   `out: "x": 5 is no percentile`,
		strings.Replace(fmt.Sprintf(job, 1, 1, 0, 0), "50.0", "NaN", 1): `out: "NaN": 5 is no percentile`,
		strings.Replace(fmt.Sprintf(job, 1, 1, 0, 0), ":5}", ":-5}", 1): `out: "50.0": -5 is no percentile`,
		`{"jobs":[{},{}]}`: "out: fio reports 2 groups of jobs; expected one (group_reporting)",
		"note\n[]":         "reading out as fio's JSON: ",
	} {
		if _, err := ReadTotals("out", []byte(text)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestLogsAtTheirBounds(t *testing.T) {
	for text, want := range map[string]string{
		"1099511627776, 1, 0, 0\n":             "",
		"1099511627777, 1, 0, 0\n":             "x.log:1: a time of 1099511627777 ms is no time of a run",
		"1, 2, 2, 0\r\n":                       "",
		"1, 2, 3, 0\n":                         "x.log:1: direction 3: expected 0 (reads), 1 (writes) or 2 (trims)",
		"1, 2, 0\n":                            "x.log:1: 3 fields where a fio log has time, value, direction, block size and up to four more",
		"1, 2, 0, 4, 5, 6, 7, 8\n":             "",
		"1, 2, 0, 4, 5, 6, 7, 8, 9\n":          "x.log:1: 9 fields",
		"1, 2, x, 0\n":                         `x.log:1: expected a direction, not "x"`,
		"5, 1, 0, 0\n4, 1, 1, 0\n":             "", // each direction has its own times
		"5, 1, 0, 0\n6, 1, 1, 0\n4, 1, 0, 0\n": "x.log:3: the time goes back from 5 ms to 4 ms: two runs in one file?",
		"5, 1, 0, 0\n5, 1, 0, 0\n":             "",
	} {
		_, err := ReadLog("x.log", strings.NewReader(text))
		if want == "" && err != nil || want != "" && (err == nil || !strings.HasPrefix(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	if _, err := OpenLog(filepath.Join(t.TempDir(), "none")); !os.IsNotExist(err) {
		t.Error(err)
	}
	if _, err := OpenLog(t.TempDir()); err == nil || !strings.HasPrefix(err.Error(), "reading /") {
		t.Errorf("a folder: %v", err)
	}
}

// TestVerdictsAtTheirBounds: readings without noise lie exactly on them.
func TestVerdictsAtTheirBounds(t *testing.T) {
	steady := func(levels ...float64) (s Series) {
		s.Interval = 500 * time.Millisecond
		for _, l := range levels {
			for range 24 {
				s.IOPS = append(s.IOPS, l)
			}
		}
		return s
	}
	for _, c := range []struct {
		slow, fast float64
		cached     Series
		want       Answer
		change     float64
	}{
		{400, 1000, steady(500, 500, 700, 700), Between, 1},
		{400, 1000, steady(500, 500, 600, 600), Slow, 1},
		{400, 1000, steady(500, 500, 601, 601), Between, 1},
		{400, 1000, steady(500, 500, 800, 800), Fast, 1},
		{400, 1000, steady(500, 500, 799, 799), Between, 1},
		{100, 10_000, steady(1, 1, 1000, 1120), Between, 1.12},
		{100, 10_000, steady(1, 1, 1000, 1121), Changing, 1.121},
		{100, 10_000, steady(1, 1, 1120, 1001), Between, 1001.0 / 1120},
		{100, 10_000, steady(1, 1, 1120, 999), Changing, 999.0 / 1120},
		{100, 10_000, steady(1, 1, 8000, 9900), Fast, 9900.0 / 8000}, // what is fast and gets faster is fast
		{100, 10_000, steady(1, 1, 9900, 8000), Changing, 8000.0 / 9900},
		{100, 10_000, steady(1, 1, 0, 0), Slow, 1},
		{100, 10_000, steady(1, 1, 0, 500), Changing, math.MaxFloat64},
	} {
		v, err := Judge(steady(1, c.slow, c.slow, c.slow), steady(1, c.fast, c.fast, c.fast), c.cached)
		last := c.cached.IOPS[len(c.cached.IOPS)-1]
		if err != nil || v.Answer != c.want || v.Confidence != 1 || !v.Sure() || v.Change != c.change || v.Slow != c.slow || v.Fast != c.fast ||
			v.Cached != last || v.Within != [2]float64{last, last} {
			t.Errorf("between %v and %v, %v: %+v (%v), want %s and a change of %v", c.slow, c.fast, last, v, err, c.want, c.change)
		}
	}
	_, err := Judge(steady(400), steady(999), steady(400))
	const alike = "the fast device makes 999 requests a second, the slow one 400: less than 2.5 times as many, so nothing tells the two apart"
	if err == nil || err.Error() != alike {
		t.Error(err)
	}
	for want, v := range map[string]Verdict{
		"between (confidence 90 %)":                                    {Answer: Between, Confidence: 0.9},
		"between (confidence 89 %), not certain: run longer":           {Answer: Between, Confidence: 0.89},
		"still changing: run longer (confidence 50 %)":                 {Answer: Changing, Confidence: 0.5},
		"converges to fast (confidence 51 %), not certain: run longer": {Answer: Fast, Confidence: 0.51},
	} {
		if got := v.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestJudgedByWhom: a run is judged by the baselines of its own set, of the first that has some, or not at all.
func TestJudgedByWhom(t *testing.T) {
	run := func(kind string, v float64, job string) *Run {
		s := Series{Interval: time.Second, IOPS: append(slicesOf(10, 1), slicesOf(30, v)...)}
		return &Run{Kind: kind, Series: s, Job: "[global]\nruntime=" + kind + "\n" + job,
			Totals: Totals{IOPS: v, Percentiles: []Percentile{{50, 5000}, {99, 2e6}}}}
	}
	const job, moved = "[load]\nrw=randread\noffset=0\noffset_increment=4\n", "[load]\nrw=randread\noffset=99\noffset_increment=8\n"
	got := JudgeAll([]Set{
		{Runs: []*Run{run("empty", 500, moved), run("same", 500, "[load]\nrw=read\n")}},
		{Name: "one", Runs: []*Run{run("slow", 100, job), run("fast", 1000, job), run("same", 950, job)}},
		{Name: "two", Runs: []*Run{run("slow", 940, job), run("fast", 5000, job), run("same", 950, job)}},
		{Name: "half", Runs: []*Run{run("fast", 5000, job), run("other", 950, job)}},
	})
	var said []string
	for _, r := range Table(got) {
		said = append(said, strings.Join([]string{r.Label, r.Median, r.P50, r.P99, r.Mean, r.Short, r.Verdict}, "|"))
	}
	want := []string{
		"cache, first run|500|5 µs|2.0 ms|500|between|between (confidence 100 %)",
		"cache, same data again|500|5 µs|2.0 ms|500|none|no verdict: its load is not that of the baselines: their jobs differ",
		"one: slow device|100|5 µs|2.0 ms|100|baseline|baseline",
		"one: fast device|1000|5 µs|2.0 ms|1000|baseline|baseline",
		"one: cache, same data again|950|5 µs|2.0 ms|950|converges to fast|converges to fast (confidence 100 %)",
		"two: slow device|940|5 µs|2.0 ms|940|baseline|baseline",
		"two: fast device|5000|5 µs|2.0 ms|5000|baseline|baseline",
		"two: cache, same data again|950|5 µs|2.0 ms|950|stays at slow|stays at slow (confidence 100 %)",
		"half: fast device|5000|5 µs|2.0 ms|5000|baseline|baseline",
		"half: cache, other data|950|5 µs|2.0 ms|950|between|between (confidence 100 %)",
	}
	for i := range want {
		if i >= len(said) || said[i] != want[i] {
			t.Fatalf("%d: %q\nwant %q", i, said[min(i, len(said)-1)], want[i])
		}
	}
	judgedBy := func(j Judged) string { return j.Notes[len(j.Notes)-1] }
	for i, by := range map[int]string{0: "one", 9: "one"} {
		if want := "it has no baselines, and is judged by those of " + by + ": meaningful only on the same machine"; judgedBy(got[i]) != want {
			t.Errorf("%q, want %q", judgedBy(got[i]), want)
		}
	}
	if n := got[7].Notes; len(n) != 1 {
		t.Errorf("of one with baselines of its own: %q", n)
	}
	alone := JudgeAll([]Set{{Runs: []*Run{run("slow", 100, job), run("same", 950, job)}}})
	if alone[1].Why != "a verdict needs both baselines, --slow and --fast" || alone[1].Verdict != nil || alone[1].Median != 950 {
		t.Errorf("%+v", alone[1])
	}
	short := run("same", 950, job)
	short.Series.IOPS = short.Series.IOPS[:12]
	few := JudgeAll([]Set{{Runs: []*Run{run("slow", 100, job), run("fast", 1000, job), short}}})
	if few[2].Verdict != nil || !strings.Contains(few[2].Why, "the cached run has 12 intervals of 1s; a verdict needs 24") {
		t.Errorf("%+v", few[2])
	}
}

func TestPictures(t *testing.T) {
	for _, c := range []struct {
		readings int
		every    time.Duration
		unit     string
		last     float64
	}{{300, time.Second, "seconds", 299.5}, {301, time.Second, "minutes", 300.5 / 60}, {300, time.Minute, "minutes", 299.5},
		{301, time.Minute, "hours", 300.5 / 60}, {2 * most, time.Second, "minutes", (2*most - 1.5) / 60}} {
		long := &Run{Kind: "slow", Series: Series{Interval: c.every, IOPS: slicesOf(c.readings, 7)}}
		short := &Run{Kind: "fast", Series: Series{Interval: time.Second, IOPS: slicesOf(10, 9)}}
		p := Figure([]Judged{{Run: long, Label: "long"}, {Run: short, Label: "short"}})
		var names []string
		for _, curve := range p.Curves {
			names = append(names, fmt.Sprint(curve.Name, " ", curve.Points, " ", len(curve.X) == len(curve.Y), " ", curve.Y[0]))
		}
		want := []string{"long true true 7", "long false true 7", "short true true 9", "short false true 9"}
		x := p.Curves[0].X
		if !slices.Equal(names, want) || p.X != c.unit || math.Abs(x[len(x)-1]-c.last) > 1e-9 || len(x) != min(c.readings, most) {
			t.Errorf("%d readings each %s: %q over %s, of %d points to %v; want %q over %s to %v",
				c.readings, c.every, names, p.X, len(x), x[len(x)-1], want, c.unit, c.last)
		}
	}
	for n, want := range map[int]int{most: most, most + 1: (most + 2) / 2, 2 * most: most, 2*most + 1: (2*most + 3) / 3} {
		if got := thin(slicesOf(n, 1)); len(got) != want {
			t.Errorf("of %d points %d are drawn, want %d", n, len(got), want)
		}
	}
}

// TestNotes: where a run is not what it is called, and where the host was busy.
func TestNotes(t *testing.T) {
	full := func(used, all int) string { return fmt.Sprintf("0 9 cache 8 1/2 128 %d/%d 0", used, all) }
	const unknown = "how full the cache was is not known: dmsetup shows no cache there"
	for _, c := range []struct {
		kind, before, load string
		processors         int
		want               []string
	}{
		{"slow", "", "", 0, nil},
		{"fast", full(5, 10), "2.0 1 1", 4, nil},
		{"fast", "", "2.01 9 9", 4, []string{
			"the host was busy before: a load of 2.01 on 4 processors; what it did then may have slowed this run"}},
		{"fast", "", "9 9 9", 0, nil},
		{"empty", full(5, 100), "", 0, nil},
		{"empty", full(6, 100), "", 0, []string{"the cache was not empty: 6 of its 100 blocks were used"}},
		{"same", full(90, 100), "", 0, nil},
		{"same", full(89, 100), "", 0, []string{"the cache was not full: 89 of its 100 blocks were used"}},
		{"other", "", "", 0, []string{unknown}},
		{"other", "0 9 linear 8 1/2 128 5/9 0", "", 0, []string{unknown}},
		{"other", "0 9 cache 8 1/2 128", "", 0, []string{unknown}},
		{"other", full(0, 0), "", 0, []string{unknown}},
		{"other", "0 9 cache 8 1/2 128 x", "", 0, []string{unknown}},
	} {
		r := Run{Kind: c.kind, Conditions: Conditions{Before: c.before, Load: c.load, Processors: c.processors}}
		if got := r.Notes(); !slices.Equal(got, c.want) {
			t.Errorf("%s, %q, load %q: %q, want %q", c.kind, c.before, c.load, got, c.want)
		}
	}
}

func TestLoadStored(t *testing.T) {
	good := func(kind string) *Run {
		return &Run{Format: runFormat, Schema: 1, Kind: kind, Series: Series{Interval: time.Second, IOPS: []float64{0, 5}}}
	}
	dir := t.TempDir()
	put(t, dir, "all/slow/", "all/other/", "one/", "broken/fast/run.json={", "bad/run.json={}", "nothing/slow/")
	for name, r := range map[string]*Run{"all/other": good("other"), "all/slow": good("slow"), "one": good("same")} {
		if err := r.store(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{
		"all": "slow other", "one": "same", "all/slow": "slow", "gone": "stat DIR: no such file or directory",
		"broken":  "DIR/fast/run.json: unexpected end of JSON input",
		"bad":     `DIR/run.json: format "", schema 0: expected fettle-blockcache-run, 1`,
		"nothing": "DIR holds no run: neither run.json nor a folder slow, fast, empty, same or other with one",
	} {
		at := filepath.Join(dir, name)
		runs, err := Load(at)
		var got []string
		for _, r := range runs {
			got = append(got, r.Kind)
		}
		if err != nil {
			got = []string{err.Error()}
		}
		if said := strings.Join(got, " "); said != strings.ReplaceAll(want, "DIR", at) {
			t.Errorf("%s: %s, want %s", name, said, want)
		}
	}
	if err := good("slow").store(filepath.Join(dir, "gone")); err == nil {
		t.Error("stored in a folder that is not there")
	}
	for text, want := range map[string]string{
		`"series":{"interval_ns":0,"iops":[1]}`:                               "the run has no readings",
		`"series":{"interval_ns":5,"iops":[]}`:                                "the run has no readings",
		`"series":{"interval_ns":5,"iops":[1]},"latency_ms":{"x":[1],"y":[]}`: "the latencies do not fit their times",
	} {
		_, err := parseRun([]byte(`{"format":"fettle-blockcache-run","schema":1,"kind":"slow",` + text + "}"))
		if err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

func TestTargets(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "file=x")
	for path, want := range map[string]string{dir: "", filepath.Join(dir, "file"): "is neither a folder", "/dev/null": "is neither a folder",
		filepath.Join(dir, "gone"): "no such file or directory"} {
		got, err := NewTarget(path)
		if want == "" && (err != nil || got != Target{Path: path}) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %+v (%v), want %q", path, got, err, want)
		}
	}
	for text, want := range map[string]string{"": "", "none": "none", "mq-deadline [none]": "none", "[mq-deadline] kyber": "mq-deadline"} {
		if got := chosen(text); got != want {
			t.Errorf("of the schedulers %q that is chosen: %q, want %q", text, got, want)
		}
	}
	c := Target{Path: dir}.conditions(t.Context())
	host, _ := os.Hostname()
	if c.Target.Path != dir || c.Host != host || c.Processors < 1 || len(strings.Fields(c.Load)) != 5 ||
		!strings.Contains(c.Device, ":") || c.Kernel == "" {
		t.Errorf("%+v", c)
	}
	if About("same") != "cache, same data again" || About("x") != "x" {
		t.Errorf("%q, %q", About("same"), About("x"))
	}
}
