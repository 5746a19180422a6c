package ksmscanrate

import (
	"fmt"
	"math"
	"time"
)

// What fettle asks of a full scan. A page is merged at the second scan that
// sees it unchanged at the earliest (mm/ksm.c, cmp_and_merge_page: the
// checksum of the scan before must match), so guests that live for a couple of
// hours gain little from scans of half an hour.
const (
	// aim is how long a full scan should take.
	aim = 10 * time.Minute
	// slack is by how much a scan may miss the aim before it is reported:
	// with the aim above, fifteen minutes.
	slack = 1.5
	// budget is the share of one CPU that ksmd may take. Where the memory is
	// too much to be scanned within aim for that, the aim is what the budget
	// allows. (The kernel's own advisor takes up to 0.7.)
	budget = 0.5
	// assumedCost is the CPU time for one page where the host itself has not
	// told: an upper bound. Measured on Linux 6.18: 102,400 mergeable pages of
	// 4 KiB, half of them equal, were scanned at least once, most of them
	// merged, in 1.0 s of ksmd's CPU time.
	assumedCost = 10 * time.Microsecond
)

// rate is a setting of ksmd.
type rate struct {
	pages uint64        // pages_to_scan: pages a batch
	sleep time.Duration // sleep_millisecs: between batches
}

// fullScan is how long one pass over n pages takes: the sleeps between batches
// and the work. ksmd ends a batch early at the end of a pass (mm/ksm.c,
// ksm_do_scan), so pages_to_scan beyond n changes nothing. smart_scan skips
// pages and makes it shorter: this is the upper bound. With 0 pages a batch it
// never ends.
func (r rate) fullScan(n uint64, cost time.Duration) time.Duration {
	if n == 0 {
		return 0
	}
	if r.pages == 0 {
		return math.MaxInt64
	}
	batches := float64((n-1)/r.pages + 1)
	return toDuration(batches*float64(r.sleep) + float64(n)*float64(cost))
}

// cpu is the share of one CPU that ksmd takes while it scans n pages.
func (r rate) cpu(n uint64, cost time.Duration) float64 {
	all := r.fullScan(n, cost)
	if all <= 0 {
		return 0
	}
	return float64(n) * float64(cost) / float64(all)
}

// reachable is how long a full scan of n pages should take: aim, or what the
// budget allows.
func reachable(n uint64, cost time.Duration) time.Duration {
	return max(aim, toDuration(float64(n)*float64(cost)/budget))
}

// tooSlow tells whether a full scan of that length is worth reporting.
func tooSlow(scan time.Duration, n uint64, cost time.Duration) bool {
	return float64(scan) > slack*float64(reachable(n, cost))
}

// pagesFor is the pages_to_scan with which a full scan of n pages takes
// target, sleeping as long as now between batches. It is never below the
// kernel's default of 100.
func pagesFor(n uint64, sleep, target, cost time.Duration) uint64 {
	rest := float64(target) - float64(n)*float64(cost)
	if sleep <= 0 || rest <= 0 {
		return 100
	}
	p := math.Ceil(float64(n) * float64(sleep) / rest)
	// The last batch of a pass sleeps a whole time too.
	return uint64(min(max(p*1.02, 100), math.MaxUint32))
}

func toDuration(ns float64) time.Duration {
	if ns >= math.MaxInt64 {
		return math.MaxInt64
	}
	return time.Duration(ns)
}

// spell writes a duration the way an admin says it.
func spell(d time.Duration) string {
	switch {
	case d == math.MaxInt64:
		return "forever"
	case d < 2*time.Minute:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case d < 2*time.Hour:
		return fmt.Sprintf("%.0f min", d.Minutes())
	case d < 72*time.Hour:
		return fmt.Sprintf("%.1f h", d.Hours())
	}
	return fmt.Sprintf("%.0f days", d.Hours()/24)
}

func percent(share float64) string {
	if share < 0.1 {
		return fmt.Sprintf("%.1f %%", 100*share)
	}
	return fmt.Sprintf("%.0f %%", 100*share)
}

func gib(bytes float64) string {
	if math.Abs(bytes) < 1<<30 {
		return fmt.Sprintf("%.0f MiB", bytes/(1<<20))
	}
	return fmt.Sprintf("%.1f GiB", bytes/(1<<30))
}
