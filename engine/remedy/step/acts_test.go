package step

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"fettle/engine/remedy/machine"
)

func status(n int, words ...string) machine.Output {
	return machine.Output{Exit: n, Stderr: []byte(strings.Join(words, "\n"))}
}

// TestSaid is the end of what a command printed.
func TestSaid(t *testing.T) {
	for _, c := range []struct{ out, err, want string }{
		{"", "", ""}, {" \n", "\n \n", ""}, {"out\n", "", ": out"}, {"out\n", "err\n", ": err"}, {"out", " \n", ": out"},
		{"", "1\n2\n3\n", ": 1 / 2 / 3"}, {"", "1\n2\n\n \n3\n4\n", ": 2 / 3 / 4"}, {"", "1\n2\n", ": 1 / 2"},
	} {
		if got := Said(machine.Output{Stdout: []byte(c.out), Stderr: []byte(c.err)}); got != c.want {
			t.Errorf("%q, %q: %q, not %q", c.out, c.err, got, c.want)
		}
	}
}

// TestCommandActs: what is asked and run, in which order and for how long at most.
func TestCommandActs(t *testing.T) {
	do, undo, may, mayUndo := []string{"/bin/do"}, []string{"/bin/undo"}, []string{"/bin/may"}, []string{"/bin/may-undo"}
	whole := Command{Do: do, Undo: undo, Require: may, UndoRequire: mayUndo, Limit: 7 * time.Second}
	const both = "run /bin/do, run /bin/undo"
	for name, c := range map[string]struct {
		step      Command
		answers   map[string]machine.Output
		did       string // by Apply, then by Invert
		untouched bool
		want      string // of the errors
	}{
		"all goes well": {whole, nil, both, false, ""},
		"may not": {whole, map[string]machine.Output{"/bin/may": status(1, "it is", "degraded")}, "run /bin/undo", true,
			"the precondition /bin/may does not hold: it is / degraded"},
		"may not be undone": {whole, map[string]machine.Output{"/bin/may-undo": status(2)}, "run /bin/do", false,
			"the precondition /bin/may-undo does not hold"},
		"fails":                {whole, map[string]machine.Output{"/bin/do": status(3, "no")}, both, false, "status 3: no"},
		"fails to be undone":   {whole, map[string]machine.Output{"/bin/undo": status(4)}, both, false, "status 4"},
		"without precondition": {Command{Do: do, Undo: undo}, nil, both, false, ""},
	} {
		m := newMemory()
		m.answers = c.answers
		err := c.step.Apply(t.Context(), m.site(nil), nil)
		if errors.As(err, new(*Untouched)) != c.untouched || errors.Unwrap(err) == nil && c.untouched {
			t.Errorf("%s: untouched: %v", name, err)
		}
		err = errors.Join(err, c.step.Invert(t.Context(), m.site(nil)))
		if (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if got := strings.Join(m.log, ", "); got != c.did {
			t.Errorf("%s: did %s", name, got)
		}
		limit := c.step.Limit
		if limit == 0 {
			limit = time.Minute
		}
		for call, l := range m.limits {
			if l != limit {
				t.Errorf("%s: %s has %s", name, call, l)
			}
		}
	}
	m := newMemory()
	m.fails["ask /bin/may-undo"] = errBroken
	if err := whole.Invert(t.Context(), m.site(nil)); !errors.Is(err, errBroken) || len(m.log) > 0 {
		t.Error(err, m.log)
	}
}

// TestRunEnds: a command may end although its caller gave up, but not after the time to confirm.
func TestRunEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct{ left, limit, want time.Duration }{
			{time.Hour, time.Minute, time.Minute}, {time.Second, time.Minute, time.Second}, {time.Minute, time.Minute, time.Minute},
			{-time.Second, time.Minute, time.Millisecond}, {0, time.Minute, time.Minute},
		} {
			ctx, cancel := context.WithCancel(t.Context())
			if c.left != 0 {
				ctx, cancel = context.WithDeadline(t.Context(), time.Now().Add(c.left))
			}
			cancel()
			m := newMemory()
			if err := Run(ctx, ended{m}, []string{"/bin/do"}, c.limit); err != nil || m.limits["run /bin/do"] != c.want {
				t.Errorf("%+v: %s, %v", c, m.limits["run /bin/do"], err)
			}
		}
	})
}

// ended does not run what it is told to when the time is over.
type ended struct{ *memory }

func (m ended) Run(ctx context.Context, argv []string, limit time.Duration) (machine.Output, error) {
	if err := ctx.Err(); err != nil {
		return machine.Output{}, err
	}
	return m.memory.Run(ctx, argv, limit)
}

// TestCommandDone: a probe tells whether a command had its effect.
func TestCommandDone(t *testing.T) {
	m := newMemory()
	m.answers["/bin/no"] = status(1)
	m.fails["ask /bin/cannot"] = errBroken
	for _, c := range []struct {
		probe string
		done  bool
		err   error
	}{{"", false, nil}, {"/bin/yes", true, nil}, {"/bin/no", false, nil}, {"/bin/cannot", false, errBroken}} {
		s := Command{Do: []string{"/bin/do"}, Probe: strings.Fields(c.probe)}
		if done, err := s.Done(t.Context(), m, nil, nil); done != c.done || !errors.Is(err, c.err) {
			t.Errorf("%q: %v, %v", c.probe, done, err)
		}
		if s.Probed() != (c.probe != "") {
			t.Errorf("%q: probed: %v", c.probe, s.Probed())
		}
	}
	if useful, err := (Command{}).Useful(t.Context(), m); !useful || err != nil {
		t.Error(useful, err)
	}
}

