package belief

import (
	"flag"
	"math/rand/v2"
	"testing"

	"fettle/internal/means"
)

// world is a history with changes, and the noise of its readings.
type world struct {
	name    string
	commits int
	kind    Kind
	read    func(rng *rand.Rand, level float64) float64
	prior   Prior
	drift   float64                                 // of the machine, from one reading to the next
	hosts   []float64                               // their figures over the first's; it is one of them
	rough   []float64                               // their noise over that of read
	long    bool                                    // its hunts take long
	levels  func(rng *rand.Rand) ([]int, []float64) // the commits that changed it; the levels before, between and after
}

var histories = flag.Int("histories", 6, "histories a simulation plays")
var sure = flag.Float64("sure", 0.95, "confidence at which a simulated hunt stops")

// outcome is how one hunt ended.
type outcome struct {
	runs       int
	right      bool
	confidence float64
}

func everything(int) bool { return true }
func alike(int) float64   { return 1 }
func nobody(int) bool     { return false }

// play hunts in one random history of the world.
func (w world) play(seed uint64, confidence float64) outcome {
	rng := rand.New(rand.NewPCG(seed, 7))
	at, levels := w.levels(rng)
	level := func(c int) float64 {
		k := 0
		for k < len(at) && at[k] <= c {
			k++
		}
		return levels[k]
	}
	search := Search{Kind: w.kind, Last: w.commits, Prior: w.prior, Confidence: confidence, Usable: everything, Cost: alike}
	times, here := map[int]int{}, map[[2]int]int{}
	count := func(c int) int { return times[c] }
	runs := make([]int, max(1, len(w.hosts)))
	drift := 0.0
	var readings []Reading
	for {
		t := search.Think(readings)
		host := len(readings) % len(runs)
		pace := Pace{Runs: runs[host], Count: count, Busy: nobody}
		if len(w.hosts) > 1 {
			pace.Here = func(c int) int { return here[[2]int{host, c}] }
		}
		next, ok := search.Next(t, pace, rng)
		if t != nil && t.Sure || !ok || len(readings) > 1000 {
			return outcome{len(readings), exactly(t.Verdict, at), t.Verdict.Confidence}
		}
		times[next]++
		here[[2]int{host, next}]++
		runs[host]++
		drift += w.drift * rng.NormFloat64()
		is := level(next)
		figure := w.read(rng, is)
		if w.rough != nil {
			figure = is + (figure-is)*w.rough[host]
		}
		figure += drift
		if w.hosts != nil {
			figure *= w.hosts[host]
		}
		readings = append(readings, Reading{At: next, Figure: figure, Time: float64(len(readings)), Host: host})
	}
}

// exactly says whether a verdict names these commits and no others.
func exactly(v Verdict, at []int) bool {
	right := len(v.Changes) == len(at)
	for i := 0; right && i < len(at); i++ {
		right = v.Changes[i].First == at[i] && v.Changes[i].Last == at[i]
	}
	return right
}

func one(commits int, before, after float64) func(*rand.Rand) ([]int, []float64) {
	return func(rng *rand.Rand) ([]int, []float64) {
		return []int{1 + rng.IntN(commits)}, []float64{before, after}
	}
}

func normal(sd float64) func(*rand.Rand, float64) float64 {
	return func(rng *rand.Rand, level float64) float64 { return level + sd*rng.NormFloat64() }
}

func outliers(share, sd, far float64) func(*rand.Rand, float64) float64 {
	return func(rng *rand.Rand, level float64) float64 {
		if rng.Float64() < share {
			return level + far*rng.ExpFloat64()
		}
		return level + sd*rng.NormFloat64()
	}
}

func flaky(rng *rand.Rand, level float64) float64 {
	if rng.Float64() < level {
		return 1
	}
	return 0
}

