package message

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestWholeWords: a message begins and ends where words do.
func TestWholeWords(t *testing.T) {
	for _, c := range "azAZ09_" {
		s := set(t, fmt.Sprintf("any|%cbcdefgh is gon%[1]c", c))
		for line, want := range map[string]int{
			fmt.Sprintf("%cbcdefgh is gon%[1]c", c): 1, fmt.Sprintf("(%cbcdefgh is gon%[1]c)", c): 1,
			fmt.Sprintf("x%cbcdefgh is gon%[1]c", c): 0, fmt.Sprintf("%cbcdefgh is gon%[1]cx", c): 0,
		} {
			if got := len(s.Said("app", line)); got != want {
				t.Errorf("%q: %d messages, want %d", line, got, want)
			}
		}
	}
	s := set(t, "any|<n> errors were met by <pid>", "any|(errors were met)")
	for line, want := range map[string]int{
		"12 errors were met by 7": 1, "x12 errors were met by 7": 0, "12 errors were met by 7x": 0, "x(errors were met)x": 1,
	} {
		if got := len(s.Said("app", line)); got != want {
			t.Errorf("%q: %d messages, want %d", line, got, want)
		}
	}
}

// TestHit: what placeholders stand for, and whether the line says nothing else.
func TestHit(t *testing.T) {
	s := set(t, "any|martian source <ip> from <ip>, on")
	const said = "martian source 192.0.2.7 from 198.51.100.1, on"
	for line, whole := range map[string]bool{
		said: true, "123456789 " + said: false, "12345 " + said: true, "12345 " + said + " x": true, "123 " + said + " 12345": false,
	} {
		hits := s.Said("app", line)
		if len(hits) != 1 || hits[0].Whole != whole || hits[0].Field("path", "ip") != "192.0.2.7" || hits[0].Field("path") != "" {
			t.Errorf("%q: %+v, want whole %v", line, hits, whole)
		}
	}
	m := Message{Text: "<Kill|Killed> process <pid> (<name>)"}
	if got := m.Sample(); got != "Kill process 4711 (java)" {
		t.Errorf("sample %q", got)
	}
	if got := strings.Fields(m.Words()); !slices.Equal(got, []string{"Kill", "Killed", "process", "(", ")"}) {
		t.Errorf("words %q", got)
	}
}

// TestChoices: a message whose words are long enough only together with one of a choice is found by each of them.
func TestChoices(t *testing.T) {
	for _, text := range []string{"<cannot|could not> go", "at <cannot now|could not>", "x <cannot|could not> y"} {
		s := set(t, "any|"+text)
		for _, words := range []string{"cannot", "could not", "cannot now"} {
			line := text[:strings.Index(text, "<")] + words + text[strings.Index(text, ">")+1:]
			if got, want := len(s.Said("app", line)), strings.Contains(text, "<"+words+"|") || strings.Contains(text,
				"|"+words+">"); got == 1 != want {
				t.Errorf("%q in %q: %d", text, line, got)
			}
		}
	}
	for text, ok := range map[string]bool{
		"abcdefgh": true, "abcdefg": false, "ab <x|yyyyyyyyyyyy>": false, `abcd"efgh`: false, "a\tbcdefghi": false, "abcdefgh ": false,
		"abcd/efgh": false, "abcdéfgh": false, "<n>abcdefgh<n>": true, "\xffabcdefgh": false,
	} {
		if err := Check(Message{Text: text, Says: "x", Since: "1"}); (err == nil) != ok {
			t.Errorf("%q: %v", text, err)
		}
	}
	s := set(t, "any|worker: <gave up|died> at last now", "any|worker: <died|gave up> at this point")
	for line, want := range map[string]int{
		"worker: died at last now, gave up": 0, "worker: gave up at last now, died": 0, "worker: gave up at this point, died": 1,
		"worker: died at this point, gave up": 1, "worker: at last now": -1,
	} {
		hits := 0
		err := read(t, s, strings.NewReader("app[1]: "+line), func(_ *Line, h []Hit) { hits, want = hits+len(h), want-h[0].Index })
		if err != nil || want != min(0, want) || hits == 0 != (want < 0) {
			t.Errorf("%q: %d messages, %d, %v", line, hits, want, err)
		}
	}
}

// TestRarity: a line is first searched for what few lines have.
func TestRarity(t *testing.T) {
	for _, common := range []string{"etaoin", "s er r "} {
		for _, rare := range []string{"bzbzbz", "0909:.", "-=-=-="} {
			for _, rarest := range []string{"ABYZQ_", "`{/;@["} {
				if !(rarity(common) < rarity(rare) && rarity(rare) < rarity(rarest)) {
					t.Errorf("%q %d, %q %d, %q %d", common, rarity(common), rare, rarity(rare), rarest, rarity(rarest))
				}
			}
		}
	}
	if got := rarest("nest of Zebras here", ""); !strings.Contains(got, "Z") || len(got) != windowSize {
		t.Errorf("rarest window %q", got)
	}
	if got := rarest("QQQQQQQQ", rarest("nest of hares", "")); got != "QQQQQQQQ" {
		t.Errorf("rarest window %q", got)
	}
}

// TestSet: mistakes in a list are told all at once; what is said is in the list's order; a harmless message speaks for the line.
func TestSet(t *testing.T) {
	if _, err := NewSet([]Message{{Text: "short"}, {Text: "it failed at last"}, {Text: "<nothing> known here"}}); err == nil ||
		strings.Count(err.Error(), "\n") != 1 {
		t.Errorf("%v", err)
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("a list with a mistake is taken")
			}
		}()
		MustSet([]Message{{Text: "short"}})
	}()
	s := MustSet([]Message{{Text: "at last it ended", Says: "app"}, {Text: "it failed <n> times", Says: "app"},
		{Text: "as it was told to", Says: "app", Harmless: true}})
	if s.Weight(1) != len("it failed  times") || s.Message(1).Text != "it failed <n> times" {
		t.Errorf("%d, %+v", s.Weight(1), s.Message(1))
	}
	hits := s.Said("app", "it failed 3 times, at last it ended")
	if len(hits) != 2 || hits[0].Index != 0 || hits[1].Index != 1 {
		t.Errorf("%+v", hits)
	}
	if hits := s.Said("app", "it failed 3 times as it was told to"); hits != nil {
		t.Errorf("harmless, and yet %+v", hits)
	}
	for text, want := range map[string][]int{
		"it failed some times, at last it ended": {1}, "it failed 3 times": nil, "it failed now": nil,
		"it failed no times, it failed no times": {1},
	} {
		if got := s.Missed(&Line{By: "app", Text: text}); !slices.Equal(got, want) {
			t.Errorf("%q misses %v, want %v", text, got, want)
		}
	}
}

// TestOverlap: a window that overlaps one of another message is found, a byte behind it.
func TestOverlap(t *testing.T) {
	s := set(t, "any|Q=abcdef lost <n>", "any|=abcdefZ <disk>")
	l := ParseLine("xx Q=abcdefZ sda")
	if hits := s.Match(&l); len(hits) != 1 || hits[0].Index != 1 {
		t.Errorf("matched: %+v", hits)
	}
	l = ParseLine("xx Q=abcdefZ fd0")
	if got := s.Missed(&l); !slices.Equal(got, []int{1}) {
		t.Errorf("missed: %v", got)
	}
	n := 0
	if err := read(t, s, strings.NewReader("xx Q=abcdefZ sda"), func(*Line, []Hit) { n++ }); err != nil || n != 1 {
		t.Errorf("read: %d, %v", n, err)
	}
}
