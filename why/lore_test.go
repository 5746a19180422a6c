package why

import (
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"fettle/engine/trap"
	"fettle/traps"
)

// articles reads the lore of every trap in the tree.
func articles(t testing.TB) []*trap.Article {
	t.Helper()
	var out []*trap.Article
	for _, tr := range traps.All() {
		a, err := tr.Lore.Article()
		if err != nil {
			t.Fatalf("%s: %v", tr.ID(), err)
		}
		out = append(out, a)
	}
	return out
}

// testIndex indexes the lore in the tree.
func testIndex(t testing.TB) *Index {
	var all []*article
	for _, a := range articles(t) {
		all = append(all, tokenise(tokenizer{}, a))
	}
	x, err := index(all)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// paste is one text with the trap it speaks of: "" for none.
type paste struct{ name, trap, text string }

func pastes(t testing.TB, dir string) []paste {
	t.Helper()
	files, _ := filepath.Glob("testdata/pastes/" + dir + "/*.txt")
	sort.Strings(files)
	var out []paste
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		p := paste{name: strings.TrimSuffix(filepath.Base(f), ".txt"), text: string(b)}
		if id, _, _ := strings.Cut(p.name, "."); id != "none" {
			p.trap = id
		}
		out = append(out, p)
	}
	return out
}

// TestRecognition judges Find by whether the first match is the right trap and
// whether strangers match nothing: see testdata/pastes/README.md. The figures
// are those measured; a change may make them better, not worse.
func TestRecognition(t *testing.T) {
	x := testIndex(t)
	for dir, want := range map[string]struct{ right, of, falseAlarms, strangers int }{
		"seen":   {79, 80, 1, 49},
		"unseen": {16, 20, 0, 13},
	} {
		right, of, alarms, strangers := 0, 0, 0, 0
		for _, p := range pastes(t, dir) {
			all, err := x.Rank(strings.NewReader(p.text))
			if err != nil {
				t.Fatal(err)
			}
			first, second := Match{}, Match{}
			if len(all) > 0 {
				first = all[0]
			}
			if len(all) > 1 {
				second = all[1]
			}
			mark := "ok  "
			switch hit := first.Score >= Threshold; {
			case p.trap == "" && hit:
				alarms++
				mark = "ALARM"
			case p.trap != "" && hit && first.Trap == p.trap:
				right++
			case p.trap != "":
				mark = "MISS"
			}
			if p.trap == "" {
				strangers++
			} else {
				of++
			}
			t.Logf(
				"%-5s %s/%-34s %.3f %-20s (then %.3f %s) %q",
				mark,
				dir,
				p.name,
				first.Score,
				first.Trap,
				second.Score,
				second.Trap,
				first.Symptom,
			)
		}
		t.Logf("%s: %d of %d right, %d of %d strangers taken for a trap", dir, right, of, alarms, strangers)
		if right < want.right || alarms > want.falseAlarms || of != want.of || strangers != want.strangers {
			t.Errorf("%s: %d of %d right, %d of %d false alarms; it was %d of %d and %d of %d", dir, right, of, alarms, strangers,
				want.right, want.of, want.falseAlarms, want.strangers)
		}
	}
}

// TestHealthy: what machines say that have nothing matches nothing, as a whole
// and line by line.
func TestHealthy(t *testing.T) {
	x := testIndex(t)
	files, _ := filepath.Glob("testdata/healthy/*")
	if len(files) < 7 {
		t.Fatalf("%d files", len(files))
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		texts := []string{string(b)}
		if !strings.HasSuffix(f, ".md") {
			texts = append(texts, strings.Split(string(b), "\n")...)
		}
		for _, text := range texts {
			if got, err := x.Find(strings.NewReader(text)); err != nil || len(got) > 0 {
				t.Errorf("%s: %.120q matches %s, %.2f", f, text, got[0].Trap, got[0].Score)
			}
		}
	}
}
