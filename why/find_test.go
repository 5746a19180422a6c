package why

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"fettle/engine/trap"
	"fettle/internal/means"
)

func TestTokens(t *testing.T) {
	for in, want := range map[string]string{
		"br0: port 2(vnet7) entered blocking state":                    "<if> port <n> <if> enter block stat",
		"From 192.0.2.1 icmp_seq=1 Frag needed (mtu = 1400)":           "from <addr> icmp_seq <n> frag need mtu <n>",
		"net.ipv6.conf.enp4s0.accept_ra = 1":                           "net ipv6 conf <if> accept_ra <n>",
		"/var/log/journal/6c0fbb1d1ea54f0a8a4c/system.journal":         "var log journal <hex> system journal",
		"via fe80::86c1:c1ff:fe75:11 dev eth0":                         "via <addr> dev <if>",
		"[  14.201188] ata3.00: exception 0x10":                        "<n> ata3 <n> exception <hex>",
		"Apr  3 09:12:44 gw2 kernel: 61203881984 98G 20ms":             "apr <n> gw2 kernel <n>",
		"52:54:00:a1:77:0c \x1b[31mred\x1b[0m \xff\x00tail ext4 raid1": "<addr> red tail ext4 raid1",
		"vanishes vanished vanishing dropped dropping freed free":      "vanish vanish vanish drop drop free free",
		"tar: x: Cannot write: No space left on device (28)":           "tar x cannot writ enospc <n>",
		"pages_to_scan:100 RAs autoconfiguration disappeared Größe":    "pages_to_scan <n> ra autoconf vanish größ",
	} {
		if got := strings.Join(tokens(in), " "); got != want {
			t.Errorf("%q:\n got %s\nwant %s", in, got, want)
		}
	}
}

func TestTemplates(t *testing.T) {
	for _, c := range []struct {
		symptom, line string
		want          bool
	}{
		{"<br0>: mtu less than <n> bytes", "kernel: vmbr12: mtu less than 68 bytes!", true},
		{"mtu of <bridge> changed from 1500 to 8950", "the MTU of lan-stor0 changed from 9000 to 1450", true},
		{"mtu of <bridge> changed", "mtu changed of br0", false},
		{"open /var/log/journal/<id>/x: denied", "open /var/log/journal/0d1e5f0a3bb94d0aa5c3/x: denied", true},
		{"lost its <thing>", "lost its", true},
		{"<a> <b>", "anything", false},
		{"total-vm:<n>kB, anon-rss:<n>kB", "total-vm:123456kB, anon-rss:98304kB", true},
		{"total-vm:<n>kB, anon-rss:<n>kB", "total-vm:123456kB", false},
	} {
		s := newSymptom(c.symptom, templateTokens(tokenizer{}, c.symptom))
		if got := s.matches(tokens(c.line)); got != c.want {
			t.Errorf("%q in %q: %v, want %v", c.symptom, c.line, got, c.want)
		}
	}
}

// TestHostileTemplate: a line made to backtrack must not take long.
func TestHostileTemplate(t *testing.T) {
	s := newSymptom("", templateTokens(tokenizer{}, strings.Repeat("a0 <x> ", 12)+"z9"))
	start := time.Now()
	s.matches(tokens(strings.Repeat("a0 ", 1300)))
	if d := time.Since(start); d > means.Patience {
		t.Errorf("took %s", d)
	}
}

func TestSameTrapWhateverTheNames(t *testing.T) {
	x := testIndex(t)
	var want []Match
	for i, text := range []string{
		"internal error: Check the host setup: enabling IPv6 forwarding with RA routes without accept_ra set to 2 is likely to cause routes " +
			"loss. Interfaces to look at: eno2",
		"2031-12-09 23:59:59.999+0100: 771: error : x:1 : internal error: Check the host setup: enabling IPv6 forwarding with RA routes " +
			"without accept_ra set to 2 is likely to cause routes loss. Interfaces to look at: wlp9s0f1",
	} {
		got, err := x.Find(strings.NewReader(text))
		if err != nil || len(got) != 1 || got[0].Symptom == "" || !reflect.DeepEqual(got[0].Lines, []string{text}) {
			t.Fatalf("%q: %+v, %v", text, got, err)
		}
		if i == 0 {
			want = got
		}
		if got[0].Trap != want[0].Trap {
			t.Errorf("%s, want %s", got[0].Trap, want[0].Trap)
		}
	}
}

