package counters_test

import (
	"context"
	"fmt"
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"fettle/internal/means"
	"fettle/tools/measure/counters"
)

// inNamespace runs f in a network namespace of its own, on a thread that
// ends with it.
func inNamespace(t testing.TB, f func()) {
	t.Helper()
	means.Root(t)
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			done <- err
			return
		}
		defer close(done)
		f()
	}()
	if err := <-done; err != nil {
		t.Fatalf("a network namespace: %v", err)
	}
}

func link(name string) netlink.LinkAttrs {
	a := netlink.NewLinkAttrs()
	a.Name = name
	return a
}

func TestLocal(t *testing.T) {
	inNamespace(t, func() {
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Error(err)
				runtime.Goexit()
			}
		}
		lo, err := netlink.LinkByName("lo")
		must(err)
		must(netlink.LinkSetUp(lo))
		must(netlink.LinkAdd(&netlink.Veth{LinkAttrs: link("d0"), PeerName: "d1"}))
		src, err := counters.Local()
		must(err)
		defer src.Close()
		read := func() map[string]counters.Reading {
			rs, err := src.Read(t.Context())
			must(err)
			m := map[string]counters.Reading{}
			for _, r := range rs {
				m[r.Name] = r
			}
			return m
		}
		before := read()
		c, err := net.ListenPacket("udp", "127.0.0.1:0")
		must(err)
		for range 10 {
			c.WriteTo(make([]byte, 972), c.LocalAddr()) // 1000 octets with UDP's and IP's headers
		}
		c.Close()
		time.Sleep(20 * time.Millisecond)
		after := read()
		if d := after["lo"].In - before["lo"].In; d != 10000 {
			t.Errorf("10 datagrams of 1000 octets: %d counted", d)
		}
		if f := src.Facts(after["d0"]); !f.Trusted || f.Width != 64 || !f.Told {
			t.Errorf("a veth: %+v", f)
		}
		// Made anew, an interface has another index.
		d0, err := netlink.LinkByName("d0")
		must(err)
		must(netlink.LinkDel(d0))
		if _, ok := read()["d0"]; ok {
			t.Error("a deleted interface is still read")
		}
		must(netlink.LinkAdd(&netlink.Veth{LinkAttrs: link("d0"), PeerName: "d1"}))
		if again := read()["d0"]; again.Index == before["d0"].Index || again.Index == 0 {
			t.Errorf("made anew, index %d, before %d", again.Index, before["d0"].Index)
		}
	})
}

func TestRecordStops(t *testing.T) {
	src, err := counters.Local()
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	if _, err := counters.Record(t.Context(), src, counters.Plan{Names: []string{"nosuch0"}, Interval: time.Second}); err == nil {
		t.Error("an unknown interface was recorded")
	}
	ctx, cancel := context.WithCancel(t.Context())
	rec, err := counters.Record(ctx, src, counters.Plan{Names: []string{"lo"}, Interval: 10 * time.Millisecond,
		Progress: func(rounds, lost int, _ time.Duration) {
			if rounds == 3 {
				cancel()
			}
		}})
	if err != nil || rec.Rounds != 3 || len(rec.Series) != 2 || len(rec.Series[0].Samples) != 3 {
		t.Errorf("cut off in the fourth round: %+v %v", rec, err)
	}
}

// thousand makes 1,000 interfaces, veth pairs, and times reading them.
func thousand(t testing.TB, rounds int) (perRound time.Duration, n int) {
	inNamespace(t, func() {
		for i := range 500 {
			if err := netlink.LinkAdd(&netlink.Veth{LinkAttrs: link(fmt.Sprintf("a%d", i)), PeerName: fmt.Sprintf("b%d", i)}); err != nil {
				t.Error(err)
				return
			}
		}
		src, err := counters.Local()
		if err != nil {
			t.Error(err)
			return
		}
		defer src.Close()
		cpu := func() time.Duration {
			var u unix.Rusage
			unix.Getrusage(unix.RUSAGE_THREAD, &u)
			return time.Duration(u.Utime.Nano() + u.Stime.Nano())
		}
		src.Read(t.Context()) // names
		before := cpu()
		rec, err := counters.Record(t.Context(), src, counters.Plan{Interval: time.Millisecond, For: time.Duration(rounds) * time.Millisecond})
		if err != nil {
			t.Error(err)
			return
		}
		perRound, n = (cpu()-before)/time.Duration(rec.Rounds), len(rec.Series)/2
	})
	return perRound, n
}

// TestOverhead: one second of sampling 1,000 interfaces takes less than 1 % of
// a core, that is 10 ms of CPU time a round, user and kernel.
func TestOverhead(t *testing.T) {
	took, n := thousand(t, 50)
	if n < 1000 {
		t.Fatalf("%d interfaces were read", n)
	}
	limit := 10 * time.Millisecond
	if raceEnabled {
		limit *= 10
	}
	t.Logf("%d interfaces: %s of CPU time a round, %.2f %% of a core at one round a second", n, took, took.Seconds()*100)
	if took > limit {
		t.Errorf("%s of CPU time a round, more than %s", took, limit)
	}
}

func BenchmarkThousandInterfaces(b *testing.B) {
	means.Root(b)
	for b.Loop() {
		took, _ := thousand(b, 200)
		b.ReportMetric(float64(took.Microseconds()), "cpu-µs/round")
		b.ReportMetric(took.Seconds()*100, "%core@1s")
	}
}
