package proof

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"fettle/lab"
	"fettle/tools/measure/blockcache"
)

// RunsExperiment has fettle measure a dm-cache of a slow and a fast device as
// a user would, for those without spare disks.
var RunsExperiment = lab.Experiment{
	Name: "runs", About: "dm-cache with smq over a slow disk: baselines, cache empty, full of the same data, full of other data",
	Long:  true,
	Needs: benchNeeds(700),
	Run:   measured,
}

const (
	runsOrigin = 128 << 20 // bytes
	runsData   = 32 << 20  // of both jobs
	runsCache  = runsData
	// Baselines are steady; a cache's queues move once a minute.
	runsBaseline = "30s"
	runsRuntime  = "4m"
	// runsJob is measure blockcache's own load, over less data: as much as the
	// cache holds. Memory is as fast as the processor is free; held to 10,000
	// requests a second it is always the same.
	runsJob = `[load]
ioengine=libaio
direct=1
iodepth=8
numjobs=2
rw=randread
random_distribution=zipf:1.2
bs=4k
size=16m
rate_iops=5000
`
)

func measured(ctx context.Context, b *lab.Bench) error {
	runs, err := runOn(b, true)
	if err != nil {
		return err
	}
	for _, j := range runs {
		if j.Why != "" {
			return fmt.Errorf("%s: %s", j.Label, j.Why)
		}
	}
	return nil
}

// runOn measures a new dm-cache on the kernel that runs, and tells the bench.
func runOn(b *lab.Bench, guard bool) ([]blockcache.Judged, error) {
	b.Columns("Run", "IOPS", "of fast %", "Latency", "99 %", "Cache before", "Hits %", "Promoted", "Demoted", "Verdict", "Sure %")
	l := &modelBench{Bench: b}
	below, err := l.loop("origin", runsOrigin)
	if err != nil {
		return nil, err
	}
	table := delay(runsOrigin, below)
	// The baseline has a device of its own, that what is measured holds nothing back.
	slow, err := l.dm("slow", table)
	if err != nil {
		return nil, err
	}
	if l.origin, err = l.dm("origin", table); err != nil {
		return nil, err
	}
	fast, err := l.loop("fast", runsOrigin)
	if err != nil {
		return nil, err
	}
	ssd, err := l.loop("cache", runsCache)
	if err != nil {
		return nil, err
	}
	meta, err := l.loop("meta", 4<<20)
	if err != nil {
		return nil, err
	}
	cached, err := l.cached(runsOrigin, meta, ssd)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile("/run/job.fio", []byte(runsJob), 0o644); err != nil {
		return nil, err
	}
	if guard {
		if err := writesGuarded(b, l.origin, slow); err != nil {
			return nil, err
		}
	}
	measure := []string{"fettle-lab", "measure", "blockcache", "--job", "/run/job.fio", "--format", "json"}
	if _, err := b.Run(append(measure, "--slow", slow, "--fast", fast, "--runtime", runsBaseline, "--out", "/run/baselines")...); err != nil {
		return nil, err
	}
	out, err := b.Run(append(measure, "--cached", cached, "--with", "/run/baselines", "--runtime", runsRuntime, "--out", "/run/cached")...)
	if err != nil {
		return nil, err
	}
	var said struct{ Runs []blockcache.Judged }
	if i := strings.IndexByte(out, '{'); i >= 0 {
		out = out[i:]
	}
	if err := json.NewDecoder(strings.NewReader(out)).Decode(&said); err != nil {
		return nil, fmt.Errorf("reading what measure blockcache said: %w: %.200q", err, out)
	}
	return said.Runs, tellRuns(b, said.Runs)
}

// tellRuns fills in the table, baselines first.
func tellRuns(b *lab.Bench, runs []blockcache.Judged) error {
	if len(runs) != len(blockcache.Kinds) {
		return fmt.Errorf("measure blockcache did %d runs, of %d", len(runs), len(blockcache.Kinds))
	}
	slices.SortStableFunc(runs, func(x, y blockcache.Judged) int { return kindOrder(x.Run.Kind) - kindOrder(y.Run.Kind) })
	for i := range runs {
		runs[i].Label = blockcache.About(runs[i].Run.Kind)
	}
	top := runs[1].Median
	for i, r := range blockcache.Table(runs) {
		j := runs[i]
		c := j.Run.Conditions
		verdict, confidence := "baseline", ""
		if v := j.Verdict; v != nil {
			short, _, _ := strings.Cut(string(v.Answer), ":")
			verdict, confidence = short, fmt.Sprintf("%.0f", 100*v.Confidence)
		} else if j.Why != "" {
			verdict = "none"
		}
		hits, promoted, demoted := "-", "-", "-"
		if before, err := parseCounted(c.Before); err == nil {
			after, err := parseCounted(c.After)
			if err != nil {
				return err
			}
			n := after.since(before)
			hits, promoted, demoted = percent(n.ratio()), fmt.Sprint(n.promotions), fmt.Sprint(n.demotions)
		}
		b.Row(
			r.Label,
			r.Median,
			fmt.Sprintf("%.0f", 100*j.Median/top),
			r.P50,
			r.P99,
			cacheFill(c.Before),
			hits,
			promoted,
			demoted,
			verdict,
			confidence,
		)
	}
	plot := blockcache.Figure(runs)
	plot.Title = "dm-cache, smq, " + kernelRelease() + ": requests a second"
	b.Plot(plot)
	b.Note(
		"IOPS: median, of a baseline after its first quarter, of the cached runs in their last quarter. Baselines %s, cached runs %s each; "+
			"slow is dm-delay, %s ms; %d MiB of cache for %d MiB of data.",
		runsBaseline,
		runsRuntime,
		modelDelay,
		runsCache>>20,
		runsData>>20,
	)
	b.Note("Sure: how many of the runs drawn anew from the readings come to the same verdict; below 90 it is not certain.")
	return nil
}

func kindOrder(kind string) int {
	for i, k := range blockcache.Kinds {
		if k.Name == kind {
			return i
		}
	}
	return len(blockcache.Kinds)
}

// writesGuarded tries a load that writes: it must be refused without --destroy,
// refused with it on a device in use, and done on a free one.
func writesGuarded(b *lab.Bench, used, free string) error {
	if err := os.WriteFile("/run/write.fio", []byte("[w]\nioengine=libai"+
		"o\ndirect=1\niodepth=8\nrw=randwrite\nbs=4k\nsize=16m\n"), 0o644); err != nil {
		return err
	}
	for _, try := range []struct {
		dev, destroy string
		code         int
		says         string
	}{
		{free, "--destroy=false", 2, "--destroy allows it"},
		{used, "--destroy", 2, "is in use: it is part of dm-"},
		{free, "--destroy", 0, "slow device"},
	} {
		out, code, err := b.Exec(
			[]string{
				"fettle-lab",
				"measure",
				"blockcache",
				"--slow",
				try.dev,
				try.destroy,
				"--job",
				"/run/write.fio",
				"--runtime",
				"5s",
				"--out",
				"/run/written",
			},
		)
		if err != nil {
			return err
		}
		if code != try.code || !strings.Contains(out, try.says) {
			return fmt.Errorf(
				"a job that writes to %s with %s: exit status %d, and not %d with %q: %s",
				try.dev,
				try.destroy,
				code,
				try.code,
				try.says,
				out,
			)
		}
	}
	return nil
}

// cacheFill is "12/256": used and all blocks of a cache, from dmsetup status.
func cacheFill(status string) string {
	if f := strings.Fields(status); len(f) > 6 && f[2] == "cache" {
		return f[6]
	}
	return "-"
}
