package run

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"fettle/engine/rule"
	"fettle/engine/trap"
	"fettle/host/confine"
)

// oddName begins the name of a program that is a confined child which says what is behind it, a message a line, and ends.
const oddName = "odd:"

func oddChild(messages string) int {
	parent, _, err := confine.Join()
	if err != nil {
		return 1
	}
	for m := range strings.SplitSeq(messages, "\n") {
		if m != "" && parent.Say([]byte(m)) != nil {
			return 1
		}
	}
	return 0
}

// odd makes the children that are started from now on odd ones.
func odd(t *testing.T, messages ...string) {
	name := os.Args[0]
	t.Cleanup(func() { os.Args[0] = name })
	os.Args[0] = oddName + strings.Join(messages, "\n")
}

// TestOddChild: whatever a child says, each trap gets one result, in order, of the trap's own name.
func TestOddChild(t *testing.T) {
	const hello = `{"about":{"name":"h"}}`
	result := func(place int) string {
		return fmt.Sprintf(`{"place":%d,"result":{"trap":"x","outcomes":[{"status":"clear"}]}}`, place)
	}
	const sum = `{"recorded":{"name":"h","answers":3}}`
	for name, c := range map[string]struct {
		said       []string
		record     bool
		want, fail string
		answers    int
	}{
		"says nothing":       {fail: "checking: "},
		"no JSON":            {said: []string{"hello"}, fail: "checking: invalid character"},
		"no host":            {said: []string{`{}`}, fail: "did not identify its host"},
		"nothing to look at": {said: []string{`{"failed":"there is no host"}`}, fail: "there is no host"},
		"ends at once":       {said: []string{hello}, want: "silent unknown talks unknown"},
		"both":               {said: []string{hello, result(0), result(1)}, want: "silent clear talks clear"},
		"in another order":   {said: []string{hello, result(1), result(0)}, want: "silent clear talks clear"},
		"one of two":         {said: []string{hello, result(1)}, want: "silent unknown talks clear"},
		"no such place":      {said: []string{hello, result(0), result(2)}, want: "silent clear talks unknown"},
		"before the first":   {said: []string{hello, result(-1), result(0)}, want: "silent unknown talks unknown"},
		"twice the same":     {said: []string{hello, result(0), result(0), result(1)}, want: "silent clear talks unknown"},
		"no result":          {said: []string{hello, `{"place":0}`, result(0)}, want: "silent unknown talks unknown"},
		"recorded unasked":   {said: []string{hello, result(0), sum, result(1)}, want: "silent clear talks unknown"},
		"recorded":           {said: []string{hello, result(0), sum, result(1)}, record: true, want: "silent clear talks clear", answers: 3},
		"recorded, more said": {said: []string{hello, result(0), sum, sum, result(1)}, record: true, want: "silent clear talks unknown",
			answers: 3},
	} {
		t.Run(name, func(t *testing.T) {
			odd(t, c.said...)
			tg := Target{}
			if c.record {
				tg.Record = &Recording{Out: os.Stderr}
			}
			var got []string
			begun := 0
			err := Engine{}.Check(t.Context(), tg, testTraps()[1:3], trap.Options{}, func(ab About) error {
				if begun++; ab.Name != "h" || ab.Warning == "" { // it says nothing of Landlock
					t.Errorf("%+v", ab)
				}
				return nil
			}, func(r trap.Result) { got = append(got, r.Trap, string(r.Outcomes[0].Status)) })
			if c.fail != "" {
				if err == nil || !strings.Contains(err.Error(), c.fail) || got != nil || begun != 0 {
					t.Errorf("%q, %v, want %s", got, err, c.fail)
				}
				return
			}
			if err != nil || strings.Join(got, " ") != c.want || begun != 1 {
				t.Errorf("%q, %v, want %q", got, err, c.want)
			}
			if c.record && (tg.Record.Sum == nil || tg.Record.Sum.Answers != c.answers) {
				t.Errorf("recorded %+v", tg.Record.Sum)
			}
		})
	}
}

