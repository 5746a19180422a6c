package lore

import (
	"bufio"
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fettle/traps"
)

// TestLearned: weights are there for traps that are there. FETTLE_UPDATE=1 learns them
// anew, which takes minutes, and says how good they are on texts that they were not
// learned from.
func TestLearned(t *testing.T) {
	if os.Getenv("FETTLE_UPDATE") != "" {
		learnAnew(t)
		return
	}
	x, err := New(traps.All())
	if err != nil {
		t.Fatal(err)
	}
	files, err := learnedFiles.ReadDir("learned")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if id, ok := strings.CutSuffix(f.Name(), ".txt"); !ok || id != others && !slices.Contains(x.ids, id) {
			t.Errorf("learned/%s: no such trap; FETTLE_UPDATE=1 go test ./lore -run Learned writes the folder anew", f.Name())
		}
	}
	if !x.learned.known[len(x.ids)] || len(x.learned.words) < 1000 {
		t.Errorf("%d words; FETTLE_UPDATE=1 go test ./lore -run Learned learns them", len(x.learned.words))
	}
}

func learnAnew(t *testing.T) {
	all := traps.All()
	x, err := New(all)
	if err != nil {
		t.Fatal(err)
	}
	x.learned = nil
	l := &learner{x: x, number: map[string]int{}}
	for class, tr := range all {
		a, err := tr.Lore.Article()
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range append([]string{a.Title, strings.Join(a.Tags, " ")}, a.Symptoms...) {
			l.lore = append(l.lore, l.example(strings.NewReplacer("<", " ", ">", " ").Replace(s), []int{class}, 0.5))
		}
		for para := range strings.SplitSeq(a.Body, "\n\n") {
			if !strings.HasPrefix(para, "#") && len(para) > 40 {
				l.lore = append(l.lore, l.example(para, []int{class}, 0.1))
			}
		}
	}
	healthy, _ := filepath.Glob("testdata/healthy/*")
	for _, name := range healthy {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for lines := range slices.Chunk(strings.Split(string(data), "\n"), 6) {
			for _, line := range append(lines, strings.Join(lines, "\n")) {
				l.lore = append(l.lore, l.example(line, []int{len(all)}, 0.3))
			}
		}
	}
	pastes, _ := filepath.Glob("testdata/pastes/seen/" + others + ".*")
	for _, name := range pastes {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		l.lore = append(l.lore, l.example(string(data), []int{len(all)}, 1.5))
	}
	texts := l.read(t)
	l.judged(t, texts)

	examples := slices.Clone(l.lore)
	for _, s := range texts {
		examples = append(examples, s.example)
	}
	l.write(t, l.train(examples))
}

type example struct {
	words  []int
	right  []int // classes
	weight float64
}

type strangerText struct {
	example
	text  string
	signs []signs // of each trap
}

