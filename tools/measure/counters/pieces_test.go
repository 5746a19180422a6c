package counters_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fettle/tools/measure/counters"
)

// TestSecretsOfAFile: which lines are taken, and that what is wrong is told without its secret.
func TestSecretsOfAFile(t *testing.T) {
	for _, c := range []struct {
		name, text string
		mode       os.FileMode
		want       string
	}{
		{"all", "# of the switch\n\n community  public \nauth a b\npriv p\n", 0o600, "public|a b|p"},
		{"replaced", "priv x\npriv y", 0o400, "old|old|y"},
		{"readable by others", "priv x", 0o604, "FILE: others may read or write it (mode 0604): chmod 600 FILE"},
		{"writable by its group", "priv x", 0o620, "FILE: others may read or write it (mode 0620): chmod 600 FILE"},
		{"no secret", "\npriv \n", 0o600, "FILE:2: expected community, auth or priv and a secret after a space"},
		{"no key", "hunter2\n", 0o600, "FILE:1: expected community, auth or priv and a secret after a space"},
		{"another key", "password hunter2\n", 0o600, "FILE:1: expected community, auth or priv and a secret after a space"},
		{"a line without end", "priv " + strings.Repeat("x", 70000), 0o600, "reading FILE: bufio.Scanner: token too long"},
	} {
		name := filepath.Join(t.TempDir(), "secrets")
		if err := errors.Join(os.WriteFile(name, []byte(c.text), 0o600), os.Chmod(name, c.mode)); err != nil {
			t.Fatal(err)
		}
		s := counters.Secrets{Community: "old", AuthKey: "old", PrivKey: "old"}
		got := ""
		if err := s.FromFile(name); err != nil {
			got = strings.ReplaceAll(err.Error(), name, "FILE")
		} else {
			got = s.Community + "|" + s.AuthKey + "|" + s.PrivKey
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	if err := new(counters.Secrets).FromFile("/no/such/file"); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	t.Setenv(counters.EnvCommunity, "c")
	t.Setenv(counters.EnvAuthKey, "a")
	t.Setenv(counters.EnvPrivKey, "p")
	s := counters.Secrets{AuthKey: "mine"}
	if s.FromEnv(); s.Community+s.AuthKey+s.PrivKey != "cminep" || fmt.Sprintf("%v %+v %#v", s, s, s) != "(secrets) (secrets) (secrets)" {
		t.Errorf("%s, printed %v", s.AuthKey, s)
	}
}

// TestSummary: what a series comes to, in figures.
func TestSummary(t *testing.T) {
	s := poll(10*time.Second, counters.Facts{Width: 32, Trusted: true, Queues: 1, Told: true, MaxRate: 1e9}, 1<<32-500e6, 200e6, 0, 900e6,
		1000e6)
	s.Samples[2].Gone = true
	v := counters.Judge(s)
	sum := counters.Summarize(s, v)
	got := fmt.Sprintf("%d %d %s %.0f %.0f %s %v %v %s %s %s %s", sum.Readings, sum.Missed, sum.Span, sum.Mean, sum.Highest, sum.Worst,
		sum.Marks, sum.Events,
		sum.WrapsEvery.Round(time.Millisecond), sum.Poll.Round(time.Millisecond), sum.WrapsEveryAtMost.Round(time.Millisecond),
		sum.PollAtMost.Round(time.Millisecond))
	if want := "4 1 40s 300000000 560000000 certain map[certain:3] map[wrap:1] 1m1.357s 30.678s 34.36s 17.18s"; got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
	at, rates := v.Rates()
	if len(at) != 3 || len(rates) != 3 || !at[2].Equal(start.Add(40*time.Second)) || rates[2] != 80e6 {
		t.Errorf("%v, %v", at, rates)
	}
	s = poll(time.Minute, counters.Facts{Width: 64, Trusted: true}, 5e12, 5.001e12, 1e6, 2e9)
	v = counters.Judge(s)
	sum = counters.Summarize(s, v)
	if _, rates := v.Rates(); sum.Worst != counters.Lost || sum.Events[counters.Reset] != 1 || sum.WrapsEvery != 0 || len(rates) != 2 ||
		sum.Mean != (1e9+2e9-1e6)*8/120 {
		t.Errorf("%+v, %v", sum, rates)
	}
	if sum = counters.Summarize(counters.Series{}, counters.Verdict{}); sum.Worst != counters.Lost || sum.Span != 0 || sum.Mean != 0 {
		t.Errorf("nothing: %+v", sum)
	}
	for want, gaps := range map[time.Duration][]int{0: {0}, 10 * time.Second: {0, 10, 20, 300}, 280 * time.Second: {0, 280, 290, 700}} {
		var s counters.Series
		for _, g := range gaps {
			s.Samples = append(s.Samples, counters.Sample{T: start.Add(time.Duration(g) * time.Second)})
		}
		if got := s.Usual(); got != want {
			t.Errorf("readings at %v: usually %s apart, want %s", gaps, got, want)
		}
	}
}

// TestPollersGaps: what a poller leaves out, and which wrap it takes a fall for.
func TestPollersGaps(t *testing.T) {
	s := poll(8*time.Second, counters.Facts{}, 1000, 3000, 0, 5000, 6000, 7000, 8000, 8000, 7000, 7000+1<<33, 7000, 0)
	s.Samples[2].Gone = true
	s.Samples[4].Index = 9
	s.Samples[5].Index, s.Samples[5].Epoch = 9, 7
	s.Samples[7].T = s.Samples[6].T
	at, rates := counters.Poller(s.Samples)
	got := ""
	for i := range at {
		got += fmt.Sprintf("%.0f:%.0f ", at[i].Sub(start).Seconds(), rates[i])
	}
	// Down by 1000: a wrap at 32 bits; down by 2^33: one at 64.
	if want := "8:2000 64:2147483148 72:8589934592 80:18446744065119617024 88:4294960296 "; got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
	if thin := counters.Thin(s.Samples, 8*time.Second); len(thin) != len(s.Samples)-1 {
		t.Errorf("%d of %d", len(thin), len(s.Samples))
	}
}

// TestValues: what a recorded counter and a time may look like.
func TestValues(t *testing.T) {
	const max = "18446744073709551615"
	for text, want := range map[string]string{
		"5," + max + ";6,0":                "rx: " + max + "@5 0@6",
		"5, 7 ;6,1e3":                      "rx: 7@5 1000@6",
		"5,null;6,-;7,-nan;8,u;9,1":        "rx: -@5 -@6 -@7 -@8 1@9 (one)",
		"5,1;6,18446744073709551616":       "FILE:3: 18446744073709551616 does not fit into 64 bits",
		"5,1;6,-0.5":                       "FILE:3: -0.5: a counter is never negative",
		"5,1;6,NAN":                        "rx: 1@5 -@6 (one)",
		"0,1;3999999999,2":                 "rx: 1@0 2@3999999999",
		"0,1;4e9,2":                        "FILE:3: 4e9 is not a time in seconds since 1970",
		"-1,1":                             `FILE:2: -1 is not a time in seconds since 1970`,
		"NaN,1":                            "FILE:2: NaN is not a time in seconds since 1970",
		"5.25,1;5.75,2":                    "rx: 1@5.25 2@5.75",
		"1970-01-01T00:00:05.5Z,1;6,2":     "rx: 1@5.5 2@6",
		"5,1;6," + strings.Repeat("x", 41): `FILE:3: "` + strings.Repeat("x", 40) + `..." is not a number of octets`,
		"5,1;6," + strings.Repeat("x", 40): `FILE:3: "` + strings.Repeat("x", 40) + `" is not a number of octets`,
	} {
		all, err := counters.Read("FILE", strings.NewReader("time,rx\n"+strings.ReplaceAll(text, ";", "\n")+"\n"))
		got := ""
		if err != nil && strings.Contains(err.Error(), "one reading") {
			err, want = nil, strings.TrimSuffix(want, " (one)")
			got = want
		}
		if err != nil {
			got = err.Error()
		} else if len(all) > 0 {
			got = all[0].Name + ":"
			for _, x := range all[0].Samples {
				v := fmt.Sprint(x.V)
				if x.Gone {
					v = "-"
				}
				got += fmt.Sprintf(" %s@%v", v, float64(x.T.UnixMicro())/1e6)
			}
			got = strings.ReplaceAll(got, "3.999999999e+09", "3999999999")
		}
		if got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	for text, want := range map[string]string{
		"time,ifindex,rx\n5,x,1\n":  `FILE:2: "x" is not an ifindex`,
		"time,ifindex,rx\n5,-1,1\n": `FILE:2: "-1" is not an ifindex`,
		"time,uptime,rx\n5,-1,1\n":  `FILE:2: "-1" is not an uptime in seconds`,
		"time,uptime,rx\n5,x,1\n":   `FILE:2: "x" is not an uptime in seconds`,
		`{"status":1}`:              "FILE:1: number where Prometheus has something else (status)",
		"{\n\"a\" 1}":               "FILE:2: broken JSON: invalid character '1' after object key",
		prom(`["x","1"]`):           `FILE: eth0 node_network_receive_bytes_total, value 1: ["x","1"] is not a pair of time and value`,
		prom(`[1,1]`):               "FILE: eth0 node_network_receive_bytes_total, value 1: [1,1] is not a pair of time and value",
		prom(`[2,"1"],[1,"1"]`): "FILE: eth0 node_network_receive_bytes_total, value 2: 1970-01-01T00:00:01Z is before the reading above it " +
			"(1970-01-01T00:00:02Z): the clock went back, or the readings are not sorted",
	} {
		if _, err := counters.Read("FILE", strings.NewReader(text)); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	name := filepath.Join(t.TempDir(), "x.csv")
	if err := os.WriteFile(name, []byte("1,2\n3,4\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if all, err := counters.ReadFile(name, nil); err != nil || len(all) != 1 {
		t.Error(all, err)
	}
	if all, err := counters.ReadFile("-", strings.NewReader("1,2\n3,4\n")); err != nil || len(all) != 1 {
		t.Error(all, err)
	}
	if _, err := counters.ReadFile("-", strings.NewReader("")); err == nil || err.Error() != "standard input: is empty: no readings" {
		t.Error(err)
	}
	if _, err := counters.ReadFile(name+"x", nil); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	if dir := filepath.Dir(name); true {
		if _, err := counters.ReadFile(dir, nil); err == nil || err.Error() != dir+" is a folder, not a recorded series" {
			t.Error(err)
		}
	}
}

// scripted answers each poll from a list; nil is a poll that fails.
type scripted struct {
	counters.Source
	rounds [][]counters.Reading
	n      int
}

func (s *scripted) Read(context.Context) ([]counters.Reading, error) {
	s.n++
	if s.n > len(s.rounds) || s.rounds[s.n-1] == nil {
		return nil, errors.New("no answer")
	}
	return s.rounds[s.n-1], nil
}

func (s *scripted) Facts(counters.Reading) counters.Facts { return counters.Facts{} }

// TestRecord: rounds that were answered and lost, and interfaces that come, go, or are named twice.
func TestRecord(t *testing.T) {
	r := func(name string, in uint64) counters.Reading {
		return counters.Reading{Name: name, In: in, Out: 10 * in}
	}
	for _, c := range []struct {
		name   string
		plan   counters.Plan
		rounds [][]counters.Reading
		want   string
	}{
		{"all", counters.Plan{For: 2 * time.Second}, [][]counters.Reading{{r("a", 1), r("b", 2)}, nil, {r("b", 3), r("a", 4), r("a", 9)}},
			"2 rounds, 1 lost (no answer), 2s: a in 1 - 4; a out 10 - 40; b in 2 - 3; b out 20 - 30"},
		{"one of them", counters.Plan{For: time.Second, Names: []string{"b"}}, [][]counters.Reading{{r("a", 1), r("b", 2)}, {r("a", 1)},
			{r("b", 3)}},
			"2 rounds, 0 lost (<nil>), 1s: b in 2 -; b out 20 -"},
		{"none of that name", counters.Plan{Names: []string{"c"}}, [][]counters.Reading{{r("a", 1)}},
			"c: there is no such interface; there are a"},
		{"no answer at all", counters.Plan{}, [][]counters.Reading{nil}, "no answer"},
		{"until it is enough", counters.Plan{For: 2500 * time.Millisecond}, [][]counters.Reading{{r("a", 1)}, {r("a", 1)}, {r("a", 1)}, {r("a",
			1)}},
			"4 rounds, 0 lost (<nil>), 3s: a in 1 1 1 1; a out 10 10 10 10"},
	} {
		synctest.Test(t, func(t *testing.T) {
			rounds, lost := 0, 0
			c.plan.Interval = time.Second
			c.plan.Progress = func(n, l int, _ time.Duration) { rounds, lost = n, l }
			rec, err := counters.Record(t.Context(), &scripted{rounds: c.rounds}, c.plan)
			got := ""
			if err != nil {
				got = err.Error()
			} else {
				var series []string
				for _, s := range rec.Series {
					text := s.Name
					for _, x := range s.Samples {
						if x.Gone {
							text += " -"
						} else {
							text += fmt.Sprint(" ", x.V)
						}
					}
					series = append(series, text)
				}
				got = fmt.Sprintf("%d rounds, %d lost (%v), %s: %s", rec.Rounds, rec.Lost, rec.LastErr, rec.Took, strings.Join(series, "; "))
				if rounds != rec.Rounds || lost != rec.Lost {
					t.Errorf("%s: told of %d and %d", c.name, rounds, lost)
				}
			}
			if !strings.HasPrefix(got, c.want) {
				t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
			}
		})
	}
}

// TestDumpsOfRRD: the finest averages are taken, of counters alone, and what is missing or too much is told.
func TestDumpsOfRRD(t *testing.T) {
	archive := func(cf, pdp, rows string) string {
		return "<rra><cf>" + cf + "</cf><pdp_per_row>" + pdp + "</pdp_per_row><database>" + rows + "</database></rra>"
	}
	row := func(v ...string) string { return "<row><v>" + strings.Join(v, "</v><v>") + "</v></row>" }
	ds := func(kinds ...string) string {
		s := ""
		for i, k := range kinds {
			s += fmt.Sprintf("<ds><name>d%d</name><type>%s</type></ds>", i, k)
		}
		return s
	}
	const head = "<rrd><step>10</step><lastupdate>1700000025</lastupdate>"
	two := row("1") + row("2")
	for _, c := range []struct{ name, text, want string }{
		{"the finest of averages", head + ds("COUNTER") + archive("MAX", "1", two) + archive("AVERAGE", "6", two) + archive("AVERAGE", "2",
			row("1")+row("2")+row("3")) +
			archive("AVERAGE", "3", two), "d0: -@-40 20@-20 40@0 60@20"},
		{"the first of two alike", head + ds("COUNTER") + archive("AVERAGE", "1", two) + archive("AVERAGE", "1", row("5")+row("6")),
			"d0: -@0 10@10 20@20"},
		{"of counters", head + ds("GAUGE", "DERIVE", "DCOUNTER", "DDERIVE", "ABSOLUTE") + archive("AVERAGE", "1", row("9", "1", "2", "3",
			"9")+row("9", "1", "NaN", "0", "9")),
			"d1: -@0 10@10 10@20\nd2: -@0 20@10 -@20\nd3: -@0 30@10 0@20"},
		{"no averages", head + ds("COUNTER") + archive("MAX", "1", two), "FILE: no archive of averages"},
		{"no step", "<rrd><lastupdate>1</lastupdate>" + ds("COUNTER") + archive("AVERAGE", "1", two),
			"FILE: no step or no lastupdate: is this all of what `rrdtool dump` printed?"},
		{"no update", "<rrd><step>1</step>" + ds("COUNTER") + archive("AVERAGE", "1", two),
			"FILE: no step or no lastupdate: is this all of what `rrdtool dump` printed?"},
		{"no step of time", "<rrd><step>0</step>", `FILE:1: the step is "0", which is no such number`},
		{"the longest step", "<rrd><step>1099511627776</step><step>1</step><x></x>", "FILE: no step or no lastupdate"},
		{"too long a step", "<rrd><step>1099511627777</step>", `FILE:1: the step is "1099511627777", which is no such number`},
		{"an update that is none", "<rrd><lastupdate>x</lastupdate>", `FILE:1: lastupdate is "x", which is no such number`},
		{"rows of no time", head + ds("COUNTER") + archive("AVERAGE", "x", two), `FILE:1: pdp_per_row is "x", which is no such number`},
		{"rows of a century", head + ds("COUNTER") + archive("AVERAGE", "214748365", two), "FILE: rows of more than 68 years"},
		{"an archive of no time", head + ds("COUNTER") + "<rra><cf>AVERAGE</cf></rra>", "FILE:1: an archive without pdp_per_row"},
		{"negative", head + ds("COUNTER") + archive("AVERAGE", "1", row("-1")), `FILE:1: "-1" is not a rate`},
		{"infinite", head + ds("COUNTER") + archive("AVERAGE", "1", row("Inf")), `FILE:1: "Inf" is not a rate`},
		{"more than a counter holds", head + ds("COUNTER") + archive("AVERAGE", "1", row("2e18")), "FILE: d0: a rate of 2e+18 octets a second"},
		{"a row too short", head + ds("COUNTER", "COUNTER") + archive("AVERAGE", "1", row("1")), "FILE:1: a row of 1 values for 2 data sources"},
		{"twenty deep", "<rrd>" + strings.Repeat("<a>", 20) + strings.Repeat("</a>", 20), "FILE: no step or no lastupdate"},
		{"too deep", "<rrd>" + strings.Repeat("<a>", 21) + strings.Repeat("</a>", 21), "FILE:1: elements nested too deep"},
	} {
		all, err := counters.Read("FILE", strings.NewReader(c.text+"</rrd>"))
		got := show(all)
		if err != nil {
			got = err.Error()
		}
		if !strings.HasPrefix(got, c.want) {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}

// TestCrowdedSeries: more than one interval of ten that needs more than half of the range makes a series crowded.
func TestCrowdedSeries(t *testing.T) {
	told := counters.Facts{Width: 32, Trusted: true, Queues: 1, Told: true, MaxRate: 1e9}
	series := func(f counters.Facts, fast int) counters.Series {
		v, values := uint64(0), []uint64{0}
		for i := range 20 {
			if v += 100e6; i < fast {
				v += 1<<31 - 100e6 + 1
			}
			values = append(values, v&(1<<32-1))
		}
		return poll(5*time.Minute, f, values...)
	}
	for _, c := range []struct {
		name string
		s    counters.Series
		want bool
	}{{"two of twenty", series(told, 2), false}, {"three of twenty", series(told, 3), true}, {"48 bits", series(counters.Facts{Width: 48,
		Trusted: true}, 3), false},
		{"64 bits", series(counters.Facts{Width: 64, Trusted: true}, 20), false}, {"32 bits at most", series(counters.Facts{Width: 32,
			Told: true, MaxRate: 1e9}, 3), true}} {
		if v := counters.Judge(c.s); v.Crowded != c.want {
			t.Errorf("%s: crowded %v", c.name, v.Crowded)
		}
	}
	again := series(told, 3)
	for i := 2; i < len(again.Samples); i++ { // it began again: these tell nothing
		again.Samples[i].Epoch = 2
	}
	if v := counters.Judge(again); !v.Crowded {
		t.Error("two of nineteen that count")
	}
}
