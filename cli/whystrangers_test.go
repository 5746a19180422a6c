package cli

import (
	"bufio"
	"os"
	"slices"
	"strings"
	"testing"

	"fettle/traps"
	"fettle/why"
)

// stranger is a text as somebody else put it, and what should be said of it.
type stranger struct {
	id   string
	want []string // any of these traps, the best first; "none": or that nothing matches
	text string
}

// judging begins the ids of the texts that judge; the others are there to tune with.
// ordinary begins those of them that were found by asking for admins' ordinary troubles.
const (
	judging  = "w"
	ordinary = "wo"
)

// strangers reads testdata/strangers of package lore.
func strangers(t testing.TB) []stranger {
	f, err := os.Open("../why/testdata/strangers/texts.tsv")
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
		out = append(out, stranger{c[0], strings.Fields(c[1]), strings.ReplaceAll(c[3], `\n`, "\n")})
	}
	return out
}

// tally counts how often why is right on texts about traps it knows, and on
// texts about other problems.
type tally struct{ known, first, three, wrong, silent, foreign, told int }

// add counts a text of which why says these traps, or only that these are near.
func (n *tally) add(s stranger, said, near []string) {
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
	if all := slices.Concat(said, near); slices.ContainsFunc(
		all[:min(3, len(all))],
		func(id string) bool { return slices.Contains(s.want, id) },
	) {
		n.three++
	}
}

// percents are right first, right among three, wrong first, and told that
// nothing matches.
func (n *tally) percents() [4]float64 {
	of := func(a, all int) float64 { return 100 * float64(a) / float64(max(all, 1)) }
	return [4]float64{of(n.first, n.known), of(n.three, n.known), of(n.wrong, n.known), of(n.told, n.foreign)}
}

// TestStrangers holds what why says of strangers' texts to the figures reached.
// Of the texts that judge it prints nothing else: whoever reads its failures one
// by one, and mends them, has nothing left to judge by. FETTLE_WHY_MISSES=1 lists
// those of the texts to tune with.
func TestStrangers(t *testing.T) {
	x, err := why.New(traps.All())
	if err != nil {
		t.Fatal(err)
	}
	var tuning, judged, daily tally
	for _, s := range strangers(t) {
		ranked, err := x.Rank(strings.NewReader(s.text))
		if err != nil {
			t.Fatal(err)
		}
		matches, near := why.Told(ranked)
		said, close := ids(matches), ids(near)
		if strings.HasPrefix(s.id, ordinary) {
			daily.add(s, said, close)
		}
		if strings.HasPrefix(s.id, judging) {
			judged.add(s, said, close)
			continue
		}
		right := tuning.first + tuning.told
		tuning.add(s, said, close)
		if tuning.first+tuning.told == right && os.Getenv("FETTLE_WHY_MISSES") != "" {
			t.Logf("%s, want %s: %.150q: %s; near %s", s.id, s.want[0], s.text, said, close)
		}
	}
	for _, set := range []struct {
		name  string
		n     *tally
		floor [4]float64
	}{
		{"tuning", &tuning, [4]float64{89, 95, 2, 95}},
		{"test", &judged, [4]float64{53, 90, 3, 94}},
		{"test, ordinary troubles", &daily, [4]float64{42, 85, 5, 97}},
	} {
		if set.n.known == 0 {
			t.Logf("%s: no texts", set.name)
			continue
		}
		p := set.n.percents()
		t.Logf(
			"%s: %d texts on problems that fettle knows: right first %.1f %%, "+
				"among three %.1f %%, wrong first %.1f %%; %d on others: told so %.1f %%",
			set.name,
			set.n.known,
			p[0],
			p[1],
			p[2],
			set.n.foreign,
			p[3],
		)
		if f := set.floor; p[0] < f[0] || p[1] < f[1] || p[2] >= f[2] || p[3] < f[3] {
			t.Errorf("%s: %.1f; it was at least %.0f, wrong first below that", set.name, p, f)
		}
	}
}

func ids(matches []why.Match) []string {
	var out []string
	for _, m := range matches {
		out = append(out, m.Trap)
	}
	return out
}
