package message

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"fettle/engine/trap"
	"fettle/internal/jsondoc"
	"fettle/report"
)

// State is what is known of a host: its last whole report, with all changes
// since. Results are in the order of their traps' names.
type State struct {
	Meta    report.Meta       `json:"meta"`
	Traps   []report.TrapInfo `json:"traps"` // of the traps that tell something
	Results []Result          `json:"results"`
}

// StateOf takes from a report what is sent of it, within the bounds of a message.
func StateOf(d *report.Document) State {
	s := State{Meta: d.Meta}
	left := maxOutcomes
	for _, r := range d.Results {
		if !IsTrap(r.Trap) || len(s.Results) >= maxTraps {
			continue
		}
		out := Result{Trap: r.Trap}
		for _, o := range r.Outcomes {
			switch {
			case o.Status == trap.Clear:
				out.Clear++
			case o.Status == trap.NotApplicable:
				out.NotApplicable++
			case left > 0:
				left--
				out.Outcomes = append(out.Outcomes, fit(o))
			}
		}
		out.Outcomes = slices.CompactFunc(bySubject(out.Outcomes), func(a, b trap.Outcome) bool { return a.Subject == b.Subject })
		s.Results = append(s.Results, out)
	}
	slices.SortFunc(s.Results, func(a, b Result) int { return strings.Compare(a.Trap, b.Trap) })
	s.Results = slices.CompactFunc(s.Results, func(a, b Result) bool { return a.Trap == b.Trap })
	s.Traps = infosOf(d.Traps, s.Results)
	fitMeta(&s.Meta)
	return s
}

func bySubject(os []trap.Outcome) []trap.Outcome {
	slices.SortStableFunc(os, func(a, b trap.Outcome) int {
		return cmp.Or(strings.Compare(a.Subject, b.Subject), cmp.Compare(b.Severity, a.Severity))
	})
	return os
}

// fit cuts an outcome to what a message may hold. Of whether it is new, the
// hub knows more than the host.
func fit(o trap.Outcome) trap.Outcome {
	o.Subject, o.Summary, o.ByHand = cut(o.Subject, maxText), cut(o.Summary, maxText), cut(o.ByHand, maxText)
	o.Reason, o.Detail = cut(o.Reason, maxLong), trap.Prose(cut(string(o.Detail), maxLong))
	o.Facts, o.Known, o.Since = nil, false, time.Time{}
	if o.Status == trap.Found {
		o.Severity = min(max(o.Severity, trap.Notice), trap.Critical)
	} else {
		o.Status, o.Severity = trap.Unknown, 0
	}
	var ev []trap.Evidence
	for _, e := range o.Evidence[:min(len(o.Evidence), maxEvidence)] {
		ev = append(ev, trap.Evidence{Source: cut(e.Source, maxText), Value: cut(e.Value, maxText)})
	}
	o.Evidence = ev
	// What the hub accepts, it knows: it is not to come back as the host's own word.
	o.OnHub = nil
	if o.Accepted != nil && o.Accepted.Hub {
		o.Accepted = nil
	}
	if a := o.Accepted; a != nil {
		o.Accepted = &trap.Acceptance{
			Reason: cut(a.Reason, maxText),
			Until:  cut(a.Until, maxName),
			By:     cut(a.By, maxName),
			Lapsed: cut(a.Lapsed, maxText),
		}
	}
	return o
}

func fitMeta(m *report.Meta) {
	for _, s := range []*string{&m.Host, &m.Identity.Hostname, &m.Identity.Sysname, &m.Identity.Release, &m.Identity.Version,
		&m.Identity.Machine, &m.Identity.BootID, &m.Machine.Distribution, &m.Machine.Kind, &m.Version} {
		*s = cut(*s, maxName)
	}
	m.Host = cmp.Or(m.Host, "unnamed")
	m.Warning = cut(m.Warning, maxLong)
	m.Machine.Containers = m.Machine.Containers[:min(len(m.Machine.Containers), maxName)]
}

