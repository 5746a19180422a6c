package trap

import "testing"

func TestHorizon(t *testing.T) {
	lore := func(front string) *Trap { return &Trap{Lore: Lore("---\nid: a\ntitle: b\n" + front + "---\n# x\n")} }
	for _, c := range []struct {
		front            string
		now, start, boot bool
	}{
		{"", true, false, false},
		{"horizon: [next-start]\ncovers: [boot, units]\n", false, true, true},
		{"horizon: [now, next-start]\n", true, true, false},
		{"horizon: [upgrade]\ncovers: [units]\n", false, false, false},
	} {
		a := lore(c.front)
		if a.At(Now) != c.now || a.At(NextStart) != c.start || a.Covers(Boot) != c.boot {
			t.Errorf("%q: now %v, start %v, boot %v", c.front, a.At(Now), a.At(NextStart), a.Covers(Boot))
		}
		if _, err := a.Lore.Article(); err != nil {
			t.Errorf("%q: %v", c.front, err)
		}
	}
}

func TestAtStart(t *testing.T) {
	for _, c := range []struct {
		o    Outcome
		want Start
	}{{Outcome{Severity: Notice}, StartSame}, {Outcome{Severity: Critical}, StartWithout},
		{Outcome{Severity: Critical, Start: StartFails}, StartFails}} {
		if got := c.o.AtStart(); got != c.want {
			t.Errorf("%+v: %s", c.o, got)
		}
	}
	if o := (Outcome{Subject: "a", Lost: "b"}); o.Losing() != "b" {
		t.Error(o.Losing())
	}
}
