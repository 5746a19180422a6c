package why

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
)

// example is a text as the weights see it.
type example struct {
	words  []int
	right  []int // classes
	weight float64
}

type learner struct {
	x      *Index
	number map[string]int // of each word
	words  []string
	always []example // what is learned from whatever is judged
}

func (l *learner) example(text string, right []int, weight float64) example {
	var lines [][]string
	for line := range strings.SplitSeq(text, "\n") {
		lines = append(lines, tokens(line))
	}
	e := example{right: right, weight: weight}
	for _, w := range slices.Sorted(maps.Keys(said(lines))) {
		n, ok := l.number[w]
		if !ok {
			n = len(l.words)
			l.number[w] = n
			l.words = append(l.words, w)
		}
		e.words = append(e.words, n)
	}
	return e
}

// model is a network with one hidden layer, whose units let little through of what
// speaks against them.
type model struct {
	word   [][]float64 // of each word, to each hidden unit; nil where the word is too rare
	hidden []float64   // bias of each unit
	class  [][]float64 // of each class, from each unit
	bias   []float64

	// Once rounded: how large a word's steps are, in grains.
	size  []uint8
	grain float64
}

func newModel(words, classes int) *model {
	m := &model{
		word:   make([][]float64, words),
		hidden: make([]float64, hiddenUnits),
		class:  make([][]float64, classes),
		bias:   make([]float64, classes),
	}
	for k := range m.class {
		m.class[k] = make([]float64, hiddenUnits)
	}
	return m
}

// activate is what the hidden units make of words.
func (m *model) activate(words []int, units []float64) (even float64) {
	clear(units)
	n := 0
	for _, w := range words {
		for j, v := range m.word[w] {
			units[j] += v
		}
		if m.word[w] != nil {
			n++
		}
	}
	even = evenly(n)
	for j := range units {
		if units[j] = m.hidden[j] + units[j]*even; units[j] < 0 {
			units[j] *= leak
		}
	}
	return even
}

func (m *model) classes(units, z []float64) {
	for k, weights := range m.class {
		v := m.bias[k]
		for j, u := range units {
			v += u * weights[j]
		}
		z[k] = v
	}
}

func (m *model) scores(words []int) []float64 {
	units, z := make([]float64, len(m.hidden)), make([]float64, len(m.bias))
	m.activate(words, units)
	m.classes(units, z)
	return z
}

func softmax(z []float64) {
	most, sum := slices.Max(z), 0.0
	for k := range z {
		z[k] = math.Exp(z[k] - most)
		sum += z[k]
	}
	for k := range z {
		z[k] /= sum
	}
}

// Set by trying them on texts that were left out.
const (
	networks    = 3   // which learn apart and speak together: chance has less of a say
	hiddenUnits = 128 // of each
	rounds      = 30
	rate        = 0.1  // of the first round; of the last a fifth
	shrink      = 1e-4 // of weights: what nothing speaks for fades
	unheard     = 0.3  // the part of a text's words passed over, another each time: strangers use others
	resting     = 0.3  // and of the hidden units
	averaged    = 10   // the last rounds, whose weights' mean is taken
	seldom      = 5    // a word in fewer texts is not learned
)

// train makes one network of some that differ by chance alone: side by side, each has its part of the sum.
func (l *learner) train(examples []example) *model {
	all := &model{word: make([][]float64, len(l.words)), class: make([][]float64, len(l.x.ids)+1), bias: make([]float64, len(l.x.ids)+1)}
	for seed := range networks {
		one := l.trainOne(examples, uint64(seed+1))
		all.hidden = append(all.hidden, one.hidden...)
		for w, weights := range one.word {
			all.word[w] = append(all.word[w], weights...)
		}
		for k, weights := range one.class {
			for _, v := range weights {
				all.class[k] = append(all.class[k], v/networks)
			}
			all.bias[k] += one.bias[k] / networks
		}
	}
	all.round()
	return all
}

