package message

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"fettle/engine/trap"
	"fettle/host/fact/machine"
	"fettle/report"
	"fettle/report/onhub"
)

// full is a message that has something in each place.
func full() *Message {
	m := New(Whole)
	m.Agent, m.Instance, m.Seq, m.Ask = "a1", "i1", 1, "q1"
	m.Fixes = []Fix{{ID: "0001", Trap: "bridge-mtu"}}
	m.Self = &Self{Packs: []HasPack{{Name: "acme", Version: 1}}}
	m.Run = &Run{Meta: &report.Meta{Host: "web1"}, Traps: []report.TrapInfo{{ID: "bridge-mtu"}}, Gone: []string{"other"},
		Results: []Result{{Trap: "bridge-mtu", Outcomes: []trap.Outcome{{Trap: "bridge-mtu", Subject: "br0", Status: trap.Found,
			Severity: trap.Warning, Evidence: []trap.Evidence{{}}, Accepted: &trap.Acceptance{}}}}}}
	return m
}

// travels tells whether the hub takes a message.
func travels(m *Message) error {
	b, err := m.Pack()
	if err == nil {
		_, err = Unpack(b)
	}
	return err
}

// TestTextsAreBounded: each text of a message may be as long as its bound, and no longer; those
// that the database keeps have no NUL.
func TestTextsAreBounded(t *testing.T) {
	outcome := func(m *Message) *trap.Outcome { return &m.Run.Results[0].Outcomes[0] }
	const nul = true
	for name, c := range map[string]struct {
		most int
		kept bool
		in   func(m *Message) any
	}{
		"agent": {32, nul, func(m *Message) any { return &m.Agent }}, "instance": {32, nul, func(m *Message) any { return &m.Instance }},
		"ask": {32, nul, func(m *Message) any { return &m.Ask }}, "why": {maxName, nul, func(m *Message) any { return &m.Why }},
		"fettle": {maxName, nul, func(m *Message) any { return &m.Fettle }},
		"digest": {64, nul, func(m *Message) any { return &m.Digest }}, "base": {64, nul, func(m *Message) any { return &m.Base }},
		"failed":      {maxLong, nul, func(m *Message) any { return &m.Run.Failed }},
		"gone":        {100, nul, func(m *Message) any { return &m.Run.Gone[0] }},
		"machine":     {maxName, nul, func(m *Message) any { return &m.Self.Machine }},
		"compared":    {maxName, nul, func(m *Message) any { return &m.Self.Compared }},
		"accepts":     {64, nul, func(m *Message) any { return &m.Self.Accepts }},
		"pack":        {100, nul, func(m *Message) any { return &m.Self.Packs[0].Name }},
		"refusal":     {maxText, nul, func(m *Message) any { return &m.Self.Packs[0].Refused }},
		"fix's id":    {maxName, nul, func(m *Message) any { return &m.Fixes[0].ID }},
		"by":          {maxName, nul, func(m *Message) any { return &m.Fixes[0].By }},
		"fix's trap":  {100, nul, func(m *Message) any { return &m.Fixes[0].Trap }},
		"its subject": {maxName, nul, func(m *Message) any { return &m.Fixes[0].Subject }},
		"its summary": {maxText, nul, func(m *Message) any { return &m.Fixes[0].Summary }},
		"phase":       {maxName, nul, func(m *Message) any { return &m.Fixes[0].Phase }},
		"standing":    {maxText, nul, func(m *Message) any { return &m.Fixes[0].Standing }},
		"undo":        {maxName, nul, func(m *Message) any { return &m.Fixes[0].Undo }},
		"host":        {maxName, nul, func(m *Message) any { return &m.Run.Meta.Host }},
		"kind":        {maxName, nul, func(m *Message) any { return &m.Run.Meta.Kind }},
		"hostname":    {maxName, nul, func(m *Message) any { return &m.Run.Meta.Identity.Hostname }},
		"sysname":     {maxName, nul, func(m *Message) any { return &m.Run.Meta.Identity.Sysname }},
		"release":     {maxName, nul, func(m *Message) any { return &m.Run.Meta.Identity.Release }},
		"uname's":     {maxName, nul, func(m *Message) any { return &m.Run.Meta.Identity.Version }},
		"arch":        {maxName, nul, func(m *Message) any { return &m.Run.Meta.Identity.Machine }},
		"boot":        {maxName, nul, func(m *Message) any { return &m.Run.Meta.Identity.BootID }},
		"os":          {maxName, nul, func(m *Message) any { return &m.Run.Meta.Machine.Distribution }},
		"metal":       {maxName, nul, func(m *Message) any { return &m.Run.Meta.Machine.Kind }},
		"version":     {maxName, nul, func(m *Message) any { return &m.Run.Meta.Version }},
		"warning":     {maxLong, false, func(m *Message) any { return &m.Run.Meta.Warning }},
		"title":       {maxText, nul, func(m *Message) any { return &m.Run.Traps[0].Title }},
		"cost":        {maxName, nul, func(m *Message) any { return &m.Run.Traps[0].Cost }},
		"trap":        {100, nul, func(m *Message) any { return &m.Run.Traps[0].ID }},
		"subject":     {maxText, nul, func(m *Message) any { return &outcome(m).Subject }},
		"summary":     {maxText, nul, func(m *Message) any { return &outcome(m).Summary }},
		"reason":      {maxLong, nul, func(m *Message) any { return &outcome(m).Reason }},
		"by hand":     {maxText, false, func(m *Message) any { return &outcome(m).ByHand }},
		"detail":      {maxLong, false, func(m *Message) any { return &outcome(m).Detail }},
		"source":      {maxText, false, func(m *Message) any { return &outcome(m).Evidence[0].Source }},
		"value":       {maxText, false, func(m *Message) any { return &outcome(m).Evidence[0].Value }},
		"accepted":    {maxText, false, func(m *Message) any { return &outcome(m).Accepted.Reason }},
		"until":       {maxName, false, func(m *Message) any { return &outcome(m).Accepted.Until }},
		"who":         {maxName, false, func(m *Message) any { return &outcome(m).Accepted.By }},
		"lapsed":      {maxText + maxName, false, func(m *Message) any { return &outcome(m).Accepted.Lapsed }},
	} {
		with := func(s string) error {
			m := full()
			reflect.ValueOf(c.in(m)).Elem().SetString(s)
			return travels(m)
		}
		if err := with(strings.Repeat("x", c.most)); err != nil {
			t.Errorf("%s of %d bytes: %v", name, c.most, err)
		}
		if with(strings.Repeat("x", c.most+1)) == nil {
			t.Errorf("%s of %d bytes is taken", name, c.most+1)
		}
		if err := with("x\x00"); (err != nil) != c.kept {
			t.Errorf("%s with a NUL: %v", name, err)
		}
	}
}

