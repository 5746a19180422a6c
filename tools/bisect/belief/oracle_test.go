package belief

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// near tells whether two numbers are the same but for so much.
func near(a, b, by float64) bool { return math.Abs(a-b) <= by }

// enumerated are the probabilities of all sets of changes, one by one: a set is a bit for each gap between commits that were read.
// The evidence of a run of tests is the product of what each was expected to do after those before it.
func enumerated(last int, readings []Reading, prior Prior) (places []int, sets []float64, level func(from, to int) (mean, vari float64)) {
	outcomes := map[int][]float64{}
	if prior.Levels != nil {
		outcomes[0], outcomes[last] = nil, nil
	}
	for _, r := range readings {
		outcomes[r.At] = append(outcomes[r.At], r.Figure)
	}
	places = slices.Sorted(maps.Keys(outcomes))
	between := func(from, to int) (fails, n float64) { // of the places from..to-1
		for _, at := range places[from:to] {
			for _, y := range outcomes[at] {
				fails, n = fails+y, n+1
			}
		}
		return fails, n
	}
	known := func(fails, n, rate float64) float64 {
		rate = min(max(rate, 0.001), 0.999)
		return math.Pow(rate, fails) * math.Pow(1-rate, n-fails)
	}
	evidence := func(from, to int) float64 {
		fails, n := between(from, to)
		if l := prior.Levels; l != nil {
			good, bad := known(fails, n, l[0]), known(fails, n, l[1])
			switch {
			case from == 0 && to < len(places):
				return good
			case from > 0 && to == len(places):
				return bad
			}
			return (good + bad) / 2
		}
		p := 1.0
		for i := range int(n) {
			k := float64(i)
			if k < fails {
				p *= (k + 0.5) / (k + 1)
			} else {
				p *= (k - fails + 0.5) / (k + 1)
			}
		}
		return p
	}
	gaps := len(places) - 1
	rate := prior.Extra / float64(places[gaps]-places[0])
	none := 1.0
	sets = make([]float64, 1<<gaps)
	for set := range sets {
		weight, from := 1.0, 0
		before := 1.0
		for g := range gaps {
			still := math.Exp(-rate * float64(places[g+1]-places[g]))
			if set&(1<<g) == 0 {
				before *= still
				continue
			}
			before *= 1 - still
			weight *= evidence(from, g+1)
			from = g + 1
		}
		if set == 0 {
			none = before
		}
		sets[set] = weight * evidence(from, gaps+1) * before
	}
	all := 0.0
	for set := range sets {
		if set == 0 {
			sets[set] *= prior.None / none
		} else {
			sets[set] *= (1 - prior.None) / (1 - none)
		}
		all += sets[set]
	}
	for set := range sets {
		sets[set] /= all
	}
	return places, sets, func(from, to int) (float64, float64) {
		fails, n := between(from, to)
		a, b := fails+0.5, n-fails+0.5
		m := a / (a + b)
		if l := prior.Levels; l != nil {
			good, bad := known(fails, n, l[0]), known(fails, n, l[1])
			if from == 0 && to < len(places) {
				bad = 0
			} else if from > 0 && to == len(places) {
				good = 0
			}
			m := (good*l[0] + bad*l[1]) / (good + bad)
			return m, good * bad / (good + bad) / (good + bad) * (l[1] - l[0]) * (l[1] - l[0])
		}
		return m, m * (1 - m) / (a + b + 1)
	}
}

