package message_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"fettle/engine/trap"
	"fettle/fleet/hub/message"
	"fettle/host"
	"fettle/internal/means"
	"fettle/internal/schematest"
	"fettle/report"
)

func TestSchemas(t *testing.T) {
	schematest.Published(t, "agent-message", "What fettle-agent sends to a hub.", message.Message{})
	schematest.Published(t, "agent-ask", "What a hub asks of fettle-agent.", message.Ask{})
}

func whole(results ...trap.Result) *message.Message {
	s := message.StateOf(report.NewDocument(report.Meta{Host: "web1", Kind: host.KindLive, Started: time.Unix(1, 0).UTC()}, nil, results, 0))
	m := message.New(message.Whole)
	m.Agent, m.Instance, m.Seq = "h1", "i1", 1
	m.Digest, m.Run = s.Digest(), &message.Run{Meta: &s.Meta, Traps: s.Traps, Results: s.Results}
	return m
}

func finding() trap.Outcome {
	return trap.Outcome{Trap: "a", Subject: "x", Status: trap.Found, Severity: trap.Warning, Summary: "is so"}
}

func TestThereAndBack(t *testing.T) {
	for _, n := range []int{1, 200} { // plain, and packed
		o := finding()
		o.Detail = trap.Prose(strings.Repeat("so it is. ", n))
		m := whole(trap.Result{Trap: "a", Outcomes: []trap.Outcome{o, {Trap: "a", Status: trap.Clear}}}, trap.Result{Trap: "b"})
		b, err := m.Pack()
		if err != nil {
			t.Fatal(err)
		}
		got, err := message.Unpack(b)
		if err != nil || !reflect.DeepEqual(got, m) {
			t.Errorf("%+v, %v", got, err)
		}
		plain, _ := json.Marshal(m)
		if err := schematest.Valid(plain); err != nil {
			t.Error(err)
		}
	}
}

