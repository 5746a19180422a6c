package remedy

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"fettle/engine/remedy/step"
	"fettle/internal/means"
)

// TestSettles: the check is asked until the finding is gone or the time to settle is over, ever less often.
func TestSettles(t *testing.T) {
	still, cannot := &StillFound{"it bites"}, errors.New("needs a wizard")
	for name, c := range map[string]struct {
		settle, gone time.Duration // gone: from then on
		says         error
		took         time.Duration
		asked        int
		want         string
	}{
		"gone at once":       {time.Minute, 0, still, 0, 1, ""},
		"no time":            {0, time.Hour, still, 0, 1, "the check still finds it: it bites"},
		"gone later":         {10 * time.Second, time.Second, still, 1400 * time.Millisecond, 4, ""},
		"never":              {10 * time.Second, time.Hour, still, 10 * time.Second, 9, "it bites"},
		"a short time":       {100 * time.Millisecond, time.Hour, still, 100 * time.Millisecond, 2, "it bites"},
		"cannot look":        {time.Second, time.Hour, cannot, time.Second, 4, "whether it helped could not be seen: needs a wizard"},
		"cannot look, then":  {10 * time.Second, time.Second, cannot, 1400 * time.Millisecond, 4, ""},
		"at the last moment": {1400 * time.Millisecond, 1400 * time.Millisecond, still, 1400 * time.Millisecond, 4, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start, asked := time.Now(), 0
				err := (&Engine{}).verify(t.Context(), c.settle, func(context.Context) error {
					if asked++; time.Since(start) >= c.gone {
						return nil
					}
					return c.says
				})
				if took := time.Since(start); !says(text(err), c.want) || took != c.took || asked != c.asked {
					t.Errorf("%v after %s, asked %d times", err, took, asked)
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := (&Engine{}).verify(ctx, time.Minute, func(context.Context) error { return still })
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Second {
			t.Errorf("%v after %s", err, time.Since(start))
		}
	})
	if err := (&Engine{}).verify(t.Context(), 0, nil); err != nil {
		t.Error(err)
	}
}

// TestLooksAgain: what a plan starts is looked at again after Lasting, if there is a check.
func TestLooksAgain(t *testing.T) {
	starts := Plan{Steps: []step.Step{step.Unit{Name: "a.service", Act: "start"}}}
	for name, c := range map[string]struct {
		plan    Plan
		lasting time.Duration
		gives   time.Duration // when the caller gives up
		check   bool
		took    time.Duration
		want    string
	}{
		"it does not last": {starts, time.Second, time.Hour, true, time.Second, "it did not last for 1s: the check still finds it"},
		"no time":          {starts, 0, time.Hour, true, 0, ""},
		"no check":         {starts, time.Second, time.Hour, false, 0, ""},
		"starts nothing":   {Plan{}, time.Second, time.Hour, true, 0, ""},
		"given up":         {starts, time.Minute, time.Second, true, time.Second, "interrupted"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer time.AfterFunc(c.gives, cancel).Stop()
				var check Verify
				if c.check {
					check = func(context.Context) error { return &StillFound{} }
				}
				start := time.Now()
				err := (&Engine{Lasting: c.lasting}).lasts(ctx, c.plan, check)
				if took := time.Since(start); !says(text(err), c.want) || took != c.took {
					t.Errorf("%v after %s", err, took)
				}
			})
		})
	}
}

// TestConfirmedBy: a guard waits until its time, and no longer than until the change is confirmed.
func TestConfirmedBy(t *testing.T) {
	for name, c := range map[string]struct {
		at    time.Duration
		first time.Duration // when it is confirmed; 0: never
		want  bool
		took  time.Duration
	}{
		"never":       {10 * time.Second, 0, false, 10 * time.Second},
		"in time":     {time.Minute, 3500 * time.Millisecond, true, 4 * time.Second},
		"at once":     {500 * time.Millisecond, 0, false, 500 * time.Millisecond},
		"in the past": {-time.Second, 0, false, 0},
	} {
		e, _, _ := changesAt(t, nil, with(later, ended))
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			if c.first > 0 {
				time.AfterFunc(c.first, func() {
					ch, err := e.Store.Change("1")
					must(t, "change", err)
					must(t, "confirm", ch.append(ev(evConfirmed)))
				})
			}
			if got, took := e.confirmedBy("0001", time.Now().Add(c.at)), time.Since(start); got != c.want || took != c.took {
				t.Errorf("%s: %v after %s", name, got, took)
			}
		})
	}
	// One that cannot be read is not taken for a confirmed one.
	e, _, _ := changesAt(t, nil, with(later, ended))
	put(t, e.Store.folder("0001")+"/plan.json", "{", 0o600)
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		if got, took := e.confirmedBy("0001", time.Now().Add(5*time.Second)), time.Since(start); got || took != 5*time.Second {
			t.Errorf("%v after %s", got, took)
		}
	})
}

