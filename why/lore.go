// Package why finds the trap from its symptom: an error message, lines of a
// log, or a problem in somebody's own words.
//
// A log is searched for the messages that traps list (engine/message), line by line. What
// somebody wrote is judged by its words: addresses, numbers, interface names and other parts
// that differ from case to case are reduced to their class, the symptoms of every trap are
// tried as templates (a placeholder <…> matches anything short), and all words of the
// lore are weighed: see score.go and learned.go. In files and output that nobody complains
// in (text.go) only messages count.
package why

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"fettle/engine/message"
	"fettle/engine/trap"
)

// Index is the searchable lore of many traps. It may be used concurrently.
type Index struct {
	ids      []string
	symptoms []*symptom
	asked    []question
	words    map[string]*word
	learned  *learned
	messages *message.Set
	owner    []int  // of each message, its trap
	later    []bool // of each trap: it bites at the next start or upgrade alone
}

// word is what the lore knows of one stem.
type word struct {
	// weight is how much it tells: nothing for stop words, about one for a word
	// that a single trap knows.
	weight   float64
	postings []posting
	symptoms []int // those that hold it

	doc int     // while indexing: the last trap that had it,
	tf  float64 // and how often, by fields
}

type posting struct {
	trap  int
	score float64 // the part of BM25 that does not depend on the query, 0 to 1
}

// Field weights of BM25F, and its parameters.
const (
	titleWeight   = 3.0
	symptomWeight = 2.0
	tagWeight     = 3.0
	bodyWeight    = 0.35
	k1            = 0.7
	b             = 0.4
)

// New indexes the lore of traps.
func New(traps []*trap.Trap) (*Index, error) {
	read := make([]*article, len(traps))
	errs := make([]error, len(traps))
	each(len(traps), func(tk tokenizer, i int) {
		a, err := traps[i].Lore.Article()
		if err != nil {
			errs[i] = fmt.Errorf("lore of %s: %w", traps[i].ID(), err)
			return
		}
		read[i] = tokenise(tk, a)
	})
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return index(read)
}

// article is an article in tokens.
type article struct {
	*trap.Article
	id, tags, body []string
	symptoms       []*symptom // the title first
	questions      []question
	messages       []string
}

func tokenise(tk tokenizer, a *trap.Article) *article {
	t := &article{Article: a, id: tk.tokens(a.ID), body: tk.tokens(a.Body), tags: tk.tokens(strings.Join(a.Tags, " "))}
	for _, s := range append([]string{a.Title}, a.Symptoms...) {
		t.symptoms = append(t.symptoms, newSymptom(s, templateTokens(tk, s)))
	}
	for _, q := range a.Questions {
		t.questions = append(t.questions, newQuestion(tk, q))
	}
	for _, m := range a.Messages {
		if !m.Harmless {
			t.messages = append(t.messages, tk.tokens(m.Words())...)
		}
	}
	return t
}

// each calls do for 0 to n-1, on all processors: most of the time of
// fettle why is spent here.
func each(n int, do func(tk tokenizer, i int)) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		wg.Go(func() {
			tk := make(tokenizer, 1024)
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(tk, i)
			}
		})
	}
	wg.Wait()
}

func index(articles []*article) (*Index, error) {
	x := &Index{words: make(map[string]*word, 200*len(articles))}
	ix := &indexer{x: x, lens: make([]float64, len(articles))}
	for i, a := range articles {
		ix.article(i, a)
	}
	ix.weigh(float64(len(articles)))
	for i, s := range x.symptoms {
		s.weigh(i, x)
	}
	x.learned = learn(x.ids)
	return x, x.addMessages(articles)
}

// addMessages makes one set of the messages of all traps.
func (x *Index) addMessages(articles []*article) (err error) {
	var all []message.Message
	for i, a := range articles {
		for _, m := range a.Messages {
			all = append(all, m)
			x.owner = append(x.owner, i)
		}
	}
	x.messages, err = message.NewSet(all)
	return err
}

type indexer struct {
	x     *Index
	lens  []float64 // of each article, in weighted words
	total float64
	now   []*word // the words of the article at hand
}

func (ix *indexer) article(i int, a *article) {
	ix.x.ids = append(ix.x.ids, a.ID)
	ix.x.later = append(ix.x.later, !a.At(trap.Now))
	ix.now = ix.now[:0]
	ix.add(i, a.id, titleWeight)
	weight := titleWeight
	for _, s := range a.symptoms {
		s.trap = i
		ix.add(i, s.seq, weight)
		weight = symptomWeight
		ix.x.symptoms = append(ix.x.symptoms, s)
	}
	for _, q := range a.questions {
		q.trap = i
		ix.x.asked = append(ix.x.asked, q)
	}
	ix.add(i, a.messages, symptomWeight)
	ix.add(i, a.tags, tagWeight)
	ix.add(i, a.body, bodyWeight)
	for _, w := range ix.now {
		w.postings = append(w.postings, posting{i, w.tf}) // the score comes when all lengths are known
	}
	ix.total += ix.lens[i]
}

func (ix *indexer) add(i int, tokens []string, weight float64) {
	bag(tokens, nil, func(t string) {
		w := ix.x.words[t]
		if w == nil {
			w = &word{weight: background(t), doc: -1}
			ix.x.words[t] = w
		}
		if w.weight == 0 {
			return
		}
		if w.doc != i {
			w.doc, w.tf = i, 0
			ix.now = append(ix.now, w)
		}
		w.tf += weight
		ix.lens[i] += weight
	})
}

// weigh turns frequencies into scores, and multiplies each word's weight with
// its inverse document frequency.
func (ix *indexer) weigh(n float64) {
	avg := ix.total / n
	for _, w := range ix.x.words {
		df := 0.0
		for k := range w.postings {
			p := &w.postings[k]
			p.score /= p.score + k1*(1-b+b*ix.lens[p.trap]/avg)
			df += p.score // a word in passing in another body takes little from one that is in a title
		}
		// 1 for a word of a single trap, near 0 for one of all of them.
		w.weight *= min(1, max(0.05, math.Log((n+1)/(df+0.5))/math.Log((n+1)/1.5)))
	}
}

// known reports whether any lore has the word.
func (x *Index) known(t string) bool { return x.words[t] != nil }