// TestBeliefsOfTests holds all that is believed of tests against every set of changes, one by one.
func TestBeliefsOfTests(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 9))
	for round := range 30 {
		last := 4 + r.IntN(60)
		prior := []Prior{One, Several, Some(3), {None: 0.3, Extra: 2}, knowing(0, 0.1, 0.9),
			{None: 0.1, Extra: 1, Levels: []float64{0, 0.7}}}[round%6]
		readings := []Reading{{At: last, Figure: float64(r.IntN(2))}, {At: 0}}
		for range r.IntN(8) {
			readings = append(readings, Reading{At: r.IntN(last + 1), Figure: float64(r.IntN(2))})
		}
		p := New(Tests, last, readings, prior)
		places, sets, level := enumerated(last, readings, prior)
		what := fmt.Sprintf("%d commits, %+v, %+v", last, prior, readings)
		if !near(p.none, sets[0], 1e-9) || p.Scale() != 0 {
			t.Fatalf("%s: no change with %v, want %v", what, p.none, sets[0])
		}
		gaps := p.Gaps()
		if len(gaps) != len(places)-1 {
			t.Fatalf("%s: gaps %v between %v", what, gaps, places)
		}
		var chosen []int
		for g := range gaps {
			want := 0.0
			for set, chance := range sets {
				if set&(1<<g) != 0 {
					want += chance
				}
			}
			if gaps[g].First != places[g]+1 || gaps[g].Last != places[g+1] || !near(gaps[g].Change, want, 1e-9) {
				t.Fatalf("%s: %+v, want %v", what, gaps[g], want)
			}
			if want > 0.5 {
				chosen = append(chosen, g)
			}
		}
		for set, want := range sets {
			var in []int
			for g := range gaps {
				if set&(1<<g) != 0 {
					in = append(in, g)
				}
			}
			if got := p.Only(in, prior); !near(got, want, 1e-9) {
				t.Fatalf("%s: only in %v with %v, want %v", what, in, got, want)
			}
			from := 0
			for k, l := range p.Levels(in) {
				to := len(places)
				if k < len(in) {
					to = in[k] + 1
				}
				if m, v := level(from, to); !near(l.Mean, m, 1e-9) || !near(l.Error, math.Sqrt(v), 1e-6) {
					t.Fatalf("%s: level %d beside %v is %+v, want %v and %v", what, k, in, l, m, math.Sqrt(v))
				}
				from = to
			}
		}
		if first, end := p.Ends(); prior.Levels == nil {
			m0, v0 := level(0, 1)
			m1, v1 := level(len(places)-1, len(places))
			apart := math.Abs(m1-m0) / math.Sqrt(v0+v1)
			if !near(first.Mean, m0, 1e-9) || !near(first.Error, math.Sqrt(v0), 1e-6) || !near(end.Mean, m1, 1e-9) ||
				!near(end.Error, math.Sqrt(v1), 1e-6) || !near(p.Apart(), apart, 1e-9) {
				t.Fatalf("%s: ends %+v and %+v, apart %v; want %v and %v, %v", what, first, end, p.Apart(), m0, m1, apart)
			}
		}
		blind := r.IntN(2) == 0
		v := p.Verdict(prior, func(int) bool { return !blind })
		whole, located := 0, true
		for _, g := range chosen {
			whole |= 1 << g
			located = located && (blind || gaps[g].First == gaps[g].Last)
		}
		if len(v.Changes) != len(chosen) || v.Located != located || !near(v.Confidence, sets[whole], 1e-9) || len(v.Levels) != len(chosen)+1 {
			t.Fatalf("%s: %+v, want changes in %v with %v, located %v", what, v, chosen, sets[whole], located)
		}
		for k, c := range v.Changes {
			if g := gaps[chosen[k]]; c != (Change{g.First, g.Last, g.Change, v.Levels[k], v.Levels[k+1]}) {
				t.Fatalf("%s: %+v in %+v", what, c, g)
			}
		}
		drawn := p.draw(r, 2000)
		often := make([]float64, len(sets))
		for _, s := range drawn {
			set := 0
			for _, cut := range s.cuts[1:] {
				set |= 1 << (cut - 1)
			}
			often[set] += 1.0 / 2000
		}
		for set := range sets {
			if !near(often[set], sets[set], 0.045) {
				t.Fatalf("%s: the set %b is drawn with %v, want %v", what, set, often[set], sets[set])
			}
		}
		for range 4 {
			at := r.IntN(last + 1)
			if want := told(at, places, sets, level); !near(p.information(at, drawn), want, 0.06) {
				t.Fatalf("%s: a reading of %d tells %v bits, want %v", what, at, p.information(at, drawn), want)
			}
		}
	}
}

// told is what a test of a commit tells of the set of changes, in bits.
func told(at int, places []int, sets []float64, level func(from, to int) (mean, vari float64)) float64 {
	mean, inner := 0.0, 0.0
	entropy := func(p float64) float64 {
		if p <= 0 || p >= 1 {
			return 0
		}
		return -p*math.Log2(p) - (1-p)*math.Log2(1-p)
	}
	add := func(weight, rate float64) { mean, inner = mean+weight*rate, inner+weight*entropy(rate) }
	for set, chance := range sets {
		from := 0
		for i := range places {
			if i < len(places)-1 && set&(1<<i) == 0 {
				continue
			}
			here, _ := level(from, i+1)
			switch {
			case at > places[i] && i < len(places)-1 && at < places[i+1]: // the change is at it or before it, or after
				share := float64(at-places[i]) / float64(places[i+1]-places[i])
				to := i + 1
				for to < len(places)-1 && set&(1<<to) == 0 {
					to++
				}
				next, _ := level(i+1, to+1)
				add(chance*(1-share), here)
				add(chance*share, next)
			case at >= places[from] && at <= places[i]:
				add(chance, here)
			}
			from = i + 1
		}
	}
	return entropy(mean) - inner
}