// cut shortens a text to n bytes at a character's boundary, as valid UTF-8
// without NUL.
func cut(s string, n int) string {
	s = strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", "\ufffd"), "\ufffd")
	if len(s) <= n {
		return s
	}
	const dots = "..."
	n -= len(dots)
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + dots
}

func infosOf(all []report.TrapInfo, results []Result) []report.TrapInfo {
	tells := map[string]bool{}
	for _, r := range results {
		tells[r.Trap] = len(r.Outcomes) > 0
	}
	var out []report.TrapInfo
	for _, t := range all {
		if tells[t.ID] {
			t.Title = cut(t.Title, maxText)
			out = append(out, t)
		}
	}
	return out
}

// Digest names what a state says, without what changes by itself: details,
// evidence, uptimes.
func (s *State) Digest() string {
	m := s.Meta
	stable := []any{m.Host, m.Kind, m.Identity.Release, m.Identity.BootID, m.Machine.Distribution, m.Machine.Kind, m.Version}
	for _, r := range s.Results {
		stable = append(stable, r.essence())
	}
	b, err := json.Marshal(stable)
	if err != nil {
		panic(err) // strings and numbers alone
	}
	h := sha256.Sum256(b)
	return base64.RawURLEncoding.EncodeToString(h[:12])
}

// essence is the part of a result that a change of is worth telling.
func (r *Result) essence() Result {
	out := Result{Trap: r.Trap, Clear: r.Clear, NotApplicable: r.NotApplicable}
	for _, o := range r.Outcomes {
		o.Detail, o.Evidence = "", nil
		out.Outcomes = append(out.Outcomes, o)
	}
	return out
}

// Since is what a state says otherwise than the one before it.
func (s *State) Since(before *State) *Run {
	r := &Run{}
	if m := s.Meta; m.Host != before.Meta.Host || m.Identity.Release != before.Meta.Identity.Release ||
		m.Identity.BootID != before.Meta.Identity.BootID ||
		m.Machine.Distribution != before.Meta.Machine.Distribution ||
		m.Machine.Kind != before.Meta.Machine.Kind ||
		m.Version != before.Meta.Version ||
		m.Kind != before.Meta.Kind {
		r.Meta = &m
	}
	had := before.byTrap()
	for i := range s.Results {
		is := &s.Results[i]
		was := had[is.Trap]
		delete(had, is.Trap)
		if was == nil || !reflect.DeepEqual(was.essence(), is.essence()) {
			r.Results = append(r.Results, *is)
		}
	}
	for t := range had {
		r.Gone = append(r.Gone, t)
	}
	slices.Sort(r.Gone)
	r.Traps = infosOf(s.Traps, r.Results)
	return r
}

func (s *State) byTrap() map[string]*Result {
	out := make(map[string]*Result, len(s.Results))
	for i := range s.Results {
		out[s.Results[i].Trap] = &s.Results[i]
	}
	return out
}

// With is the state after a report or a change.
func (s *State) With(k Kind, r *Run) (*State, error) {
	out := &State{Meta: s.Meta}
	if r.Meta != nil {
		out.Meta = *r.Meta
	}
	switch k {
	case Whole:
		out.Results, out.Traps = slices.Clone(r.Results), r.Traps
	case Change:
		have := s.byTrap()
		for _, g := range r.Gone {
			delete(have, g)
		}
		for i := range r.Results {
			have[r.Results[i].Trap] = &r.Results[i]
		}
		if len(have) > maxTraps {
			return nil, fmt.Errorf("more than %d traps", maxTraps)
		}
		outcomes := 0
		for _, res := range have {
			if outcomes += len(res.Outcomes); outcomes > maxOutcomes {
				return nil, fmt.Errorf("more than %d outcomes", maxOutcomes)
			}
		}
		for _, res := range have {
			out.Results = append(out.Results, *res)
		}
		out.Traps = infosOf(append(slices.Clone(r.Traps), s.Traps...), out.Results)
		slices.SortStableFunc(out.Traps, func(a, b report.TrapInfo) int { return strings.Compare(a.ID, b.ID) })
		out.Traps = slices.CompactFunc(out.Traps, func(a, b report.TrapInfo) bool { return a.ID == b.ID })
	default:
		return nil, fmt.Errorf("a %s changes nothing", k)
	}
	slices.SortFunc(out.Results, func(a, b Result) int { return strings.Compare(a.Trap, b.Trap) })
	return out, nil
}

