package lore

import (
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

// model is a softmax regression.
type model struct {
	weight [][]float64 // of each word, of each class
	bias   []float64
}

func (m *model) scores(words []int) []float64 {
	z := make([]float64, len(m.bias))
	for _, w := range words {
		for k, v := range m.weight[w] {
			z[k] += v
		}
	}
	n := evenly(len(words))
	for k := range z {
		z[k] = m.bias[k] + z[k]*n
	}
	return z
}

func softmax(z []float64) []float64 {
	most, sum := slices.Max(z), 0.0
	for k := range z {
		z[k] = math.Exp(z[k] - most)
		sum += z[k]
	}
	for k := range z {
		z[k] /= sum
	}
	return z
}

// train goes through the examples in another order each time, by AdaGrad (Duchi, Hazan
// and Singer, "Adaptive Subgradient Methods", 2011). Each time it passes over a part of a
// text's words, so that no text hangs on one of them: strangers use others. The weights
// are the mean of several goes, so that chance has less of a say.
func (l *learner) train(examples []example) *model {
	const goes = 4
	all := make([]*model, goes)
	each(goes, func(_ tokenizer, i int) { all[i] = l.goThrough(examples, uint64(i)) })
	m := all[0]
	for _, other := range all[1:] {
		for k := range m.bias {
			m.bias[k] += other.bias[k]
		}
		for n, weights := range other.weight {
			if weights == nil {
				continue
			}
			if m.weight[n] == nil {
				m.weight[n] = make([]float64, len(m.bias))
			}
			for k, v := range weights {
				m.weight[n][k] += v
			}
		}
	}
	for k := range m.bias {
		m.bias[k] /= goes
	}
	for _, weights := range m.weight {
		for k := range weights {
			weights[k] /= goes
		}
	}
	l.prune(m)
	return m
}

func (l *learner) goThrough(examples []example, seed uint64) *model {
	const rounds, rate, shrink, unheard = 30, 0.3, 0.0001, 0.5
	classes := len(l.x.ids) + 1
	m := &model{weight: make([][]float64, len(l.words)), bias: make([]float64, classes)}
	sum, biasSum := make([][]float64, len(l.words)), make([]float64, classes)
	random := rand.New(rand.NewPCG(1, seed))
	var words []int
	for range rounds {
		for _, i := range random.Perm(len(examples)) {
			e := examples[i]
			words = words[:0]
			for _, w := range e.words {
				if random.Float64() >= unheard {
					words = append(words, w)
				}
			}
			g := softmax(m.scores(words))
			right := 0.0
			for _, k := range e.right {
				right += g[k]
			}
			for _, k := range e.right {
				g[k] -= g[k] / max(right, 1e-9)
			}
			n := evenly(len(words))
			for k := range g {
				g[k] *= e.weight
				biasSum[k] += g[k] * g[k]
				m.bias[k] -= rate / 10 * g[k] / math.Sqrt(biasSum[k]+1e-6)
			}
			for _, w := range words {
				if m.weight[w] == nil {
					m.weight[w], sum[w] = make([]float64, classes), make([]float64, classes)
				}
				for k, v := range m.weight[w] {
					d := g[k]*n + shrink*v
					if math.Abs(d) < 1e-5 {
						continue
					}
					sum[w][k] += d * d
					m.weight[w][k] -= rate * d / math.Sqrt(sum[w][k]+1e-6)
				}
			}
		}
	}
	return m
}

// prune drops what says little, and rounds the rest as the file does. What a word says
// for all classes alike says nothing.
func (l *learner) prune(m *model) {
	const least, most = 0.5, 127.0 / learnedUnit
	for _, weights := range m.weight {
		if weights == nil {
			continue
		}
		alike := slices.Sorted(slices.Values(weights))[len(weights)/2]
		for k, v := range weights {
			if v -= alike; math.Abs(v) < least {
				weights[k] = 0
			} else {
				weights[k] = math.Round(min(max(v, -most), most)*learnedUnit) / learnedUnit
			}
		}
	}
}

func (l *learner) write(t *testing.T, m *model, judge [judgeSigns]float64) {
	var head strings.Builder
	fmt.Fprintf(&head, "judge")
	for _, w := range judge {
		fmt.Fprintf(&head, " %.3f", w)
	}
	head.WriteByte('\n')
	for class, id := range append(slices.Clone(l.x.ids), others) {
		fmt.Fprintf(&head, "%s %.3f\n", id, m.bias[class])
	}
	hashes := map[uint32]int{}
	for n, word := range l.words {
		if slices.ContainsFunc(m.weight[n], func(v float64) bool { return v != 0 }) {
			h := hashWord(word)
			if other, ok := hashes[h]; ok {
				t.Fatalf("%s and %s have the same hash", word, l.words[other])
			}
			hashes[h] = n
		}
	}
	fmt.Fprintf(&head, "words %d\n\n", len(hashes))
	data := []byte(head.String())
	var weights []byte
	for _, h := range slices.Sorted(maps.Keys(hashes)) {
		for class, v := range m.weight[hashes[h]] {
			if v != 0 {
				weights = append(weights, byte(class), byte(int8(math.Round(v*learnedUnit))))
			}
		}
		data = binary.LittleEndian.AppendUint32(data, h)
		data = binary.LittleEndian.AppendUint32(data, uint32(len(weights)/2))
	}
	if err := os.WriteFile("learned.bin", append(data, weights...), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d words, %d weights, %d bytes", len(hashes), len(weights)/2, len(data)+len(weights))
}