// trainOne goes through the examples in another order each time, by AdaGrad (Duchi, Hazan
// and Singer, "Adaptive Subgradient Methods", 2011), with dropout (Srivastava et al.,
// "Dropout: A Simple Way to Prevent Neural Networks from Overfitting", 2014), and takes the
// mean of its last weights (Polyak and Juditsky, "Acceleration of Stochastic Approximation by
// Averaging", 1992).
func (l *learner) trainOne(examples []example, seed uint64) *model {
	p := &pass{
		m: newModel(len(l.words), len(l.x.ids)+1), sums: newModel(len(l.words), len(l.x.ids)+1),
		units: make([]float64, hiddenUnits), back: make([]float64, hiddenUnits), z: make([]float64, len(l.x.ids)+1),
		random: rand.New(rand.NewPCG(seed, 0)),
	}
	p.begin(examples)
	mean := newModel(len(l.words), len(l.x.ids)+1)
	for round := range rounds {
		p.rate = rate * (1 - 0.8*float64(round)/rounds)
		for _, i := range p.random.Perm(len(examples)) {
			p.learn(&examples[i])
		}
		if round >= rounds-averaged {
			mean.add(p.m)
		}
	}
	return mean
}

// add adds its part of a round's weights to their mean.
func (m *model) add(round *model) {
	part := func(to, from []float64) {
		for i, v := range from {
			to[i] += v / averaged
		}
	}
	part(m.hidden, round.hidden)
	part(m.bias, round.bias)
	for k, weights := range round.class {
		part(m.class[k], weights)
	}
	for w, weights := range round.word {
		if m.word[w] == nil && weights != nil {
			m.word[w] = make([]float64, len(weights))
		}
		part(m.word[w], weights)
	}
}

// pass is the way of an example forth and back. sums are of the squares of all that each
// weight was changed by.
type pass struct {
	m, sums        *model
	rate           float64
	words          []int
	units, back, z []float64
	random         *rand.Rand
}

// begin gives chance weights to the words that are not seldom.
func (p *pass) begin(examples []example) {
	count := make([]int, len(p.m.word))
	for _, e := range examples {
		for _, w := range e.words {
			count[w]++
		}
	}
	for w, n := range count {
		if n < seldom {
			continue
		}
		p.m.word[w], p.sums.word[w] = make([]float64, hiddenUnits), make([]float64, hiddenUnits)
		for j := range p.m.word[w] {
			p.m.word[w][j] = 0.3 * p.random.NormFloat64()
		}
	}
	for _, weights := range p.m.class {
		for j := range weights {
			weights[j] = p.random.NormFloat64() / math.Sqrt(hiddenUnits)
		}
	}
}

func (p *pass) learn(e *example) {
	p.words = p.words[:0]
	for _, w := range e.words {
		if p.random.Float64() >= unheard && p.m.word[w] != nil {
			p.words = append(p.words, w)
		}
	}
	even := p.m.activate(p.words, p.units)
	p.rest()
	p.m.classes(p.units, p.z)
	softmax(p.z)
	right := 0.0
	for _, k := range e.right {
		right += p.z[k]
	}
	for _, k := range e.right {
		p.z[k] -= p.z[k] / max(right, 1e-9)
	}
	p.change(e.weight)
	for _, w := range p.words {
		weights, sums := p.m.word[w], p.sums.word[w]
		for j, d := range p.back {
			if d = d*even + shrink*weights[j]; math.Abs(d) > 1e-7 {
				step(&weights[j], &sums[j], d, p.rate)
			}
		}
	}
}

// rest makes some units rest, and says in back how far each lets through.
func (p *pass) rest() {
	for j, u := range p.units {
		p.back[j] = 1 / (1 - resting)
		switch {
		case p.random.Float64() < resting:
			p.back[j] = 0
			p.units[j] = 0
			continue
		case u < 0:
			p.back[j] *= leak
		}
		p.units[j] /= 1 - resting
	}
}