// TestTimeToConfirmRunsOut: what takes longer than the time to confirm is rolled back.
func TestTimeToConfirmRunsOut(t *testing.T) {
	for name, c := range map[string]struct {
		armed Record
		cause string
	}{"over": {past, "the time to confirm ran out while the change was being applied"}, "not over": {later, ""}} {
		e, _, _ := changesAt(t, nil, []Record{c.armed, ev(evBegin)})
		ch, err := e.Store.Change("1")
		must(t, "change", err)
		if err := e.run(t.Context(), ch, nil); !says(text(err), c.cause) {
			t.Errorf("%s: %v", name, err)
		}
	}
	e, _, _ := changesAt(t, nil, doing)
	ch, err := e.Store.Change("1")
	must(t, "change", err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := e.run(ctx, ch, nil); !says(text(err), "interrupted; everything was rolled back") {
		t.Error(err)
	}
}

// TestLockAnyway: a guard kills the fettle that is at its change and does not let go, and nobody else.
func TestLockAnyway(t *testing.T) {
	sleep := means.Tool(t, "sleep")
	for name, c := range map[string]struct {
		pid    func(int) int // that the journal names, of the one that holds the lock
		said   func(int) int // that the lock names
		locks  bool          // that process has the lock's file open
		killed bool
	}{
		"it is at the change":          {func(p int) int { return p }, func(p int) int { return p }, true, true},
		"it is at another":             {func(int) int { return 1 << 30 }, func(p int) int { return p }, true, false},
		"another holds the lock":       {func(p int) int { return p }, func(int) int { return 1 << 30 }, true, false},
		"its number was used again":    {func(p int) int { return p }, func(p int) int { return p }, false, false},
		"the journal names this guard": {func(int) int { return os.Getpid() }, func(int) int { return os.Getpid() }, true, false},
		"the journal names nobody":     {func(int) int { return 0 }, func(int) int { return 0 }, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			e, _, _ := changesAt(t, nil, with(past, doing))
			lock, err := os.OpenFile(e.Store.Dir+"/lock", os.O_RDWR|os.O_CREATE, 0o600)
			must(t, "lock", err)
			defer lock.Close()
			cmd := exec.Command(sleep, "600")
			must(t, "flock", unix.Flock(int(lock.Fd()), unix.LOCK_EX))
			if c.locks {
				cmd.ExtraFiles = []*os.File{lock}
			}
			must(t, "start", cmd.Start())
			ended := make(chan error, 1)
			go func() { ended <- cmd.Wait() }()
			t.Cleanup(func() { cmd.Process.Kill() })
			pid := cmd.Process.Pid
			_, err = lock.WriteAt(fmt.Appendf(nil, "process %d, fettle fix\n", c.said(pid)), 0)
			must(t, "who", err)
			journal := e.Store.folder("0001") + "/journal.jsonl"
			text := strings.TrimSuffix(read(t, journal), "\n")
			i := strings.LastIndex(text, `"pid":`)
			put(t, journal, text[:i]+fmt.Sprintf(`"pid":%d%s`, c.pid(pid), text[strings.Index(text[i:], ",")+i:])+"\n", 0o600)
			if c.killed {
				lock.Close() // the sleeper holds it alone
			}
			synctest.Test(t, func(t *testing.T) {
				limit := 12 * time.Second
				if c.killed {
					limit = 1000 * time.Hour // of the test's clock: the kernel ends it in its own time
				}
				ctx, cancel := context.WithTimeout(t.Context(), limit)
				defer cancel()
				start := time.Now()
				unlock, err := e.lockAnyway(ctx, "1")
				if (err == nil) != c.killed {
					t.Errorf("after %s: %v", time.Since(start), err)
				}
				if took := time.Since(start); took < guardGrace {
					t.Errorf("it waited only %s", took)
				}
				if err == nil {
					unlock()
				}
			})
			select {
			case <-ended:
				if !c.killed {
					t.Error("it was killed")
				}
			default:
				if c.killed {
					<-ended
				}
			}
		})
	}
	if guardGrace < time.Second || guardGrace > time.Minute {
		t.Errorf("the fettle at work has %s", guardGrace)
	}
}

// TestLockWaits: one that waits gets the lock when it is free, and gives up with its context.
func TestLockWaits(t *testing.T) {
	means.Root(t)
	s := engineAt(t, t.TempDir()+"/state").Store
	must(t, "left over", os.MkdirAll(filepath.Join(s.Dir, "changes/.new-0007/pre"), 0o700))
	unlock, err := s.Lock(t.Context(), "fettle fix", false)
	must(t, "lock", err)
	if _, err := os.Stat(filepath.Join(s.Dir, "changes/.new-0007")); err == nil {
		t.Error("what a kill left is not swept away")
	}
	if got := read(t, s.Dir+"/lock"); !strings.HasPrefix(got, fmt.Sprintf("process %d, fettle fix, since 2", os.Getpid())) {
		t.Errorf("the lock says %q", got)
	}
	if !s.holdsLock(os.Getpid()) || s.holdsLock(1<<30) {
		t.Error("who holds the lock")
	}
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		var held *Held
		if _, err := s.Lock(ctx, "another", true); !errors.As(err, &held) || held.PID != os.Getpid() || time.Since(start) != 3*time.Second {
			t.Errorf("after %s: %v", time.Since(start), err)
		}
		if _, err := s.Lock(t.Context(), "another", false); !errors.As(err, &held) || time.Since(start) != 3*time.Second {
			t.Errorf("after %s: %v", time.Since(start), err)
		}
		start = time.Now()
		time.AfterFunc(time.Second, unlock)
		unlock, err := s.Lock(t.Context(), "the next", true)
		if took := time.Since(start); err != nil || took < time.Second || took > 1100*time.Millisecond {
			t.Errorf("after %s: %v", took, err)
		}
		unlock()
	})
	if got := read(t, s.Dir+"/lock"); strings.Contains(got, "fettle fix") || !strings.Contains(got, "the next") {
		t.Errorf("the lock says %q", got)
	}
	put(t, s.Dir+"/lock", "", 0o600)
	f, err := os.Open(s.Dir + "/lock")
	must(t, "open", err)
	defer f.Close()
	if h := holder(f); h.By != "one that has just begun" || h.PID != 0 {
		t.Errorf("%+v", h)
	}
}