// TestEvidenceOfFigures holds the evidence of figures on one level against its integral.
func TestEvidenceOfFigures(t *testing.T) {
	student := func(z, tails float64) float64 {
		a, _ := math.Lgamma((tails + 1) / 2)
		b, _ := math.Lgamma(tails / 2)
		return math.Exp(a-b) / math.Sqrt(tails*math.Pi) * math.Pow(1+z*z/tails, -(tails+1)/2)
	}
	for _, c := range []struct {
		ys, rough []float64
		scale     float64
		by        float64 // how far the logarithm may be off: an approximation
	}{
		{[]float64{10}, []float64{1}, 2, 1e-5},
		{[]float64{10, 11, 9.5, 10.2}, []float64{1, 1, 1, 1}, 1, 0.25},
		{[]float64{10, 10.1, 9.9, 10, 10.2, 9.8, 10.05, 9.95}, []float64{1, 1, 1, 1, 1, 1, 1, 1}, 0.2, 0.25},
		{[]float64{10, 10.1, 9.9, 10, 10.2, 9.8, 30}, []float64{1, 1, 1, 1, 1, 1, 1}, 0.2, 0.35}, // an outlier
		{[]float64{10, 10.1, 9.9, 10, 12, 8}, []float64{1, 1, 1, 1, 9, 9}, 0.2, 0.5},             // two of a rough host
	} {
		for _, tails := range tails {
			n := noise{scale: c.scale, tails: tails, width: 100}
			got := n.fit(figures{c.ys, c.rough}, c.ys[0])
			sum, mean, step := 0.0, 0.0, c.scale/50
			for level := 0.0; level < 50; level += step {
				p := 1.0
				for i, y := range c.ys {
					p *= student((y-level)/c.scale/math.Sqrt(c.rough[i]), tails) / c.scale
				}
				sum, mean = sum+p*step/n.width, mean+p*step/n.width*level
			}
			if off := math.Abs(got.log - math.Log(sum)); off > c.by && tails == 60 || off > c.by+0.35 {
				t.Errorf("%v, tails of %v: evidence %v, want %v", c.ys, tails, got.log, math.Log(sum))
			}
			if !near(got.mean, mean/sum, c.scale/4) {
				t.Errorf("%v, tails of %v: level %v, want %v", c.ys, tails, got.mean, mean/sum)
			}
			if se := math.Sqrt(got.vari) / c.scale * math.Sqrt(float64(len(c.ys))); se < 0.8 || se > 1.6 {
				t.Errorf("%v, tails of %v: the level's error is %v of that of a mean", c.ys, tails, se)
			}
		}
	}
	// So many and so far off that the product of their densities exceeds what a number holds.
	n := noise{scale: 1e-3, tails: 4, width: 1}
	ys := figures{make([]float64, 500), ones(500)}
	want := 0.0
	for i := range ys.y {
		ys.y[i] = float64(i)
		a, _ := math.Lgamma(2.5)
		want += a - 0.5*math.Log(4*math.Pi) - math.Log(1e-3) - 2.5*math.Log1p(ys.y[i]*ys.y[i]/4e-6)
	}
	if got := n.logLik(ys, 0); !near(got, want, 1e-6*math.Abs(want)) {
		t.Errorf("far off: %v, want %v", got, want)
	}
}

// TestBitsOfFigures: two levels so many standard deviations apart, by integration.
func TestBitsOfFigures(t *testing.T) {
	density := func(x, at float64) float64 { return math.Exp(-(x-at)*(x-at)/2) / math.Sqrt(2*math.Pi) }
	for _, apart := range []float64{0.5, 1, 2, 4} {
		for _, w := range []float64{0.5, 0.1} {
			want := 0.0
			for x := -8.0; x < 8+apart; x += 0.001 {
				a, b := density(x, 0), density(x, apart)
				m := (1-w)*a + w*b
				want += 0.001 * ((1-w)*a*math.Log2(a/m) + w*b*math.Log2(b/m))
			}
			list := []component{{2 * (1 - w), 70, 3}, {2 * w, 70 + 3*apart, 3}}
			if got := figureBits(list); !near(got, want, 0.02) {
				t.Errorf("%v apart, with %v: %v bits, want %v", apart, w, got, want)
			}
		}
	}
	if got := figureBits([]component{{1, 5, 1e-9}, {1, 6, 1e-9}}); !near(got, 1, 0.02) {
		t.Errorf("far apart: %v bits", got)
	}
	if got := figureBits([]component{{1, 5, 1}, {3, 5, 1}}); got != 0 {
		t.Errorf("on one level: %v bits", got)
	}
	for _, c := range []struct {
		list []component
		want float64
	}{{[]component{{1, 0, 0}, {1, 1, 0}}, 1}, {[]component{{3, 0, 0}, {3, 1, 0}}, 1}, {[]component{{1, 0.5, 0}, {1, 0.5, 0}}, 0},
		{[]component{{1, 0.25, 0}, {1, 0.75, 0}}, 1 - entropy2(0.25)}} {
		if got := bernoulliBits(c.list); !near(got, c.want, 1e-12) {
			t.Errorf("%v: %v bits, want %v", c.list, got, c.want)
		}
	}
}

