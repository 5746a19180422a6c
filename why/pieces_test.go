package why

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"fettle/engine/message"
	"fettle/engine/trap"
)

// TestTemplatesFit: a placeholder stands for anything short, at most maxGap words; the other words come in order.
func TestTemplatesFit(t *testing.T) {
	gap := func(n int) string { return "disk " + strings.Repeat("word ", n) + "vanished" }
	for _, c := range []struct {
		template, line string
		want           bool
	}{
		{"disk <name> vanished", gap(1), true}, {"disk <name> vanished", gap(0), true}, {"disk <name> vanished", gap(maxGap), true},
		{"disk <name> vanished", gap(maxGap + 1), false}, {"disk <name> vanished", "vanished disk sda", false},
		{"disk <name> vanished", "our disk sda vanished yesterday", true}, {"<who> lost the disk", "lost the disk", true},
		{"lost the disk <of>", "someone lost the disk", true}, {"disk <a> <b> vanished", "disk a b vanished", true}, {"<a>", "anything", false},
		{"bridge vanished", "bridge", false}, {"bridge vanished", "", false},
	} {
		s := newSymptom(c.template, templateTokens(tokenizer{}, c.template))
		if got := s.matches(tokens(c.line)); got != c.want {
			t.Errorf("%q in %q: %v", c.template, c.line, got)
		}
	}
	for template, want := range map[string]int{"a <b> disk": 1, "a <b> <c> disk": 1, "a <b disk": 0, "a <" + strings.Repeat("x",
		41) + "> disk": 0,
		"a <" + strings.Repeat("x", 40) + "> disk": 1, "a <b <c> disk": 0, "uses <n>kB of memory": 1} {
		n := 0
		for _, w := range templateTokens(tokenizer{}, template) {
			if w == wildcard {
				n++
			}
		}
		if n != want {
			t.Errorf("%q: %d wildcards, want %d", template, n, want)
		}
	}
	if !newSymptom("sda: lost", nil).message || newSymptom("sda is lost", nil).message {
		t.Error("what a program prints and what somebody says")
	}
}

// TestStem: words that differ in their endings alone are one, and technical words stay what they are.
func TestStem(t *testing.T) {
	for a, b := range map[string]string{"disks": "disk", "entries": "entry", "classes": "class", "crashes": "crash", "boxes": "box",
		"dropped":  "drop",
		"dropping": "drop", "mounted": "mount", "freed": "free", "caches": "cach", "patches": "patch", "filling": "fill", "renewed": "renew",
		"deleting": "delete"} {
		if stem(a) != stem(b) {
			t.Errorf("%s is %s, %s is %s", a, stem(a), b, stem(b))
		}
	}
	for w, want := range map[string]string{"bus": "bus", "class": "class", "status": "status", "this": "this", "ldaps": "ldaps",
		"locales": "locale",
		"eth0s":   "eth0s", "a_bs": "a_bs", "gas": "gas", "ties": "tie", "ring": "ring", "bed": "bed", "string": "string", "speed": "spee",
		"need": "need"} {
		if got := stem(w); got != want {
			t.Errorf("%s: %s, want %s", w, got, want)
		}
	}
	for w, want := range map[string]bool{"sda": true, "sda12": true, "sdabc12": false, "vda1": true, "hdc": true, "xvda1": true,
		"sd": false, "sdx1y": false,
		"nvme0n1": true, "nvme": false, "nvmex": false, "md0": true, "md127": true, "mdadm": false, "dm9": true, "dmesg": false, "disk": false} {
		if isDisk(w) != want {
			t.Errorf("%s is a disk: %v", w, !want)
		}
	}
	for _, order := range [][]string{{"nf_conntrack", "conntrack", "disk", "the"}, {"bridgemtu", "sda", "a"}, {"bridgemtu", "kernel", "x"}} {
		for i := range order[1:] {
			if background(order[i]) <= background(order[i+1]) {
				t.Errorf("%s says %.2f, %s %.2f", order[i], background(order[i]), order[i+1], background(order[i+1]))
			}
		}
	}
}