var worlds = []world{
	{name: "noise-free", commits: 128, prior: One, read: normal(0), levels: one(128, 100, 110)},
	{name: "10 % step, 2 % noise", commits: 128, prior: One, read: normal(2), levels: one(128, 100, 110)},
	{name: "10 % step, 2 % noise, drift", commits: 128, prior: One, read: normal(2), drift: 0.6, levels: one(128, 100, 110)},
	{
		name:    "10 % step, 2 % noise, 5 % outliers",
		commits: 128,
		prior:   One,
		read:    outliers(0.05, 2, 30),
		levels:  one(128, 100, 110),
		long:    true,
	},
	{
		name:    "10 % step, 2 % noise, three hosts",
		commits: 128,
		prior:   One,
		read:    normal(2),
		hosts:   []float64{1, 1.5, 0.8},
		levels:  one(128, 100, 110),
	},
	{
		name:    "10 % step, 2 % noise, three hosts, one of 6 %",
		commits: 128,
		prior:   One,
		read:    normal(2),
		hosts:   []float64{1, 1.5, 0.8},
		rough:   []float64{1, 1, 3},
		levels:  one(128, 100, 110),
		long:    true,
	},
	{name: "test fails 0 then 100 %", commits: 128, kind: Tests, prior: One, read: flaky, levels: one(128, 0, 1)},
	{name: "test fails 5 then 95 %", commits: 128, kind: Tests, prior: One, read: flaky, levels: one(128, 0.05, 0.95)},
	{name: "test fails 20 then 80 %", commits: 128, kind: Tests, prior: One, read: flaky, levels: one(128, 0.2, 0.8)},
	{name: "fails 20 then 80 %, known", commits: 128, kind: Tests, prior: knowing(0, 0.2, 0.8), read: flaky, levels: one(128, 0.2, 0.8)},
	{
		name:    "the figure of that test, noise known",
		commits: 128,
		prior:   knowing(1),
		read:    normal(1),
		levels:  one(128, 0, 2*0.8416),
		long:    true,
	},
	{
		name:    "the figure of that test, levels known",
		commits: 128,
		prior:   knowing(0, 0, 2*0.8416),
		read:    normal(1),
		levels:  one(128, 0, 2*0.8416),
		long:    true,
	},
	{
		name:    "the figure of that test, all known",
		commits: 128,
		prior:   knowing(1, 0, 2*0.8416),
		read:    normal(1),
		levels:  one(128, 0, 2*0.8416),
	},
	// A threshold half-way would make it the test before.
	{name: "the figure of that test", commits: 128, prior: One, read: normal(1), levels: one(128, 0, 2*0.8416), long: true},
	{name: "3 % step, 2 % noise, 10,000 commits", commits: 10000, prior: One, read: normal(2), levels: one(10000, 100, 103), long: true},
	{name: "10 % and 5 % steps, 2 % noise, 1,000 commits", commits: 1000, prior: Several, read: normal(2), levels: two, long: true},
}

// knowing is One with what is known beforehand.
func knowing(noise float64, levels ...float64) Prior {
	p := One
	p.Noise, p.Levels = noise, levels
	return p
}

func two(rng *rand.Rand) ([]int, []float64) {
	a := 50 + rng.IntN(400)
	return []int{a, a + 50 + rng.IntN(400)}, []float64{100, 110, 115}
}

// TestSimulate plays hunts whose answer is known. As a test it sees that few
// are wrong; the figures of BENCHMARKS.md come from -histories 1000 -v.
func TestSimulate(t *testing.T) {
	for _, w := range worlds {
		t.Run(w.name, func(t *testing.T) {
			if w.long && *histories < 100 {
				means.Left(t, "plays long hunts: with -histories 100 or more")
			}
			var runs, right int
			var said float64
			for i := range *histories {
				o := w.play(uint64(i), *sure)
				runs += o.runs
				said += o.confidence
				if o.right {
					right++
				}
			}
			n := float64(*histories)
			t.Logf("%.1f runs, right %.1f %%, said %.1f %%", float64(runs)/n, 100*float64(right)/n, 100*said/n)
			if float64(right) < (*sure-0.25)*n {
				t.Errorf("right in %d of %d histories, though it says to be sure of %.0f %%", right, *histories, 100*(*sure))
			}
		})
	}
}