func TestLogs(t *testing.T) {
	inf := math.Inf(-1)
	for _, c := range []struct{ a, b, sum, less float64 }{
		{math.Log(3), math.Log(2), math.Log(5), 0}, {math.Log(3), inf, math.Log(3), math.Log(3)}, {inf, inf, inf, inf},
		{1000 + math.Log(3), 1000, 1000 + math.Log(4), 1000 + math.Log(2)}, {5, 5, 5 + math.Log(2), inf},
	} {
		if got, back := addLogs(c.a, c.b), addLogs(c.b, c.a); got != back || got != c.sum && !near(got, c.sum, 1e-12) {
			t.Errorf("%v and %v come to %v, %v; want %v", c.a, c.b, got, back, c.sum)
		}
		if got := subLogs(c.a, c.b); got != c.less && !near(got, c.less, 1e-12) {
			t.Errorf("%v without %v is %v, want %v", c.a, c.b, got, c.less)
		}
		if got := sumLogs(2, func(i int) float64 { return []float64{c.a, c.b}[i] }); got != c.sum && !near(got, c.sum, 1e-12) {
			t.Errorf("the sum of %v and %v is %v, want %v", c.a, c.b, got, c.sum)
		}
	}
}

// TestWalks: the machine's drift below its readings is the likeliest walk, and shows only where there is one.
func TestWalks(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 1))
	for _, ratio := range []float64{0.1, 0.4} {
		const scale = 3.0
		series, at := make([]float64, 60), 0.0
		for i := range series {
			at += ratio * scale * r.NormFloat64()
			series[i] = at + scale*0.5*r.NormFloat64() // no outlier among them
		}
		got, _ := smooth(series, scale, ratio)
		want := make([]float64, len(series)) // by relaxation: of least squares of readings and steps
		for range 20_000 {
			for i := range want {
				before, w := 0.0, 1/(ratio*ratio)
				if i > 0 {
					before = want[i-1]
				}
				sum, weights := series[i]+w*before, 1+w
				if i < len(want)-1 {
					sum, weights = sum+w*want[i+1], weights+w
				}
				want[i] = sum / weights
			}
		}
		for i := range want {
			if !near(got[i], want[i], 1e-3*scale) {
				t.Fatalf("%v: at %d the walk is at %v, want %v", ratio, i, got[i], want[i])
			}
		}
		wild := slices.Clone(series)
		wild[30] += 100 * scale
		if off, _ := smooth(wild, scale, ratio); math.Abs(off[30]-got[30]) > scale {
			t.Errorf("%v: an outlier moves the walk from %v to %v", ratio, got[30], off[30])
		}
	}
	steady, rising := make([]float64, 40), make([]float64, 40)
	for i := range steady {
		steady[i] = r.NormFloat64()
		rising[i] = 0.5*float64(i) + r.NormFloat64()
	}
	if walk, shows := walkOf(steady, 1); shows {
		t.Errorf("of steady readings: %v", walk)
	}
	walk, shows := walkOf(rising, 1)
	if !shows || !near(walk[39], 19.5, 2) || !near(walk[20], 10, 2) {
		t.Errorf("of rising readings: %v", walk)
	}
	// Of five hosts the third drifts; the fifth is three times as rough.
	var readings []Reading
	var rest []float64
	for i := range 40 {
		for host := range 5 {
			y := r.NormFloat64()
			one := Reading{At: i % 7, Figure: 100 + y, Host: host, rough: 1}
			switch host {
			case 2:
				y = rising[i]
			case 4:
				y, one.rough = 3*y, 3
			}
			one.Figure = 100 + y
			readings, rest = append(readings, one), append(rest, y)
		}
	}
	before := slices.Clone(readings)
	if !removeDrift(readings, rest, 1) {
		t.Fatal("no drift shows")
	}
	for i, r := range readings {
		if r.Host != 2 && r != before[i] || r.Host == 2 && !near(r.Figure, 100, 5) {
			t.Fatalf("host %d: %v became %v", r.Host, before[i].Figure, r.Figure)
		}
	}
	rough := slices.DeleteFunc(before, func(r Reading) bool { return r.Host != 4 })
	own := make([]float64, len(rough))
	for i := range rough {
		rough[i].Figure += 1.5 * float64(i)
		own[i] = rough[i].Figure - 100
	}
	if !removeDrift(rough, own, 1) || !near(rough[39].Figure, 100, 15) {
		t.Errorf("of a rough host that rises by 60: %v", rough[39].Figure)
	}
}

