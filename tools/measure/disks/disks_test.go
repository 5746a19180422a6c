package disks

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"fettle/internal/means"
)

func member(name string, n, ms float64) Load {
	return Load{Name: name, Writes: n, WriteWait: time.Duration(ms * float64(time.Millisecond))}
}

func TestJudge(t *testing.T) {
	for _, c := range []struct {
		name     string
		members  []Load
		slow     string
		compared bool
		gain     float64
	}{
		{"one of four", []Load{member("a", 900, 5), member("b", 900, 6), member("c", 900, 50), member("d", 900, 5)}, "c", true, 50.0 / 6},
		{"one of two", []Load{member("a", 900, 5), member("b", 900, 40)}, "b", true, 8},
		{"two, and just not", []Load{member("a", 900, 5), member("b", 900, 17.5)}, "", true, 0},
		{"two, and not by much", []Load{member("a", 900, 5), member("b", 900, 16)}, "", true, 0},
		{"alike", []Load{member("a", 900, 5), member("b", 900, 7), member("c", 900, 6)}, "", true, 0},
		{"fast ones differ by microseconds", []Load{member("a", 900, 0.05), member("b", 900, 0.8), member("c", 900, 0.05)}, "", true, 0},
		{"too few requests", []Load{member("a", 900, 5), member("b", 3, 500)}, "", false, 0},
		{"all idle", []Load{member("a", 0, 0), member("b", 0, 0)}, "", false, 0},
		{"alone", []Load{member("a", 900, 5)}, "", false, 0},
		{"two of four", []Load{member("a", 900, 5), member("b", 900, 50), member("c", 900, 5), member("d", 900, 50)}, "b d", true, 10},
		{"wide spread: within the fence", []Load{member("a", 900, 2), member("b", 900, 9), member("c", 900, 3), member("d", 900, 12),
			member("e", 900, 20)}, "", true, 0},
	} {
		v := Group{Name: "g", Members: c.members}.Judge()
		var got []string
		for _, s := range v.Slow {
			got = append(got, s.Member)
			if math.Abs(s.Gain-c.gain) > 0.01 || s.Ratio != by(s.Wait, s.Others) {
				t.Errorf("%s: gain %v, want %v; ratio %v of %s by %s", c.name, s.Gain, c.gain, s.Ratio, s.Wait, s.Others)
			}
		}
		if strings.Join(got, " ") != c.slow || v.Compared != c.compared {
			t.Errorf("%s: slow %v, compared %v; want %q, %v", c.name, got, v.Compared, c.slow, c.compared)
		}
	}
}

// TestQuiet: siblings of one kind, whose means differ by chance alone, are
// never blamed; one that takes six times as long always is.
func TestQuiet(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	// draw is the mean of n latencies of a disk: a seek and a tail, in ms.
	draw := func(n int, scale float64) Load {
		sum := 0.0
		for range n {
			sum += scale * (2 + 10*rnd.ExpFloat64()*math.Exp(0.5*rnd.NormFloat64()))
		}
		return member("d", float64(n), sum/float64(n))
	}
	const runs = 2000
	alarms, missed := 0, 0
	for range runs {
		g := Group{Name: "g"}
		for range 2 + rnd.IntN(7) {
			g.Members = append(g.Members, draw(enough+rnd.IntN(200), 1))
		}
		alarms += len(g.Judge().Slow)
		g.Members[0] = draw(enough+rnd.IntN(200), 6)
		g.Members[0].Name = "slow"
		if v := g.Judge(); len(v.Slow) != 1 || v.Slow[0].Member != "slow" {
			missed++
		}
	}
	t.Logf("%d runs: %d false alarms, %d slow disks missed", runs, alarms, missed)
	if alarms > 0 || missed > runs/100 {
		t.Errorf("%d runs: %d false alarms, %d slow disks missed", runs, alarms, missed)
	}
}