// What no agent sends is refused with its reason.
func TestHostile(t *testing.T) {
	bomb := message.Squeeze(bytes.Repeat([]byte(" "), 64<<20))
	if len(bomb) > 64<<10 {
		t.Fatalf("no bomb: %d bytes", len(bomb))
	}
	two := append(message.Squeeze(bytes.Repeat([]byte(" "), 3<<20)), message.Squeeze(bytes.Repeat([]byte(" "), 3<<20))...)
	for name, c := range map[string]struct {
		b    []byte
		want string
	}{
		"nothing":       {nil, "JSON"},
		"a bomb":        {bomb, "unpacking"},
		"two halves":    {two, ""},
		"no frame":      {[]byte{0x28, 0xb5, 0x2f, 0xfd, 0xff, 0xff}, "unpacking"},
		"too large":     {make([]byte, message.MaxPacked+1), "larger"},
		"not UTF-8":     {[]byte("{\"format\":\"\xff\"}"), "UTF-8"},
		"something":     {[]byte(`{"format":"fettle-report","schema":1}`), "format"},
		"no version":    {[]byte(`{"format":"fettle-agent-message"}`), "version 0"},
		"deeply nested": {[]byte(strings.Repeat("[", 100_000)), "JSON"},
	} {
		if m, err := message.Unpack(c.b); err == nil ||
			!strings.Contains(strings.ToLower(err.Error()), strings.ToLower(c.want)) && c.want != "JSON" {
			t.Errorf("%s: %+v, %v", name, m, err)
		}
	}
	for name, c := range map[string]struct {
		spoil func(*message.Message)
		want  string
	}{
		"a subject of NATS":       {func(m *message.Message) { m.Agent = "*" }, "agent"},
		"another instance":        {func(m *message.Message) { m.Instance = "" }, "instance"},
		"no number":               {func(m *message.Message) { m.Seq = 0 }, "seq"},
		"no kind":                 {func(m *message.Message) { m.Kind = "fix" }, "kind"},
		"a beat with a run":       {func(m *message.Message) { m.Kind = message.Beat }, "beat"},
		"no run":                  {func(m *message.Message) { m.Run = nil }, "without its run"},
		"a digest":                {func(m *message.Message) { m.Digest = "<b>" }, "digests"},
		"a trap's name":           {func(m *message.Message) { m.Run.Results[0].Trap = "<script>" }, "unknown trap"},
		"another trap's outcome":  {func(m *message.Message) { m.Run.Results[0].Outcomes[0].Trap = "b" }, "another trap"},
		"a trap twice":            {func(m *message.Message) { m.Run.Results = append(m.Run.Results, m.Run.Results[0]) }, "twice"},
		"a subject twice":         {func(m *message.Message) { r := &m.Run.Results[0]; r.Outcomes = append(r.Outcomes, r.Outcomes[0]) }, "twice"},
		"no severity":             {func(m *message.Message) { m.Run.Results[0].Outcomes[0].Severity = 0 }, "severity"},
		"a status":                {func(m *message.Message) { m.Run.Results[0].Outcomes[0].Status = "clear" }, "status"},
		"a long subject":          {func(m *message.Message) { m.Run.Results[0].Outcomes[0].Subject = strings.Repeat("x", 2000) }, "bounds"},
		"a NUL":                   {func(m *message.Message) { m.Run.Results[0].Outcomes[0].Subject = "\x00" }, "NUL"},
		"much evidence":           {func(m *message.Message) { m.Run.Results[0].Outcomes[0].Evidence = make([]trap.Evidence, 30) }, "bounds"},
		"a negative count":        {func(m *message.Message) { m.Run.Results[0].Clear = -1 }, "bounds"},
		"a long name of the host": {func(m *message.Message) { m.Run.Meta.Host = strings.Repeat("x", 300) }, "bounds"},
		"no name of the host":     {func(m *message.Message) { m.Run.Meta.Host = "" }, "bounds"},
		"a pack's name": {func(m *message.Message) {
			m.Self = &message.Self{Packs: []message.HasPack{{Name: "../x", Version: 1}}}
		}, "packs"},
		"a pack's version": {func(m *message.Message) { m.Self = &message.Self{Packs: []message.HasPack{{Name: "x"}}} }, "packs"},
		"many packs":       {func(m *message.Message) { m.Self = &message.Self{Packs: make([]message.HasPack, 300)} }, "packs"},
		"a want of a path": {func(m *message.Message) { m.Kind, m.Run, m.Want = message.Want, nil, "../x" }, "by its name"},
		"a want's run":     {func(m *message.Message) { m.Kind, m.Want = message.Want, "acme" }, "has no run"},
		"negative waiting": {func(m *message.Message) { m.Self = &message.Self{Waiting: -1} }, "bounds"},
	} {
		m := whole(trap.Result{Trap: "a", Outcomes: []trap.Outcome{finding()}})
		c.spoil(m)
		b, err := m.Pack()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := message.Unpack(b); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestPackTravels: a pack arrives as it was signed, within bounds.
func TestPackTravels(t *testing.T) {
	file := []byte(strings.Repeat("a rule\x00", 1000))
	b, err := message.NewPack("acme", 3, file).Pack()
	if err != nil {
		t.Fatal(err)
	}
	p, err := message.UnpackPack(b)
	if err != nil || p.Name != "acme" || p.Version != 3 || !bytes.Equal(p.File, file) {
		t.Errorf("%+v, %v", p, err)
	}
	if _, err := message.NewPack("acme", 3, make([]byte, message.MaxPlain)).Pack(); !errors.Is(err, message.ErrTooLarge) {
		t.Errorf("a large one: %v", err)
	}
	for name, evil := range map[string]string{
		"a path":      `{"format":"fettle-agent-pack","schema":1,"name":"../../etc","version":1}`,
		"no version":  `{"format":"fettle-agent-pack","schema":1,"name":"acme"}`,
		"later":       `{"format":"fettle-agent-pack","schema":2,"name":"acme","version":1}`,
		"not a pack":  `{"format":"fettle-agent-ask","schema":1,"name":"acme","version":1}`,
		"not JSON":    `pack`,
		"much spaces": string(message.Squeeze(bytes.Repeat([]byte(" "), 64<<20))),
	} {
		if p, err := message.UnpackPack([]byte(evil)); err == nil {
			t.Errorf("%s: %+v", name, p)
		}
	}
}

// Of a later version comes what it is from, and that it is later.
func TestVersions(t *testing.T) {
	m := whole()
	m.Schema = message.Version + 1
	b, _ := m.Pack()
	got, err := message.Unpack(b)
	if !errors.Is(err, message.ErrNewer) || got == nil || got.Agent != "h1" {
		t.Errorf("%+v, %v", got, err)
	}
	// Also where its fields are no longer what they are now.
	b = []byte(`{"format":"fettle-agent-message","schema":2,"agent":"h1","instance":"one","seq":7,"kind":["report"],"run":"none"}`)
	if got, err = message.Unpack(b); !errors.Is(err, message.ErrNewer) || got == nil || got.Agent != "h1" || got.Seq != 7 {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err = message.Unpack(bytes.Replace(b, []byte(`"schema":2`), []byte(`"schema":1`), 1)); err == nil ||
		errors.Is(err, message.ErrNewer) ||
		got != nil {
		t.Errorf("of this version: %+v, %v", got, err)
	}
	// Fields that this version does not know are no mistake.
	b, _ = whole().Pack()
	b = bytes.Replace(b, []byte(`"kind":`), []byte(`"mood":{"x":[1]},"kind":`), 1)
	if _, err := message.Unpack(b); err != nil {
		t.Error(err)
	}
}

// A report that breaks every bound becomes one that the hub takes.
func TestStateFits(t *testing.T) {
	long := strings.Repeat("ä\x00\xff", 20_000)
	var results []trap.Result
	for i := range 10 {
		r := trap.Result{Trap: "trap-" + string(rune('a'+i))}
		for range 1000 {
			r.Outcomes = append(
				r.Outcomes,
				trap.Outcome{
					Trap:     r.Trap,
					Subject:  long[:len(r.Outcomes)+3],
					Status:   trap.Found,
					Severity: trap.Notice,
					Summary:  long[:2000],
					Facts:    trap.Facts(`{}`),
					Evidence: make([]trap.Evidence, 50),
				},
			)
		}
		results = append(results, r)
	}
	results = append(results, trap.Result{Trap: "no trap's name"})
	m := whole(results...)
	b, err := m.Pack()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := message.Unpack(b); err != nil {
		t.Error(err)
	}
}

// A chain of changes leads to the same state as the last whole report.
func TestChangesAddUp(t *testing.T) {
	state := func(results ...trap.Result) *message.State {
		s := message.StateOf(report.NewDocument(report.Meta{Host: "web1"}, nil, results, 0))
		return &s
	}
	x := finding()
	y := x
	y.Evidence = []trap.Evidence{{Source: "s", Value: "v"}}
	steps := []*message.State{
		state(),
		state(trap.Result{Trap: "a", Outcomes: []trap.Outcome{x}}, trap.Result{Trap: "b"}),
		state(trap.Result{Trap: "a", Outcomes: []trap.Outcome{{Trap: "a", Status: trap.Clear}}}, trap.Result{Trap: "b"}),
		state(trap.Result{Trap: "b"}, trap.Result{Trap: "c", Outcomes: []trap.Outcome{{Trap: "c", Status: trap.Unknown, Reason: "r"}}}),
	}
	hub := steps[0]
	for i := 1; i < len(steps); i++ {
		var err error
		if hub, err = hub.With(message.Change, steps[i].Since(steps[i-1])); err != nil {
			t.Fatal(err)
		}
		if hub.Digest() != steps[i].Digest() {
			t.Errorf("step %d: %+v, want %+v", i, hub, steps[i])
		}
	}
	a, b := state(trap.Result{Trap: "a", Outcomes: []trap.Outcome{x}}), state(trap.Result{Trap: "a", Outcomes: []trap.Outcome{y}})
	if r := b.Since(a); len(r.Results) != 0 || a.Digest() != b.Digest() {
		t.Errorf("evidence alone is no change: %+v", r)
	}
}

func TestAsk(t *testing.T) {
	b, err := message.NewAsk("q1", true, time.Second).Pack()
	if err != nil {
		t.Fatal(err)
	}
	if a, err := message.UnpackAsk(b); err != nil || a.ID != "q1" || !a.Whole {
		t.Errorf("%+v, %v", a, err)
	}
	for _, s := range []string{"", "{}", strings.Repeat(" ", 5000), `{"format":"fettle-agent-ask","schema":2,"id":"q"}`,
		`{"format":"fettle-agent-ask","schema":1,"id":"../q"}`, `{"format":"fettle-agent-ask",` +
			`"schema":1,"id":"q","within_ns":-1}`} {
		if a, err := message.UnpackAsk([]byte(s)); err == nil {
			t.Errorf("%q: %+v", s, a)
		}
	}
}

// TestAnotherFormat: what is no message of a kind is refused, by what it is and what it should be; so is what is no JSON.
func TestAnotherFormat(t *testing.T) {
	pack := func(b []byte) error { _, err := message.UnpackPack(b); return err }
	ask := func(b []byte) error { _, err := message.UnpackAsk(b); return err }
	report := func(b []byte) error { _, err := message.Unpack(b); return err }
	for name, c := range map[string]struct {
		unpack func([]byte) error
		want   string
		packed bool
	}{"a pack": {pack, message.CarryFormat, true}, "a question": {ask, message.AskFormat, false}, "a report": {report, message.Format, true}} {
		for text, said := range map[string]string{
			`{"format":"another","schema":1}`: `its format is "another", not "` + c.want + `"`, `{`: "unexpected end", "[]": "cannot unmarshal",
			`{"format":"` + c.want + `"}`: "version 0 is invalid",
		} {
			b := []byte(text)
			if c.packed {
				b = message.Squeeze(b)
			}
			if err := c.unpack(b); err == nil || !strings.Contains(err.Error(), said) {
				t.Errorf("%s from %s: %v, want %s", name, text, err, said)
			}
		}
	}
}

func TestFuzz(t *testing.T) { means.Fuzz(t) }

func FuzzUnpack(f *testing.F) {
	for _, m := range []*message.Message{whole(), whole(trap.Result{Trap: "a", Outcomes: []trap.Outcome{finding()}})} {
		b, _ := m.Pack()
		f.Add(b)
		plain, _ := json.Marshal(m)
		f.Add(plain)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := message.Unpack(b)
		if err != nil || m.Run == nil {
			return
		}
		s, err := (&message.State{}).With(message.Whole, m.Run)
		if err != nil {
			t.Fatal(err)
		}
		packed, err := s.Pack()
		if err != nil {
			t.Fatal(err)
		}
		if again, err := message.UnpackState(packed); err == nil && again.Digest() != s.Digest() {
			t.Error("a state that was kept is another")
		}
	})
}