// TestHosts: figures of machines of other speed are brought on the first one's scale.
func TestHosts(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	make3 := func(level func(at int) float64, convert func(host int, y float64) float64) (out []Reading) {
		for i := range 60 {
			host, at := i%3, []int{0, 64, 32, 48}[i/3%4]
			sd := 1.0
			if host == 2 {
				sd = 4
			}
			out = append(out, Reading{At: at, Figure: convert(host, level(at)+sd*r.NormFloat64()), Host: host, Time: float64(i)})
		}
		return out
	}
	step := func(base float64) func(int) float64 {
		return func(at int) float64 {
			if at > 40 {
				return base + 20
			}
			return base
		}
	}
	for _, c := range []struct {
		name    string
		level   func(int) float64
		convert func(int, float64) float64
	}{
		{"by a factor", step(100), func(host int, y float64) float64 { return y * []float64{1, 1.5, 0.5}[host] }},
		{"by a difference", step(-10), func(host int, y float64) float64 { return y + []float64{0, 300, -40}[host] }},
	} {
		readings := make3(c.level, c.convert)
		s := Search{Kind: Figures, Last: 64, Prior: One, Confidence: 0.95, Usable: everything, Cost: alike}
		stranger := Reading{At: 7, Figure: 5000, Host: 9}
		flat := s.even(append(slices.Clone(readings), stranger))
		if len(flat) != len(readings) {
			t.Fatalf("%s: %d readings of %d; the host that cannot be compared is left out", c.name, len(flat), len(readings)+1)
		}
		sums, rough := [3]float64{}, [3]float64{}
		for i, f := range flat {
			if f.At != readings[i].At || f.Host != readings[i].Host || f.Time != readings[i].Time {
				t.Fatalf("%s: %+v became %+v", c.name, readings[i], f)
			}
			sums[f.Host] += (f.Figure - c.level(f.At)) / 20
			rough[f.Host] = f.rough
		}
		if math.Abs(sums[0]) > 1 || math.Abs(sums[1]) > 1.2 || math.Abs(sums[2]) > 3 {
			t.Errorf("%s: the hosts are off by %.2f", c.name, sums)
		}
		if rough[2] < 1.4*rough[0] || rough[2] < 1.4*rough[1] || rough[0] > 1.5 {
			t.Errorf("%s: the third is the rough one: %.2f", c.name, rough)
		}
		v := s.Think(append(readings, stranger))
		if v == nil || len(v.Verdict.Changes) != 1 || v.Verdict.Changes[0].First != 33 || v.Verdict.Changes[0].Last != 48 {
			t.Errorf("%s: %+v", c.name, v)
		}
		one := slices.DeleteFunc(slices.Clone(readings), func(r Reading) bool { return r.Host > 0 })
		if got := s.even(one); !slices.Equal(got, one) {
			t.Errorf("%s: one host is changed", c.name)
		}
		s.Kind = Tests
		if got := s.even(readings); !slices.Equal(got, readings) {
			t.Errorf("%s: outcomes of tests are changed", c.name)
		}
	}
	if got := roughness([]float64{1, -1, 1, -1, 1, -1, 1, -1, 1}, 0, 0.5); !near(got, math.Sqrt((3+9*4)/12.0), 1e-9) {
		t.Errorf("twice the noise: %v", got)
	}
	if got := roughness([]float64{1000}, 0, 1); !near(got, math.Sqrt((3+36)/4.0), 1e-9) {
		t.Errorf("an outlier: %v", got)
	}
	if roughness([]float64{1000}, 0, 0) != 1 {
		t.Error("without noise none is rough")
	}
	if median([]float64{5, 1, 3}) != 3 || median([]float64{5, 1, 3, 4}) != 3.5 {
		t.Error("the middle of few")
	}
}