// TestSentences: somebody's words are told from files, from what was typed and from what programs print.
func TestSentences(t *testing.T) {
	for line, want := range map[string]bool{
		"my disk is full and I do not know why": true, "why does it do that": true, "disk full": false, "it is so": false,
		"the disk is full":                        true,
		"# my disk is full and I do not know why": false, "Description: it is the name of a disk": true, "Name: the disk": false,
		"PermitRootLogin no": false, "if [ -f /x ]; then it is so": false, "$ my disk is full and so on": false,
	} {
		if isSentence(line) != want {
			t.Errorf("%q is a sentence: %v", line, !want)
		}
	}
	for line, want := range map[string]bool{"[Unit]": true, "a = b": true, "ExecStart=/bin/true": true, "root@web1:~# ls": true,
		"sda  1.0  2.0": true,
		"<html>":        true, "}": true, "it was the best": false, "$$$$ ab": true, "if [ -f /x ]; then": true} {
		if isShaped(line) != want {
			t.Errorf("%q has the form of a file: %v", line, !want)
		}
	}
	const said = "my disk is full and I do not know why"
	for text, want := range map[string]int{
		said: 1, "disk full": 1, "": 0, "\n\n": 0, said + "\n" + said: 2, "a = b": 0, "a = b\nc = d\ne = f\ng = h\n" + said: 5,
		said + "\na = b\nc = d\ne = f\ng = h\nh = i": 6, "a = b\nc = d\ne = f\ng = h\nh = i": 0, "eth0: link\na = b": 0, "one\ntwo\nthree": 3,
		"one\ntwo\nthree\nfour":             0,
		"a = b\nc = d\n" + said + "\ne = f": 4, "a = b\nc = d\n" + said + "\ne = f\ng = h": 0,
		"Jan  2 03:04:05 h app: it is as it is\n" + said: 1,
		strings.Repeat("\n", proseLines) + said:          1, strings.Repeat("\n", proseLines+1) + said: 0,
		strings.Repeat("x", proseBytes): 1, strings.Repeat("x", proseBytes+1): 0, "__CURSOR=1\n" + said: 0, "\x00\x01\x02": 0,
	} {
		if got := len(read(text).lines); got != want {
			t.Errorf("%.60q: %d lines of prose, want %d", text, got, want)
		}
	}
	for text, want := range map[string]bool{"": true, "plain\ttext\r\n": true, "\x1b[1mbold": true, "é": true, "caf\xe9 au lait": true,
		"\xe9\xe9\xe9a": false,
		"a\x00b":        false, strings.Repeat("a", 31) + "\x00": true, strings.Repeat("a", 14) + "\x00": false, strings.Repeat("a",
			40) + "\x00\xe9": false} {
		if isText([]byte(text)) != want {
			t.Errorf("%q is text: %v", text, !want)
		}
	}
}

// TestTold: all that is certain, or the likeliest three, or the nearest when nothing matches.
func TestTold(t *testing.T) {
	for _, c := range []struct {
		scores        []float64
		matches, near int
	}{
		{nil, 0, 0}, {[]float64{0.95, 0.7, 0.6}, 3, 0}, {[]float64{0.95, 0.95, 0.92, 0.9, 0.6}, 4, 0}, {[]float64{0.9, 0.7, 0.6, 0.5}, 3, 0},
		{[]float64{0.89, 0.7, 0.6, 0.5}, 3, 0}, {[]float64{0.5, 0.49}, 1, 0}, {[]float64{0.95, 0.3}, 1, 0}, {[]float64{0.49, 0.2}, 0, 2},
		{[]float64{0.49, 0.2, 0.1, 0.05}, 0, 3}, {[]float64{0.3, 0.01, 0.009}, 0, 2}, {[]float64{0.009}, 0, 0},
	} {
		var ranked []Match
		for _, s := range c.scores {
			ranked = append(ranked, Match{Score: s})
		}
		if matches, near := Told(ranked); len(matches) != c.matches || len(near) != c.near {
			t.Errorf("%v: %d match, %d are near", c.scores, len(matches), len(near))
		}
	}
}