// TestOddAnswer: what a child answers is taken, or is an error of this host or of the file that was named.
func TestOddAnswer(t *testing.T) {
	file := folder(t, "etc/passwd")
	for _, c := range []struct {
		tg         Target
		said, fail string
		unreadable bool
	}{
		{Target{}, `{"answer":7}`, "", false},
		{Target{}, `{"failed":"it is closed"}`, "it is closed", false},
		{Target{Root: file}, `{"failed":"it is closed"}`, "it is closed", true},
		{Target{}, `{"answer":"seven"}`, "cannot unmarshal", false},
		{Target{}, "", "looking at the host: ", false},
	} {
		odd(t, c.said)
		got := 0
		err := Engine{}.Ask(t.Context(), c.tg, "ran", nil, &got)
		var u *Unreadable
		if (err == nil) != (c.fail == "") || err != nil && !strings.Contains(err.Error(), c.fail) || errors.As(err, &u) != c.unreadable ||
			err == nil && got != 7 {
			t.Errorf("%s: %d, %v", c.said, got, err)
		}
	}
}

// TestAsk: a question is answered by a child of the same program, or it is said why not.
func TestAsk(t *testing.T) {
	got := -1
	if err := (Engine{}).Ask(t.Context(), Target{}, "ran", nil, &got); err != nil || got != 0 {
		t.Errorf("%d, %v", got, err)
	}
	for name, want := range map[string]string{"fails": "larger than fettle reads", "nothing": `no answer to "nothing"`} {
		if err := (Engine{}).Ask(t.Context(), Target{}, name, nil, &got); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := (Engine{}).Ask(t.Context(), Target{}, "ran", func() {}, &got); err == nil {
		t.Error("a question that is no data")
	}
}

// TestChildKnows: a child runs the traps of its own program and the admin's rules that it was given, and says which it lacks.
func TestChildKnows(t *testing.T) {
	b, err := os.ReadFile("../../traps/rules/crypttab-not-unlocked/rule.yaml")
	if err != nil {
		t.Fatal(err)
	}
	r, mistakes := rule.Parse("rule.yaml", b, true)
	if len(mistakes) > 0 {
		t.Fatal(mistakes)
	}
	own := r.Freeze()
	tg := Target{Root: folder(t, "etc/passwd", "etc/hostname")}
	check := func(e Engine, traps ...*trap.Trap) (got string, err error) {
		err = e.Check(t.Context(), tg, traps, trap.Options{}, func(About) error { return nil }, func(r trap.Result) {
			got += r.Trap + " " + string(r.Outcomes[0].Status) + " "
		})
		return got, err
	}
	for _, rules := range [][]*rule.Frozen{{own}, {own, {ID: "unwanted"}}} {
		if got, err := check(Engine{Rules: rules}, own.Trap(), testTraps()[3]); err != nil || got != own.ID+" not-applicable reads clear " {
			t.Errorf("%q, %v", got, err)
		}
	}
	if got, err := check(Engine{}, own.Trap()); err == nil || !strings.Contains(err.Error(), `knows no trap "`+own.ID) || got != "" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := decoded([]byte("no rules at all")); err == nil || !strings.Contains(err.Error(), "reading the rules") {
		t.Error(err)
	}
	w := work{}
	if err := w.unpack([]byte("no work")); err == nil {
		t.Error("no work, and it is done")
	}
	if code, ok := Child([]string{"check"}, nil, nil, os.Stderr); ok || code != 0 {
		t.Error("a user's arguments are taken for a child's")
	}
	if _, ok := Child(nil, nil, nil, os.Stderr); ok {
		t.Error("no arguments are taken for a child's")
	}
}

// TestMayRead: foreign data is read by a child that sees nothing else.
func TestMayRead(t *testing.T) {
	for _, c := range []struct {
		tg      Target
		read    string
		resolve bool
	}{{Target{}, "", false}, {Target{Root: "/srv/a"}, "/srv/a /proc/self", true}, {Target{From: "/srv/b"}, "/srv/b /proc/self", true}} {
		w := work{Target: c.tg}
		if r := w.rules(); strings.Join(r.Read, " ") != c.read || r.Resolve != c.resolve || r.Network || r.Program || r.Write != nil {
			t.Errorf("%+v: %+v", c.tg, r)
		}
	}
}