// change changes the weights behind the words by how wrong z is, and leaves in back by
// what the units' own sums are to change.
func (p *pass) change(weight float64) {
	var wrong [hiddenUnits]float64
	for k, d := range p.z {
		d *= weight
		step(&p.m.bias[k], &p.sums.bias[k], d, p.rate/5)
		weights, sums := p.m.class[k], p.sums.class[k]
		for j, u := range p.units {
			if p.back[j] == 0 {
				continue
			}
			wrong[j] += d * weights[j]
			if math.Abs(d) > 1e-4 {
				step(&weights[j], &sums[j], d*u+shrink*weights[j], p.rate)
			}
		}
	}
	for j := range p.back {
		p.back[j] *= wrong[j]
		step(&p.m.hidden[j], &p.sums.hidden[j], p.back[j], p.rate/5)
	}
}

func step(w, sum *float64, d, rate float64) {
	*sum += d * d
	*w -= rate * d / math.Sqrt(*sum+1e-6)
}

// steps is how many steps up or down a word's weight may be in the file, widest how many
// times the root of their mean square that is.
const (
	steps  = 7
	widest = 2.5
)

// round makes of the weights what the file can say.
func (m *model) round() {
	m.size = make([]uint8, len(m.word))
	for _, weights := range m.word {
		m.grain = max(m.grain, widest*rms(weights)/steps/math.MaxUint8)
	}
	for w, weights := range m.word {
		m.size[w] = uint8(max(math.Round(widest*rms(weights)/steps/m.grain), 1))
		size := float64(m.size[w]) * m.grain
		for j, v := range weights {
			weights[j] = min(max(math.Round(v/size), -steps), steps) * size
		}
	}
	for _, weights := range m.class {
		worth := worth(weights)
		for j := range weights {
			weights[j] = math.Round(weights[j]/worth) * worth
		}
	}
}

// rms is the root of the mean square.
func rms(weights []float64) float64 {
	sum := 0.0
	for _, v := range weights {
		sum += v * v
	}
	return math.Sqrt(sum / float64(max(len(weights), 1)))
}

func worth(weights []float64) float64 {
	return max(slices.Max(weights), -slices.Min(weights)) / math.MaxInt8
}

func (l *learner) write(t *testing.T, m *model, judge [judgeSigns]float64) {
	var head, data bytes.Buffer
	list := func(name string, values ...float64) {
		head.WriteString(name)
		for _, v := range values {
			fmt.Fprintf(&head, " %.5g", v)
		}
		head.WriteByte('\n')
	}
	list("judge", judge[:]...)
	list("hidden", m.hidden...)
	for k, id := range append(slices.Clone(l.x.ids), others) {
		worth := worth(m.class[k])
		list(id, m.bias[k], worth)
		for _, v := range m.class[k] {
			data.WriteByte(byte(int8(math.Round(v / worth))))
		}
	}
	hashes := map[uint32]int{}
	for n, word := range l.words {
		if m.word[n] == nil {
			continue
		}
		h := hashWord(word)
		if other, ok := hashes[h]; ok {
			t.Fatalf("%s and %s have the same hash", word, l.words[other])
		}
		hashes[h] = n
	}
	list("words", float64(len(hashes)), m.grain)
	head.WriteByte('\n')
	for _, h := range slices.Sorted(maps.Keys(hashes)) {
		if err := binary.Write(&data, binary.LittleEndian, h); err != nil {
			t.Fatal(err)
		}
		w := hashes[h]
		data.WriteByte(m.size[w])
		for pair := range slices.Chunk(m.word[w], 2) {
			step := float64(m.size[w]) * m.grain
			data.WriteByte(byte(math.Round(pair[0]/step)+8) | byte(math.Round(pair[1]/step)+8)<<4)
		}
	}
	if err := os.WriteFile("learned.bin", append(head.Bytes(), data.Bytes()...), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d words, %d bytes", len(hashes), head.Len()+data.Len())
}
