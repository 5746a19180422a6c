// Package lore finds the trap from its symptom: an error message, lines of a
// log, or a problem in somebody's own words.
//
// Addresses, numbers, interface names and other parts that differ from case to
// case are reduced to their class first. Then the symptoms of every trap are
// tried as templates (a placeholder <…> stands for anything short), whole and
// in part, and all words of the lore are weighed with BM25 (Robertson and
// Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009),
// title, symptoms and tags heavier than the body (BM25F).
package lore

import (
	"fmt"
	"math"

	"fettle/trap"
)

// Index is the searchable lore of many traps. It may be used by many at once.
type Index struct {
	ids       []string
	symptoms  []*symptom
	bySymptom map[string][]int     // word → symptoms that hold it
	postings  map[string][]posting // word → traps
	idf       map[string]float64
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
	articles := make([]*trap.Article, len(traps))
	for i, t := range traps {
		a, err := t.Lore.Article()
		if err != nil {
			return nil, fmt.Errorf("lore of %s: %w", t.ID(), err)
		}
		articles[i] = a
	}
	return index(articles), nil
}

func index(articles []*trap.Article) *Index {
	x := &Index{bySymptom: map[string][]int{}, postings: map[string][]posting{}, idf: map[string]float64{}}
	tfs := make([]map[string]float64, len(articles))
	lens := make([]float64, len(articles))
	var avg float64
	for i, a := range articles {
		tf := map[string]float64{}
		add := func(text string, w float64) {
			bag(templateTokens(text), nil, func(t string) {
				if background(t) > 0 {
					tf[t] += w
					lens[i] += w
				}
			})
		}
		add(a.ID, titleWeight)
		add(a.Title, titleWeight)
		for _, s := range a.Symptoms {
			add(s, symptomWeight)
		}
		for _, t := range a.Tags {
			add(t, tagWeight)
		}
		add(a.Body, bodyWeight)
		tfs[i] = tf
		avg += lens[i] / float64(len(articles))
		x.ids = append(x.ids, a.ID)
	}
	df := map[string]float64{}
	for i, tf := range tfs {
		for t, f := range tf {
			p := posting{i, f / (f + k1*(1-b+b*lens[i]/avg))}
			x.postings[t] = append(x.postings[t], p)
			df[t] += p.score // a word in passing in another body takes little from one that is in a title
		}
	}
	n := float64(len(articles))
	for t, d := range df {
		// 1 for a word of a single trap, near 0 for one of all of them.
		x.idf[t] = min(1, max(0.05, math.Log((n+1)/(d+0.5))/math.Log((n+1)/1.5)))
	}
	for i, a := range articles {
		for _, text := range append([]string{a.Title}, a.Symptoms...) {
			s := newSymptom(i, text, x.weight)
			for w := range s.words {
				x.bySymptom[w] = append(x.bySymptom[w], len(x.symptoms))
			}
			x.symptoms = append(x.symptoms, s)
		}
	}
	return x
}

// known tells whether any lore has the word.
func (x *Index) known(t string) bool { return len(x.postings[t]) > 0 }

// weight is how much a word tells: nothing for stop words, about one for a
// word that a single trap knows.
func (x *Index) weight(t string) float64 {
	idf, ok := x.idf[t]
	if !ok {
		idf = 1
	}
	return background(t) * idf
}