// TestCommandsRefused: commands by a name that the search path decides, and on ground that others share.
func TestCommandsRefused(t *testing.T) {
	ok := []string{"/bin/do"}
	for _, c := range []struct {
		step Command
		want string
	}{
		{Command{}, "a command step without a command"}, {Command{Do: []string{"do"}}, "do: a command needs an absolute path"},
		{Command{Do: ok, Undo: []string{"undo"}}, "undo: a command"}, {Command{Do: ok, Probe: []string{"is"}}, "is: a command"},
		{Command{Do: ok, Require: []string{"may"}}, "may: a command"}, {Command{Do: ok, UndoRequire: []string{"may"}}, "may: a command"},
		{Command{Do: []string{"/bin/do", "/srv/a"}}, "/srv/a"}, {Command{Do: []string{"/bin/do", "--to=/srv/a"}}, "/srv/a"},
		{Command{Do: []string{"/bin/do", "/etc/x", "/srv/../srv/a"}}, "/srv/a"},
		{Command{Do: ok, Undo: []string{"/bin/undo", "/srv/a"}}, "/srv/a"},
		{Command{Do: []string{"/srv/a"}}, "/srv/a"}, {Command{Do: []string{"/srv/a=/x"}}, ""},
		{Command{Do: []string{"/bin/do", "to=/srv/a"}}, ""},
		{Command{Do: []string{"/bin/do", "/etc", "srv/a", "-f=x"}}, ""},
	} {
		m := newMemory()
		m.folder("/srv")
		m.file("/srv/a", "")
		err := c.step.Possible(m)
		if (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c.step, err)
		}
		if _, err2 := c.step.Items(t.Context(), m); (err2 == nil) != (err == nil) {
			t.Errorf("%+v: %v, %v", c.step, err, err2)
		}
	}
	m := newMemory()
	m.folder("/srv")
	m.file("/srv/a", "")
	if err := (Command{Do: []string{"/bin/do", "/srv/a"}}).Apply(t.Context(), m.site(nil), nil); !errors.As(err, new(*Untouched)) {
		t.Error(err)
	}
	if err := (Command{Do: ok, Undo: []string{"/bin/undo", "/srv/a"}}).Invert(t.Context(), m.site(nil)); err == nil || len(m.log) > 0 {
		t.Error(err, m.log)
	}
	for _, s := range []Check{{}, {Run: []string{"true"}}} {
		if _, err := s.Items(t.Context(), newMemory()); err == nil || !strings.Contains(err.Error(), "absolute path") {
			t.Errorf("%+v: %v", s, err)
		}
	}
	if got := (&Untouched{errBroken}).Error(); got != "broken" {
		t.Error(got)
	}
}

func TestCheckActs(t *testing.T) {
	for limit, want := range map[time.Duration]time.Duration{0: time.Minute, time.Second: time.Second} {
		for code, says := range map[int]string{0: "", 1: "/bin/is a ended with status 1: no", 127: "status 127: no"} {
			m := newMemory()
			m.answers["/bin/is a"] = status(code, "no")
			err := Check{Run: []string{"/bin/is", "a"}, Limit: limit}.Apply(t.Context(), m.site(nil), nil)
			if (err != nil) != (code != 0) || err != nil && !strings.Contains(err.Error(), says) || m.limits["ask /bin/is a"] != want {
				t.Errorf("status %d: %v, within %s", code, err, m.limits["ask /bin/is a"])
			}
		}
	}
	for _, s := range []Step{Check{}, SolicitRouter{}} { // asking twice does no harm
		if done, err := s.Done(t.Context(), nil, nil, nil); done || err != nil {
			t.Errorf("%s is done: %v, %v", s.Kind(), done, err)
		}
	}
	Check{}.Asks()
}

// TestSolicits: a link that has just come up is asked again until it has an address, for a while.
func TestSolicits(t *testing.T) {
	for name, c := range map[string]struct {
		fails   error
		until   time.Duration // it fails so long
		given   bool          // the caller gave up
		lasts   time.Duration // at most 200 ms more
		solicit int           // how often it is asked at least
		notes   int
	}{
		"at once":      {nil, 0, false, 0, 1, 0},
		"a second on":  {syscall.EADDRNOTAVAIL, time.Second, false, time.Second, 5, 0},
		"never":        {syscall.EADDRNOTAVAIL, time.Hour, false, 3 * time.Second, 10, 1},
		"nobody waits": {syscall.EADDRNOTAVAIL, time.Hour, true, 0, 1, 1},
		"broken":       {errBroken, time.Hour, false, 0, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if c.given {
					cancel()
				}
				start := time.Now()
				m := newMemory()
				asked := 0
				m.meddler = func(string) {
					asked++
					if m.fails["solicit d0"] = c.fails; time.Since(start) >= c.until {
						m.fails["solicit d0"] = nil
					}
				}
				var notes []string
				err := SolicitRouter{Link: "d0"}.Apply(ctx, m.site(&notes), nil)
				if took := time.Since(start); err != nil || took < c.lasts || took > c.lasts+200*time.Millisecond {
					t.Errorf("took %s: %v", took, err)
				}
				if asked < c.solicit || len(notes) != c.notes {
					t.Errorf("asked %d times, notes %q", asked, notes)
				}
			})
		})
	}
	if items, err := (SolicitRouter{}).Items(t.Context(), nil); items != nil || err != nil {
		t.Error(items, err)
	}
	(&Site{}).Note("nobody listens")
}
