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

// later answers dmsetup status with another output each time.
type later struct {
	host.Source
	status []string
	asked  int
}

func (l *later) Kind() host.Kind { return host.KindLive }

func (l *later) Command(ctx context.Context, c host.Command) (host.Output, error) {
	if c.String() != "dmsetup status" {
		return l.Source.Command(ctx, c)
	}
	s := l.status[min(l.asked, len(l.status)-1)]
	l.asked++
	return host.Output{Stdout: []byte(s)}, nil
}

// cache is a full one of 8192 blocks.
func cache(readHits, readMisses, demotions, promotions int) string {
	return fmt.Sprintf(
		"vg-data: 0 209715200 cache 8 1200/8192 128 8192/8192 %d %d 0 0 %d %d 0 1 writeback 2 migration_threshold 2048 smq 0 rw - \n",
		readHits,
		readMisses,
		demotions,
		promotions,
	)
}

func TestSample(t *testing.T) {
	const interval = 50 * time.Millisecond
	small := "found notice vg-data: the cache is too small for the working set: blocks are promoted and demoted in turn"
	well := "clear vg-data: the cache works as it should"
	for name, c := range map[string]struct {
		release string
		status  []string // the first is that of the look without sampling
		want    string
		detail  string // of a finding
		ev      string // of any outcome
	}{
		"churns now": {"6.1.0", []string{cache(9e6, 1e6, 100, 8292), cache(9e6, 1e6, 100, 8292), cache(9e6+200, 1e6+1800, 150, 8342)}, small,
			"10 % hits of 2000 requests, 50 blocks promoted, 50 " +
				"demoted: at this rate, its whole content is replaced every", "10 % hits of 2000 requests"},
		"churned once": {"6.1.0", []string{cache(1e5, 2e6, 2e5, 208192), cache(1e5, 2e6, 2e5, 208192),
			cache(1e5+1900, 2e6+100, 2e5, 208192)}, small,
			"5 % hits; 208192 blocks promoted and 200000 demoted, of a " +
				"cache of 8192. That is since it was activated; over 0s: 95 % hits", "95 % hits"},
		"idle now": {"6.1.0", []string{cache(9e6, 1e6, 100, 8292), cache(9e6, 1e6, 100, 8292), cache(9e6, 1e6+20, 110, 8302)}, well, "",
			"0 % hits of 20 requests"},
		"slow turnover": {"6.1.0", []string{cache(9e6, 1e6, 100, 8292), cache(9e6, 1e6, 100, 8292), cache(9e6+200, 1e6+1800, 105, 8297)},
			well, "", "5 demoted"},
		"hits well": {"6.1.0", []string{cache(9e6, 1e6, 100, 8292), cache(9e6, 1e6, 100, 8292), cache(9e6+1800, 1e6+200, 5000, 9000)},
			well, "", "90 % hits"},
		"loaded anew": {"6.1.0", []string{cache(9e6, 1e6, 100, 8292), cache(9e6, 1e6, 100, 8292), cache(2, 1, 0, 1)}, well, "", ""},
		"the trap itself": {"4.9.0-19-amd64",
			[]string{cache(9e6, 1e6, 100, 8292), cache(9e6, 1e6, 100, 8292), cache(9e6+100, 1e6+1900, 100, 8292)}, "found warning vg-data: this " +
				"kernel's smq hardly promotes " +
				"anything once the cache is full", "5 % hits of 2000 requests, 0 blocks promoted, 0 demoted. Linux 4.2 to 4.11", "0 blocks promoted"},
	} {
		t.Run(name, func(t *testing.T) {
			src, _, err := hosttest.Parse([]byte("release: " + c.release + "\n-- root/sys/block/dm-0/dm/name --\nx\n"))
			if err != nil {
				t.Fatal(err)
			}
			l := &later{Source: src, status: c.status}
			start := time.Now()
			out := traptest.Run(t, &Trap, host.New(l), trap.Options{Interval: interval})
			if took := time.Since(start); took < interval {
				t.Errorf("took %v", took)
			}
			if got := traptest.Lines(out); got != c.want {
				t.Fatalf("%s, want %s", got, c.want)
			}
			if !strings.Contains(string(out[0].Detail), c.detail) || c.detail == "" && string(out[0].Detail) != "" {
				t.Errorf("detail %q, want %q", out[0].Detail, c.detail)
			}
			var ev []string
			for _, e := range out[0].Evidence {
				ev = append(ev, e.Source+": "+e.Value)
			}
			if s := strings.Join(ev, "\n"); !strings.Contains(s, c.ev) || c.ev == "" && strings.Contains(s, "over") {
				t.Errorf("evidence %s, want %q", s, c.ev)
			}
		})
	}
}

// TestNoSampleUnasked: without an interval the check looks once, and waits for nothing.
func TestNoSampleUnasked(t *testing.T) {
	src, _, err := hosttest.Parse([]byte("-- root/sys/block/dm-0/dm/name --\nx\n"))
	if err != nil {
		t.Fatal(err)
	}
	l := &later{Source: src, status: []string{cache(9e6, 1e6, 100, 8292)}}
	traptest.Run(t, &Trap, host.New(l))
	if l.asked != 1 {
		t.Errorf("dmsetup status was run %d times", l.asked)
	}
}

// TestSampleBeyondLimit: the interval counts on top of the check's own limit.
func TestSampleBeyondLimit(t *testing.T) {
	src, _, err := hosttest.Parse([]byte("-- root/sys/block/dm-0/dm/name --\nx\n"))
	if err != nil {
		t.Fatal(err)
	}
	l := &later{Source: src, status: []string{cache(9e6, 1e6, 100, 8292)}}
	out := traptest.Run(t, &Trap, host.New(l), trap.Options{Interval: 400 * time.Millisecond, Limit: 300 * time.Millisecond})
	if got := traptest.Lines(out); !strings.HasPrefix(got, "clear") {
		t.Error(got)
	}
}
