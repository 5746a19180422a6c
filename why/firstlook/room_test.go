package firstlook

import (
	"fmt"
	"strings"
	"testing"
)

// TestWrite: a log may come in pieces of any size; of a very long line the beginning is read, and the next one is whole.
func TestWrite(t *testing.T) {
	log := "Jan  2 03:04:05 h a[1]: cannot open it " + strings.Repeat("x",
		maxPending) + "\nJan  2 03:04:06 h b[1]: cannot close that\nJan  2 03:04:07 h c[1]: panic, without an end"
	var want string
	for _, size := range []int{len(log), 1, 7, 4096} {
		l := New()
		for b := []byte(log); len(b) > 0; b = b[min(len(b), size):] {
			if n, err := l.Write(b[:min(len(b), size)]); err != nil || n != min(len(b), size) {
				t.Fatal(n, err)
			}
		}
		r := l.Report()
		got := fmt.Sprint(r.Lines, r.Messages, len(r.Groups), r.First, " ", r.Last, r.Hosts)
		for _, g := range r.Groups {
			got += fmt.Sprint("; ", g.By, g.FirstLine, g.LastLine, len(g.Text))
		}
		if want == "" {
			want = got
		}
		if got != want || r.Lines != 3 || r.Messages != 3 || !l.IsLog() {
			t.Errorf("in pieces of %d: %s, want %s", size, got, want)
		}
	}
	for log, want := range map[string]bool{"": false, "a b c\n": false, "Jan  2 03:04:05 h a: b\nx\n": true,
		"Jan  2 03:04:05 h a: b\nx\ny\n": false} {
		l := New()
		l.Write([]byte(log))
		if l.IsLog() != want {
			t.Errorf("%q is a log: %v", log, !want)
		}
	}
}

// TestRoom: a log of very many kinds of messages costs bounded memory, and what failed keeps its place.
func TestRoom(t *testing.T) {
	g := newGroups()
	add := func(text string, line int64) *group {
		return g.add(&record{by: []byte("a"), text: []byte(text), prio: -1}, line)
	}
	words := func(i int) string { // texts that are not alike
		return fmt.Sprintf("%c%c%c one%[1]c two%[2]c three%[3]c", 'g'+i%17, 'g'+i/17%17, 'g'+i/289%40)
	}
	for i := range maxGroups {
		if add(words(i), int64(i)) == nil {
			t.Fatalf("no room for %d", i)
		}
	}
	failed := add("segfault of it all", maxGroups)
	if failed == nil || len(g.all) > maxGroups || len(g.all) < maxGroups/2 || g.dropped == 0 {
		t.Errorf("%v, %d groups, %d dropped", failed, len(g.all), g.dropped)
	}
	if again := add("segfault of it all", maxGroups+1); again != failed || again.count != 2 || again.firstLine != maxGroups ||
		again.lastLine != maxGroups+1 {
		t.Errorf("%+v", again)
	}
	many := newGroups()
	for i := range maxBucket + 5 { // of one program, with as many words and the same first one
		word := string(rune('g'+i%20)) + string(rune('G'+i/20))
		many.add(&record{by: []byte("a"), text: []byte("same " + word + " x" + word), prio: -1}, 1)
	}
	if len(many.all) != maxBucket || many.dropped != 5 {
		t.Errorf("%d groups, %d dropped", len(many.all), many.dropped)
	}
}

// TestLikest: texts with three of five words the same are one group.
func TestLikest(t *testing.T) {
	for texts, want := range map[string]int{
		"one two three four five|one two three X Y": 1, "one two three four five|one two W X Y": 2, "one two|one": 2, "a b|c b": 2,
		"a b c|a b X|a Y c": 2, "a b c|a b X|a b Z": 1,
	} {
		l := New()
		for s := range strings.SplitSeq(texts, "|") {
			l.Write([]byte("Jan  2 03:04:05 h app[1]: " + s + "\n"))
		}
		if got := len(l.groups.all); got != want {
			t.Errorf("%q: %d groups, want %d", texts, got, want)
		}
	}
	l := New()
	l.Write([]byte("Jan  2 03:04:05 h app[1]: read of file alpha failed\nJan  2 03:04:06 h app[1]: read of file beta failed\n"))
	if g := l.Report().Groups; len(g) != 1 || g[0].Template != "read of file <*> failed" || g[0].Count != 2 {
		t.Errorf("%+v", g)
	}
	for template, text := range map[string]string{"read of <*>": "read of it", "a b": "a b"} {
		if !fits(strings.Fields(template), tokens([]byte(text))) || fits(strings.Fields(template), tokens([]byte(text+" x"))) ||
			fits(strings.Fields(template), tokens([]byte("X"+text))) {
			t.Errorf("%q and %q", template, text)
		}
	}
}
