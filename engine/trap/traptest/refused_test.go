package traptest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fettle/engine/remedy"
	"fettle/engine/remedy/step"
	"fettle/engine/trap"
	"fettle/host"
)

// listener is a test that hears what a helper says of another.
type listener struct {
	testing.TB
	said []string
}

func (l *listener) Error(args ...any) { l.said = append(l.said, fmt.Sprint(args...)) }
func (l *listener) Errorf(format string, args ...any) {
	l.said = append(l.said, fmt.Sprintf(format, args...))
}
func (l *listener) Fatal(args ...any) { l.Error(args...); panic(l) }

// hear returns what do says.
func hear(t *testing.T, do func(t testing.TB)) []string {
	l := &listener{TB: t}
	func() {
		defer func() {
			if r := recover(); r != nil && r != any(l) {
				panic(r)
			}
		}()
		do(l)
	}()
	return l.said
}

func expect(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.EqualFunc(got, want, strings.Contains) {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

// questions are what a check can ask of the host in aHost, by the words for it.
var questions = map[string]func(ctx context.Context, h *host.Host) error{
	"lstat /l":   func(ctx context.Context, h *host.Host) error { _, err := h.Lstat(ctx, "/l"); return err },
	"stat /a":    func(ctx context.Context, h *host.Host) error { _, err := h.Stat(ctx, "/a"); return err },
	"read /a":    func(ctx context.Context, h *host.Host) error { _, err := h.ReadFile(ctx, "/a"); return err },
	"list /dir":  func(ctx context.Context, h *host.Host) error { _, err := h.ReadDir(ctx, "/dir"); return err },
	"link /l":    func(ctx context.Context, h *host.Host) error { _, err := h.Readlink(ctx, "/l"); return err },
	"table held": func(ctx context.Context, h *host.Host) error { _, err := h.Held(ctx); return err },
	"command systemctl show x": func(ctx context.Context, h *host.Host) error {
		_, err := h.Run(ctx, "systemctl", "show", "x")
		return err
	},
}

const aHost = "-- root/a --\nx\n-- root/dir/b --\nx\n-- link/l --\na\n-- table/held --\n[]\n-- command/systemctl show x --\nup\n"

// asking makes a check that finds "s" where its question is answered, and does something else where it is denied.
func asking(q func(context.Context, *host.Host) error, denied func(*trap.Report, error)) *trap.Trap {
	return &trap.Trap{Check: func(ctx context.Context, h *host.Host, r *trap.Report) error {
		r.Clear("other", "is well")
		if err := q(ctx, h); err != nil {
			denied(r, err)
		} else {
			r.Found(trap.Finding{Subject: "s", Severity: trap.Warning, Summary: "is ill", Evidence: []trap.Evidence{trap.Ev("/a", "x")}})
		}
		return nil
	}}
}

func inFolder(t *testing.T, files map[string]string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, text := range files {
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRefused: a check that takes what it was denied for an answer is caught, whatever it asked.
func TestRefused(t *testing.T) {
	inFolder(t, map[string]string{"a.txtar": aHost})
	for name, q := range questions {
		for _, c := range []struct {
			what   string
			denied func(*trap.Report, error)
			want   []string
		}{
			{"unknown", func(r *trap.Report, err error) { r.Unknown("s", err) }, nil},
			{"another is unknown", func(r *trap.Report, err error) { r.Unknown("", err) }, nil},
			{"clear", func(r *trap.Report, _ error) { r.Clear("s", "is well") },
				[]string{"a.txtar: s is clear, and nothing is unknown, where this is denied: " + name}},
			{"found all the same", func(r *trap.Report, _ error) {
				r.Found(trap.Finding{Subject: "s", Severity: trap.Warning, Summary: "is ill", Evidence: []trap.Evidence{trap.Ev("/a", "x")}})
			}, nil},
		} {
			tried := map[string]bool{}
			for _, want := range [][]string{c.want, nil} { // what was tried on such a host is not tried again
				expect(t, name+", "+c.what, hear(t, func(l testing.TB) { refused(l, asking(q, c.denied), "a.txtar", tried) }), want...)
			}
		}
	}
	silent := &trap.Trap{Check: func(ctx context.Context, h *host.Host, r *trap.Report) error {
		if questions["read /a"](ctx, h) == nil {
			r.Clear("", "is well")
		}
		return nil
	}}
	expect(t, "silent", hear(t, func(l testing.TB) { refused(l, silent, "a.txtar", map[string]bool{}) }),
		"a.txtar: nothing is reported where this is denied: read /a")
}

// TestRefusedPlans: a plan that is empty where something is denied, or without facts, is caught.
func TestRefusedPlans(t *testing.T) {
	inFolder(t, map[string]string{"a.txtar": aHost})
	asks := func(deny, facts func() (remedy.Plan, error)) func(context.Context, *host.Host, trap.Finding) (remedy.Plan, error) {
		return func(ctx context.Context, h *host.Host, f trap.Finding) (remedy.Plan, error) {
			switch {
			case questions["read /a"](ctx, h) != nil:
				return deny()
			case f.Facts == nil:
				return facts()
			}
			return whole()
		}
	}
	for name, c := range map[string]struct {
		plan func(context.Context, *host.Host, trap.Finding) (remedy.Plan, error)
		want []string
	}{
		"refuses":              {asks(refuse, refuse), nil},
		"whole":                {asks(whole, whole), nil},
		"empty":                {asks(empty, refuse), []string{"a.txtar: a plan without steps for s where this is denied: read /a"}},
		"empty, without facts": {asks(refuse, empty), []string{"a.txtar: a plan without steps for s where this is denied: facts"}},
		"refuses everything": {func(_ context.Context, _ *host.Host, f trap.Finding) (remedy.Plan, error) {
			if f.Facts == nil {
				return empty() // it is not asked without them
			}
			return refuse()
		}, nil},
		"refuses once it has asked": {func(ctx context.Context, h *host.Host, f trap.Finding) (remedy.Plan, error) {
			if questions["read /a"](ctx, h); f.Facts == nil {
				return empty()
			}
			return refuse()
		}, []string{"a.txtar: a plan without steps for s where this is denied: facts"}},
	} {
		tr := &trap.Trap{Plan: c.plan, Check: func(_ context.Context, _ *host.Host, r *trap.Report) error {
			r.Clear("other", "is well")
			r.Found(trap.Finding{Subject: "s", Severity: trap.Warning, Summary: "is ill", Facts: trap.FactsOf(struct{}{})})
			return nil
		}}
		tried := map[string]bool{}
		for _, want := range [][]string{c.want, nil} {
			expect(t, name, hear(t, func(l testing.TB) { refused(l, tr, "a.txtar", tried) }), want...)
		}
	}
}

func refuse() (remedy.Plan, error) { return remedy.Plan{}, remedy.Refuse("no") }
func empty() (remedy.Plan, error)  { return remedy.Plan{}, nil }
func whole() (remedy.Plan, error) {
	return remedy.Plan{Title: "mend", Steps: []step.Step{step.Remove{Path: "/a"}}}, nil
}

// TestComplete: what every trap must have.
func TestComplete(t *testing.T) {
	all := []string{"testdata/healthy.txtar", "testdata/trapped-a.txtar", "testdata/incomplete.txtar"}
	for limit, want := range map[time.Duration][]string{0: nil, time.Second: nil, time.Minute: nil,
		time.Second - 1: {"a limit of 999.999999ms: a busy host takes longer to answer"}, 1: {"a limit of 1ns"}} {
		expect(t, limit.String(), hear(t, func(l testing.TB) { complete(l, &trap.Trap{Limit: limit}, all) }), want...)
	}
	for i, name := range []string{"healthy", "trapped", "incomplete"} {
		expect(t, "without "+name, hear(t, func(l testing.TB) { complete(l, &trap.Trap{}, slices.Delete(slices.Clone(all), i, i+1)) }),
			"no testdata/"+name+"*.txtar: every trap shows a healthy, a trapped and an incomplete host")
	}
}

// TestGoldenHost: what differs from what is kept is said, and written with FETTLE_UPDATE=1.
func TestGoldenHost(t *testing.T) {
	const want, kept, file = "-- want --\nfound warning s: is ill\nclear other: is well\n", "testdata/said/a.txt", "testdata/a.txtar"
	const says = "s: is ill\n    all day\n    and night\n    rest\n  - /a: x\n"
	tr := &trap.Trap{Check: func(ctx context.Context, h *host.Host, r *trap.Report) error {
		r.Clear("other", "is well")
		b, err := h.ReadString(ctx, "/a")
		r.Found(trap.Finding{Subject: "s", Severity: trap.Warning, Summary: "is ill", Detail: "all day\nand night", ByHand: "rest",
			Evidence: []trap.Evidence{trap.Ev(map[bool]string{true: "/a"}[b == "x"], "%s", strings.TrimSpace(b))}})
		return err
	}}
	on := "-- root/a --\nx\n"
	order := "-- want --\nclear other: is well\nfound warning s: is ill\n"
	for name, c := range map[string]struct {
		host, want, said string
		expect           []string
	}{
		"as kept":            {on, order, says, nil},
		"another order":      {on, want, says, []string{file + ", section want differs:\n"}},
		"other words":        {on, order, says + "more\n", []string{kept + " differs:\n"}},
		"nothing kept":       {on, order, "", []string{kept + " differs:\n"}},
		"nothing wanted":     {on, "", says, []string{file + ", section want differs:\n"}},
		"evidence from none": {"-- root/a --\ny\n", order, strings.Replace(says, "/a: x", ": y", 1), []string{`s: evidence from nothing: "": "y"`}},
	} {
		files := map[string]string{file: c.host + c.want, kept: c.said}
		if c.said == "" {
			delete(files, kept)
		}
		inFolder(t, files)
		t.Setenv("FETTLE_UPDATE", "")
		expect(t, name, hear(t, func(l testing.TB) { golden(l, tr, file) }), c.expect...)
		if b, _ := os.ReadFile(file); string(b) != c.host+c.want {
			t.Errorf("%s: the host is now\n%s", name, b)
		}
		t.Setenv("FETTLE_UPDATE", "1")
		hear(t, func(l testing.TB) { golden(l, tr, file) })
		b, _ := os.ReadFile(file)
		if s, err := os.ReadFile(kept); name != "evidence from none" && (err != nil || string(b) != on+order || string(s) != says) {
			t.Errorf("%s: written are\n%s and\n%s, %v", name, b, s, err)
		}
	}
	inFolder(t, map[string]string{file: on + order, kept + "/more": ""})
	t.Setenv("FETTLE_UPDATE", "")
	expect(t, "a folder in the place of what is kept", hear(t, func(l testing.TB) { golden(l, tr, file) }), kept+": is a directory")
	t.Setenv("FETTLE_UPDATE", "1")
	expect(t, "which cannot be written", hear(t, func(l testing.TB) { golden(l, tr, file) }), kept+": is a directory")
	well := &trap.Trap{Check: func(_ context.Context, _ *host.Host, r *trap.Report) error { r.Clear("", "is well"); return nil }}
	inFolder(t, map[string]string{file: "-- root/a --\nx\n-- want --\nclear: is well\n"})
	expect(t, "without findings", hear(t, func(l testing.TB) { golden(l, well, file) }))
	if _, err := os.Stat("testdata/said"); err == nil {
		t.Error("words are kept of no finding")
	}
	if err := rewrite("absent.txtar", nil); err == nil {
		t.Error("a host that is not there was written")
	}
}
