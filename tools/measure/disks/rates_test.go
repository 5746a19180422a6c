package disks

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

const iostatHead = "Device r/s rkB/s r_await w/s wkB/s w_await %util\n"

func iostatText(stamps []string, rate float64) string {
	var b strings.Builder
	b.WriteString("Linux 6.1.0 (nas) \t07/27/26 \t_x86_64_\t(8 CPU)\n\n")
	for _, s := range stamps {
		if s != "" {
			b.WriteString(s + "\n")
		}
		b.WriteString(iostatHead)
		for i, ms := range []float64{2, 2.1, 92, 2.2} {
			fmt.Fprintf(&b, "sd%c 0.00 0.00 0.00 %.2f %.2f %.2f 20.00\n", 'a'+i, rate, 128*rate, ms)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// What a mean is of is counted over the interval: whatever a disk does in a
// second, ten seconds of it tell, and one second of few requests does not.
func TestRatesAreCounted(t *testing.T) {
	none := []string{"", ""}
	for _, c := range []struct {
		name     string
		stamps   []string
		interval time.Duration
		rate     float64
		slow     bool
		requests float64
		took     time.Duration
		assumed  bool
	}{
		{"5 a second", none, 0, 5, true, 50, 10 * time.Second, true},
		{"42 a second", none, 0, 42, true, 420, 10 * time.Second, true},
		{"5000 a second", none, 0, 5000, true, 50000, 10 * time.Second, true},
		{"one report", none[:1], 0, 42, true, 420, 10 * time.Second, true},
		{"said: one second", none, time.Second, 42, false, 0, 0, false},
		{"said: one second of many", none, time.Second, 5000, true, 5000, time.Second, false},
		{"said: a minute", none, time.Minute, 1, true, 60, time.Minute, false},
		{"stamped: ten seconds", []string{"07/27/2026 11:59:55 PM", "07/28/2026 12:00:05 AM"}, 0, 42, true, 420, 10 * time.Second, false},
		{"stamped: two seconds", []string{"2026-07-27T22:44:01+0200", "2026-07-27T22:44:03+0200"}, 0, 20, false, 0, 0, false},
		{"stamped, three reports", []string{"27/07/26 23:59:59", "28/07/26 00:00:01", "28/07/26 00:00:03"},
			0, 20, true, 80, 4 * time.Second, false},
		{"one without a stamp", []string{"23:59:59", "00:00:01", "", "00:00:05"}, 0, 20, true, 440, 22 * time.Second, true},
	} {
		loads, err := ParseIostat("f", strings.NewReader(iostatText(c.stamps, c.rate)), c.interval)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		v := Alike(loads)[0].Judge()
		if len(v.Slow) == 1 != c.slow || v.Compared != c.slow {
			t.Errorf("%s: %+v", c.name, v)
		} else if c.slow && (v.Slow[0].Member != "sdc" || v.Slow[0].Requests != c.requests ||
			loads[2].Time != c.took || loads[2].Assumed != c.assumed) {
			t.Errorf("%s: %+v of %+v", c.name, v.Slow[0], loads[2])
		}
	}
}

const zpoolHead = `              capacity     operations     bandwidth    total_wait     disk_wait    syncq_wait    asyncq_wait  scrub   trim
pool        alloc   free   read  write   read  write   read  write   read  write   read  write   read  write   wait   wait
`

func zpoolText(stamps []string, rate int) string {
	var b strings.Builder
	for _, s := range stamps {
		if s != "" {
			b.WriteString(s + "\n")
		}
		fmt.Fprintf(&b, "%stest 256M 704M 0 %d 0 10M - 90ms - 40ms - - - 50ms - -\n", zpoolHead, 2*rate)
		fmt.Fprintf(&b, "  nbd0 128M 352M 0 %d 0 5M - 1ms - 1ms - - - 1ms - -\n", rate)
		fmt.Fprintf(&b, "  nbd1 128M 352M 0 %d 0 5M - 180ms - 80ms - - - 100ms - -\n----- ----- -----\n", rate)
	}
	return b.String()
}

func TestZpoolRatesAreCounted(t *testing.T) {
	none := []string{"", ""}
	for _, c := range []struct {
		name     string
		stamps   []string
		interval time.Duration
		rate     int
		requests float64 // 0: too few
	}{
		{"5 a second", none, 0, 5, 50},
		{"30 a second, one report", none[:1], 0, 30, 300},
		{"5000 a second", none, 0, 5000, 50000},
		{"said: a second", none, time.Second, 30, 0},
		{"stamped", []string{"1785194641", "1785194643"}, 0, 30, 60},
		{"stamped, too short", []string{"1785194641", "1785194642"}, 0, 30, 0},
		{"stamped, four reports", []string{"Mon Jul 27 22:44:01 UTC 2026", "Mon Jul 27 22:44:02 UTC 2026", "Mon Jul 27 22:44:03 UTC 2026",
			"Mon Jul 27 22:44:04 UTC 2026"}, 0, 30, 90},
		{"stamped in a language", []string{"lun. 27 juil. 2026 22:44:01 CEST", "lun. 27 juil. 2026 22:44:05 CEST"}, 0, 30, 120},
	} {
		pools, err := ParseZpool("f", strings.NewReader(zpoolText(c.stamps, c.rate)), c.interval)
		if err != nil || len(pools) != 1 || len(pools[0].Children) != 2 {
			t.Fatalf("%s: %+v, %v", c.name, pools, err)
		}
		v := pools[0].Groups()[0].Judge()
		switch {
		case c.requests == 0 && v.Compared:
			t.Errorf("%s: %+v", c.name, v)
		case c.requests > 0 && (len(v.Slow) != 1 || v.Slow[0].Member != "nbd1" || v.Slow[0].Requests != c.requests):
			t.Errorf("%s: %+v", c.name, v)
		}
	}
}
