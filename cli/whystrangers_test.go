package cli

import (
	"bufio"
	"hash/fnv"
	"os"
	"slices"
	"strings"
	"testing"

	"fettle/lore"
	"fettle/traps"
)

// stranger is a text as somebody else put it, and what should be said of it.
type stranger struct {
	id     string
	want   []string // any of these traps, the best first; "none": or that nothing matches
	text   string
	tuning bool
}

// strangers reads testdata/strangers of package lore. Half of them, by a hash of
// the id, are there to tune with; the others judge.
func strangers(t testing.TB) []stranger {
	f, err := os.Open("../lore/testdata/strangers/texts.tsv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []stranger
	for s := bufio.NewScanner(f); s.Scan(); {
		c := strings.Split(s.Text(), "\t")
		if len(c) != 4 {
			t.Fatalf("texts.tsv: %d columns, want 4: %q", len(c), s.Text())
		}
		h := fnv.New32a()
		h.Write([]byte(c[0]))
		out = append(out, stranger{c[0], strings.Fields(c[1]), strings.ReplaceAll(c[3], `\n`, "\n"), h.Sum32()%2 == 0})
	}
	return out
}

// tally counts how often why is right on texts about traps it knows, and on
// texts about other problems.
type tally struct{ known, first, three, wrong, silent, foreign, told int }

func (n *tally) add(s stranger, said []string) {
	if slices.Contains(s.want, "none") {
		n.foreign++
		if len(said) == 0 || slices.Contains(s.want, said[0]) {
			n.told++
		}
		return
	}
	n.known++
	switch {
	case len(said) == 0:
		n.silent++
	case slices.Contains(s.want, said[0]):
		n.first++
	default:
		n.wrong++
	}
	if slices.ContainsFunc(said[:min(3, len(said))], func(id string) bool { return slices.Contains(s.want, id) }) {
		n.three++
	}
}

func TestStrangers(t *testing.T) {
	x, err := lore.New(traps.All())
	if err != nil {
		t.Fatal(err)
	}
	var tuning, judged tally
	for _, s := range strangers(t) {
		ranked, err := x.Rank(strings.NewReader(s.text))
		if err != nil {
			t.Fatal(err)
		}
		matches, _ := lore.Told(ranked)
		var said []string
		for _, m := range matches {
			said = append(said, m.Trap)
		}
		if !s.tuning {
			judged.add(s, said)
			continue
		}
		before := tuning
		tuning.add(s, said)
		if right := tuning.first + tuning.told - before.first - before.told; right == 0 && os.Getenv("FETTLE_WHY_MISSES") != "" {
			top := ""
			for _, m := range ranked[:min(3, len(ranked))] {
				top += " " + m.Trap + " " + strings.TrimPrefix(string(rune('0'+int(m.Score*10))), "") 
			}
			t.Logf("%s want %s: %.150q: %s", s.id, s.want[0], s.text, top)
		}
	}
	for _, n := range []struct {
		name string
		tally
	}{{"tuning", tuning}, {"test", judged}} {
		pc := func(a, of int) float64 { return 100 * float64(a) / float64(of) }
		t.Logf("%s: %d of known problems: first %.1f %%, in three %.1f %%, wrong first %.1f %%, silent %.1f %%; %d of others: told so %.1f %%",
			n.name, n.known, pc(n.first, n.known), pc(n.three, n.known), pc(n.wrong, n.known), pc(n.silent, n.known), n.foreign, pc(n.told, n.foreign))
	}
}
