package why

import (
	"bufio"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fettle/engine/trap"
	"fettle/traps"
)

// TestLearned: the weights fit their file, and rank what they know. A trap that they do
// not know, and one that is gone, need none. FETTLE_LEARN=1 learns them again, and says how
// good they are on texts that they were not learned from.
func TestLearned(t *testing.T) {
	if os.Getenv("FETTLE_LEARN") != "" {
		learnAnew(t)
		return
	}
	x, err := New(append(traps.All(), newTrap))
	if err != nil {
		t.Fatal(err)
	}
	const again = "FETTLE_LEARN=1 go test ./why -run Learned -timeout 1h writes learned.bin anew"
	l := x.learned
	if !l.known[len(x.ids)] || l.count < 1000 || len(l.words) != l.count*(entryHead+len(l.hidden)/2) {
		t.Errorf("%d words in %d bytes; %s", l.count, len(l.words), again)
	}
	last := uint32(0)
	for i := range l.count {
		h, _ := l.entry(i)
		if i > 0 && h <= last {
			t.Fatalf("hash %d isn't in order", i)
		}
		last = h
	}
	z := l.weigh(said([][]string{tokens("nf_conntrack: table full, dropping packet")}))
	best := len(x.ids) // nothing known
	for trap, known := range l.known {
		if known && z[trap] > z[best] {
			best = trap
		}
	}
	if best == len(x.ids) || x.ids[best] != "conntrack-table-full" {
		t.Errorf("a full table of connections is class %d of %d", best, len(x.ids))
	}
	if l.weigh(map[string]bool{"qwertzuiop": true}) != nil {
		t.Error("a word that no text has says something")
	}
}

// newTrap is one that the weights do not know.
var newTrap = &trap.Trap{Lore: `---
id: zz-frobnicator
title: The frobnicator was paired with another gizmo
symptoms:
  - the handshake of a sprocket is rejected
  - the frobnicator blinks and no gizmo answers
  - every sprocket falls back to legacy torque
messages:
  - text: "gizmo <word> rejects the handshake of its sprocket"
    says: frobd
    since: "frobd 1.0"
tags: [frobnicator]
since: never
refs: [none]
---
# What happens

The gizmo keeps the key of the frobnicator that it was first paired with.

# What to do

Pair them again.
`}