type learner struct {
	x      *Index
	number map[string]int // of each word
	words  []string
	lore   []example
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

// read reads the texts to tune with. The asks that a text meets with hardly another one
// were written for it, and are kept from it; what bars an ask in a text of something
// else was written for that one, and bars nothing.
func (l *learner) read(t *testing.T) []*strangerText {
	f, err := os.Open("testdata/strangers/texts.tsv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var texts []*strangerText
	for s := bufio.NewScanner(f); s.Scan(); {
		c := strings.Split(s.Text(), "\t")
		if c[0][0] != 's' {
			continue
		}
		var right []int
		for w := range strings.FieldsSeq(c[1]) {
			class := len(l.x.ids)
			if w != others {
				class = slices.Index(l.x.ids, w)
			}
			right = append(right, class)
		}
		weight := 1.0
		if right[0] == len(l.x.ids) {
			weight = 1.5
		}
		text := strings.ReplaceAll(c[3], `\n`, "\n")
		texts = append(texts, &strangerText{l.example(text, right, weight), text, nil})
	}
	every := l.x.asks
	met := make([]map[*ask]bool, len(texts))
	times := map[*ask]int{}
	for i, s := range texts {
		met[i] = l.asksMet(s.text)
		for a := range met[i] {
			if slices.Contains(s.right, a.trap) {
				times[a]++
			}
		}
	}
	for i, s := range texts {
		l.x.asks = map[string][]*ask{}
		for word, asks := range every {
			for _, a := range asks {
				switch {
				case s.right[0] == len(l.x.ids):
					free := *a
					free.not = nil
					l.x.asks[word] = append(l.x.asks[word], &free)
				case !met[i][a] || times[a] > 2 || !slices.Contains(s.right, a.trap):
					l.x.asks[word] = append(l.x.asks[word], a)
				}
			}
		}
		f := l.x.newFinder()
		for line := range strings.SplitSeq(s.text, "\n") {
			f.line(line)
		}
		f.end()
		for _, b := range f.best {
			s.signs = append(s.signs, b.signs)
		}
		if onlyAsks(tokens(s.text)) {
			for k := range s.signs {
				s.signs[k].onlyQuestion = true
			}
		}
	}
	l.x.asks = every
	return texts
}

func (l *learner) asksMet(text string) map[*ask]bool {
	met := map[*ask]bool{}
	lines := strings.Split(text, "\n")
	for i := range lines {
		for j := i + 1; j <= len(lines); j++ {
			p := piece{lines: lines[i:j]}
			p.set(tokens(strings.Join(lines[i:j], "\n")))
			for t := range p.has {
				for _, a := range l.x.asks[t] {
					if _, how := l.x.meets(&p, a); how == fully {
						met[a] = true
					}
				}
			}
		}
	}
	return met
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
// and Singer, "Adaptive Subgradient Methods", 2011).
func (l *learner) train(examples []example) *model {
	const rounds, rate, shrink = 20, 0.3, 0.0005
	classes := len(l.x.ids) + 1
	m := &model{weight: make([][]float64, len(l.words)), bias: make([]float64, classes)}
	sum, biasSum := make([][]float64, len(l.words)), make([]float64, classes)
	random := rand.New(rand.NewPCG(1, 2))
	for range rounds {
		for _, i := range random.Perm(len(examples)) {
			e := examples[i]
			g := softmax(m.scores(e.words))
			right := 0.0
			for _, k := range e.right {
				right += g[k]
			}
			for _, k := range e.right {
				g[k] -= g[k] / max(right, 1e-9)
			}
			n := evenly(len(e.words))
			for k := range g {
				g[k] *= e.weight
				biasSum[k] += g[k] * g[k]
				m.bias[k] -= rate / 10 * g[k] / math.Sqrt(biasSum[k]+1e-6)
			}
			for _, w := range e.words {
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
	l.prune(m)
	return m
}

// prune drops what says little, and rounds the rest as the files do. What a word says
// for all classes alike says nothing.
func (l *learner) prune(m *model) {
	const least = 0.5
	for _, weights := range m.weight {
		if weights == nil {
			continue
		}
		alike := slices.Sorted(slices.Values(weights))[len(weights)/2]
		for k, v := range weights {
			if v -= alike; math.Abs(v) < least {
				weights[k] = 0
			} else {
				weights[k] = math.Round(v*learnedUnit) / learnedUnit
			}
		}
	}
}

// judged fits judge's constants, and tells how often the judgement is right, each text
// by weights that were learned without it.
func (l *learner) judged(t *testing.T, texts []*strangerText) {
	const parts = 6
	type candidate struct {
		text, class int
		x           []float64
		right       bool
		p           float64
	}
	var all []*candidate
	none := len(l.x.ids)
	for part := range parts {
		examples := slices.Clone(l.lore)
		for i, s := range texts {
			if i%parts != part {
				examples = append(examples, s.example)
			}
		}
		m := l.train(examples)
		for i, s := range texts {
			if i%parts != part {
				continue
			}
			z := m.scores(s.words)
			order := make([]int, none)
			for k := range order {
				order[k] = k
			}
			slices.SortFunc(order, func(a, b int) int { return cmp.Compare(z[b], z[a]) })
			for rank, k := range order {
				g := s.signs[k]
				if rank > 4 && g.asked == 0 && g.value < 0.3 {
					continue
				}
				next := z[order[0]]
				if rank == 0 {
					next = z[order[1]]
				}
				x := []float64{1, z[k] - z[none], z[k] - next, 0, g.asked, g.near, logit(g.value + 0.01), 0}
				if g.asked > 0 {
					x[3] = 1
				}
				if g.onlyQuestion {
					x[7] = 1
				}
				all = append(all, &candidate{text: i, class: k, x: x, right: slices.Contains(s.right, k)})
			}
		}
	}
	w, sum := make([]float64, 8), make([]float64, 8)
	random := rand.New(rand.NewPCG(7, 7))
	for range 60 {
		for _, i := range random.Perm(len(all)) {
			c := all[i]
			z := 0.0
			for j := range w {
				z += w[j] * c.x[j]
			}
			d := 1 / (1 + math.Exp(-z))
			if c.right {
				d--
			}
			for j := range w {
				g := d * c.x[j]
				sum[j] += g * g
				w[j] -= 0.2 * g / math.Sqrt(sum[j]+1e-6)
			}
		}
	}
	t.Logf("offset, none, next, any, asked, near, value, question: %.2f", w)
	by := make([][]*candidate, len(texts))
	for _, c := range all {
		z := 0.0
		for j := range w {
			z += w[j] * c.x[j]
		}
		c.p = 1 / (1 + math.Exp(-z))
		by[c.text] = append(by[c.text], c)
	}
	for _, least := range []float64{0.3, 0.4, 0.5, 0.6, 0.7, 0.8} {
		var known, first, three, wrong, foreign, told int
		for i, cs := range by {
			slices.SortFunc(cs, func(a, b *candidate) int { return cmp.Compare(b.p, a.p) })
			said := cs[0].p >= least
			if slices.Contains(texts[i].right, none) {
				foreign++
				if !said || cs[0].right {
					told++
				}
				continue
			}
			known++
			switch {
			case said && cs[0].right:
				first++
			case said:
				wrong++
			}
			if slices.ContainsFunc(cs[:min(3, len(cs))], func(c *candidate) bool { return c.right }) {
				three++
			}
		}
		of := func(a, b int) string { return fmt.Sprintf("%.1f %%", 100*float64(a)/float64(b)) }
		t.Logf("from %.1f on: first %s, among three %s, wrong %s; told so %s", least, of(first, known), of(three, known), of(wrong, known), of(told, foreign))
	}
}

func (l *learner) write(t *testing.T, m *model) {
	if err := os.RemoveAll("learned"); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir("learned", 0o755); err != nil {
		t.Fatal(err)
	}
	for class, id := range append(slices.Clone(l.x.ids), others) {
		lines := []string{fmt.Sprintf("%s %.0f", biasWord, m.bias[class]*learnedUnit)}
		for n, word := range l.words {
			if m.weight[n] != nil && m.weight[n][class] != 0 {
				lines = append(lines, fmt.Sprintf("%s %.0f", word, m.weight[n][class]*learnedUnit))
			}
		}
		slices.Sort(lines)
		if err := os.WriteFile(filepath.Join("learned", id+".txt"), []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
