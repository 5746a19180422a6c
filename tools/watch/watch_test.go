package watch

import (
	"context"
	"reflect"
	"strings"
	"testing"
	"time"

	"fettle/host"
	"fettle/host/hosttest"
	"fettle/host/mdraid"
)

func txt(bad, pending string) string {
	d := "-- root/sys/block/md0/md/dev-"
	return "x\n" + d + "sda1/bad_blocks --\n" + bad + d + "sda1/unacknowledged_bad_blocks --\n" + pending +
		d + "cciss!c0d0/bad_blocks --\n\n-- " +
		"root/sys/block/md1/size --\n1\n"
}

func TestWatch(t *testing.T) {
	var told []string
	var metrics string
	w := &Watcher{Tell: func(l string) { told = append(told, l) }, Publish: func(b []byte) error { metrics = string(b); return nil }}
	step := func(h *host.Host, want ...string) {
		t.Helper()
		told, w.Host = nil, func() *host.Host { return h }
		if err := w.look(context.Background()); err != nil {
			t.Fatal(err)
		}
		if len(told) != len(want) {
			t.Fatalf("told %q, want %q", told, want)
		}
		for i := range want {
			if !strings.Contains(told[i], want[i]) {
				t.Errorf("told %q, want %q in it", told[i], want[i])
			}
		}
	}
	step(hosttest.New(t, txt("100 8\n", "")), "md0/sda1: 8 bad sectors are recorded: 100+8", "watching 2 members")
	step(hosttest.New(t, txt("100 8\n", "")))
	step(hosttest.New(t, txt("100 8\n200 4\n", "108 2\n")), "md0/sda1: NEW bad blocks: 108+2, 200+4 (14 sectors")
	if !strings.Contains(metrics, "fettle_md_bad_sectors{array=\"md0\",member=\"sda1\"} 14\n") ||
		!strings.Contains(metrics, "{array=\"md0\",member=\"cciss/c0d0\"} 0\n") ||
		!strings.Contains(metrics, "fettle_watch_up 1\n") {
		t.Errorf("metrics:\n%s", metrics)
	}
	step(hosttest.New(t, txt("200 4\n", "")), "4 bad sectors are recorded, 10 fewer")
	broken := hosttest.New(t, txt("what\n", ""))
	step(broken, "could not look")
	if !strings.Contains(metrics, "fettle_watch_up 0\n") || strings.Contains(metrics, "sda1") {
		t.Errorf("metrics of a failed look:\n%s", metrics)
	}
	step(broken)
	step(hosttest.New(t, txt("200 4\n", "")), "works again")
}

func TestRunEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	looks := 0
	h := hosttest.New(t, txt("", ""))
	w := &Watcher{Host: func() *host.Host { return h }, Tell: func(string) {}, Publish: func([]byte) error {
		if looks++; looks == 3 {
			cancel()
		}
		return nil
	}}
	if err := w.Run(ctx, time.Millisecond); err != nil || looks != 3 {
		t.Errorf("%v after %d looks", err, looks)
	}
}

func TestWithout(t *testing.T) {
	a := []mdraid.Range{{Start: 0, Count: 100}, {Start: 200, Count: 10}}
	b := []mdraid.Range{{Start: 10, Count: 5}, {Start: 50, Count: 160}}
	if got, want := without(a, b), []mdraid.Range{{Start: 0, Count: 10}, {Start: 15, Count: 35}}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
