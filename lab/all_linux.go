package lab

import (
	"context"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
)

// PlayAll plays jobs side by side, as many as cores and free memory allow,
// and calls each (never concurrently) as they end. Machines wait for timers and
// daemons half of their time: there are two for each core. Spoilt plans are tried in
// the machine of their story.
func PlayAll(ctx context.Context, jobs []Job, parallel int, each func(Outcome)) {
	jobs = together(jobs)
	if parallel <= 0 {
		parallel = 2 * runtime.NumCPU()
	}
	if free := availableMiB(); free > 0 {
		largest := 0
		for _, j := range jobs {
			largest = max(largest, j.Needs().allMemory(j.Options))
		}
		parallel = min(parallel, max(1, free/(largest+overheadMiB)))
	}
	queue := make(chan Job)
	var wg sync.WaitGroup
	var mu sync.Mutex
	for range min(parallel, len(jobs)) {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for j := range queue {
				parts := j.play(ctx).parts()
				mu.Lock()
				for _, o := range parts {
					each(o)
				}
				mu.Unlock()
			}
		}()
	}
	for _, j := range longestFirst(jobs) {
		select {
		case queue <- j:
		case <-ctx.Done():
			mu.Lock()
			for _, o := range (Outcome{Job: j, Err: ctx.Err()}).parts() {
				each(o)
			}
			mu.Unlock()
		}
	}
	close(queue)
	wg.Wait()
}

func (j *Job) play(ctx context.Context) Outcome {
	o := Outcome{Job: *j, Verdict: Verdict{Trap: j.Trap, Scenario: j.short()}, Err: Missing([]Job{*j})}
	if o.Err != nil { // the other jobs have what they need
		return o
	}
	if j.Experiment != nil {
		o.Verdict, o.Err = PlayExperiment(ctx, j.Trap, *j.Experiment, j.Options)
	} else {
		o.Verdict, o.Err = play(ctx, Orders{Trap: j.Trap, Scenario: j.Scenario, Sabotage: j.Sabotage, Spoilt: j.Spoilt},
			j.Scenario.Name, j.Scenario.Needs, j.Options)
	}
	if j.Sabotage != "" {
		o.Verdict.turn(j.Sabotage)
	}
	return o
}

// overheadMiB is what a machine takes beside its memory: its image and its engine.
const overheadMiB = 150

// availableMiB reads MemAvailable of proc_meminfo(5); 0 when it is not told.
func availableMiB() int {
	b, _ := os.ReadFile("/proc/meminfo")
	for line := range strings.Lines(string(b)) {
		if v, ok := strings.CutPrefix(line, "MemAvailable:"); ok {
			kb, _ := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(v), "kB")))
			return kb / 1024
		}
	}
	return 0
}
