// Package proof shows dm-cache's policy smq (lvmcache) before and after its fix
// in 2017.
package proof

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"fettle/internal/chart"
	"fettle/lab"
	"fettle/tools/measure/blockcache/cachesim"
	"fettle/tools/measure/blockcache/trace"
)

// ModelExperiment plays the same requests to the kernel's smq and to the
// simulator's, and puts the hit ratios side by side.
var ModelExperiment = lab.Experiment{
	Name: "model", About: "The simulator's smq beside the kernel's: hit ratio over the cache's size, same requests",
	Long:  true,
	Needs: benchNeeds(1100),
	Run:   func(ctx context.Context, b *lab.Bench) error { return besideModel(b, "smq", "smq-4.11") },
}

const (
	modelOrigin   = 256 << 20 // bytes
	modelBlock    = 64 << 10
	modelRequests = 160_000
	modelDepth    = 8
	modelDelay    = "5" // ms, of dm-delay
	modelMayBeOff = 3   // points of hit ratio
)

// jitter are factors for the times of hits and of the origin.
var jitter = func() (out [][2]float64) {
	for _, hit := range []float64{0.6, 0.8, 1, 1.3, 1.6} {
		for _, miss := range []float64{0.9, 0.95, 1, 1.05, 1.1} {
			out = append(out, [2]float64{hit, miss})
		}
	}
	return out
}()

// modelSizes are the caches', in MiB.
var modelSizes = []int{8, 16, 32}

// besideModel compares the kernel with the simulated policy that it should be
// like, and draws another one beside them.
func besideModel(b *lab.Bench, policy, other string) error {
	b.Columns("Cache", "Requests", "Kernel %", "Model %", "Range", "Apart", "Promoted", "Demoted")
	fine, err := trace.Workload{Pattern: "zipf:1.2", Blocks: modelOrigin / 4096, Requests: modelRequests, Seed: 12, BlockSize: 4096}.Make()
	if err != nil {
		return err
	}
	load, err := fine.Regroup(modelBlock)
	if err != nil {
		return err
	}
	l := &modelBench{Bench: b}
	if err := l.prepare(fine); err != nil {
		return err
	}
	conf, err := l.timings()
	if err != nil {
		return err
	}
	b.Note(
		"Measured on this machine, %d in flight: %v from the cache's device, %v from the origin, %v for a block of 64 KiB, %v for a write to "+
			"be on disk.",
		modelDepth,
		conf.Hit.Round(10*time.Microsecond),
		conf.Miss.Round(100*time.Microsecond),
		conf.Copy.Round(100*time.Microsecond),
		conf.Commit.Round(10*time.Microsecond),
	)
	over := chart.Plot{Name: "over-time", Title: policy + ": hit ratio so far, kernel and model", X: "thousand requests", Y: "% hits"}
	real := chart.Curve{Name: "kernel " + kernelRelease()}
	var wrong error
	for _, mib := range modelSizes {
		seen, err := l.play(mib)
		if err != nil {
			return fmt.Errorf("cache of %d MiB: %w", mib, err)
		}
		runs := variations(load, policy, mib, conf)
		model := runs[len(runs)/2]
		last := seen.last()
		for _, n := range []int64{modelRequests / 4, modelRequests / 2, last.requests} {
			at := nearest(seen, n)
			i := int(at.requests)
			m := model.at(i)
			lo, hi := 1.0, 0.0
			for _, r := range runs {
				lo, hi = min(lo, r.at(i).ratio()), max(hi, r.at(i).ratio())
			}
			b.Row(
				fmt.Sprintf("%d MiB", mib),
				fmt.Sprint(at.requests),
				percent(at.ratio()),
				percent(m.ratio()),
				percent(lo)+"-"+percent(hi),
				fmt.Sprintf("%+.1f", 100*(m.ratio()-at.ratio())),
				fmt.Sprintf("%d/%d", at.promotions, m.promotions),
				fmt.Sprintf("%d/%d", at.demotions, m.demotions),
			)
		}
		if off := 100 * (model.last().ratio() - last.ratio()); off < -modelMayBeOff || off > modelMayBeOff {
			wrong = fmt.Errorf("cache of %d MiB: the model is %.1f points off; it should be at most %d", mib, off, modelMayBeOff)
		}
		real.X, real.Y = append(real.X, float64(mib)), append(real.Y, 100*last.ratio())
		over.Curves = append(over.Curves, curveOf(fmt.Sprintf("kernel, %d MiB", mib), seen), curveOf(fmt.Sprintf("model, %d MiB", mib), model))
	}
	bySize := chart.Plot{
		Name:   "by-size",
		Title:  "zipf 1.2 over 256 MiB: hit ratio of the kernel's smq and of models",
		X:      "MiB of cache",
		Y:      "% hits",
		LogX:   true,
		Curves: []chart.Curve{real},
	}
	for _, k := range []string{policy, other, "lru", "belady-bypass"} {
		c := chart.Curve{Name: "model: " + k}
		for _, mib := range []int{4, 6, 8, 10, 12, 16, 20, 24, 32, 40, 48, 64} {
			c.X = append(c.X, float64(mib))
			if k == policy {
				runs := variations(load, k, mib, conf)
				c.Y = append(c.Y, 100*runs[len(runs)/2].last().ratio())
				continue
			}
			c.Y = append(c.Y, 100*modelled(load, k, mib, conf).last().ratio())
		}
		bySize.Curves = append(bySize.Curves, c)
	}
	b.Plot(bySize)
	b.Plot(over)
	b.Note("Hit ratio since the start. Promoted and demoted: blocks, by the kernel and by the model.")
	b.Note(
		"Model: the median of %d runs, each with somewhat other times, and their range: which blocks come first, and so stay, is a matter of "+
			"milliseconds.",
		len(jitter),
	)
	return wrong
}

