package login

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"fettle/internal/means"
)

// play gives the lines of a recorded log to a parser.
func play(t testing.TB, text string) *parser {
	p := newParser()
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if line == "" || line[0] == '#' {
			continue
		}
		at, said, _ := strings.Cut(line, " ")
		s, err := strconv.ParseFloat(at, 64)
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		d := time.Duration(s*1000+0.5) * time.Millisecond
		if said == "OUTPUT" {
			p.output(d)
			continue
		}
		p.line(d, said)
	}
	return p
}

func show(l *Login) string {
	var b strings.Builder
	for _, f := range [][2]string{{"client", l.Client}, {"server", l.Server}, {"address", l.Address}, {"user", l.User}, {"method", l.Method}} {
		if f[1] != "" {
			fmt.Fprintln(&b, f[0], f[1])
		}
	}
	for _, s := range l.Spans {
		fmt.Fprintf(&b, "%s %.3f server %.3f", s.Phase, s.Took.Seconds(), s.Server.Seconds())
		if s.Tries > 0 {
			fmt.Fprintf(&b, " tries %d", s.Tries)
		}
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "total %.3f\n", l.Total.Seconds())
	return b.String()
}

func logs(t testing.TB) map[string][2]string {
	files, err := filepath.Glob("testdata/logs/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no logs: %v", err)
	}
	out := map[string][2]string{}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		text, want, ok := strings.Cut(string(b), "-- want --\n")
		if !ok {
			t.Fatalf("%s: wants nothing", f)
		}
		out[f] = [2]string{text, want}
	}
	return out
}

func TestParse(t *testing.T) {
	for f, l := range logs(t) {
		t.Run(filepath.Base(f), func(t *testing.T) {
			p := play(t, l[0])
			if got := show(&p.l); got != l[1] {
				t.Errorf("got\n%swant\n%s", got, l[1])
			}
			var sum time.Duration
			for _, s := range p.l.Spans {
				sum += s.Took
				if s.Server > s.Took {
					t.Errorf("%+v: the server took longer than the phase", s)
				}
			}
			if sum != p.l.Total {
				t.Errorf("the phases add up to %s of %s", sum, p.l.Total)
			}
		})
	}
}

func TestFuzz(t *testing.T) { means.Fuzz(t) }

// FuzzParse: whatever a server makes ssh say, times add up and nothing grows.
func FuzzParse(f *testing.F) {
	for _, l := range logs(f) {
		f.Add(l[0])
	}
	f.Add("debug1: Next authentication method: " + strings.Repeat("x", 5000))
	f.Fuzz(func(t *testing.T, text string) {
		p := newParser()
		at := time.Duration(0)
		for line := range strings.Lines(text) {
			at += time.Millisecond
			_, said, _ := strings.Cut(strings.TrimRight(line, "\n"), " ")
			p.line(at, said)
		}
		p.output(at)
		var sum time.Duration
		for _, s := range p.l.Spans {
			if s.Took < 0 || s.Server < 0 || s.Server > s.Took || len(s.Phase) > 300 {
				t.Fatalf("%+v", s)
			}
			sum += s.Took
		}
		if len(p.l.Spans) < maxSpans && sum != at || len(p.l.Spans) > maxSpans || len(p.said) > 3 {
			t.Fatalf("%s of %s, %d spans, %d said", sum, at, len(p.l.Spans), len(p.said))
		}
	})
}

func TestEachLine(t *testing.T) {
	long := strings.Repeat("x", 10_000)
	var got []string
	eachLine(strings.NewReader("a\r\n"+long+"\nb\n\nend"), func(s string) { got = append(got, s) })
	if len(got) != 5 || got[0] != "a" || len(got[1]) != 4096 || got[2] != "b" || got[3] != "" || got[4] != "end" {
		t.Errorf("%d lines: %.60q", len(got), got)
	}
}

func TestSum(t *testing.T) {
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	r := Result{Logins: []Login{
		{
			Total: ms(1300),
			Spans: []Span{
				{Phase: Connect, Took: ms(100), Tries: 1},
				{Phase: Exchange, Took: ms(250)},
				{Phase: Session, Took: ms(900), Server: ms(900)},
			},
		},
		{
			Total: ms(1100),
			Spans: []Span{
				{Phase: Connect, Took: ms(90), Tries: 1},
				{Phase: Exchange, Took: ms(240)},
				{Phase: Auth("none"), Took: ms(10)},
				{Phase: Session, Took: ms(700)},
			},
		},
		{
			Total: ms(1400),
			Spans: []Span{{Phase: Connect, Took: ms(10), Tries: 2}, {Phase: Exchange, Took: ms(230)}, {Phase: Session, Took: ms(800)}},
		},
	}}
	r.sum()
	if r.Total.Median != 1.3 || r.Total.Min != 1.1 || r.Total.Max != 1.4 || r.RTT() != ms(90) {
		t.Errorf("%+v, round trip %s", r.Total, r.RTT())
	}
	var order []Phase
	for _, s := range r.Phases {
		order = append(order, s.Phase)
	}
	if fmt.Sprint(order) != "[connect key exchange auth none session open]" {
		t.Errorf("order %q", order)
	}
	// 0.24 s of key exchange are two round trips of 90 ms and work.
	if len(r.Slow) != 1 || r.Slow[0].Phase != Session || r.Slow[0].Median != 0.8 {
		t.Errorf("slow: %+v", r.Slow)
	}
}