// TestNumbersAreBounded: so it is for how many there are.
func TestNumbersAreBounded(t *testing.T) {
	many := func(n int, each func(i int)) {
		for i := range n {
			each(i)
		}
	}
	outcome := func(m *Message) *trap.Outcome { return &m.Run.Results[0].Outcomes[0] }
	for name, c := range map[string]struct {
		fit, beyond []int
		set         func(m *Message, n int)
	}{
		"changes": {[]int{0, FixesKept}, []int{FixesKept + 1}, func(m *Message, n int) {
			m.Fixes = nil
			many(n, func(i int) { m.Fixes = append(m.Fixes, Fix{ID: fmt.Sprint(i), Trap: "t"}) })
		}},
		"packs": {[]int{0, maxPacks}, []int{maxPacks + 1}, func(m *Message, n int) {
			m.Self.Packs = nil
			many(n, func(int) { m.Self.Packs = append(m.Self.Packs, HasPack{Name: "p", Version: 1}) })
		}},
		"traps": {[]int{0, maxTraps}, []int{maxTraps + 1}, func(m *Message, n int) {
			m.Run.Traps = nil
			many(n, func(int) { m.Run.Traps = append(m.Run.Traps, report.TrapInfo{ID: "t"}) })
		}},
		"traps gone": {[]int{0, maxTraps}, []int{maxTraps + 1}, func(m *Message, n int) {
			m.Run.Gone = nil
			many(n, func(int) { m.Run.Gone = append(m.Run.Gone, "t") })
		}},
		"results": {[]int{0, maxTraps}, []int{maxTraps + 1}, func(m *Message, n int) {
			m.Run.Results = nil
			many(n, func(i int) { m.Run.Results = append(m.Run.Results, Result{Trap: fmt.Sprint("t", i)}) })
		}},
		"outcomes of all": {[]int{0, maxOutcomes}, []int{maxOutcomes + 1}, func(m *Message, n int) {
			m.Run.Results = []Result{{Trap: "a"}, {Trap: "b"}}
			many(n, func(i int) {
				r := &m.Run.Results[i%2]
				r.Outcomes = append(r.Outcomes, trap.Outcome{Trap: r.Trap, Subject: fmt.Sprint(i), Status: trap.Unknown})
			})
		}},
		"evidence": {[]int{0, maxEvidence}, []int{maxEvidence + 1}, func(m *Message, n int) { outcome(m).Evidence = make([]trap.Evidence, n) }},
		"facts":    {[]int{0}, []int{1}, func(m *Message, n int) { outcome(m).Facts = trap.Facts("{}"[:2*n]) }},
		"containers": {[]int{0, maxName}, []int{maxName + 1}, func(m *Message, n int) {
			m.Run.Meta.Machine.Containers = make([]machine.Containers, n)
		}},
		"clear":          {[]int{0, maxCount}, []int{-1, maxCount + 1}, func(m *Message, n int) { m.Run.Results[0].Clear = n }},
		"not applicable": {[]int{0, maxCount}, []int{-1, maxCount + 1}, func(m *Message, n int) { m.Run.Results[0].NotApplicable = n }},
		"severity":       {[]int{1, 3}, []int{0}, func(m *Message, n int) { outcome(m).Severity = trap.Severity(n) }},
		"seq":            {[]int{1}, []int{0}, func(m *Message, n int) { m.Seq = int64(n) }},
		"pack's version": {[]int{1}, []int{0}, func(m *Message, n int) { m.Self.Packs[0].Version = n }},
		"took":           {[]int{0}, []int{-1}, func(m *Message, n int) { m.Run.Took = time.Duration(n) }},
		"waiting":        {[]int{0}, []int{-1}, func(m *Message, n int) { m.Self.Waiting = n }},
		"dropped":        {[]int{0}, []int{-1}, func(m *Message, n int) { m.Self.Dropped = int64(n) }},
		"refused":        {[]int{0}, []int{-1}, func(m *Message, n int) { m.Self.Refused = int64(n) }},
		"every":          {[]int{0}, []int{-1}, func(m *Message, n int) { m.Self.Every = time.Duration(n) }},
		"schema":         {[]int{Version}, []int{0, Version + 1}, func(m *Message, n int) { m.Schema = n }},
	} {
		with := func(n int) error {
			m := full()
			c.set(m, n)
			return travels(m)
		}
		for _, n := range c.fit {
			if err := with(n); err != nil {
				t.Errorf("%s: %d: %v", name, n, err)
			}
		}
		for _, n := range c.beyond {
			if with(n) == nil {
				t.Errorf("%s: %d is taken", name, n)
			}
		}
	}
}