// TestUnconfirmed: a change that one of several hosts has seen is looked at by another.
func TestUnconfirmed(t *testing.T) {
	v := Verdict{Changes: []Change{{First: 10, Last: 12}, {First: 30, Last: 30}}}
	at := func(host int, places ...int) (out []Reading) {
		for _, p := range places {
			out = append(out, Reading{At: p, Host: host})
		}
		return out
	}
	for _, c := range []struct {
		name     string
		readings []Reading
		want     []int
	}{
		{"one host", at(0, 0, 9, 12, 29, 30, 40), nil},
		{"both all", append(at(0, 9, 12, 29, 30), at(1, 9, 12, 29, 30)...), nil},
		{"the second not all", append(at(0, 9, 12, 29, 30), at(1, 0, 12, 29)...), []int{9, 30}},
		{"one so often", append(at(0, 9, 9, 9, 12, 12, 29, 30), at(1, 0, 29, 30)...), []int{12}},
	} {
		if got := unconfirmed(c.readings, v); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	for _, c := range []struct {
		at   []int
		want bool
	}{{nil, false}, {[]int{0}, false}, {[]int{64}, false}, {[]int{5, 63}, false}, {[]int{64, 3, 0}, true}} {
		if got := bothEnds(at(0, c.at...), 64); got != c.want {
			t.Errorf("both ends among %v: %v", c.at, got)
		}
	}
}

// TestMore: where one change explains a part of what the ends differ by, more are looked for.
func TestMore(t *testing.T) {
	figures := func(levels map[int]float64) (out []Reading) {
		r := rand.New(rand.NewPCG(3, 3))
		for _, at := range slices.Sorted(maps.Keys(levels)) {
			for range 4 {
				out = append(out, Reading{At: at, Figure: levels[at] + r.NormFloat64()})
			}
		}
		return out
	}
	single := figures(map[int]float64{0: 100, 20: 100, 39: 100, 40: 130, 64: 130})
	double := figures(map[int]float64{0: 100, 20: 100, 39: 100, 40: 130, 50: 130, 64: 133})
	for _, c := range []struct {
		name     string
		readings []Reading
		prior    Prior
		want     bool
	}{
		{"one", single, One, false}, {"two", double, One, true}, {"two, when several are looked for", double, Several, false},
		{"none", figures(map[int]float64{0: 100, 20: 100, 64: 100}), One, false}, {"one end alone", single[:4], One, false},
	} {
		s := Search{Kind: Figures, Last: 64, Prior: c.prior, Confidence: 0.95, Usable: everything, Cost: alike}
		if got := s.More(c.readings); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
		if w := s.Wider(); w.Extra < Several.Extra || w.None != c.prior.None || s.Prior.Extra != c.prior.Extra {
			t.Errorf("%s: wider than %+v is %+v", c.name, c.prior, w)
		}
	}
	if w := (&Search{Prior: Some(4)}).Wider(); w.Extra != 3 {
		t.Errorf("wider than four changes: %+v", w)
	}
}

func TestScalesAndSpreads(t *testing.T) {
	if got := scales(1, 16, 5); len(got) != 5 || !near(got[0], 1, 1e-9) || !near(got[2], 4, 1e-9) || !near(got[4], 16, 1e-9) {
		t.Errorf("scales from 1 to 16: %v", got)
	}
	forty := make([]float64, 40)
	for i := range forty {
		forty[i] = float64(i)
	}
	forty[7], forty[8] = 1e6, -1e6
	for _, c := range []struct {
		figures []float64
		want    float64
	}{{[]float64{3, 9, 5}, 6}, {forty, 37}, {[]float64{7, 7}, 7e-6}, {[]float64{-7, -7}, 7e-6},
		{append(slices.Repeat([]float64{1}, 30), 5), 4}} {
		if got := spreadOf(c.figures); !near(got, c.want, c.want*0.01) {
			t.Errorf("the spread of %v is %v, want %v", c.figures, got, c.want)
		}
	}
	if spreadOf([]float64{0, 0}) <= 0 {
		t.Error("a spread of nothing is no scale")
	}
	// The noise that is found is that which is there, however the levels lie.
	r := rand.New(rand.NewPCG(6, 6))
	for _, sd := range []float64{0.5, 5} {
		var readings []Reading
		for i := range 60 {
			at := i % 6 * 10
			readings = append(readings, Reading{At: at, Figure: 100 + 7*float64(at/10%2)*float64(at/30) + sd*r.NormFloat64()})
		}
		if got := New(Figures, 50, readings, Some(3)).Scale(); got < 0.7*sd || got > 1.4*sd {
			t.Errorf("a noise of %v is taken for %v", sd, got)
		}
	}
}

// TestWhatIsReadNext follows a hunt's turns: the ends first, what another host must confirm, the ends again, and else what tells most.
func TestWhatIsReadNext(t *testing.T) {
	figures := func(list ...float64) (out []Reading) { // place and figure, in turn
		for i := 0; i < len(list); i += 2 {
			out = append(out, Reading{At: int(list[i]), Figure: list[i+1], Host: i / 2 % 2})
		}
		return out
	}
	ends := []float64{0, 100, 0, 101, 64, 120, 64, 121}
	clear := append(slices.Clone(ends), 0, 100.5, 64, 120.5, 32, 100, 48, 120)
	vague := []float64{0, 100, 0, 130, 64, 105, 64, 128}
	type ask struct {
		runs int
		here map[int]int // nil: one host
	}
	const inside = -2 // any between the ends
	for _, c := range []struct {
		name     string
		readings []Reading
		prior    Prior
		usable   func(int) bool
		ask      ask
		want     int // -1: nothing
	}{
		{name: "nothing yet", want: 0},
		{name: "one of the good end", readings: figures(0, 100), want: 0},
		{name: "the good end", readings: figures(0, 100, 0, 101), want: 64},
		{name: "one of the bad end", readings: figures(0, 100, 0, 101, 64, 120), want: 64},
		{name: "both ends", readings: figures(ends...), ask: ask{runs: 4}, want: inside},
		{name: "levels that are known", prior: knowing(1, 100, 120), ask: ask{runs: 1}, want: inside},
		{name: "another host has read no end", readings: figures(ends...), ask: ask{runs: 4, here: map[int]int{64: 1}}, want: 0},
		{name: "nor the other", readings: figures(ends...), ask: ask{runs: 4, here: map[int]int{0: 1}}, want: 64},
		{name: "ends that cannot be told apart", readings: figures(vague...), ask: ask{runs: 4}, want: 0},
		{name: "of these the one read less", readings: figures(append(vague, 0, 110)...), ask: ask{runs: 5}, want: 64},
		{name: "after seven runs an end", readings: figures(clear...), ask: ask{runs: 7}, want: 0},
		{name: "the one read less", readings: figures(append(clear, 0, 100)...), ask: ask{runs: 14}, want: 64},
		{name: "nothing usable between", readings: figures(clear...), ask: ask{runs: 8}, want: -3,
			usable: func(at int) bool { return at == 0 || at == 64 }},
	} {
		if c.prior.None == 0 {
			c.prior = One
		}
		if c.usable == nil {
			c.usable = everything
		}
		s := Search{Kind: Figures, Last: 64, Prior: c.prior, Confidence: 0.95, Usable: c.usable, Cost: alike}
		times := map[int]int{}
		for i := range c.readings {
			c.readings[i].Host = 0
			times[c.readings[i].At]++
		}
		p := Pace{Runs: c.ask.runs, Count: func(at int) int { return times[at] }, Busy: nobody}
		if c.ask.here != nil {
			p.Here = func(at int) int { return c.ask.here[at] }
		}
		at, ok := s.Next(s.Think(c.readings), p, rand.New(rand.NewPCG(1, 1)))
		switch c.want {
		case inside:
			if !ok || at <= 0 || at >= 64 {
				t.Errorf("%s: %d (%v), want one between the ends", c.name, at, ok)
			}
		case -3:
			if ok && at != 0 && at != 64 {
				t.Errorf("%s: %d", c.name, at)
			}
		default:
			if !ok || at != c.want {
				t.Errorf("%s: %d (%v), want %d", c.name, at, ok, c.want)
			}
		}
	}
	// Two hosts: what one alone has read beside the change is read by the one that is free, and by none while it is being read.
	s := Search{Kind: Figures, Last: 64, Prior: One, Confidence: 0.95, Usable: everything, Cost: alike}
	th := &Thought{Posterior: New(Figures, 64, figures(clear...), One), confirm: []int{39, 40}, widest: 20}
	often := func(int) int { return 3 }
	for _, c := range []struct {
		here map[int]int
		busy []int
		want int
	}{
		{map[int]int{0: 1, 64: 1}, nil, 39}, {map[int]int{0: 1, 64: 1, 39: 1}, nil, 40}, {map[int]int{0: 1, 64: 1}, []int{39}, 40},
		{map[int]int{0: 1, 64: 1, 39: 1, 40: 1}, nil, 39}, {nil, nil, 39},
	} {
		p := Pace{Runs: 8, Count: often, Busy: func(at int) bool { return slices.Contains(c.busy, at) }}
		if c.here != nil {
			p.Here = func(at int) int { return c.here[at] }
		}
		if at, ok := s.Next(th, p, rand.New(rand.NewPCG(1, 1))); !ok || at != c.want {
			t.Errorf("to confirm, read here %v, being read %v: %d, want %d", c.here, c.busy, at, c.want)
		}
	}
	// What may be hidden between two that were read is looked at, unless it is being read.
	th.confirm = nil
	for hidden, want := range map[float64]bool{0.024: false, 0.026: true} {
		th.hidden = hidden
		for _, busy := range []bool{false, true} {
			p := Pace{Runs: 8, Count: often, Busy: func(at int) bool { return busy && at == 20 }}
			if at, ok := s.Next(th, p, rand.New(rand.NewPCG(1, 1))); !ok || (at == 20) != (want && !busy) {
				t.Errorf("hidden with %v, being read %v: %d", hidden, busy, at)
			}
		}
	}
	// While all that tells something is being read, it is read twice.
	all := Pace{Runs: 8, Count: often, Busy: func(int) bool { return true }}
	if at, ok := s.Next(th, all, rand.New(rand.NewPCG(1, 1))); !ok || at <= 32 || at >= 48 {
		t.Errorf("all busy: %d (%v)", at, ok)
	}
}

// TestWhatTellsMost: what is chosen tells nearly as much, for what it costs, as the best of all commits.
func TestWhatTellsMost(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 4))
	for range 8 {
		readings := []Reading{{At: 0}, {At: 0}, {At: 64, Figure: 1}, {At: 64, Figure: 1}}
		for range r.IntN(6) {
			at := r.IntN(65)
			y := 0.0
			if at > 40 {
				y = 1
			}
			readings = append(readings, Reading{At: at, Figure: y})
		}
		p := New(Tests, 64, readings, One)
		dear, odd := r.IntN(65), r.IntN(2)
		usable := func(at int) bool { return at%2 == odd || at == 64 }
		cost := func(at int) float64 {
			if at > dear {
				return 3
			}
			return 1
		}
		at, bits := p.Next(usable, cost, rand.New(rand.NewPCG(1, 1)))
		drawn := p.draw(rand.New(rand.NewPCG(1, 1)), 400)
		best, where := 0.0, 0
		for c := range 65 {
			if b := p.information(c, drawn); usable(c) && b/cost(c) > best {
				best, where = b/cost(c), c
			}
		}
		if at < 0 || !usable(at) || p.information(at, drawn)/cost(at) < 0.7*best || !near(bits, p.information(at, drawn), 0.15) {
			t.Errorf("%+v: %d with %v bits at %v; %d gives %v each", readings, at, bits, cost(at), where, best)
		}
	}
	p := New(Tests, 64, []Reading{{At: 0}, {At: 64, Figure: 1}}, One)
	if at, bits := p.Next(nobody, alike, r); at != -1 || bits != 0 {
		t.Errorf("nothing usable: %d, %v bits", at, bits)
	}
	for _, c := range []struct {
		gap        Gap
		want, near int
		usable     func(int) bool
		ok         bool
	}{
		{Gap{First: 10, Last: 20}, 13, 13, everything, true},
		{Gap{First: 10, Last: 20}, 13, 12, func(at int) bool { return at%4 == 0 }, true},
		{Gap{First: 10, Last: 20}, 14, 12, func(at int) bool { return at%8 != 6 && at%2 == 0 && at != 16 }, true},
		{Gap{First: 10, Last: 20}, 19, 10, func(at int) bool { return at == 10 || at == 20 || at == 9 }, true},
		{Gap{First: 10, Last: 20}, 10, 19, func(at int) bool { return at >= 19 }, true},
		{Gap{First: 10, Last: 20}, 15, 0, func(at int) bool { return at < 10 || at > 19 }, false},
		{Gap{First: 10, Last: 10}, 10, 0, everything, false},
	} {
		if at, ok := nearest(c.gap, c.want, c.usable); ok != c.ok || at != c.near {
			t.Errorf("nearest to %d in %+v: %d (%v), want %d", c.want, c.gap, at, ok, c.near)
		}
	}
}

