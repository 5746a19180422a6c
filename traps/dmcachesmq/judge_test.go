package dmcachesmq

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"fettle/engine/trap"
	"fettle/engine/trap/traptest"
	"fettle/host"
	"fettle/host/hosttest"
)

// full is a cache of 1000 blocks that does what it should, as far as is known.
func full() *status {
	return &status{name: "c", from: "dmsetup status", counts: true, moves: true, used: 950, total: 1000, blockSectors: 128, threshold: 2048,
		mode: "writeback", policy: "smq", readHits: 20_000, writeHits: 10_000}
}

// TestJudge: where a cache's figures begin to tell that something is wrong, on a kernel that has the fix, or has not.
func TestJudge(t *testing.T) {
	requests := func(c *status, hits, misses uint64) { // of both kinds
		c.readHits, c.writeHits, c.readMisses, c.writeMisses = hits/2, hits-hits/2, misses/3, misses-misses/3
	}
	well := "clear c: the cache works as it should"
	small := "found notice c: the cache is too small for the working set: blocks are promoted and demoted in turn"
	few := "found notice c: few requests hit the full cache: the working set is larger than the cache"
	old := "found warning c: this kernel's smq hardly promotes anything once the cache is full"
	for _, c := range []struct {
		name   string
		set    func(c *status)
		mend   mend
		want   string // the lines
		detail string // of the first finding
	}{
		{"as it should be", func(*status) {}, mended, well, ""},
		{"failed", func(c *status) { c.failed, c.check = true, true }, mended,
			"found critical c: the cache failed: every request to it ends in an error",
			"Look in the kernel's log"},
		{"a check, read-only", func(c *status) { c.check, c.readOnly = true, true }, mended,
			"found critical c: the cache's metadata needs a check",
			"cache_check"},
		{"read-only", func(c *status) { c.readOnly = true }, mended,
			"found critical c: the cache's metadata is read-only: nothing more is promoted", ""},
		{"cleaner", func(c *status) { c.policy = "cleaner" }, before,
			"found notice c: the policy is cleaner: the cache is being emptied and promotes " +
				"nothing", "--cachepolicy smq"},
		{"another policy", func(c *status) { c.policy = "era" }, before, "found notice c: the policy is not smq", "It is era; smq is what"},
		{"mq", func(c *status) { c.policy = "mq" }, mended, well, ""},
		{"no policy is known", func(c *status) { c.policy = "" }, mended, well, ""},
		{"passthrough", func(c *status) { c.mode = "passthrough" }, mended,
			"found notice c: the cache is in passthrough mode: all reads go to the slow device", ""},
		{"a threshold of a block", func(c *status) { c.threshold = 128 }, mended, well, ""},
		{"less than a block", func(c *status) { c.threshold, c.dirty = 127, 9 }, mended,
			"found notice c: migration_threshold is less than one block: " +
				"dirty blocks are not written back while the disk is idle", "It is 127 sectors, a block 128: "},
		{"less than a block, for a while", func(c *status) { c.threshold, c.mode = 127, "writethrough" }, mended, well, ""},
		{"no threshold is known", func(c *status) { c.threshold = 0 }, mended, well, ""},
		{"an old kernel", func(*status) {}, before, old, "The cache is full, and its hit ratio is 100 %. Why."},
		{"an old kernel, room", func(c *status) { c.used = 949 }, before, old,
			"There is still room. Why. The distribution may have backported the fix"},
		{"an old kernel, just looked at", func(c *status) {
			c.over = &change{took: 90 * time.Second, hits: 600, misses: 400, promotions: 3, demotions: 2}
		}, before, old, "Over 1m30s: 60 % hits of 1000 requests, 3 blocks promoted, 2 demoted. Why."},
		{"an old kernel, idle", func(c *status) { c.over = &change{took: 90 * time.Second, hits: 600, misses: 399} }, before, old,
			"The cache is full, and"},
		{"an old kernel, and too small", func(c *status) { requests(c, 1, 30_000); c.demotions = 9000 }, before, old, "hit ratio is 0 %"},
		{"a kernel that is not known", func(*status) {}, unsure, "unknown c: why", ""},
		{"a kernel that is not known, cleaner", func(c *status) { c.policy = "cleaner" }, unsure,
			"found notice c: the policy is cleaner: the cache is being emptied and promotes nothing", ""},
		{"demoted in turn", func(c *status) { requests(c, 6000, 14_001); c.demotions, c.promotions = 5001, 6000 }, mended, small,
			"30 % hits; 6000 blocks promoted and 5001 demoted, of a cache of 1000."},
		{"not asked enough", func(c *status) { requests(c, 5000, 15_000); c.demotions = 5001 }, mended, well, ""},
		{"hit often enough", func(c *status) { requests(c, 6003, 14_007); c.demotions = 5001 }, mended, well, ""},
		{"not demoted enough", func(c *status) { requests(c, 6000, 14_001); c.demotions = 5000 }, mended, well, ""},
		{"not full", func(c *status) { requests(c, 6000, 14_001); c.demotions, c.used = 5001, 949 }, mended, well, ""},
		{"demoted in turn now", func(c *status) {
			c.over = &change{took: 36*time.Second + 4*time.Millisecond, hits: 200, misses: 800, demotions: 11, promotions: 12}
		}, mended, small,
			"Over 36s: 20 % hits of 1000 requests, 12 blocks promoted, 11 demoted: at this rate, its whole content is replaced every 54m33s."},
		{"within an hour just not", func(c *status) {
			c.over = &change{took: 36 * time.Second, hits: 200, misses: 800, demotions: 10}
		}, mended, well, ""},
		{"too few demotions", func(c *status) { c.over = &change{took: time.Second, hits: 200, misses: 800, demotions: 9} }, mended, well, ""},
		{"too few requests", func(c *status) { c.over = &change{took: time.Second, hits: 199, misses: 800, demotions: 90} }, mended, well, ""},
		{"hits enough now", func(c *status) { c.over = &change{took: time.Second, hits: 300, misses: 700, demotions: 90} }, mended, well, ""},
		{"in turn once", func(c *status) {
			requests(c, 6000, 14_001)
			c.demotions, c.over = 5001, &change{took: 1600 * time.Millisecond, hits: 900, misses: 100}
		}, mended, small, "That is since it was activated; over 2s: 90 % hits of 1000 requests"},
		{"few hits", func(c *status) { requests(c, 299_999, 700_002) }, mended, few, "30 % hits of 1000001 requests. Did a backup"},
		{"few hits, now too", func(c *status) {
			requests(c, 299_999, 700_002)
			c.over = &change{took: 1600 * time.Millisecond, hits: 500, misses: 500}
		}, mended, few, "Over 2s: 50 % hits of 1000 requests, 0 blocks promoted, 0 demoted. Did a backup"},
		{"few hits of not so many", func(c *status) { requests(c, 290_000, 710_000) }, mended, well, ""},
		{"few hits, and in turn", func(c *status) { requests(c, 299_999, 700_002); c.demotions = 5001 }, mended, small, ""},
		{"lvs, moves unknown", func(c *status) { requests(c, 6000, 14_001); c.moves = false }, mended,
			"unknown c: few requests hit this full cache, and " +
				"lvs does not show whether blocks are promoted and demoted in turn; dmsetup status does", ""},
		{"lvs, not asked enough", func(c *status) { requests(c, 5000, 15_000); c.moves = false }, mended, well, ""},
		{"lvs, few hits", func(c *status) { requests(c, 299_999, 700_002); c.moves = false }, mended, few, ""},
		{"an old lvs", func(c *status) { c.counts, c.moves, c.fill = false, false, 95 }, mended,
			"unknown c: this lvs output shows neither the policy nor the requests; dmsetup status does", ""},
	} {
		s := full()
		c.set(s)
		tr := trap.Trap{Lore: Trap.Lore, Check: func(_ context.Context, _ *host.Host, r *trap.Report) error {
			judge(r, s, verdict{release: "6.1", mend: c.mend, why: "why"})
			return nil
		}}
		out := traptest.Run(t, &tr, hosttest.New(t, ""))
		if got := traptest.Lines(out); got != c.want || !strings.Contains(string(out[0].Detail), c.detail) {
			t.Errorf("%s: %s\n%s\nwant %s\n%s", c.name, got, out[0].Detail, c.want, c.detail)
		}
	}
	for fill, want := range map[float64]bool{94.9: false, 95: true, 100: true} {
		if got := (&status{fill: fill}).full(); got != want {
			t.Errorf("%v %% is full: %t", fill, got)
		}
	}
	if (&status{counts: true}).full() {
		t.Error("a cache without blocks is full")
	}
}