// TestMustBe: what a message cannot be without, and what it cannot be with.
func TestMustBe(t *testing.T) {
	for name, c := range map[string]struct {
		change func(m *Message)
		taken  bool
	}{
		"as it is":                       {func(*Message) {}, true},
		"no question":                    {func(m *Message) { m.Ask = "" }, true},
		"a question with no name":        {func(m *Message) { m.Ask = "a.b" }, false},
		"a change of no state":           {func(m *Message) { m.Kind = Change; m.Run.Meta = nil }, true},
		"a change of nothing":            {func(m *Message) { m.Kind, m.Run = Change, nil }, false},
		"a report about nobody":          {func(m *Message) { m.Run.Meta = nil }, false},
		"a report that failed":           {func(m *Message) { m.Run.Meta, m.Run.Failed = nil, "killed" }, true},
		"a host without a name":          {func(m *Message) { m.Run.Meta.Host = "" }, false},
		"a beat":                         {func(m *Message) { m.Kind, m.Run = Beat, nil }, true},
		"a beat that found something":    {func(m *Message) { m.Kind = Beat }, false},
		"a want":                         {func(m *Message) { m.Kind, m.Run, m.Want = Want, nil, "acme" }, true},
		"a want of nothing":              {func(m *Message) { m.Kind, m.Run = Want, nil }, false},
		"a want that found something":    {func(m *Message) { m.Kind, m.Want = Want, "acme" }, false},
		"a change without an id":         {func(m *Message) { m.Fixes[0].ID = "" }, false},
		"a change that comes twice":      {func(m *Message) { m.Fixes = append(m.Fixes, m.Fixes[0]) }, false},
		"a change of no trap":            {func(m *Message) { m.Fixes[0].Trap = "/" }, false},
		"no packs of any name":           {func(m *Message) { m.Self.Packs[0].Name = "" }, false},
		"a trap's info without its name": {func(m *Message) { m.Run.Traps[0].ID = "" }, false},
		"an outcome of another trap":     {func(m *Message) { m.Run.Results[0].Outcomes[0].Trap = "other" }, false},
		"what is unknown has no severity": {func(m *Message) {
			o := &m.Run.Results[0].Outcomes[0]
			o.Status, o.Severity = trap.Unknown, 0
		}, true},
		"what is clear": {func(m *Message) { m.Run.Results[0].Outcomes[0].Status = trap.Clear }, false},
	} {
		m := full()
		c.change(m)
		if err := travels(m); (err == nil) != c.taken {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSmallMessages: questions and answers are bounded, too.
func TestSmallMessages(t *testing.T) {
	list := func(n int, change func(e *onhub.Entry)) *onhub.List {
		l := &onhub.List{Digest: "d"}
		for range n {
			e := onhub.Entry{Trap: "bridge-mtu", Severity: "warning"}
			change(&e)
			l.Entries = append(l.Entries, e)
		}
		return l
	}
	text := func(n int, in func(e *onhub.Entry) *string) *onhub.List {
		return list(1, func(e *onhub.Entry) { *in(e) = strings.Repeat("x", n) })
	}
	subject, summary := func(e *onhub.Entry) *string { return &e.Subject }, func(e *onhub.Entry) *string { return &e.Summary }
	reason, by := func(e *onhub.Entry) *string { return &e.Reason }, func(e *onhub.Entry) *string { return &e.By }
	until := func(e *onhub.Entry) *string { return &e.Until }
	for name, c := range map[string]struct {
		a     Ack
		taken bool
	}{
		"an answer":           {Ack{Instance: "i"}, true},
		"to nobody":           {Ack{}, false},
		"of no number":        {Ack{Instance: "i", Seq: -1}, false},
		"a refusal":           {Ack{Instance: "i", Refused: strings.Repeat("x", maxText)}, true},
		"a long refusal":      {Ack{Instance: "i", Refused: strings.Repeat("x", maxText+1)}, false},
		"an empty list":       {Ack{Instance: "i", Accepts: Accepts(nil)}, true},
		"a list":              {Ack{Instance: "i", Accepts: list(maxAccepts, func(*onhub.Entry) {})}, true},
		"a long list":         {Ack{Instance: "i", Accepts: list(maxAccepts+1, func(*onhub.Entry) {})}, false},
		"a list of no name":   {Ack{Instance: "i", Accepts: &onhub.List{}}, false},
		"a list's odd name":   {Ack{Instance: "i", Accepts: &onhub.List{Digest: "/"}}, false},
		"no severity":         {Ack{Instance: "i", Accepts: list(1, func(e *onhub.Entry) { e.Severity = "" })}, false},
		"no trap":             {Ack{Instance: "i", Accepts: list(1, func(e *onhub.Entry) { e.Trap = "" })}, false},
		"the longest subject": {Ack{Instance: "i", Accepts: text(maxText, subject)}, true},
		"a longer subject":    {Ack{Instance: "i", Accepts: text(maxText+1, subject)}, false},
		"the longest summary": {Ack{Instance: "i", Accepts: text(maxText, summary)}, true},
		"a longer summary":    {Ack{Instance: "i", Accepts: text(maxText+1, summary)}, false},
		"the longest reason":  {Ack{Instance: "i", Accepts: text(maxName, reason)}, true},
		"a longer reason":     {Ack{Instance: "i", Accepts: text(maxName+1, reason)}, false},
		"the longest name":    {Ack{Instance: "i", Accepts: text(maxName, by)}, true},
		"a longer name":       {Ack{Instance: "i", Accepts: text(maxName+1, by)}, false},
		"the longest moment":  {Ack{Instance: "i", Accepts: text(maxName, until)}, true},
		"a longer moment":     {Ack{Instance: "i", Accepts: text(maxName+1, until)}, false},
	} {
		b, err := c.a.Pack()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := UnpackAck(b); (err == nil) != c.taken {
			t.Errorf("%s: %v", name, err)
		}
	}
	pad := func(b []byte, n int) []byte { return append(b, strings.Repeat(" ", n-len(b))...) }
	ack, _ := (&Ack{Instance: "i"}).Pack()
	if _, err := UnpackAck(pad(ack, maxAck)); err != nil {
		t.Error(err)
	}
	if _, err := UnpackAck(pad(ack, maxAck+1)); !errors.Is(err, ErrTooLarge) {
		t.Error(err)
	}
	ask, _ := NewAsk("q", true, time.Minute).Pack()
	if a, err := UnpackAsk(pad(ask, maxAsk)); err != nil || a.ID != "q" || !a.Whole || a.Within != time.Minute {
		t.Error(a, err)
	}
	if _, err := UnpackAsk(pad(ask, maxAsk+1)); !errors.Is(err, ErrTooLarge) {
		t.Error(err)
	}
	for _, bad := range []*Ask{NewAsk("", false, 0), NewAsk("q", false, -1)} {
		b, _ := bad.Pack()
		if _, err := UnpackAsk(b); err == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
}

// TestAcceptsFit: as many entries as an answer holds, each cut.
func TestAcceptsFit(t *testing.T) {
	long := strings.Repeat("x", maxText+1)
	entries := make([]onhub.Entry, maxAccepts+1)
	for i := range entries {
		entries[i] = onhub.Entry{Trap: "t", Severity: "notice"}
	}
	if l := Accepts(entries); len(l.Entries) != maxAccepts || validAccepts(l) != nil {
		t.Errorf("%d entries, %v", len(l.Entries), validAccepts(l))
	}
	for i := range entries {
		entries[i] = onhub.Entry{Trap: "t", Severity: "notice", Subject: long, Summary: long, Reason: long, By: long}
	}
	l := Accepts(entries)
	b, _ := json.Marshal(l.Entries)
	if len(b) > maxAck/2 || len(b) < maxAck/2-4<<10 || validAccepts(l) != nil {
		t.Errorf("%d entries in %d bytes, %v", len(l.Entries), len(b), validAccepts(l))
	}
	if Accepts(entries[:1]).Digest == Accepts(entries[:2]).Digest || Accepts(nil).Digest != NoAccepts {
		t.Error("lists of other entries have one name")
	}
}

// TestFitted: what an agent makes fit, the hub takes, and it loses no more than it must.
func TestFitted(t *testing.T) {
	long := strings.Repeat("x", maxLong+1)
	var fixes []Fix
	for i := range FixesKept + 1 {
		fixes = append(fixes, Fix{ID: fmt.Sprint(i), Trap: "t", By: long, Subject: long, Summary: long, Phase: long, Standing: long, Undo: long})
	}
	got := FitFixes(append(fixes, Fix{ID: "no trap"}))
	if len(got) != FixesKept-1 || got[0].ID != "2" {
		t.Errorf("%d changes, the first %.10s: the newest stay", len(got), got[0].ID)
	}
	if len(FitFixes(nil)) != 0 {
		t.Error("changes of none")
	}
	packs := []HasPack{{Name: "p", Version: 1, Refused: long}, {Name: "p"}}
	for range maxPacks {
		packs = append(packs, HasPack{Name: "p", Version: 2})
	}
	fit := FitPacks(packs)
	if len(fit) != maxPacks || len(fit[0].Refused) != maxText || fit[1].Version != 2 {
		t.Errorf("%d packs, %+v", len(fit), fit[1])
	}
	m := full()
	m.Fixes, m.Self.Packs = got, fit
	if err := travels(m); err != nil {
		t.Error(err)
	}
	for _, tt := range []struct {
		s, want string
		n       int
	}{{"abcdef", "abcdef", 6}, {"abcdefg", "abc...", 6}, {"aäöü", "aä...", 6},
		{"äöüx", "ä...", 6}, {"a\x00", "a\ufffd", 9}, {"a\xff", "a\ufffd", 9}} {
		if got := cut(tt.s, tt.n); got != tt.want {
			t.Errorf("%q cut to %d: %q, want %q", tt.s, tt.n, got, tt.want)
		}
	}
}