func TestBetween(t *testing.T) {
	a, err := ParseDiskstats("f", []byte("   8       0 sda 100 0 800 4294967290 10 0 80 50 0 1000 60 0 0 0 0 0 0\n"))
	if err != nil {
		t.Fatal(err)
	}
	b, err := ParseDiskstats("f", []byte("\n   8       0 sda 110 0 880 94 30 0 240 250 0 6000 60\n"))
	if err != nil {
		t.Fatal(err)
	}
	l, err := Between(a["sda"], b["sda"], 10*time.Second)
	want := Load{
		Name:       "sda",
		Time:       10 * time.Second,
		Reads:      10,
		Writes:     20,
		ReadBytes:  40960,
		WriteBytes: 81920,
		ReadWait:   10 * time.Millisecond,
		WriteWait:  10 * time.Millisecond,
		Busy:       0.5,
	}
	if err != nil || l != want {
		t.Errorf("%+v, %v; want %+v", l, err, want)
	}
	if _, err := Between(b["sda"], a["sda"], time.Second); !errors.Is(err, ErrReset) {
		t.Errorf("counters that fell: %v", err)
	}
	full := Counters{Name: "sda", Reads: 5, ReadSectors: 5, Writes: 5, WriteSectors: 5}
	for _, fell := range []func(c *Counters){func(c *Counters) { c.Reads-- }, func(c *Counters) { c.ReadSectors-- },
		func(c *Counters) { c.Writes-- }, func(c *Counters) { c.WriteSectors-- }} {
		c := full
		fell(&c)
		if _, err := Between(full, c, time.Second); !errors.Is(err, ErrReset) {
			t.Errorf("%+v after %+v: %v", c, full, err)
		}
	}
	if l, err := Between(full, full, time.Second); err != nil || l.Reads+l.Writes+l.Busy != 0 {
		t.Errorf("idle: %+v, %v", l, err)
	}
	if l := SinceBoot(full); l.Reads != 5 || l.Busy != -1 {
		t.Errorf("since boot: %+v", l)
	}
	for _, bad := range []string{"8 0 sda 1 2 3\n", "8 0 sda 1 x 3 4 5 6 7 8 9 10 11\n"} {
		if _, err := ParseDiskstats("/proc/diskstats", []byte(bad)); err == nil || !strings.HasPrefix(err.Error(), "/proc/diskstats:1: ") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestParseIostat(t *testing.T) {
	for file, want := range map[string]Load{
		"iostat-12.txt": {Name: "sdb", Time: 2 * time.Second, Reads: 10, Writes: 300, ReadBytes: 40960, WriteBytes: 1228800,
			ReadWait: 4 * time.Millisecond, WriteWait: 40 * time.Millisecond, Busy: 0.75},
		"iostat-10.txt": {Name: "sdb", Time: time.Second, Reads: 5, Writes: 100, ReadBytes: 20480, WriteBytes: 409600,
			ReadWait: 4 * time.Millisecond, WriteWait: 40 * time.Millisecond, Busy: 0.5},
	} {
		f, err := os.Open("testdata/" + file)
		if err != nil {
			t.Fatal(err)
		}
		loads, err := ParseIostat(file, f, time.Second)
		f.Close()
		if err != nil || len(loads) != 2 {
			t.Fatalf("%s: %v, %v", file, loads, err)
		}
		if loads[1] != want {
			t.Errorf("%s:\n got %+v\nwant %+v", file, loads[1], want)
		}
	}
	for text, want := range map[string]string{
		"":                                       "f: no report",
		"Device tps kB_read/s\nsda 1 2\n":        "f:1: no columns",
		"Device r/s %util\nsda 1 2\n":            "f:1: no columns",
		"Device r/s r_await\nsda 1 2\n":          "f:1: no columns",
		"Device r/s r_await %util\nsda 1\n":      "f:2: 2 columns, expected 4",
		"Device r/s r_await %util\nsda 1 x 3\n":  "f:2: r_await is \"x\"",
		"Device r/s r_await %util\nsda -1 1 3\n": "f:2: r/s is \"-1\"",
	} {
		if _, err := ParseIostat("f", strings.NewReader(text), 0); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func TestParseZpool(t *testing.T) {
	f, err := os.Open("testdata/zpool-iostat-vl.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	pools, err := ParseZpool("f", f, 0)
	if err != nil || len(pools) != 2 {
		t.Fatalf("%v, %v", pools, err)
	}
	tank := pools[0]
	if len(tank.Children) != 3 || len(tank.Data()) != 2 || tank.Children[2].Class != "logs" {
		t.Fatalf("tank has %d vdevs, %d of data", len(tank.Children), len(tank.Data()))
	}
	groups := tank.Groups()
	if len(groups) != 2 || groups[0].Name != "tank/mirror-0" || len(groups[0].Members) != 2 {
		t.Fatalf("%+v", groups)
	}
	slow := groups[1].Judge().Slow
	if len(slow) != 1 || slow[0].Member != "sdd" || slow[0].Wait != 48*time.Millisecond || slow[0].Direction != Writing {
		t.Errorf("%+v", slow)
	}
	for text, want := range map[string]string{
		"nothing":                          "f: no output",
		"pool\n":                           "f: no output",
		"NAME SIZE ALLOC\ntank 1 2\n":      "f: no output",
		"NAME SIZE ALLOC FREE\ntank 1 2\n": "f:2: 3 columns are too few",
		"NAME SIZE ALLOC FREE\n  cache\n":  "f:2: 1 columns are too few",
		strings.Repeat("NAME SIZE ALLOC FREE\n", 2) + strings.Repeat("t 1 1 1\n", deviceLimit+1): "f:10003: more than 10000 devices",
		"pool alloc free read write read write\ntank 1 2 3\n":                                    "f:2: 4 columns are too few",
		"pool alloc free read write read write\ntank 1 2 3 4 5 x\n":                              "f:2: \"x\" is no figure",
		"pool alloc free read write read write\ntank 1 2 3 4 5 6\n        deep 1 2 3 4 5 6\n":    "f:3: deep is indented deeper",
	} {
		if _, err := ParseZpool("f", strings.NewReader(text), 0); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// TestZpoolTree: headings of either name, classes of vdevs, and what is added up over reports.
func TestZpoolTree(t *testing.T) {
	const two = "pool alloc free read write read write\nt 0 0 0 0 0 0\n"
	wide := "pool alloc free read write read write read write read write\nt 1 2 3 4 5 6 7 8 9ms 10ms\n"
	for _, c := range []struct{ name, text, want string }{
		{"a pool that is called pool", "vdev alloc free read write read write\npool 1 2 3 4 5 6\n", "pool 1 2 30"},
		{"of one vdev", "vdev alloc free read write read write\nvdev 1 2 3 4 5 6\n", "vdev 1 2 30"},
		{"a disk that is called as a class", "NAME SIZE ALLOC FREE\nt 3 1 2\n  cache 3 1 2\nlogs - - -\n  a 3 1 2\n",
			"t 1 2 0 (cache 1 2 0, a 1 2 0 logs)"},
		{"an indented heading", "NAME SIZE ALLOC FREE\nt 3 1 2\n  logs - - -\n  a 3 1 2\nu 3 1 2\n  b 3 1 2\n",
			"t 1 2 0 (a 1 2 0 logs) u 1 2 0 (b 1 2 0)"},
		{"waits", wide, "t 1 2 30 waits 9ms 10ms"},
		{"a disk that came, and waits of one report", two + wide + two + "  new 0 0 1 0 0 0\n" +
			"pool alloc free read write read write\nt 1 2 3 4 5 6\n  newer 0 0 1 0 0 0\n  new 0 0 2 0 0 0\n",
			"t 1 2 60 waits 4.5ms 5ms (newer 0 0 10, new 0 0 30)"},
	} {
		pools, err := ParseZpool("f", strings.NewReader(c.text), 0)
		var got []string
		for _, p := range pools {
			var within []string
			for _, v := range p.Children {
				within = append(within, strings.TrimSpace(fmt.Sprintf("%s %v %v %v %s", v.Name, v.Alloc, v.Free, v.Load.Reads, v.Class)))
			}
			text := fmt.Sprintf("%s %v %v %v", p.Name, p.Alloc, p.Free, p.Load.Reads)
			if p.HasWaits {
				text += fmt.Sprintf(" waits %s %s", p.Load.ReadWait, p.Load.WriteWait)
			}
			if within != nil {
				text += " (" + strings.Join(within, ", ") + ")"
			}
			got = append(got, text)
		}
		if said := strings.Join(got, " "); err != nil || said != c.want {
			t.Errorf("%s: %s, %v; want %s", c.name, said, err, c.want)
		}
	}
	for s, want := range map[string]float64{"-": 0, "0": 0, "1.5K": 1536, "14": 14, "2us": 2000, "1e20": -1, "-1": -1,
		"100000000000000000000": -1, "5Q": -1, "K": -1, "NaN": -1} {
		got, err := figure(s)
		if err != nil {
			got = -1
		}
		if got != want {
			t.Errorf("%s: %v, want %v", s, got, want)
		}
	}
}

func TestFuzz(t *testing.T) { means.Fuzz(t) }

func FuzzParse(f *testing.F) {
	for _, file := range []string{"iostat-12.txt", "iostat-10.txt", "zpool-iostat-vl.txt", "zpool-list-v.txt",
		"zpool-2.1.11-list-vpP.txt", "zpool-2.1.11-iostat-vl-twice.txt"} {
		b, err := os.ReadFile("testdata/" + file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(b))
	}
	f.Fuzz(func(t *testing.T, s string) {
		if loads, err := ParseIostat("f", strings.NewReader(s), 0); err == nil {
			Group{Members: loads}.Judge()
		}
		if pools, err := ParseZpool("f", strings.NewReader(s), 0); err == nil {
			for _, p := range pools {
				for _, g := range p.Groups() {
					g.Judge()
				}
				for _, r := range []Rule{DefaultRule, {Policy: ByFree, Slow: Outrun, Aliquot: 2 << 20, Averaged: true},
					{Policy: ByCapacity, Slow: Outrun, Aliquot: 1, Averaged: true}} {
					shares := r.Shares(p.Data())
					for _, sh := range shares {
						if !(0 <= sh.Low && sh.Low <= sh.Predicted+1e-9 && sh.Predicted <= sh.High+1e-9 && sh.High <= 1+1e-9) || math.IsNaN(sh.Written) {
							t.Errorf("by %s: %+v", r, sh)
						}
					}
					Compare(shares)
				}
			}
		}
		ParseDiskstats("f", []byte(s))
	})
}
