package firstlook

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"testing"

	"fettle/internal/means"
)

// memory is how much lives on the heap.
func memory() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestLoopsEnd: whatever the text, and before any other test would wait for it.
func TestLoopsEnd(t *testing.T) {
	means.Ends(t)
	for _, text := range []string{"", "7", "a7", "xy 7ab", "7 8", "\xff7\x00", strings.Repeat("z9 ", 100)} {
		if got := string(masked(nil, []byte(text))); len(got) > len(text) || strings.ContainsAny(got, "0123456789") {
			t.Errorf("%q: masked %q", text, got)
		}
		if score, said := worst(text); score > 0 {
			t.Errorf("%q says %q", text, said)
		}
		var p parser
		p.line([]byte(`{"a":` + text + `,"b":["` + text + `"]}`))
	}
}

// TestMemoryIsBounded reads logs in which no two lines are alike, a line without an end, and entries
// of JSON: what is kept stays within some MiB.
func TestMemoryIsBounded(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	word := func() string {
		b := make([]byte, 3+rng.IntN(8))
		for i := range b {
			b[i] = 'a' + byte(rng.IntN(26))
		}
		return string(b)
	}
	for name, write := range map[string]func(*Look){
		"every line another": func(l *Look) {
			for range 12_000 {
				fmt.Fprintf(l, "Jan  2 03:04:05 host %s[1]: %s %s %s failed\n", word(), word(), word(), word())
			}
		},
		"every host another": func(l *Look) {
			for i := range 12_000 {
				fmt.Fprintf(l, "Jan  2 03:04:05 host-%s-%d cron[1]: nothing\n", word(), i)
			}
		},
		"a line without end": func(l *Look) {
			chunk := bytes.Repeat([]byte("error "), 10_000)
			for range 1000 {
				l.Write(chunk)
			}
		},
		"an entry without end": func(l *Look) {
			fmt.Fprintf(l, "__CURSOR=x\n")
			for range 12_000 {
				fmt.Fprintf(l, "MESSAGE=%s\n", strings.Repeat("x", 300))
			}
		},
	} {
		before := memory()
		l := New()
		write(l)
		kept := int64(memory()) - int64(before)
		r := l.Report()
		if kept > 16<<20 {
			t.Errorf("%s: %d MiB are kept", name, kept>>20)
		}
		if len(l.groups.all) > maxGroups || len(l.groups.known) > maxKnown || len(l.hosts) > maxNames {
			t.Errorf("%s: %d groups, %d known texts, %d hosts", name, len(l.groups.all), len(l.groups.known), len(l.hosts))
		}
		t.Logf("%s: %d MiB kept, %d lines, %d groups", name, kept>>20, r.Lines, r.Kinds)
		runtime.KeepAlive(l)
	}
}

// TestFailureSurvivesTheFlood: what fails is found among lines that are all different, wherever it is.
func TestFailureSurvivesTheFlood(t *testing.T) {
	for _, at := range []int{0, 10_000, 29_999} {
		l := New()
		for i := range 30_000 {
			if i == at {
				fmt.Fprintf(l, "Jan  2 03:04:05 host backupd[7]: Fatal: cannot write the archive: No space left on device\n")
			}
			fmt.Fprintf(l, "Jan  2 03:04:05 host app%c[1]: %s was looked at by %s\n", 'a'+byte(i%26), letters(i), letters(i*7))
		}
		if r := l.Report(); len(r.Groups) == 0 || r.Groups[0].By != "backupd" {
			t.Errorf("at line %d: %v", at, r.Text(80))
		}
	}
}

// TestRefusedOnce: a text that finds no room is counted where one like it has a group later.
func TestRefusedOnce(t *testing.T) {
	l := New()
	say := func(text string) { fmt.Fprintf(l, "Jan  2 03:04:05 host app[1]: %s\n", text) }
	for i := range maxBucket {
		say("start " + letters(i) + " " + letters(7*i+1) + " " + letters(11*i+5))
	}
	for range 3 {
		say("start moon sun stars")
	}
	if l.groups.dropped != 3 || len(l.groups.all) != maxBucket {
		t.Fatalf("%d dropped, %d groups", l.groups.dropped, len(l.groups.all))
	}
	say("start moon sun failed")
	say("start moon sun stars")
	g := l.groups.all[len(l.groups.all)-1]
	if l.groups.dropped != 3 || g.count != 2 {
		t.Errorf("%d dropped, %q counted %d times", l.groups.dropped, g.template, g.count)
	}
}

// TestLevels: what a program calls a line counts, whatever words are in it besides.
func TestLevels(t *testing.T) {
	for text, want := range map[string]string{
		"level=fatal msg=x": "fatal", "F0102 12:00:00 1 x.go:7] x": "fatal", "x [EMERG] y": "fatal", "CRIT x": "fatal",
		"E0102 12:00:00 1 x.go:7] x": "error", "<error> x": "error", "SEVERE x": "error", `{"level":"error"}`: "error", "a ERR: x": "",
		"W0102 12:00:00 1 x.go:7] x": "warning", `{"level":"warn"}`: "warning", "x WARNING: y": "warning", "forewarned": "",
		"I0102 12:00:00 1 x.go:7] x": "less", "x [note] y": "less", "level=trace": "less", "<debug> x": "less", "a notice of it": "",
	} {
		var v verdict
		v.level(text)
		got := strings.Join(v.why, " ")
		if v.score < 0 {
			got = "less"
		}
		if (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestWordsOfNoFailure: words of failure in a message that reports none do not make it stand out.
func TestWordsOfNoFailure(t *testing.T) {
	for text, failing := range map[string]bool{
		"check: Scanning 1 areas for low memory corruption":          false,
		"check: Scanning for low memory corruption every 60 seconds": false,
		"Corrupted low memory at 0x1000":                             true, "0 errors found": false, "3 errors found": true,
	} {
		v := judge(&record{by: []byte("kernel"), text: []byte(text), prio: -1})
		if v.score >= telling != failing {
			t.Errorf("%q: %.1f %q", text, v.score, v.why)
		}
	}
}

// letters writes a number in letters.
func letters(n int) string {
	b := []byte{'q'}
	for ; n > 0; n /= 26 {
		b = append(b, 'a'+byte(n%26))
	}
	return string(b)
}

func BenchmarkLook(b *testing.B) {
	boot, err := os.ReadFile("../testdata/healthy/debian12-boot.log")
	if err != nil {
		b.Fatal(err)
	}
	log := bytes.Repeat(append(boot, '\n'), 1024)
	b.SetBytes(int64(len(log)))
	for b.Loop() {
		l := New()
		for part := log; len(part) > 0; {
			n := min(len(part), 64<<10)
			l.Write(part[:n])
			part = part[n:]
		}
		l.Report()
	}
}