// TestHidden: two changes between neighbours that were read, which take each other back.
func TestHidden(t *testing.T) {
	prior := Some(3)
	readings := []Reading{{At: 0}, {At: 10}, {At: 40, Figure: 1}, {At: 41, Figure: 1}, {At: 100, Figure: 1}}
	p := New(Tests, 100, readings, prior)
	pair := func(n float64) float64 { return 0.02 * 0.02 * n * (n + 1) / 2 }
	all, widest := p.hidden(prior, everything)
	if want := pair(9) + pair(29) + pair(58); !near(all, want, 1e-9) || widest != 71 {
		t.Errorf("%v, and widest %d; want %v", all, widest, want)
	}
	all, widest = p.hidden(prior, func(at int) bool { return at < 42 })
	if want := pair(9) + pair(29); !near(all, want, 1e-9) || widest != 25 {
		t.Errorf("without the last: %v, and widest %d; want %v", all, widest, want)
	}
	if all, _ := p.hidden(Some(1000), everything); all != 1 {
		t.Errorf("at most 1: %v", all)
	}
	s := Search{Kind: Tests, Last: 100, Prior: prior, Confidence: 0.5, Usable: everything, Cost: alike}
	th := s.Think(readings)
	if want := p.Verdict(prior, everything).Confidence * (1 - min(1, pair(9)+pair(29)+pair(58))); !near(th.Verdict.Confidence, want, 1e-9) {
		t.Errorf("sure with %v, want %v", th.Verdict.Confidence, want)
	}
	if s.Think(readings[:4]) != nil || s.Think(readings[1:]) != nil || s.Think(nil) != nil {
		t.Error("an end is not read, and something is thought")
	}
}
