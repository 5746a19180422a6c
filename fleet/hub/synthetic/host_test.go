package synthetic

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"fettle/engine/trap"
)

// TestDocument: what a host is, and when its check ran, by the day.
func TestDocument(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	f := Fleet{Seed: 1, Hosts: 10, Start: start}
	kernels, minutes := map[string]bool{}, map[int]bool{}
	for i := range 30 {
		d := f.Document(i, 3)
		since := d.Meta.Started.Sub(start)
		if since < 72*time.Hour || since >= 73*time.Hour {
			t.Errorf("host %d: day 3 begins %s after the first", i, since)
		}
		minutes[int(since.Minutes())] = true
		kernels[d.Meta.Identity.Release] = true
		if d.Meta.Machine.Up != 96*time.Hour {
			t.Errorf("host %d is up for %s", i, d.Meta.Machine.Up)
		}
		if d.Took != 200*time.Millisecond {
			t.Errorf("host %d: the check took %s", i, d.Took)
		}
		if next := f.Document(i, 4); next.Meta.Started.Sub(d.Meta.Started) != 24*time.Hour ||
			next.Meta.Identity.BootID != d.Meta.Identity.BootID {
			t.Errorf("host %d: the next day is %s later, of boot %s", i, next.Meta.Started.Sub(d.Meta.Started), next.Meta.Identity.BootID)
		}
		for _, r := range d.Results {
			if r.Took > 100*time.Millisecond {
				t.Errorf("host %d: %s took %s", i, r.Trap, r.Took)
			}
		}
	}
	for n := 20; n < 28; n++ {
		delete(kernels, fmt.Sprintf("6.1.0-%d-amd64", n))
	}
	if len(kernels) > 0 || len(minutes) < 10 {
		t.Errorf("other kernels %v; checks begin in %d different minutes", kernels, len(minutes))
	}
}

// TestOften: the first traps are met more often than the last ones, and as many on each host as is asked for.
func TestOften(t *testing.T) {
	all := Samples()
	for _, perHost := range []float64{0, 12} {
		f := Fleet{Seed: 1, PerHost: perHost}
		met := make([]int, len(all))
		const hosts = 100
		total, able := 0.0, 0.0
		for t := range all {
			if len(all[t].Outcomes) > 0 {
				able += 1 / (float64(t) + 3) / weights()
			}
			for i := range hosts {
				if o := f.outcomes(&all[t], i, t, 7); o[0].Status != trap.Clear {
					met[t]++
					total++
				}
			}
		}
		if perHost == 0 {
			perHost = 4 // the default
		}
		if want := able * perHost; math.Abs(total/hosts-want) > want/4 {
			t.Errorf("%.2f traps are met on a host, of %.2f that are wanted", total/hosts, want)
		}
		first, last := 0, 0
		for t := range all {
			if t < len(all)/4 {
				first += met[t]
			} else if t >= len(all)/4*3 {
				last += met[t]
			}
		}
		if first < 2*last {
			t.Errorf("the first quarter of the traps is met %d times, the last one %d times", first, last)
		}
	}
}

// TestNames: each host has one of its own, and its group is its duty at its site.
func TestNames(t *testing.T) {
	f := Fleet{}
	names, groups := map[string]bool{}, map[string]bool{}
	for i := range 200 {
		names[f.Name(i)], groups[f.Group(i)] = true, true
		site, duty, _ := strings.Cut(f.Group(i), "-")
		if name := f.Name(i); name != fmt.Sprintf("%s%05d.%s.example.org", duty, i, site) {
			t.Errorf("%s is in the group %s", name, f.Group(i))
		}
	}
	if len(names) != 200 || len(groups) != len(sites)*len(duties) {
		t.Errorf("%d names in %d groups", len(names), len(groups))
	}
}