// TestBest: of a trap's messages the surest is told, and a few lines and hosts, each once.
func TestBest(t *testing.T) {
	var b best
	sure, perhaps := message.Message{Text: "sure"}, message.Message{Text: "perhaps", Perhaps: true}
	say := func(m *message.Message, weight int, raw, host string) {
		b.message(m, weight, &message.Line{Raw: raw, Host: host})
	}
	say(&perhaps, 50, "a", "h1")
	if b.value != perhapsScore || b.symptom != "perhaps" {
		t.Errorf("%+v", b)
	}
	say(&sure, 10, "b", "h1")
	say(&perhaps, 90, "b", "h2")
	if b.value != sureScore || b.symptom != "sure" || b.weight != 10 {
		t.Errorf("%+v", b)
	}
	say(&message.Message{Text: "longer"}, 11, "c", "")
	say(&message.Message{Text: "as long"}, 11, "d", "h3")
	say(&sure, 1, "e", "h4")
	say(&sure, 1, "f", "h5")
	if b.symptom != "longer" || strings.Join(b.lines, "") != "abcd" || strings.Join(b.hosts, " ") != "h1 h2 h3 h4" {
		t.Errorf("%+v", b)
	}
}

// TestLogistic: more that speaks for a trap never says less, and a longer window never more.
func TestLogistic(t *testing.T) {
	at := func(s score, words int) float64 { return s.logistic(words) }
	base := score{bm25: 2, share: 0.4, cover: 0.5, info: 1, words: 3}
	v := at(base, 10)
	more := map[string]score{
		"more words of the lore": {bm25: 3, share: 0.4, cover: 0.5, info: 1, words: 3}, "a greater share": {bm25: 2, share: 0.6, cover: 0.5,
			info: 1, words: 3},
		"more of a symptom": {bm25: 2, share: 0.4, cover: 0.9, info: 1, words: 3}, "the symptom as it is": {bm25: 2, share: 0.4, cover: 0.5,
			info: 1, words: 3, whole: true},
		"nothing beside it": {bm25: 2, share: 0.4, cover: 0.5, info: 1, words: 3, exact: true},
	}
	for what, s := range more {
		if got := at(s, 10); got <= v || got >= 1 {
			t.Errorf("%s: %.3f, without %.3f", what, got, v)
		}
	}
	if at(base, 40) >= v || at(base, 2) <= v || at(score{}, 10) >= Near*2 || at(score{exact: true}, 40) < Threshold {
		t.Errorf("%.3f, %.3f, %.3f, %.3f of %.3f", at(base, 40), at(base, 2), at(score{}, 10), at(score{exact: true}, 40), v)
	}
	all, whole := base, base
	all.cover, whole.cover, whole.whole = 1, 1, true
	two := all
	two.words = 2
	if !(at(two, 10) < at(all, 10) && at(all, 10) < at(whole, 10)) {
		t.Errorf("two words %.3f, all in another order %.3f, as it is %.3f", at(two, 10), at(all, 10), at(whole, 10))
	}
}

const small = `---
id: disk-vanishes
title: A disk vanishes from the controller
symptoms:
  - "the disk vanished from the zyxcontroller"
  - "controller reset, disk gone"
messages:
  - text: zyxcontroller lost the disk <n>
    says: kernel
    since: Linux 6
  - text: zyxcontroller lost nothing at all
    says: kernel
    since: Linux 6
    harmless: true
questions:
  - "How is a zyxcontroller reset? zyxcontroller reset"
tags: [disk]
since: Linux 6
refs: [https://example.org]
---
# What happens

The zyxcontroller loses a disk.

# What to do

Nothing.
`