// TestNewTrapWithoutTraining: a trap that the weights do not know is found by its
// messages and symptoms, and those that they know are found as before.
func TestNewTrapWithoutTraining(t *testing.T) {
	before, err := New(traps.All())
	if err != nil {
		t.Fatal(err)
	}
	after, err := New(append(traps.All(), newTrap))
	if err != nil {
		t.Fatal(err)
	}
	find := func(x *Index, text string) string {
		found, err := x.Find(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if len(found) == 0 {
			return ""
		}
		return found[0].Trap
	}
	for _, text := range []string{
		"Nov 02 11:08:31 lab3 frobd[4177]: gizmo left-hand rejects the handshake of its sprocket",
		"my frobnicator blinks and no gizmo answers",
	} {
		if got := find(after, text); got != newTrap.ID() {
			t.Errorf("%q: found %q", text, got)
		}
	}
	changed := 0
	all := pastes(t, "seen")
	for _, p := range all {
		if find(before, p.text) != find(after, p.text) {
			t.Logf("%s: %q was %q", p.name, find(after, p.text), find(before, p.text))
			changed++
		}
	}
	if changed > 0 {
		t.Errorf("%d of %d pastes are judged otherwise", changed, len(all))
	}
}

// TestSenses: a number or an address is of no sense.
func TestSenses(t *testing.T) {
	for word, all := range senses() {
		if word[0] == '<' {
			t.Errorf("%s stands for %s", word, all[0].name)
		}
	}
	for text, want := range map[string]string{
		"the box locks-up":       "=hang",
		"my droplet":             "=vm",
		"how big should it be":   "?how",
		"why is it so":           "?why",
		"out of space":           "=full",
		"where are the settings": "?wher",
	} {
		if words := said([][]string{tokens(text)}); !words[want] {
			t.Errorf("%q says %v, not %s", text, words, want)
		}
	}
}

// judging begins the ids of the texts that judge, young those of texts that were searched
// for beside the traps that came last.
const (
	judging = 'w'
	young   = 'y'
)

// Weights of texts beside those of strangers, which have 1; those of something else have
// foreignWeight times theirs.
const (
	symptomText   = 1
	bodyText      = 0.1
	healthyText   = 3
	pastedText    = 3
	writtenText   = 1
	foreignWeight = 1.5
	foreignOwn    = 2 // of texts written for this
)

func learnAnew(t *testing.T) {
	all := traps.All()
	x, err := New(all)
	if err != nil {
		t.Fatal(err)
	}
	x.learned = nil
	l := &learner{x: x, number: map[string]int{}}
	sayers := map[string][]int{} // a symptom is now and then of several traps
	for class, tr := range all {
		a, err := tr.Lore.Article()
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range append([]string{a.Title, strings.Join(a.Tags, " ")}, a.Symptoms...) {
			sayers[s] = append(sayers[s], class)
		}
		for _, m := range a.Messages {
			if !m.Harmless {
				sayers[m.Words()] = append(sayers[m.Words()], class)
			}
		}
		for para := range strings.SplitSeq(a.Body, "\n\n") {
			if !strings.HasPrefix(para, "#") && len(para) > 40 {
				l.always = append(l.always, l.example(para, []int{class}, bodyText))
			}
		}
	}
	for _, s := range slices.Sorted(maps.Keys(sayers)) {
		l.always = append(l.always, l.example(strings.NewReplacer("<", " ", ">", " ").Replace(s), sayers[s], symptomText))
	}
	eachFile(t, "testdata/healthy/*", func(_, text string) {
		for lines := range slices.Chunk(strings.Split(text, "\n"), 6) {
			for _, line := range append(lines, strings.Join(lines, "\n")) {
				l.always = append(l.always, l.example(line, []int{len(all)}, healthyText))
			}
		}
	})
	eachFile(t, "testdata/pastes/seen/*", func(name, text string) {
		name, _, _ = strings.Cut(name, ".")
		l.always = append(l.always, l.example(text, l.classes(t, name), pastedText))
	})
	eachFile(t, "testdata/strangers/written.txt", func(_, text string) { l.written(t, text) })
	texts := l.read(t)
	judge := l.judged(t, texts)

	eachFile(t, "testdata/strangers/close.txt", func(_, text string) { l.written(t, text) })
	examples := slices.Clone(l.always)
	for _, s := range texts {
		examples = append(examples, s.example)
	}
	l.write(t, l.train(examples), judge)
}

func eachFile(t *testing.T, pattern string, do func(name, text string)) {
	names, _ := filepath.Glob(pattern)
	if len(names) == 0 {
		t.Fatalf("no %s", pattern)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		do(filepath.Base(name), string(data))
	}
}

type strangerText struct {
	example
	question bool
	lore     []float64 // what each trap's own words say for it
	near     bool      // gathered because it is near to a young trap, and is none
}

// classes reads the names of traps.
func (l *learner) classes(t *testing.T, names string) []int {
	var right []int
	for name := range strings.FieldsSeq(names) {
		class := len(l.x.ids)
		if name != others {
			class = slices.Index(l.x.ids, name)
		}
		if class < 0 {
			t.Fatalf("%s is no trap", name)
		}
		right = append(right, class)
	}
	return right
}

// written reads the texts that nobody had to tell: a line each, below "= " and the trap's
// name; behind "! " one about something else that is near.
func (l *learner) written(t *testing.T, text string) {
	none := []int{len(l.x.ids)}
	right := none
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		name, heading := strings.CutPrefix(line, "= ")
		other, foreign := strings.CutPrefix(line, "! ")
		switch {
		case line == "" || line[0] == '#':
		case heading:
			right = l.classes(t, name)
		case foreign || right[0] == none[0]:
			l.always = append(l.always, l.example(other, none, writtenText*foreignOwn))
		default:
			l.always = append(l.always, l.example(line, right, writtenText))
		}
	}
}

// lore is what the traps' own words say for each.
func (l *learner) lore(text string) []float64 {
	f := l.x.newFinder()
	f.windows(read(text).lines)
	values := make([]float64, len(f.best))
	for i, b := range f.best {
		values[i] = b.lore
	}
	return values
}

// read reads the texts to tune with.
func (l *learner) read(t *testing.T) []*strangerText {
	f, err := os.Open("testdata/strangers/texts.tsv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var texts []*strangerText
	for s := bufio.NewScanner(f); s.Scan(); {
		c := strings.Split(s.Text(), "\t")
		if c[0][0] == judging {
			continue
		}
		right, weight := l.classes(t, c[1]), 1.0
		if right[0] == len(l.x.ids) {
			weight = foreignWeight
		}
		text := strings.ReplaceAll(c[3], `\n`, "\n")
		texts = append(texts, &strangerText{
			l.example(text, right, weight), onlyAsks(tokens(text)), l.lore(text), c[0][0] == young && right[0] == len(l.x.ids),
		})
	}
	return texts
}