// TestBetween: what a cache did between two looks, where both are of the same cache and counted on.
func TestBetween(t *testing.T) {
	a := status{total: 9, readHits: 100, writeHits: 1000, readMisses: 10_000, writeMisses: 100_000, promotions: 7, demotions: 70}
	b := status{total: 9, readHits: 101, writeHits: 1020, readMisses: 10_300, writeMisses: 104_000, promotions: 8, demotions: 72}
	got := between(&a, &b, time.Minute)
	if got == nil || *got != (change{took: time.Minute, hits: 21, misses: 4300, promotions: 1, demotions: 2}) || got.accesses() != 4321 {
		t.Errorf("%+v", got)
	}
	if every := got.exchange(9); every != 4*time.Minute+30*time.Second {
		t.Errorf("all is replaced every %s", every)
	}
	if same := between(&a, &a, time.Nanosecond); same == nil || *same != (change{took: 1}) || same.hitRatio() != 0 || same.exchange(9) != 0 {
		t.Errorf("an idle cache: %+v", same)
	}
	for i, set := range []func(*status){func(s *status) { s.readHits = 99 }, func(s *status) { s.writeHits = 999 },
		func(s *status) { s.readMisses = 9999 }, func(s *status) { s.writeMisses = 99_999 }, func(s *status) { s.promotions = 6 },
		func(s *status) { s.demotions = 69 }, func(s *status) { s.total = 8 }, func(s *status) { s.failed = true }} {
		c := b
		set(&c)
		if got := between(&a, &c, time.Minute); got != nil {
			t.Errorf("%d, counted anew: %+v", i, got)
		}
	}
	failed := a
	failed.failed = true
	if between(nil, &b, time.Minute) != nil || between(&failed, &b, time.Minute) != nil || between(&a, &b, 0) != nil {
		t.Error("something was done in no time, or by no cache")
	}
}

