package guest

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"fettle/lab"
	"fettle/lab/labtest"
)

// scripted is a guest in which commands end as written.
type scripted struct{ labtest.Scripted[end] }

type end struct {
	out  string
	code int
	err  error
}

func (s *scripted) run(argv []string, _ []byte) (string, int, error) {
	e := s.Run(argv)
	return e.out, e.code, e.err
}

var errGone = errors.New("the program is gone")

// TestChecksThatFail: a check that could not be run, or was used wrongly, is no answer.
func TestChecksThatFail(t *testing.T) {
	for name, c := range map[string]struct {
		end  end
		fail string
		said string
	}{
		"found":        {end{line("t", "s", "found"), 1, nil}, "", "found  s:"},
		"unknown":      {end{line("t", "s", "unknown"), 4, nil}, "expected to be found", "unknown  s:"},
		"usage":        {end{"bad flag", 2, nil}, "fettle check t --format jsonl --limit 3m: exit status 2", "bad flag"},
		"internal":     {end{line("t", "s", "found"), 3, nil}, "exit status 3", ""},
		"gone":         {end{"", 0, errGone}, errGone.Error(), ""},
		"no answer":    {end{"{}", 0, nil}, "said nothing that could be read", "{}"},
		"others first": {end{line("t", "z", "clear") + line("t", "s", "found"), 1, nil}, "", "found  s:\nclear  z:"},
	} {
		g := &scripted{labtest.Scripted[end]{Ends: map[string][]end{"fettle check": {c.end}}}}
		p := &player{orders: lab.Orders{Trap: "t", Scenario: lab.Scenario{Subject: "s"}}, run: g.run}
		said, err := p.expect(found)()
		if (err == nil) != (c.fail == "") || err != nil && !strings.Contains(err.Error(), c.fail) || !strings.Contains(said, c.said) {
			t.Errorf("%s: %q, %v, want %s", name, said, err, c.fail)
		}
		if name == "found" || name == "unknown" || name == "others first" {
			continue
		}
		if name == "no answer" {
			c.fail = "no other trap was looked for"
		}
		if name == "usage" {
			c.fail = "fettle check --format jsonl --limit 3m: exit status 2: bad flag"
		}
		if seen, err := p.others(); err == nil || seen != nil || !strings.Contains(err.Error(), c.fail) {
			t.Errorf("others, %s: %v, %v", name, seen, err)
		}
	}
}

// TestOthers: what a fix sets besides, as the scenario says or does not; what is unknown once is asked again.
func TestOthers(t *testing.T) {
	before := map[string]string{"a:x": "clear", "b": "not-applicable", "c:y": "found"}
	for name, c := range map[string]struct {
		after []string
		sets  []string
		fail  string
		asked int
	}{
		"nothing":          {[]string{line("a", "x", "clear")}, nil, "", 1},
		"as told":          {[]string{line("a", "x", "found")}, []string{"a:x"}, "", 1},
		"untold":           {[]string{line("a", "x", "found")}, nil, "the fix sets another trap: a:x", 1},
		"told, and not":    {[]string{line("a", "x", "clear")}, []string{"a:x"}, "the fix should set a:x too, and sets 0", 1},
		"found before":     {[]string{line("c", "y", "found")}, nil, "", 1},
		"unknown for once": {[]string{line("a", "x", "unknown"), line("a", "x", "clear")}, nil, "", 2},
		"unknown thrice":   {[]string{line("a", "x", "unknown")}, nil, "cannot be looked at any more: a:x", 3},
	} {
		g := &scripted{labtest.Scripted[end]{Ends: map[string][]end{}}}
		for _, out := range c.after {
			g.Ends["fettle check"] = append(g.Ends["fettle check"], end{out, 0, nil})
		}
		p := &player{orders: lab.Orders{Trap: "t", Scenario: lab.Scenario{Sets: c.sets}}, run: g.run}
		said, err := p.compare(before)
		if (err == nil) != (c.fail == "") || err != nil && !strings.Contains(err.Error(), c.fail) || len(g.Ran) != c.asked ||
			(err == nil) != (said != "") {
			t.Errorf("%s: %q, %v after %d checks, want %s", name, said, err, len(g.Ran), c.fail)
		}
	}
	g := &scripted{labtest.Scripted[end]{Ends: map[string][]end{"fettle check": {{"", 0, errGone}}}}}
	if _, err := (&player{run: g.run}).compare(before); !errors.Is(err, errGone) {
		t.Error(err)
	}
}