// TestSmallIndex: one trap's messages, words and questions, each where it counts.
func TestSmallIndex(t *testing.T) {
	x, err := New([]*trap.Trap{{Lore: small}})
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{
		"[  1.0] zyxcontroller lost the disk 7":                                            true,
		"[  1.0] zyxcontroller lost the disk 7\n[  1.0] zyxcontroller lost nothing at all": true,
		"[  1.0] zyxcontroller lost nothing at all":                                        false,
		"the disk vanished from the zyxcontroller":                                         true,
		"how do I reset a zyxcontroller?":                                                  true,
		"how do I cook rice?":                                                              false,
		"":                                                                                 false,
	} {
		m, err := x.Find(strings.NewReader(text))
		if err != nil || (len(m) == 1) != want || want && (m[0].Trap != "disk-vanishes" || m[0].Score > 1) {
			t.Errorf("%q: %+v, %v", text, m, err)
		}
	}
	// What reads along gets all until a message names a trap.
	for text, want := range map[string]bool{"nothing of note\n": true, "[  1.0] zyxcontroller lost the disk 7\n" + strings.Repeat("x\n",
		600_000): false} {
		var beside bytes.Buffer
		if _, err := x.RankBeside(strings.NewReader(text), &beside); err != nil || (beside.String() == text) != want {
			t.Errorf("%.30q: %d of %d bytes, %v", text, beside.Len(), len(text), err)
		}
	}
	// Somebody's words are read to the last byte that they may have.
	const words = "the disk vanished from the zyxcontroller\n"
	for more, want := range map[int]int{-1: 1, 0: 1, 1: 0} {
		text := words + strings.Repeat("x", proseBytes-len(words)+more)
		if m, err := x.Find(strings.NewReader(text)); err != nil || len(m) != want {
			t.Errorf("%d bytes: %+v, %v", len(text), m, err)
		}
	}
	broken := errors.New("it broke")
	for _, n := range []int{0, 10, proseBytes + 10} {
		r := io.MultiReader(strings.NewReader(strings.Repeat("x", n)), iotest.ErrReader(broken))
		if m, err := x.Find(r); !errors.Is(err, broken) || m != nil {
			t.Errorf("after %d bytes: %v, %v", n, m, err)
		}
	}
	if _, err := New([]*trap.Trap{{Lore: "---\nid: odd\ncolour: red\n---\n"}}); err == nil || !strings.Contains(err.Error(), "lore of odd") {
		t.Errorf("%v", err)
	}
	if _, err := New([]*trap.Trap{{Lore: "---\nid: odd\nmessages:\n  - text: short\n---\n"}}); err == nil {
		t.Error("a message that cannot be found")
	}
	q := newQuestion(tokenizer{}, "What becomes of it? rename|move open|hold")
	for words, want := range map[string]bool{"move open": true, "hold a file and rename it": true, "rename": false, "open": false, "": false} {
		if q.text != "What becomes of it?" || q.in(tokens(words)) != want {
			t.Errorf("%q asks %q: %v", words, q.text, !want)
		}
	}
}