// TestLines: each field of a line of dmsetup status, and each column of lvs, has its own place.
func TestLines(t *testing.T) {
	plain := func(name string) status {
		return status{name: name, from: "dmsetup status", counts: true, moves: true, blockSectors: 128, used: 3, total: 4,
			readHits: 5, readMisses: 6,
			writeHits: 7, writeMisses: 8, demotions: 9, promotions: 10, dirty: 11, policy: "smq"}
	}
	const a, end = ": 0 1 cache 8 1/2 128 3/4 5 6 7 8 9 10 11 ", "writethrough 4 a b migration_threshold 12 mq 2 c d ro needs_check\n"
	got, err := parseStatus([]byte("x: 0 1 linear 3 4\nNo devices found\ny: 0 1\nz cache\nvg-a" + a + "2 metadata2 " + end +
		"vg-b: 0 1 cache Fail\nvg-c: 0 1 cache Error\nvg-d" + a + "0 0 smq 0\nvg-e" + a + "0 0 smq 0 rw\n"))
	want := []status{{name: "vg-a", from: "dmsetup status", counts: true, moves: true, blockSectors: 128, used: 3, total: 4,
		readHits: 5, readMisses: 6,
		writeHits: 7, writeMisses: 8, demotions: 9, promotions: 10, dirty: 11, mode: "writethrough", threshold: 12, policy: "mq", readOnly: true,
		check: true}, {name: "vg-b", from: "dmsetup status", failed: true}, {name: "vg-c", from: "dmsetup status", failed: true},
		plain("vg-d"), plain("vg-e")}
	same(t, got, err, want)
	if _, err := parseStatus([]byte("vg-a: 0 1 cache\n")); err == nil || !strings.Contains(err.Error(),
		"line 1: cache vg-a: the line is too short") {
		t.Errorf("a line without a status: %v", err)
	}
	lv := func(attr, origin, more string) string {
		return fmt.Sprintf(`{"vg_name":"v-g","lv_name":"a","lv_attr":%q,"origin":%q%s}`, attr, origin, more)
	}
	all := `,"kernel_cache_policy":"mq","cache_policy":"smq","cache_mode":"writeback","cache_read_hits":"1","cache_read_misses":"2",` +
		`"cache_write_hits":"3","cache_write_misses":"4","cache_used_blocks":"5","cache_total_blocks":"6","cache_dirty_blocks":"7",` +
		`"chunk_size":"65536B","kernel_cache_settings":"x=1,migration_threshold=9,y=2","data_percent":"12.5","lv_check_needed":"check needed"`
	got, err = parseLVS([]byte(`{"report":[{"lv":[` + strings.Join([]string{lv("Cwi-aoC---", "[a_corig]", all),
		lv("Cwi-aoC-F-", "a_corig", ""), lv("Cwi-aoC-M-", "a_corig", `,"cache_policy":"cleaner"`), lv("Cwi-coC---", "a_corig", ""),
		lv("Cwi-CoC---", "a_corig", `,"lv_health_status":"failed"`), lv("Cwi-aoC---", "a_corig", `,"lv_health_status":"metadata_read_only"`),
		lv("Cwi---C---", "a_corig", ""), lv("Cwi-d-C---", "a_corig", ""), lv("Cwi-i-C---", "a_corig", ""), lv("Cwi-aoC---", "a_wcorig", ""),
		lv("-wi-ao----", "a_corig", ""), lv("Cwi-aoC-", "a_corig", ""), lv("Cwi-aoC--", "a_corig", "")}, ",") + `]}]}`))
	const name = "v--g-a"
	same(t, got, err, []status{{name: name, from: "lvs", counts: true, policy: "mq", mode: "writeback", readHits: 1,
		readMisses: 2, writeHits: 3,
		writeMisses: 4, used: 5, total: 6, dirty: 7, blockSectors: 128, threshold: 9, fill: 12.5, check: true}, {name: name,
		from: "lvs", failed: true},
		{name: name, from: "lvs", readOnly: true, policy: "cleaner"}, {name: name, from: "lvs", check: true},
		{name: name, from: "lvs", check: true, failed: true}, {name: name, from: "lvs", readOnly: true}, {name: name, from: "lvs"}})
}