// TestMend: a fix whose check met a bad moment is tried again; one that failed is not.
func TestMend(t *testing.T) {
	moment := end{"fettle: " + noSubject, 2, nil}
	for name, c := range map[string]struct {
		ends  []end
		code  int
		tries int
		err   error
	}{
		"well": {[]end{{"done", 0, nil}}, 0, 1, nil}, "a moment": {[]end{moment, moment, {"done", 0, nil}}, 0, 3, nil},
		"for good": {[]end{moment}, 2, 4, nil},
		"usage":    {[]end{{"bad flag", 2, nil}}, 2, 1, nil}, "failed": {[]end{{noSubject, 6, nil}}, 6, 1, nil}, "gone": {[]end{{noSubject, 2,
			errGone}}, 2, 1, errGone},
	} {
		g := &scripted{labtest.Scripted[end]{Ends: map[string][]end{"fettle fix": c.ends}}}
		if _, code, err := (&player{run: g.run}).mend([]string{"fettle", "fix"}); code != c.code || err != c.err || len(g.Ran) != c.tries {
			t.Errorf("%s: %d, %v after %d tries", name, code, err, len(g.Ran))
		}
	}
	p := &player{orders: lab.Orders{Trap: "t", Scenario: lab.Scenario{FixArgs: []string{"--with", "a=b"}}}}
	if got := strings.Join(append(p.fettle(), p.fix()...), " "); got != "fettle fix t --yes --yes-irreversible --limit 3m --with a=b" {
		t.Error(got)
	}
	p.orders.Sabotage, p.orders.Scenario.Subject = "spoilt", "s"
	if got := append(p.fettle(), p.fix()...); !slices.Equal(got[:4], []string{"fettle-lab", lab.SabotagedVerb, "t", "spoilt"}) ||
		!slices.Contains(got, "s") {
		t.Errorf("%q", got)
	}
}

// TestConfirmed: a change that waits is confirmed, and one that did not wait fails the story; stages that a scenario
// leaves out are not told.
func TestConfirmed(t *testing.T) {
	for said, ok := range map[string]bool{"the change is confirmed and stays": true, "nothing waits": false} {
		l := &liar{}
		run := func(argv []string, in []byte) (string, int, error) {
			if argv[1] == "confirm" {
				return said, 0, nil
			}
			return l.run(argv, in)
		}
		p := &player{orders: lab.Orders{Trap: "t", Scenario: lab.Scenario{Subject: "s", Confirm: []string{"fettle", "confirm"},
			Files: map[string]string{"/etc/x": "a = 3\nb = 2\n"}}}, host: l, run: run, tree: l.tree, act: func(lab.Act) error { return nil },
			ended: func() string { return "" }}
		p.story()
		if last := l.stages[len(l.stages)-1]; last.OK != ok || !ok && last.Name != "confirm" {
			t.Errorf("%q: %+v", said, last)
		}
	}
	for _, c := range []struct {
		s    lab.Scenario
		want string
	}{
		{lab.Scenario{Subject: "s", Unfixable: true}, "prepare check"},
		{lab.Scenario{Subject: "s", UndoKeeps: true, Files: map[string]string{"/etc/x": "a = 3\nb = 2\n"}},
			"prepare check fix recheck files others undo"},
		{lab.Scenario{Subject: "s", Files: map[string]string{"/etc/x": "a = 3\nb = 2\n"}},
			"prepare check fix recheck files others undo as-before after-undo slips"},
	} {
		l := &liar{}
		l.play(c.s)
		var names []string
		for _, s := range l.stages {
			names = append(names, s.Name)
		}
		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
	// That the files cannot be read is told, before and after.
	for after := range 3 {
		l, read := &liar{}, 0
		p := &player{orders: lab.Orders{Trap: "t", Scenario: lab.Scenario{Subject: "s",
			Files: map[string]string{"/etc/x": "a = 3\nb = 2\n"}}}, host: l, run: l.run,
			tree: func() (map[string]string, error) {
				if read++; read > after {
					return nil, errGone
				}
				return l.tree()
			}, act: func(lab.Act) error { return nil }, ended: func() string { return "" }}
		p.story()
		last := l.stages[len(l.stages)-1]
		if want := []string{"fix", "files", "as-before"}[after]; last.OK || last.Name != want || !strings.Contains(last.Said, errGone.Error()) {
			t.Errorf("after %d: %+v", after, last)
		}
	}
}

// TestNotice: whoever looks at a spoilt plan says what is wrong with it.
func TestNotice(t *testing.T) {
	files := map[string]string{"/etc/x": "m\na = 1\nb = 2\n"}
	for name, c := range map[string]struct {
		spoil func(*liar, *player)
		fail  string
	}{
		"nothing": {func(*liar, *player) {}, ""},
		"recheck": {func(l *liar, _ *player) { l.lie = map[string]string{"check": line("t", "s", "found")} }, "recheck: expected to be clear"},
		"a probe": {func(_ *liar, p *player) {
			p.orders.Scenario.Probes = []lab.Probe{{Name: "login", Run: []string{"ask"}, Want: []string{"", "better"}}}
		}, `probe login: expected "better"`},
		"confirm": {func(l *liar, p *player) {
			l.fails, p.orders.Scenario.Confirm = "confirm", []string{"fettle", "confirm"}
		}, "confirm: fettle confirm: exit status 3: it broke"},
		"files": {func(l *liar, _ *player) { l.spoils = true }, "files: /etc/x holds"},
		"unread": {func(_ *liar, p *player) { p.tree = func() (map[string]string, error) { return nil, errGone } },
			"files: " + errGone.Error()},
		"another": {func(l *liar, _ *player) { l.others = "found" }, "others: the fix sets another trap"},
	} {
		l := &liar{fixed: true}
		p := &player{orders: lab.Orders{Trap: "t", Scenario: lab.Scenario{Subject: "s",
			Files: map[string]string{"/etc/x": "a = 3\nb = 2\n"}}}, run: l.run, tree: l.tree}
		c.spoil(l, p)
		if err := p.notice(true, files, map[string]string{"other:x": "clear"}); (err == nil) != (c.fail == "") || err != nil &&
			!strings.Contains(err.Error(), c.fail) {
			t.Errorf("%s: %v, want %s", name, err, c.fail)
		}
	}
}