// And is all that two states say, of two machines that claim to be one host: of one
// subject the more severe outcome. Beyond what a message may hold, what this state says stays.
func (s *State) And(o *State) *State {
	out := &State{Meta: s.Meta}
	if out.Meta.Host == "" {
		out.Meta = o.Meta
	}
	have, room := s.byTrap(), maxOutcomes
	for i := range s.Results {
		room -= len(s.Results[i].Outcomes)
	}
	for i := range o.Results {
		r := &o.Results[i]
		was := have[r.Trap]
		if was == nil {
			if len(have) >= maxTraps {
				continue
			}
			was = &Result{Trap: r.Trap, Clear: r.Clear, NotApplicable: r.NotApplicable}
		}
		both := *was
		both.Outcomes = slices.Clone(was.Outcomes)
		for _, add := range r.Outcomes {
			at := slices.IndexFunc(both.Outcomes, func(x trap.Outcome) bool { return x.Subject == add.Subject })
			switch {
			case at >= 0 && add.Status == trap.Found && add.Severity > both.Outcomes[at].Severity:
				both.Outcomes[at] = add
			case at < 0 && room > 0:
				room--
				both.Outcomes = append(both.Outcomes, add)
			}
		}
		have[r.Trap] = &both
	}
	for _, r := range have {
		out.Results = append(out.Results, *r)
	}
	slices.SortFunc(out.Results, func(a, b Result) int { return strings.Compare(a.Trap, b.Trap) })
	out.Traps = infosOf(append(slices.Clone(s.Traps), o.Traps...), out.Results)
	slices.SortStableFunc(out.Traps, func(a, b report.TrapInfo) int { return strings.Compare(a.ID, b.ID) })
	out.Traps = slices.CompactFunc(out.Traps, func(a, b report.TrapInfo) bool { return a.ID == b.ID })
	return out
}

// Document is a state as a report, whose traps that tell nothing have no
// outcomes; only, if given, are the traps to take.
func (s *State) Document(only map[string]bool) *report.Document {
	d := &report.Document{
		Envelope: jsondoc.Envelope{Format: report.DocumentFormat, Schema: jsondoc.Version, Fettle: s.Meta.Version},
		Meta:     s.Meta,
		Traps:    s.Traps,
	}
	for _, r := range s.Results {
		if only != nil && !only[r.Trap] {
			continue
		}
		res := trap.Result{Trap: r.Trap, Outcomes: r.Outcomes}
		d.Results = append(d.Results, res)
		d.Counts.Add(res)
		d.Counts.Clear += r.Clear
		d.Counts.NotApplicable += r.NotApplicable
	}
	return d
}

// Pack makes the bytes in which a state is kept.
func (s *State) Pack() ([]byte, error) {
	b, err := json.Marshal(s)
	if err == nil && len(b) > MaxPlain {
		err = ErrTooLarge
	}
	if err != nil {
		return nil, err
	}
	return Squeeze(b), nil
}

// UnpackState reads a kept state; no bytes are that of a host of which nothing
// is known.
func UnpackState(b []byte) (*State, error) {
	s := &State{}
	if len(b) == 0 {
		return s, nil
	}
	b, err := Swell(b)
	if err != nil {
		return nil, err
	}
	return s, json.Unmarshal(b, s)
}

// Shrink takes from a run what is longest: evidence first, then details, then
// all but the most severe findings.
func (r *Run) Shrink(step int) {
	for i := range r.Results {
		res := &r.Results[i]
		for j := range res.Outcomes {
			o := &res.Outcomes[j]
			o.Evidence = nil
			if step > 1 {
				o.Detail = ""
			}
		}
		if step > 2 && len(res.Outcomes) > 10 {
			slices.SortStableFunc(res.Outcomes, func(a, b trap.Outcome) int { return cmp.Compare(b.Severity, a.Severity) })
			res.Outcomes = res.Outcomes[:10]
		}
	}
}
