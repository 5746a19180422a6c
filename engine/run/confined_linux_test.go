package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/confine"
	"fettle/internal/means"
)

// TestMain: a confined child is a copy of this program.
func TestMain(m *testing.M) {
	if strings.HasPrefix(os.Args[0], oddName) {
		os.Exit(oddChild(strings.TrimPrefix(os.Args[0], oddName)))
	}
	if code, ok := Child(os.Args[1:], testTraps(), testAnswers, os.Stderr); ok {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

func testTrap(id string, cost trap.Cost, check func(context.Context, *host.Host, *trap.Report) error) *trap.Trap {
	return &trap.Trap{Lore: trap.Lore("---\nid: " + id + "\ntitle: " + id + "\n---\n"), Cost: cost, Check: check}
}

// testTraps are one that has time, and one that wants a socket, as a check that may talk
// and as one that may not.
func testTraps() []*trap.Trap {
	socket := func(_ context.Context, _ *host.Host, r *trap.Report) error {
		fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
		if err == nil {
			syscall.Close(fd)
		}
		ran.Add(1)
		r.Clear("", fmt.Sprint("socket: ", err == nil))
		return nil
	}
	return []*trap.Trap{
		testTrap("waits", trap.Instant, func(ctx context.Context, _ *host.Host, _ *trap.Report) error { <-ctx.Done(); return ctx.Err() }),
		testTrap("silent", trap.Instant, socket), testTrap("talks", trap.Network, socket),
		testTrap("reads", trap.Instant, func(ctx context.Context, h *host.Host, r *trap.Report) error {
			b, err := h.ReadFile(ctx, "/etc/hostname")
			_, derr := h.ReadFile(ctx, "/etc/hosts")
			r.Clear("", fmt.Sprintf("%s %v", b, derr))
			return err
		}),
	}
}

// ran is how many checks wanted a socket in this process.
var ran atomic.Int32

// testAnswers are one that tells how many checks ran where it is asked, and one that fails.
var testAnswers = Answers{
	"ran":   func(context.Context, *host.Host, json.RawMessage) (any, error) { return ran.Load(), nil },
	"fails": func(context.Context, *host.Host, json.RawMessage) (any, error) { return nil, host.ErrTooBig },
}

// TestAlso: the child that has run the checks answers; that it cannot fails no check.
func TestAlso(t *testing.T) {
	for name, fails := range map[string]bool{"ran": false, "fails": true} {
		checks := 0
		also := &Also{Name: name, Answer: &checks}
		var got []trap.Status
		err := Engine{Also: also}.Check(t.Context(), Target{}, testTraps()[1:3], trap.Options{}, func(ab About) error {
			if ab.Warning != "" {
				means.Missing(t, "a kernel that confines: "+ab.Warning)
			}
			return nil
		}, func(r trap.Result) { got = append(got, r.Outcomes[0].Status) })
		if err != nil || !slices.Equal(got, []trap.Status{trap.Clear, trap.Clear}) || (also.Err != nil) != fails || !fails && checks != 2 {
			t.Errorf("%s: %v, %v, %v, %d checks", name, got, err, also.Err, checks)
		}
	}
}

// children are the processes that this one started and that have not ended.
func children(t *testing.T) string {
	t.Helper()
	lists, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil || len(lists) == 0 {
		means.Missing(t, "a kernel with CONFIG_PROC_CHILDREN")
	}
	var out strings.Builder
	for _, name := range lists {
		b, _ := os.ReadFile(name) // a thread may end meanwhile
		out.Write(b)
	}
	return out.String()
}

// TestChildEnds: the child ends with the run, also where nobody wants its results any more.
func TestChildEnds(t *testing.T) {
	unwanted := errors.New("unwanted")
	err := Engine{}.Check(t.Context(), Target{}, testTraps()[:1], trap.Options{Limit: time.Hour},
		func(About) error { return unwanted }, func(trap.Result) {})
	if !errors.Is(err, unwanted) {
		t.Fatal(err)
	}
	means.Until(t, "the child of a run that is over", func() bool { return children(t) == "" })
}

// TestSockets: a child has sockets where the run allows the network, and only for checks
// that need it.
func TestSockets(t *testing.T) {
	all := testTraps()
	for _, c := range []struct {
		network bool
		trap    *trap.Trap
		want    string
	}{
		{true, all[2], "socket: true"}, {true, all[1], "socket: false"}, {false, all[1], "socket: false"}, {false, all[2], "socket: false"},
	} {
		var got []trap.Outcome
		err := Engine{}.Check(t.Context(), Target{Network: c.network}, []*trap.Trap{c.trap}, trap.Options{Network: true},
			func(ab About) error {
				if ab.Warning != "" {
					means.Missing(t, "a kernel that confines: "+ab.Warning)
				}
				return nil
			}, func(r trap.Result) { got = r.Outcomes })
		if err != nil || len(got) != 1 {
			t.Fatalf("%s: %v, %v", c.trap.ID(), got, err)
		}
		if got[0].Summary != c.want {
			t.Errorf("network %t, %s: %+v, want %s", c.network, c.trap.ID(), got[0], c.want)
		}
	}
}

// TestTooBigToSay: a result that is too big for the parent becomes one that says so.
func TestTooBigToSay(t *testing.T) {
	said := func(n int) (s saying, size int) {
		r := trap.Result{Trap: "x", Outcomes: []trap.Outcome{{Trap: "x", Status: trap.Clear, Summary: strings.Repeat("y", n)}}}
		b, err := saying{Place: 7, Result: &r}.packed()
		if err == nil {
			err = json.Unmarshal(b, &s)
		}
		if err != nil || s.Place != 7 || s.Result == nil || len(s.Result.Outcomes) != 1 {
			t.Fatalf("%+v, %v", s, err)
		}
		return s, len(b)
	}
	_, frame := said(1)
	frame--
	if s, size := said(confine.MaxSaying - frame); size != confine.MaxSaying || s.Result.Outcomes[0].Status != trap.Clear {
		t.Errorf("a result that just fits: %d bytes", size)
	}
	s, _ := said(confine.MaxSaying - frame + 1)
	if o := s.Result.Outcomes[0]; o.Status != trap.Unknown || !strings.Contains(o.Reason, "what the check said") {
		t.Errorf("a byte more: %s, %.80q", o.Status, o.Reason)
	}
}