// counted is what a cache has counted after some requests.
type counted struct{ requests, hits, promotions, demotions int64 }

// since is what came after before.
func (c counted) since(before counted) counted {
	return counted{c.requests - before.requests, c.hits - before.hits, c.promotions - before.promotions, c.demotions - before.demotions}
}

func (c counted) ratio() float64 { return float64(c.hits) / float64(max(c.requests, 1)) }

type history []counted

func (h history) last() counted { return h[len(h)-1] }

// at is what was counted after n requests, as far as it is known.
func (h history) at(n int) counted { return h[min(n, len(h)-1)] }

func nearest(h history, n int64) counted {
	best := h[0]
	for _, c := range h {
		if abs(c.requests-n) < abs(best.requests-n) {
			best = c
		}
	}
	return best
}

func abs(n int64) int64 { return max(n, -n) }

func percent(f float64) string { return fmt.Sprintf("%.1f", 100*f) }

func curveOf(name string, h history) chart.Curve {
	c := chart.Curve{Name: name}
	step := max(1, len(h)/200)
	for i := 0; i < len(h); i += step {
		if h[i].requests >= 200 {
			c.X, c.Y = append(c.X, float64(h[i].requests)/1000), append(c.Y, 100*h[i].ratio())
		}
	}
	return c
}

// variations simulates a policy with other times each; the worst hit ratio first.
func variations(load *trace.Trace, policy string, mib int, conf cachesim.SMQ) []history {
	var out []history
	for _, j := range jitter {
		c := conf
		c.Hit = time.Duration(float64(c.Hit) * j[0])
		c.Miss, c.Copy = time.Duration(float64(c.Miss)*j[1]), time.Duration(float64(c.Copy)*j[1])
		out = append(out, modelled(load, policy, mib, c))
	}
	slices.SortFunc(out, func(a, b history) int { return int(a.last().hits - b.last().hits) })
	return out
}

func kernelRelease() string {
	b, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// modelled simulates a policy; element n of what it returns was counted after n requests.
func modelled(load *trace.Trace, policy string, mib int, conf cachesim.SMQ) history {
	k, err := cachesim.Find(policy)
	if err != nil {
		panic(err)
	}
	p, err := k.New(mib<<20/modelBlock, load, conf)
	if err != nil {
		panic(err)
	}
	h := make(history, 1, load.Len()+1)
	var c counted
	for _, block := range load.Blocks {
		c.requests++
		if p.Access(block, false) {
			c.hits++
		}
		if m, ok := p.(interface{ Moved() cachesim.Counts }); ok {
			c.promotions, c.demotions = m.Moved().Promotions, m.Moved().Demotions
		}
		h = append(h, c)
	}
	return h
}
