package blockcache

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"fettle/internal/means"
)

// made makes a series: the level at each part of the run, with noise.
func made(seed uint64, n int, noise func(*rand.Rand) func() float64, level func(part float64) float64) Series {
	next := noise(rand.New(rand.NewPCG(seed, 7)))
	s := Series{Interval: 500 * time.Millisecond}
	for i := range n {
		s.IOPS = append(s.IOPS, level(float64(i)/float64(n))*next())
	}
	return s
}

// The noises: of a disk at rest, of a busy machine whose load wanders, and with stalls.
var noises = map[string]func(*rand.Rand) func() float64{
	"white": func(r *rand.Rand) func() float64 {
		return func() float64 { return math.Exp(0.2 * r.NormFloat64()) }
	},
	"wandering": func(r *rand.Rand) func() float64 {
		x := 0.0
		return func() float64 { x = 0.8*x + 0.06*r.NormFloat64(); return math.Exp(x + 0.1*r.NormFloat64()) }
	},
	"stalls": func(r *rand.Rand) func() float64 {
		return func() float64 {
			switch p := r.Float64(); {
			case p < 0.08:
				return 0
			case p < 0.12:
				return 3
			}
			return math.Exp(0.1 * r.NormFloat64())
		}
	},
}

func flat(v float64) func(float64) float64 { return func(float64) float64 { return v } }

// shapes are cached runs between a slow device of 400 and a fast one of 3100.
var shapes = []struct {
	name  string
	level func(float64) float64
	want  Answer
}{
	{"as fast all along", flat(3000), Fast},
	{"warms up early", func(p float64) float64 { return 3000 - 2600*math.Exp(-p*14) }, Fast},
	{"step to fast in the middle", func(p float64) float64 {
		if p < 0.45 {
			return 400
		}
		return 3000
	}, Fast},
	{"as slow all along", flat(420), Slow},
	{"a fast start on a few blocks, then slow", func(p float64) float64 {
		if p < 0.1 {
			return 2500
		}
		return 420
	}, Slow},
	{"between", flat(1500), Between},
	{"between after a ramp", func(p float64) float64 { return 1500 - 1100*math.Exp(-p*14) }, Between},
	{"ramp", func(p float64) float64 { return 400 + 1600*p }, Changing},
	{"slow convergence", func(p float64) float64 { return 3000 - 2800*math.Exp(-p*1.2) }, Changing},
	{"falls", func(p float64) float64 { return 2800 - 1800*p }, Changing},
	{"step in the last quarter", func(p float64) float64 {
		if p < 0.85 {
			return 600
		}
		return 2000
	}, Changing},
}

func TestJudge(t *testing.T) {
	for name, noise := range noises {
		for _, c := range shapes {
			v, err := Judge(made(1, 240, noise, flat(400)), made(2, 240, noise, flat(3100)), made(3, 240, noise, c.level))
			if err != nil || v.Answer != c.want && (v.Sure() || name != "wandering") {
				t.Errorf("%s, %s: %+v, %v; want %s", c.name, name, v, err, c.want)
			}
			if v.Within[0] > v.Cached || v.Within[1] < v.Cached {
				t.Errorf("%s, %s: %v is not within %v", c.name, name, v.Cached, v.Within)
			}
		}
	}
}

// TestJudgeMean: a mean would be led astray by the first half of the run.
func TestJudgeMean(t *testing.T) {
	cached := made(3, 240, noises["white"], func(p float64) float64 {
		if p < 0.4 {
			return 400
		}
		return 2950
	})
	mean := 0.0
	for _, v := range cached.IOPS {
		mean += v / 240
	}
	v, err := Judge(made(1, 240, noises["white"], flat(400)), made(2, 240, noises["white"], flat(3100)), cached)
	if err != nil || v.Answer != Fast || mean > 0.7*3100 {
		t.Errorf("%+v, %v; mean %v", v, err, mean)
	}
}

func TestJudgeRefuses(t *testing.T) {
	quiet := func(n int, v float64) Series { return made(1, n, noises["white"], flat(v)) }
	for want, s := range map[string][3]Series{
		"the cached run has 10 intervals of 500ms; a verdict needs 24": {quiet(100, 400), quiet(100, 3000), quiet(10, 400)},
		"nothing tells the two apart":                                  {quiet(100, 400), quiet(100, 700), quiet(100, 400)},
		"the slow device stalled":                                      {quiet(100, 0), quiet(100, 700), quiet(100, 400)},
	} {
		if _, err := Judge(s[0], s[1], s[2]); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	// A cached device that stalls is slow, and no division by zero.
	v, err := Judge(quiet(100, 400), quiet(100, 3000), quiet(100, 0))
	if err != nil || v.Answer != Slow || v.Confidence != 1 {
		t.Errorf("%+v, %v", v, err)
	}
}

// TestHowOftenWrong: of runs whose truth is known, how often is the verdict
// another one, and how often is it another one although it says that it is sure?
func TestHowOftenWrong(t *testing.T) {
	means.Short(t, "takes seconds")
	t.Parallel()
	seeds, lengths := uint64(2), []int{100}
	if testing.Verbose() { // the table of docs/blockcache.md
		seeds, lengths = 10, []int{60, 240}
	}
	for _, n := range lengths {
		for name, noise := range noises {
			wrong, certain, misled, longer, all := 0, 0, 0, 0, 0
			for _, c := range shapes {
				for seed := range seeds {
					v, err := Judge(made(10*seed, n, noise, flat(400)), made(10*seed+1, n, noise, flat(3100)), made(10*seed+2, n, noise, c.level))
					if err != nil {
						t.Fatal(err)
					}
					all++
					if v.Sure() {
						certain++
					}
					if v.Answer != c.want {
						wrong++
						switch {
						case v.Sure() && v.Answer == Changing:
							longer++ // costs time only
						case v.Sure():
							misled++
							t.Logf("%d intervals, %s: %s: %s, %.2f", n, name, c.name, v.Answer, v.Confidence)
						}
					}
				}
			}
			t.Logf(
				"%d intervals, %s: %d of %d certain; of these %d wrong, %d needlessly asked to run longer; %d wrong of all",
				n,
				name,
				certain,
				all,
				misled,
				longer,
				wrong,
			)
			if misled*50 > all {
				t.Errorf("%d intervals, %s: %d of %d certain verdicts are wrong, expected 2 %% at most", n, name, misled, certain)
			}
			if n == 240 && (wrong*5 > all || longer*20 > all || certain*2 < all) {
				t.Errorf("%d intervals, %s: %d of %d wrong, %d certain, %d asked to run longer", n, name, wrong, all, certain, longer)
			}
		}
	}
}

func TestSmooth(t *testing.T) {
	// Stalls and bursts leave the curve where the readings are.
	s := made(5, 400, noises["stalls"], func(p float64) float64 { return 1000 + 1000*p })
	for i, v := range Smooth(s.IOPS) {
		if want := 1000 + 1000*float64(i)/400; math.Abs(v-want) > 0.2*want {
			t.Errorf("interval %d: %.0f, want about %.0f", i, v, want)
		}
	}
	// A step stays one.
	step := Smooth(append(make([]float64, 100), slicesOf(100, 50)...))
	if step[90] != 0 || step[110] != 50 {
		t.Errorf("%v to %v", step[90], step[110])
	}
	for _, n := range []int{0, 1, 2, 3, 5} {
		if got := Smooth(slicesOf(n, 3)); len(got) != n || n > 0 && got[n-1] != 3 {
			t.Errorf("%d values: %v", n, got)
		}
	}
}

func slicesOf(n int, v float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = v
	}
	return out
}
