package trap

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"fettle/engine/message"
	"fettle/host"
)

func TestWhose(t *testing.T) {
	for want, a := range map[string]Acceptance{
		"accepted": {}, "accepted by alice": {By: "alice"}, "accepted on the hub until 2027-01-02": {Hub: true, Until: "2027-01-02"},
		"accepted on the hub by alice until 2027-01-02": {Hub: true, By: "alice", Until: "2027-01-02"},
	} {
		if got := a.Whose(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	for _, c := range []struct {
		o    Outcome
		want bool
	}{
		{Outcome{Status: Found}, false}, {Outcome{Status: Found, Known: true}, true}, {Outcome{Status: Found, Below: true}, true},
		{Outcome{Status: Found, Accepted: &Acceptance{}}, true}, {Outcome{Status: Found, Accepted: &Acceptance{Lapsed: "it ended"}}, false},
		{Outcome{Status: Found, OnHub: &Acceptance{}}, false}, {Outcome{Status: Unknown, Known: true, Below: true}, false},
	} {
		if c.o.Hidden() != c.want {
			t.Errorf("%+v: hidden %v", c.o, !c.want)
		}
	}
}

func TestProse(t *testing.T) {
	if got := Lines("a\nb", "", "c\rd"); got != `a\nb`+"\n"+`c\rd` {
		t.Errorf("%q", got)
	}
	for _, c := range []struct{ p, more, want Prose }{{"", "", ""}, {"a", "", "a"}, {"", "b", "b"}, {"a", "b", "a\nb"}} {
		if got := c.p.Also(string(c.more)); got != c.want {
			t.Errorf("%q and %q: %q", c.p, c.more, got)
		}
	}
}

// TestRefusedChoices: a choice that cannot be is refused with what can.
func TestRefusedChoices(t *testing.T) {
	tr := testTrap("a", nil)
	refused := func(given, want string) {
		t.Helper()
		if _, err := tr.Choose(Finding{}, []string{given}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", given, err, want)
		}
	}
	refused("x=1", "leaves nothing to choose")
	tr.Choices = []Choice{{Name: "mode", Values: []string{"strict", "lax"}}, {Name: "group"}}
	refused("x=1", "knows mode, group")
	refused("mode", "expected NAME=VALUE")
	refused("mode=odd", "mode is one of strict, lax")
}

// TestLimits: how long checks may take, and what they are told of the run.
func TestLimits(t *testing.T) {
	for _, c := range []struct {
		tr      Trap
		network bool
		want    time.Duration
	}{
		{Trap{}, false, 5 * time.Second}, {Trap{}, true, 5 * time.Second}, {Trap{Limit: time.Minute, Talks: true}, true, time.Minute},
		{Trap{Talks: true}, false, 5 * time.Second}, {Trap{Talks: true}, true, 30 * time.Second}, {Trap{Cost: Network}, false, 30 * time.Second},
		{Trap{Cost: Sampled}, false, 5 * time.Second},
	} {
		if got := c.tr.limit(c.network); got != c.want {
			t.Errorf("%+v, network %v: %s", c.tr, c.network, got)
		}
	}
	for _, opt := range []Options{{}, {Network: true}, {Interval: time.Hour}, {Limit: 2 * time.Minute, Interval: time.Hour}} {
		limit := cmp.Or(opt.Limit, time.Minute)
		for samples, extra := range map[bool]time.Duration{false: 0, true: opt.Interval} {
			tr := testTrap("asks", func(ctx context.Context, _ *host.Host, r *Report) error {
				dl, ok := ctx.Deadline()
				if left := time.Until(dl); !ok || left > limit+extra+waitLimit || left < limit+extra {
					t.Errorf("%+v: %s left", opt, left)
				}
				if MayTalk(ctx) != opt.Network || Interval(ctx) != opt.Interval {
					t.Errorf("%+v: may talk %v, interval %s", opt, MayTalk(ctx), Interval(ctx))
				}
				r.Clear("", "fine")
				return nil
			})
			tr.Limit, tr.Samples = time.Minute, samples
			if got := results(t.Context(), []*Trap{tr}, opt); got[0].Outcomes[0].Status != Clear || got[0].Took <= 0 {
				t.Errorf("%+v", got)
			}
		}
	}
}

func TestWithoutFacts(t *testing.T) {
	r := Result{Outcomes: []Outcome{{Facts: FactsOf(demoFacts{}), Subject: "a"}}}
	if got := r.WithoutFacts(); got.Outcomes[0].Facts != nil || got.Outcomes[0].Subject != "a" || r.Outcomes[0].Facts == nil {
		t.Errorf("%+v, of %+v", got, r)
	}
	defer func() {
		if recover() == nil {
			t.Error("a struct that cannot be written passes for facts")
		}
	}()
	FactsOf(struct{ F func() }{})
}

func TestLore(t *testing.T) {
	l := Lore("---\nid: a\ntitle: 'A b'\n  since: nested\nsymptoms:\n  - it fails\n---\nsince: body\n\n# Body\n")
	for field, want := range map[string]string{"id": "a", "title": "A b", "since": "", "i": "", "symptoms": ""} {
		if got := l.field(field); got != want {
			t.Errorf("%s: %q, want %q", field, got, want)
		}
	}
	for text, want := range map[Lore][2]string{
		"# Body": {"", "# Body"}, "---\nid: a\n": {"id: a\n", ""}, "---\nid: a\n---\n\n# Body\n---\nx\n": {"id: a\n", "# Body\n---\nx\n"},
	} {
		if front, body := text.split(); front != want[0] || body != want[1] {
			t.Errorf("%q: %q, %q", text, front, body)
		}
	}
	if id := Lore("id: a\n").field("id"); id != "" {
		t.Errorf("without front matter: %q", id)
	}
	for text, ok := range map[Lore]bool{"---\nid: a\n---\n# b\n": true, "---\nid: \"\\x61\"\n---\n# b\n": true,
		"---\nid: a\ncolour: red\n---\n": false} {
		for range 2 { // the second time from memory
			if a, err := text.Article(); (err == nil) != ok || ok && (a.ID != "a" || a.Body != "# b\n") {
				t.Errorf("%q: %+v, %v", text, a, err)
			}
		}
	}
	const messages = "messages:\n  - text: it failed <n> times\n    says: app\n    since: app 1\n"
	if got := Lore("---\nid: a\n" + messages + "---\n").Messages(); len(got) != 1 || got[0].Says != "app" {
		t.Errorf("%+v", got)
	}
	if got := Lore("---\ncolour: red\n" + messages + "---\n").Messages(); got != nil {
		t.Errorf("of lore that cannot be read: %+v", got)
	}
	a := &Article{Symptoms: []string{"it fails"}, Messages: []message.Message{{Text: "it fails"}, {Text: "calm", Harmless: true},
		{Text: "gone"}}}
	if got := a.Seen(); !slices.Equal(got, []string{"it fails", "gone"}) {
		t.Errorf("%q", got)
	}
}

func TestHorizons(t *testing.T) {
	lore := func(id, front string) *Trap { return &Trap{Lore: Lore("---\nid: " + id + "\n" + front + "---\n")} }
	all := []*Trap{lore("a", ""), lore("b", "horizon: [next-start, upgrade]\n"), lore("c", "horizon: update\n"), lore("d",
		"horizon: [now, upgrade]\n")}
	for at, want := range map[Horizon]string{Now: "a d", NextStart: "b", Upgrade: "b d", Update: "c"} {
		var got []string
		for _, tr := range At(all, at) {
			got = append(got, tr.ID())
			if a, err := tr.Lore.Article(); err == nil && a.Horizon != nil && !a.At(at) {
				t.Errorf("%s: the article of %s says otherwise", at, tr.ID())
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q, want %s", at, got, want)
		}
	}
	if all[0].Horizons() != nil || !slices.Equal(all[1].Horizons(), []Horizon{NextStart, Upgrade}) {
		t.Errorf("%v, %v", all[0].Horizons(), all[1].Horizons())
	}
	for _, c := range []struct {
		o            Outcome
		next, losing string
	}{
		{Outcome{Subject: "s"}, "", "s"}, {Outcome{Subject: "s", Start: StartSame}, " [start: same]", "s"},
		{Outcome{Subject: "s", Start: StartWithout, Lost: "l"}, " [start: without] [without: l]", "l"}, {Outcome{Lost: "l"}, " [without: l]",
			"l"},
	} {
		if c.o.Next() != c.next || c.o.Losing() != c.losing {
			t.Errorf("%+v: %q, %q", c.o, c.o.Next(), c.o.Losing())
		}
	}
	for front, want := range map[string][3]Consequence{"": {Asks, Changes, Stops}, "covers: [packages]\n": {Prepares, Prepares, Stops}} {
		for i, s := range []Severity{Notice, Warning, Critical} {
			if got := lore("a", front).AtUpgrade(&Outcome{Severity: s}); got != want[i] {
				t.Errorf("%q, %s: %s, want %s", front, s, got, want[i])
			}
		}
	}
}

func TestSeverities(t *testing.T) {
	for _, s := range []Severity{Notice, Warning, Critical} {
		b, err := json.Marshal(Outcome{Severity: s})
		var o Outcome
		if err != nil || json.Unmarshal(b, &o) != nil || o.Severity != s {
			t.Errorf("%s: %s, %v", s, b, err)
		}
	}
	for _, name := range []string{"", "high"} {
		if s, ok := ParseSeverity(name); ok || s != 0 {
			t.Errorf("%q: %v", name, s)
		}
	}
}