// TestOnePossibilityOfSeveral: a message with many causes is worth naming the
// traps for, the likeliest first and none as likely, and not more than that.
func TestOnePossibilityOfSeveral(t *testing.T) {
	got, err := testIndex(t).Find(strings.NewReader("No space left on device"))
	if err != nil || len(got) == 0 || len(got) > possibilities || got[0].Trap != "deleted-open-files" || got[0].Score >= 0.7 {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestNeedleInLog finds one line in a long log of strangers.
func TestNeedleInLog(t *testing.T) {
	x := testIndex(t)
	var log strings.Builder
	hay := pastes(t, "seen")
	for i := 0; log.Len() < 1<<20; i++ {
		if p := hay[i%len(hay)]; p.trap == "" && p.name != "none.nic-mtu" && p.name != "none.tls" && p.name != "none.tar-full" {
			fmt.Fprintf(&log, "Jan  1 00:00:%02d host x[%d]: %s", i%60, i, p.text)
		}
	}
	if got, err := x.Find(strings.NewReader(log.String())); err != nil || len(got) != 0 {
		t.Fatalf("a log of strangers matches %+v, %v", got, err)
	}
	const needle = "journalctl[99]: No journal files were opened due to insufficient permissions."
	got, err := x.Find(strings.NewReader(log.String() + needle + "\n" + log.String()))
	if err != nil || len(got) != 1 || got[0].Trap != "journal-access" || got[0].Lines[0] != needle {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestCalmLine: a line of a log that complains of nothing is no symptom when it is pasted
// alone either, whatever names it has.
func TestCalmLine(t *testing.T) {
	x := testIndex(t)
	for _, line := range []string{
		"2026-03-02 08:52:12 install debian-installer-12-netboot-amd64:all <none> 20230607+deb12u15",
		"2026-03-02 08:52:22 configure krb5-locales:all 1.20.1-2+deb12u5 <none>",
	} {
		if got, err := x.Find(strings.NewReader(line)); err != nil || len(got) > 0 {
			t.Errorf("%q: %+v, %v", line, got, err)
		}
	}
}

// TestInformingLine: a line of a log whose own level says that nothing is wrong is
// no symptom, whatever it quotes.
func TestInformingLine(t *testing.T) {
	x := testIndex(t)
	strangers := strings.Repeat("x[1]: started\n", proseLines)
	const quoted = `msg="skip loading plugin" error="modprobe: FATAL: Module aufs not found in directory /lib/modules/6.1.0-13-amd64"`
	for level, want := range map[string]int{
		`time="2026-01-02T03:04:05Z" level=info`: 0, `{"severity": "DEBUG"}`: 0, `lvl=trace`: 0,
		`time="2026-01-02T03:04:05Z" level=error`: 1, `level=fatal`: 1, `the level of the river`: 1,
	} {
		got, err := x.Find(strings.NewReader(strangers + "Jan  2 03:04:05 host containerd[9]: " + level + " " + quoted + "\n"))
		if err != nil || len(got) != want {
			t.Errorf("%s: %+v, %v; want %d", level, got, err, want)
		}
	}
}

// TestLogIsNoProse: what only a paste's lines together tell, neighbours in a log
// do not.
func TestLogIsNoProse(t *testing.T) {
	x := testIndex(t)
	found := func(text string) bool {
		t.Helper()
		got, err := x.Find(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		return len(got) > 0
	}
	strangers := strings.Repeat("x[1]: started\n", proseLines)
	n := 0
	for _, p := range append(pastes(t, "seen"), pastes(t, "unseen")...) {
		words := strings.Fields(p.text) // a line each: nearly no word says enough by itself
		if p.trap == "" || !found(strings.Join(words, "\n")) || slices.ContainsFunc(words, found) {
			continue
		}
		n++
		if text := strings.Join(words, "\n") + "\n" + strangers; found(text) {
			t.Errorf("%s: its lines are read together, %d lines of a log", p.name, strings.Count(text, "\n"))
		}
	}
	if n == 0 {
		t.Error("no paste is told by its lines together alone")
	}
	t.Logf("%d pastes", n)
}

func TestRubbish(t *testing.T) {
	x := testIndex(t)
	rnd := rand.New(rand.NewPCG(1, 2))
	b := make([]byte, 1<<18)
	for i := range b {
		b[i] = byte(rnd.Uint32())
	}
	for name, in := range map[string][]byte{"random": b, "zeroes": make([]byte, 1<<20), "empty": nil,
		"one line": bytes.Repeat([]byte("a"), 1<<20), "short lines": bytes.Repeat([]byte("x\n"), 1<<16)} {
		if got, err := x.Find(bytes.NewReader(in)); err != nil || len(got) != 0 {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	// What stood before the rubbish counts all the same.
	const line = "No journal files were opened due to insufficient permissions.\n"
	got, err := x.Find(io.MultiReader(strings.NewReader(line), bytes.NewReader(b)))
	if err != nil || len(got) != 1 {
		t.Errorf("before rubbish: %+v, %v", got, err)
	}
}

// TestRandomBytes: random data of many lengths of lines is no text, though words
// come about in it.
func TestRandomBytes(t *testing.T) {
	means.Short(t, "takes seconds")
	x := testIndex(t)
	for seed := range byte(4) {
		if got, err := x.Find(io.LimitReader(rand.NewChaCha8([32]byte{seed}), 2<<20)); err != nil || len(got) != 0 {
			t.Errorf("seed %d: %+v, %v", seed, got, err)
		}
	}
}

// endless is a log of which no line is like another, some of them long.
type endless struct {
	n    int
	rest []byte
}

func (e *endless) Read(p []byte) (int, error) {
	if len(e.rest) == 0 {
		e.n++
		e.rest = fmt.Appendf(e.rest, "Jan  1 00:00:00 host app[%d]: %x %s\n", e.n, e.n*7919, bytes.Repeat([]byte("z"), 3900))
		if e.n%8 == 0 {
			e.rest = fmt.Appendf(e.rest[:0], "w%dq%s\n", e.n, bytes.Repeat([]byte("v"), 3900))
		}
	}
	n := copy(p, e.rest)
	e.rest = e.rest[n:]
	return n, nil
}

// TestLongLog: the line that matters is at the end of a log that is longer
// than memory may become.
func TestLongLog(t *testing.T) {
	x := testIndex(t)
	const size, bound, needle = 96 << 20, 24 << 20, "journalctl[99]: No journal files were opened due to insufficient permissions."
	var most, before runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	atEnd := func() io.Reader {
		runtime.GC()
		runtime.ReadMemStats(&most)
		return strings.NewReader("\n" + needle + "\n")
	}
	got, err := x.Find(io.MultiReader(io.LimitReader(&endless{}, size), &late{make: atEnd}))
	if err != nil || len(got) != 1 || got[0].Trap != "journal-access" || got[0].Lines[0] != needle {
		t.Errorf("%+v, %v", got, err)
	}
	if held := int64(most.HeapAlloc) - int64(before.HeapAlloc); held > bound {
		t.Errorf("at the end of %d MiB, %d MiB are held", size>>20, held>>20)
	} else {
		t.Logf("held at the end: %d KiB", held>>10)
	}
}

// late is a reader that is made when it is first read.
type late struct {
	make func() io.Reader
	r    io.Reader
}

func (l *late) Read(p []byte) (int, error) {
	if l.r == nil {
		l.r = l.make()
	}
	return l.r.Read(p)
}

func TestFuzz(t *testing.T) { means.Fuzz(t) }

func FuzzFind(f *testing.F) {
	x := testIndex(f)
	for _, p := range pastes(f, "seen") {
		f.Add(p.text)
	}
	f.Fuzz(func(t *testing.T, s string) {
		all, err := x.Rank(strings.NewReader(s))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range all {
			if m.Score < 0 || m.Score > 1 || len(m.Lines) > 4 {
				t.Fatalf("%+v", m)
			}
		}
	})
}

// sixty makes as many traps of the real ones: each copy with words of its own
// in place of every third word.
func sixty(t testing.TB) []*trap.Trap {
	var out []*trap.Trap
	real := articles(t)
	for i := range 60 {
		a := real[i%len(real)]
		n := 0
		own := func(s string) string {
			words := strings.Fields(s)
			for k := range words {
				if n++; i >= len(real) && n%3 == 0 {
					words[k] = fmt.Sprintf("%s%c%c", words[k], 'a'+i/26, 'a'+i%26)
				}
			}
			return strings.Join(words, " ")
		}
		var b strings.Builder
		fmt.Fprintf(&b, "---\nid: t%d\ntitle: %q\nsymptoms:\n", i, own(a.Title))
		for _, s := range a.Symptoms {
			fmt.Fprintf(&b, "  - %q\n", own(s))
		}
		fmt.Fprintf(&b, "since: x\n---\n%s", own(a.Body))
		out = append(out, &trap.Trap{Lore: trap.Lore(b.String())})
	}
	return out
}

// TestReadBeside: what reads along gets all of a text in which no message is, and no more of one when a message
// has named a trap, harmless ones not among them.
func TestReadBeside(t *testing.T) {
	x := testIndex(t)
	hay := strings.Repeat("Jan  2 03:04:05 web1 app[1]: nothing of note\n", 20_000)
	for line, all := range map[string]bool{
		"": true,
		"Jan  2 03:04:05 web1 systemd[1]: nginx.service: Failed with result 'exit-code'.\n": false,
		"Jan  2 03:04:05 web1 app[1]: inotify_add_watch: No space left on device\n":         true,
	} {
		var beside bytes.Buffer
		if _, err := x.RankBeside(strings.NewReader(line+hay), &beside); err != nil {
			t.Fatal(err)
		}
		switch got := beside.String(); {
		case all && got != line+hay:
			t.Errorf("%q: %d of %d bytes were read along", line, len(got), len(line+hay))
		case !all && (len(got) > len(hay)/2 || !strings.HasPrefix(line+hay, got)):
			t.Errorf("%q: %d bytes were read along after a trap was named", line, len(got))
		}
	}
}

// BenchmarkWhy is all that fettle why does but for starting: parsing and
// indexing the lore of 60 traps, and finding one paste. The lore differs from
// run to run, because Article keeps what it parsed.
func BenchmarkWhy(b *testing.B) {
	text := pastes(b, "seen")[0].text
	base := sixty(b)
	n := 0
	for b.Loop() {
		b.StopTimer()
		n++
		fresh := make([]*trap.Trap, len(base))
		for i, t := range base {
			fresh[i] = &trap.Trap{Lore: trap.Lore(fmt.Sprintf("%s\n%d", t.Lore, n))}
		}
		b.StartTimer()
		x, err := New(fresh)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := x.Find(strings.NewReader(text)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkFind(b *testing.B) {
	x, err := New(sixty(b))
	if err != nil {
		b.Fatal(err)
	}
	text := pastes(b, "seen")[0].text
	for b.Loop() {
		x.Find(strings.NewReader(text))
	}
}

func BenchmarkLog16MiB(b *testing.B) {
	x, err := New(sixty(b))
	if err != nil {
		b.Fatal(err)
	}
	var log strings.Builder
	hay := pastes(b, "seen")
	for i := 0; log.Len() < 16<<20; i++ {
		fmt.Fprintf(&log, "Jan  1 00:00:%02d host%d x[%d]: %s", i%60, i%7, i, hay[i%len(hay)].text)
	}
	b.SetBytes(int64(log.Len()))
	for b.Loop() {
		x.Find(strings.NewReader(log.String()))
	}
}

// TestOneEndIsEnough: who types a text ends it once. What a terminal says after its end is another text.
func TestOneEndIsEnough(t *testing.T) {
	x, err := New(nil)
	if err != nil {
		t.Fatal(err)
	}
	calls := 0
	r := readerFunc(func(p []byte) (int, error) {
		if calls++; calls == 1 {
			return copy(p, "a text\n"), nil
		}
		return 0, io.EOF
	})
	if _, err := x.Rank(r); err != nil || calls != 2 {
		t.Errorf("%d times read, want 2: the text and its end; %v", calls, err)
	}
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
