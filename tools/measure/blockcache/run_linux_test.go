package blockcache

import (
	"bytes"
	"context"
	"errors"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fettle/internal/chart/draw"
	"fettle/internal/means"
)

const smallJob = "[load]\nioengine=libaio\ndirect=1\niodepth=4\nnumjobs=2\nrw=randread\nbs=4k\nsize=4m\n"

func parsed(t *testing.T, text string) Job {
	t.Helper()
	j, err := ParseJob("test", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func empty(t *testing.T, dir string) {
	t.Helper()
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		t.Errorf("%v is left in %s, %v", left, dir, err)
	}
}

// TestDo runs fio on files: what fio counted itself must be what the logs,
// summed, come to.
func TestDo(t *testing.T) {
	means.Short(t, "takes seconds")
	t.Parallel()
	means.Tool(t, "fio")
	cached, out := t.TempDir(), filepath.Join(t.TempDir(), "runs")
	var said []string
	runs, err := Do(context.Background(), Measurement{Cached: cached, Job: parsed(t, smallJob), Runtime: 5 * time.Second, Out: out,
		Tell: func(p Progress) { said = append(said, p.Doing) }})
	if err != nil {
		t.Fatal(err)
	}
	empty(t, cached)
	if len(runs) != 3 || !strings.Contains(strings.Join(said, "\n"), "making files: cache, other data") ||
		strings.Contains(strings.Join(said, "\n"), "making files: cache, same data") {
		t.Errorf("%d runs; %q", len(runs), said)
	}
	for _, r := range runs {
		sum := 0.0
		for _, v := range r.Series.IOPS {
			sum += v * r.Series.Interval.Seconds()
		}
		if n := float64(r.Totals.Requests); sum < 0.9*n || sum > 1.1*n {
			t.Errorf("%s: the logs come to %.0f requests, fio counted %.0f", r.Kind, sum, n)
		}
		if len(r.Series.IOPS) < 40 || len(r.Latency.Y) == 0 || r.Totals.At(99) <= 0 || r.Conditions.Kernel == "" ||
			r.Conditions.FileSystem == "" {
			t.Errorf("%+v", r)
		}
	}
	back, err := Load(out)
	if err != nil || len(back) != 3 || back[2].Kind != "other" || back[2].Series.IOPS[3] != runs[2].Series.IOPS[3] {
		t.Errorf("%+v, %v", back, err)
	}
	if _, err := Do(context.Background(), Measurement{Cached: cached, Job: parsed(t, smallJob), Runtime: 5 * time.Second,
		Out: out}); err == nil ||
		!strings.Contains(err.Error(), "is there already") {
		t.Errorf("stored runs would be overwritten: %v", err)
	}
}

// TestAbort: Ctrl-C in a run leaves neither fio nor files nor half a run.
func TestAbort(t *testing.T) {
	t.Parallel()
	means.Tool(t, "fio")
	slow, out := t.TempDir(), filepath.Join(t.TempDir(), "runs")
	ctx, cancel := context.WithCancel(context.Background())
	running := 0
	_, err := Do(ctx, Measurement{Slow: slow, Job: parsed(t, smallJob), Runtime: time.Minute, Out: out, Tell: func(p Progress) {
		if p.Doing == "slow device" && p.Left < time.Minute { // after a second
			running = fios(t, out)
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) || running != 1 {
		t.Errorf("%v; %d processes of fio were seen", err, running)
	}
	if n := fios(t, out); n != 0 {
		t.Errorf("%d processes of fio are left", n)
	}
	empty(t, slow)
	if _, err := os.Stat(out); !os.IsNotExist(err) {
		t.Errorf("the runs' folder is left: %v", err)
	}
}

// fios counts processes of fio at work below dir.
func fios(t *testing.T, dir string) (n int) {
	all, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, p := range all {
		if at, err := os.Readlink(p); err == nil && strings.HasPrefix(at, dir) && line(filepath.Dir(p)+"/comm") == "fio" {
			n++
		}
	}
	return n
}

func TestDoRefuses(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	os.WriteFile(file, nil, 0o600)
	good := parsed(t, smallJob)
	huge := good
	huge.parts = append([]part(nil), good.parts...)
	huge.Resize(1 << 55)
	for want, m := range map[string]Measurement{
		"nothing to measure":              {Job: good, Runtime: time.Minute},
		"is too short":                    {Job: good, Slow: dir},
		"size= of less than one block":    {Job: parsed(t, "[a]\nrw=read\nsize=4\n"), Slow: dir, Runtime: time.Minute},
		"has no size=":                    {Job: parsed(t, "[a]\nrw=read\n"), Slow: dir, Runtime: time.Minute},
		"neither a folder":                {Job: good, Slow: file, Runtime: time.Minute},
		"no such file":                    {Job: good, Slow: dir + "/none", Runtime: time.Minute},
		"--slow and --fast are on the sa": {Job: good, Slow: dir, Fast: "/" + dir, Runtime: time.Minute},
		"has room for":                    {Job: huge, Slow: dir, Runtime: time.Minute},
	} {
		m.Out = filepath.Join(dir, "out")
		var ue *UsageError
		if _, err := Do(context.Background(), m); !errors.As(err, &ue) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("%v is left", left)
	}
}

func TestFindFio(t *testing.T) {
	dir := t.TempDir()
	if _, err := findFio(context.Background(), []string{dir}); err == nil || !strings.Contains(err.Error(), "apt install fio") {
		t.Error(err)
	}
	for version, want := range map[string]string{"fio-2.16": "too old", "bash 5": "expected fio-3.0", "fio-3.33-5-gabc": ""} {
		file := filepath.Join(dir, "fio")
		if err := os.WriteFile(file, []byte("#!/bin/sh\necho "+version+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		_, err := findFio(context.Background(), []string{dir})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", version, err, want)
		}
	}
}

// TestUsers: who has a device, told from the files of a made-up system.
func TestUsers(t *testing.T) {
	root := t.TempDir()
	write := func(name, text string) {
		name = filepath.Join(root, name)
		os.MkdirAll(filepath.Dir(name), 0o755)
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range []string{"8:0", "8:1", "8:16", "8:32", "8:48"} {
		os.MkdirAll(filepath.Join(root, "sys/dev/block", n, "holders"), 0o755)
	}
	write("sys/dev/block/8:0/sda1/partition", "1\n")
	write("sys/dev/block/8:0/sda1/dev", "8:1\n")
	write("sys/dev/block/8:32/holders/dm-0", "")
	write("proc/self/mountinfo", "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n30 22 8:16 / /srv rw - xfs /dev/sdb rw\n")
	write("proc/swaps", "Filename Type Size Used Priority\n/nonexistent/swapfile file 1 0 -2\n")
	for number, want := range map[string]string{"8:0": "its partition sda1 is mounted on /", "8:1": "it is mounted on /",
		"8:16": "it is mounted on /srv", "8:32": "it is part of dm-0", "8:48": ""} {
		if got, err := users(root, number); got != want || err != nil {
			t.Errorf("%s: %q, %v; want %q", number, got, err, want)
		}
	}
}

func TestJudgeAllAndFigure(t *testing.T) {
	run := func(kind string, v float64, dm string) *Run {
		r := &Run{Format: runFormat, Schema: 1, Kind: kind, Series: made(3, 100, noises["white"], flat(v)), Totals: Totals{IOPS: v}}
		r.Conditions = Conditions{
			Before:     dm,
			After:      dm,
			Target:     Target{Path: "/srv/<script>alert(1)</script>"},
			Kernel:     "6.1.0-30-amd64",
			Fio:        "fio-3.33",
			Device:     "dm-3 (254:3)",
			Bytes:      3 << 39,
			Model:      "WDC WD10",
			Scheduler:  "mq-deadline",
			Rotational: "1",
			FileSystem: "xfs",
			Load:       "0.31 0.42 0.50",
			Table:      "0 9 cache 254:1 254:0",
		}
		r.Conditions.Host, r.Conditions.Processors, r.Started = "nas7", 2, time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
		if kind == "fast" {
			r.Conditions.Load = "22.14 18.00 9.50 3/812 4711"
		}
		r.Runtime, r.Job = 90*time.Minute, "[load]\nrw=randread\n"
		return r
	}
	got := JudgeAll(
		[]Set{
			{
				Runs: []*Run{
					run("slow", 400, ""),
					run("fast", 3000, ""),
					run("empty", 420, "0 9 cache 8 1/2 128 100/256 0"),
					run("other", 2950, "0 9 cache 8 1/2 128 256/256 0"),
				},
			},
			{Name: "old<b>", Runs: []*Run{run("other", 410, "")}},
		},
	)
	if len(got) != 5 || got[2].Verdict.Answer != Slow || got[3].Verdict.Answer != Fast || got[4].Verdict.Answer != Slow ||
		got[4].Label != "old<b>: cache, other data" {
		t.Fatalf("%+v", got)
	}
	if n := got[2].Notes; len(n) != 1 || n[0] != "the cache was not empty: 100 of its 256 blocks were used" || len(got[3].Notes) != 0 ||
		len(got[4].Notes) != 2 ||
		!strings.Contains(got[4].Notes[1], "judged by those of the new measurement") {
		t.Errorf("%q, %q, %q", n, got[3].Notes, got[4].Notes)
	}
	var pic bytes.Buffer
	if err := draw.Write(&pic, Figure(got), "png"); err != nil {
		t.Fatal(err)
	}
	if _, err := png.Decode(&pic); err != nil {
		t.Error(err)
	}
}

func TestParseRunRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":   "unexpected end",
		"{}": `format ""`,
		`{"format":"fettle-blockcache-run","schema":1,"kind":"x"}`:                                                `kind "x"`,
		`{"format":"fettle-blockcache-run","schema":1,"kind":"slow"}`:                                             "no readings",
		`{"format":"fettle-blockcache-run","schema":1,"kind":"slow","series":{"interval_ns":5,"iops":[1,-2]}}`:    "-2 is no reading",
		`{"format":"fettle-blockcache-run","schema":1,"kind":"slow","series":{"interval_ns":5,"iops":[1,1e300]}}`: "1e+300 is no reading",
	} {
		if _, err := parseRun([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