// TestClasses: what differs from case to case becomes its class, and words their stems.
func TestClasses(t *testing.T) {
	for line, want := range map[string]string{
		"192.0.2.1 and fe80::1, (10.0.0.0/8) 192.0.2.1:80": "<addr> and <addr> <addr> <addr>", "52:54:00:12:34:56": "<addr>",
		"52:54:00:12:34:5g": "<n>",
		"14.201188 1 2":     "<n>", "98g 512MiB 20ms 1st": "<n>", "eth0 br10 vethab12 docker0": "<if> <if> <if> <if>",
		"eth ethx veth":        "eth ethx veth",
		"deadbeef0 0x7f abc12": "<hex> <hex> abc12", "nf_conntrack_max _x_": "nf_conntrack_max x", "No space left on device": "enospc",
		"no space left": "no spac left", "(CVE-2021-44228)": "cve-2021-44228", "CVE-21-44228x": "cve <n>", "a\x1b[1mb": "a b",
		"a\tb\x00c": "a b c", "": "",
		"Größe": "größ", "1:2": "<n>", "a.b.c.d": "a b c d", "sda1": "sda1",
	} {
		got := strings.Join(tokens(line), " ")
		if got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
	for in, want := range map[string]int{"\x1b[1mx": 4, "\x1b[@x": 3, "\x1b[~x": 3, "\x1b[\x7fmx": 4, "\x1b[12": 4, "\x1bMx": 2, "\x1b": 1} {
		if got := escapeLen(in); got != want {
			t.Errorf("%q: %d bytes, want %d", in, got, want)
		}
	}
	for s, want := range map[string]bool{"CVE-2021-44228": true, "cve-2021-4422": true, "CVE-2021-442": false, "CVE-202-442281": false,
		"CVE-2021-44a28": false, "2021-4422800000": true} {
		if isCVE(s) != want {
			t.Errorf("%s is a hole's number: %v", s, !want)
		}
	}
	for s, want := range map[string]bool{"1.2.3.4": true, "1.2.3": false, "1.2.3.256": false, "::1": true, "1.2.3.4:80": true,
		"[::1]:80": true, "fe80::/64": true,
		"aa:bb:cc:dd:ee:ff": true, "aa:bb:cc:dd:ee:fg": false, "12:34": false, "1.2.3.4/33": false, strings.Repeat("a:", 33): false} {
		if isAddr(s) != want {
			t.Errorf("%s is an address: %v", s, !want)
		}
	}
	var words []string
	bag([]string{"<n>", "nf_conntrack", "a_b", "disk"}, func(w string) bool { return w == "nf_conntrack" },
		func(w string) { words = append(words, w) })
	if got := strings.Join(words, " "); got != "nf_conntrack a_b disk" {
		t.Errorf("%q", got)
	}
	words = nil
	bag([]string{"nf_conntrack"}, nil, func(w string) { words = append(words, w) })
	if got := strings.Join(words, " "); got != "nf_conntrack nf conntrack" {
		t.Errorf("%q", got)
	}
}

// TestAsks: who asks how to do something, with the question first or behind.
func TestAsks(t *testing.T) {
	for text, want := range map[string]bool{"": false, "tell me how to do it": true, "tell me how": false, "I wonder how I do it": false,

		"and how do you": true, "is it so": true, "a disk": false, "is it only me": false, "what is so slow": false} {
		if onlyAsks(tokens(text)) != want {
			t.Errorf("%q only asks: %v", text, !want)
		}
	}
}

// TestJudged: what speaks more for a trap, or less for another, makes it likelier; a lead beyond farAhead, and the lore beyond its
// bounds, make no difference.
func TestJudged(t *testing.T) {
	weights := [judgeSigns]float64{-1, 1, 1, 0.5, -2}
	at := func(none, next, lore float64, question bool) float64 {
		x := weighed(none, next, lore, question)
		return judge(&weights, &x)
	}
	v := at(1, 1, 0.2, false)
	if !(at(2, 1, 0.2, false) > v && at(1, 1.5, 0.2, false) > v && at(1, 1, 0.4, false) > v && at(1, 1, 0.2, true) < v && v > 0 && v < 1) {
		t.Errorf("%.3f", v)
	}
	if at(1, farAhead, 0.2, false) != at(1, farAhead+1, 0.2, false) || at(1, farAhead-1, 0.2, false) >= at(1, farAhead, 0.2, false) ||
		at(1, 1, 0, false) != at(1, 1, leastSaid, false) || at(1, 1, mostSaid, false) != at(1, 1, 1, false) || at(1, 1, leastSaid,
		false) >= at(1, 1, mostSaid, false) {
		t.Error("the bounds")
	}
	words := func(n int, first string) map[string]bool {
		m := map[string]bool{first: true}
		for i := range n - 1 {
			m[strings.Repeat("w", i+1)] = true
		}
		return m
	}
	if !isProse(words(proseLimit, "a")) || isProse(words(proseLimit+1, "a")) || isProse(words(1, "é")) || !isProse(words(2, "é")) ||
		isProse(nil) {
		t.Error("somebody's description")
	}
	if evenly(2) != 0.5 || evenly(14) != 0.25 {
		t.Error("long texts")
	}
	for text, want := range map[string]string{"how is it": "?how", "why is it": "?why", "is it how": "?is", "a how is": "?how",
		"where is it": "?wher"} {
		if !said([][]string{tokens(text)})[want] {
			t.Errorf("%q does not ask %s: %v", text, want, said([][]string{tokens(text)}))
		}
	}
	if said([][]string{tokens("is it how")})["?how"] || said([][]string{{}, {}})["?"] {
		t.Error("asked without a question")
	}
}

// TestScored: a symptom with next to nothing beside it is there exactly, in a longer text still as it is, in another order neither.
func TestScored(t *testing.T) {
	x, err := New([]*trap.Trap{{Lore: small}})
	if err != nil {
		t.Fatal(err)
	}
	const said = "the disk vanished from the zyxcontroller"
	for text, want := range map[string][2]bool{said: {true, true}, said + " radish": {true, true}, said + " radish turnip": {false, true},
		"the zyxcontroller vanished from the disk": {false, false}, "zyxcontroller": {false, false}} {
		seen := false
		x.score(tokens(text), x.newScratch(), func(_ int, s *score, v float64) {
			seen = true
			if s.exact != want[0] || s.whole != want[1] || v <= 0 || v >= 1 || s.share <= 0 || s.share > 1.0001 {
				t.Errorf("%q: %+v, %.2f", text, *s, v)
			}
		})
		if !seen {
			t.Errorf("%q shares nothing", text)
		}
	}
}