// answers is a host whose dmsetup status ends as written, one time after the other.
type answers struct {
	host.Source
	kind  host.Kind
	out   []host.Output
	asked int
}

func (a *answers) Kind() host.Kind { return a.kind }

func (a *answers) Command(ctx context.Context, c host.Command) (host.Output, error) {
	if c.String() != "dmsetup status" {
		return a.Source.Command(ctx, c)
	}
	a.asked++
	return a.out[min(a.asked, len(a.out))-1], nil
}

// TestLooksThatFail: a look that fails, the first or the second, is no answer; and only a live host with a cache is looked at again.
func TestLooksThatFail(t *testing.T) {
	well := host.Output{Stdout: []byte(cache(9e6, 1e6, 100, 8292))}
	bad := host.Output{Exit: 1, Stderr: []byte("\nCommand failed.\nmore\n")}
	for _, c := range []struct {
		name  string
		kind  host.Kind
		out   []host.Output
		asked int
		want  string
	}{
		{"the first", host.KindLive, []host.Output{bad}, 1, "unknown: dmsetup status: exit status 1: Command failed."},
		{"the second", host.KindLive, []host.Output{well, well, bad}, 3, "unknown: dmsetup status: exit status 1: Command failed."},
		{"the one between", host.KindLive, []host.Output{well, bad}, 2, "unknown: dmsetup status: exit status 1: Command failed."},
		{"none", host.KindLive, []host.Output{well}, 3, "clear vg-data: the cache works as it should"},
		{"of a capture", host.KindCapture, []host.Output{well}, 1, "clear vg-data: the cache works as it should"},
		{"no cache", host.KindLive, []host.Output{{Stdout: []byte("x: 0 1 linear\n")}}, 1, "not-applicable: there is no dm-cache here"},
	} {
		src, _, err := hosttest.Parse([]byte("release: 6.1.0\n-- root/sys/block/dm-0/dm/name --\nx\n"))
		if err != nil {
			t.Fatal(err)
		}
		a := &answers{Source: src, kind: c.kind, out: c.out}
		got := traptest.Lines(traptest.Run(t, &Trap, host.New(a), trap.Options{Interval: time.Millisecond}))
		if got != c.want || a.asked != c.asked {
			t.Errorf("%s: %s, asked %d times; want %s, %d", c.name, got, a.asked, c.want, c.asked)
		}
	}
}

func same(t *testing.T, got []*status, err error, want []status) {
	t.Helper()
	if err != nil || len(got) != len(want) {
		t.Fatalf("%d caches, want %d: %v", len(got), len(want), err)
	}
	for i, w := range want {
		if *got[i] != w {
			t.Errorf("%+v, want %+v", *got[i], w)
		}
	}
}
