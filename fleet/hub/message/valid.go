package message

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"fettle/engine/trap"
	"fettle/internal/lazy"
	"fettle/report"
)

// Bounds of what a message holds. An agent keeps within them by Fit.
const (
	maxName     = 255 // bytes of a host's name, and of other short texts
	maxText     = 1 << 10
	maxLong     = 8 << 10
	maxEvidence = 20
	maxOutcomes = 3000 // of a message
	maxTraps    = 2000
	maxCount    = 1 << 20
)

var (
	anID   = lazy.Regexp(`^[a-z0-9]{1,32}$`)
	aTrap  = lazy.Regexp(`^[a-z0-9][a-z0-9-]{0,99}$`)
	digest = lazy.Regexp(`^[0-9a-zA-Z_-]{0,64}$`)
)

// IsID reports whether s can name an agent, an instance or a question: what may
// be in a NATS subject.
func IsID(s string) bool { return anID().MatchString(s) }

// IsTrap reports whether s can name a trap.
func IsTrap(s string) bool { return aTrap().MatchString(s) }

func (m *Message) valid() error {
	switch {
	case !IsID(m.Agent):
		return fmt.Errorf("agent %.40q is no name that a hub gives", m.Agent)
	case !IsID(m.Instance):
		return fmt.Errorf("instance %.40q is not from an agent", m.Instance)
	case m.Seq < 1:
		return fmt.Errorf("seq is %d: messages count from 1", m.Seq)
	case len(m.Why) > maxName || m.Ask != "" && !IsID(m.Ask):
		return errors.New("its reason is not one of an agent")
	case !digest().MatchString(m.Digest) || !digest().MatchString(m.Base):
		return errors.New("its digests are not from an agent")
	}
	if len(m.Fettle) > maxName || nul(m.Fettle, m.Why) {
		return errors.New("its version or reason is out of bounds")
	}
	if m.Self != nil &&
		(len(m.Self.Machine) > maxName || len(m.Self.Compared) > maxName || nul(m.Self.Machine, m.Self.Compared) ||
			!digest().MatchString(m.Self.Accepts) || m.Self.Waiting < 0 || m.Self.Dropped < 0 || m.Self.Refused < 0 || m.Self.Every < 0) {
		return errors.New("the agent's data about itself are out of bounds")
	}
	if m.Self != nil && (len(m.Self.Packs) > maxPacks || slices.ContainsFunc(m.Self.Packs, func(p HasPack) bool { return p.valid() != nil })) {
		return errors.New("its packs are out of bounds")
	}
	if len(m.Fixes) > FixesKept {
		return fmt.Errorf("more than %d changes", FixesKept)
	}
	ids := map[string]bool{}
	for i := range m.Fixes {
		if err := m.Fixes[i].valid(); err != nil || ids[m.Fixes[i].ID] {
			return cmp.Or(err, errors.New("a change comes twice"))
		}
		ids[m.Fixes[i].ID] = true
	}
	switch m.Kind {
	case Beat:
		if m.Run != nil {
			return errors.New("a beat has no run")
		}
		return nil
	case Want:
		if m.Run != nil || !IsTrap(m.Want) {
			return errors.New("a want asks for a pack by its name, and has no run")
		}
		return nil
	case Whole, Change:
	default:
		return fmt.Errorf("unknown kind %.40q", m.Kind)
	}
	if m.Run == nil || m.Kind == Whole && m.Run.Meta == nil && m.Run.Failed == "" {
		return fmt.Errorf("a %s without its run", m.Kind)
	}
	return m.Run.valid()
}

func (r *Run) valid() error {
	if len(r.Failed) > maxLong || nul(r.Failed) || r.Took < 0 || len(r.Gone) > maxTraps || len(r.Traps) > maxTraps ||
		len(r.Results) > maxTraps {
		return errors.New("its run is out of bounds")
	}
	if err := validMeta(r.Meta); err != nil {
		return err
	}
	for _, t := range r.Traps {
		if !IsTrap(t.ID) || len(t.Title) > maxText || len(t.Cost) > maxName || nul(t.Title, t.Cost) {
			return fmt.Errorf("unknown trap %.40q", t.ID)
		}
	}
	for _, g := range r.Gone {
		if !IsTrap(g) {
			return fmt.Errorf("unknown trap %.40q", g)
		}
	}
	n, seen := 0, map[string]bool{}
	for i := range r.Results {
		res := &r.Results[i]
		if seen[res.Trap] {
			return fmt.Errorf("trap %.40q comes twice", res.Trap)
		}
		seen[res.Trap] = true
		if n += len(res.Outcomes); n > maxOutcomes {
			return fmt.Errorf("more than %d outcomes", maxOutcomes)
		}
		if err := res.valid(); err != nil {
			return err
		}
	}
	return nil
}

// nul reports whether one of these texts, which the database keeps as such, has
// what PostgreSQL takes in none.
func nul(texts ...string) bool {
	return slices.ContainsFunc(texts, func(s string) bool { return strings.ContainsRune(s, 0) })
}

func validMeta(m *report.Meta) error {
	if m == nil {
		return nil
	}
	for _, s := range []string{m.Host, string(m.Kind), m.Identity.Hostname, m.Identity.Sysname, m.Identity.Release, m.Identity.Version,
		m.Identity.Machine, m.Identity.BootID, m.Machine.Distribution, m.Machine.Kind, m.Version} {
		if len(s) > maxName || nul(s) {
			return fmt.Errorf("its data about the host are out of bounds: %.40q", s)
		}
	}
	if len(m.Warning) > maxLong || len(m.Machine.Containers) > maxName || m.Host == "" {
		return errors.New("its data about the host are out of bounds")
	}
	return nil
}

func (r *Result) valid() error {
	if !IsTrap(r.Trap) {
		return fmt.Errorf("unknown trap %.40q", r.Trap)
	}
	if r.Clear < 0 || r.NotApplicable < 0 || r.Clear > maxCount || r.NotApplicable > maxCount {
		return fmt.Errorf("%s: its counts are out of bounds", r.Trap)
	}
	subjects := map[string]bool{}
	for i := range r.Outcomes {
		o := &r.Outcomes[i]
		if o.Trap != r.Trap || subjects[o.Subject] {
			return fmt.Errorf("%s: an outcome of another trap, or of one subject twice", r.Trap)
		}
		subjects[o.Subject] = true
		if err := validOutcome(o); err != nil {
			return fmt.Errorf("%s: %w", r.Trap, err)
		}
	}
	return nil
}

func validOutcome(o *trap.Outcome) error {
	switch {
	case o.Status == trap.Found && (o.Severity < trap.Notice || o.Severity > trap.Critical):
		return errors.New("a finding without a severity")
	case o.Status != trap.Found && o.Status != trap.Unknown:
		return fmt.Errorf("status %.40q: only findings and what is unknown are sent", o.Status)
	case len(o.Subject) > maxText || len(o.Summary) > maxText || len(o.ByHand) > maxText || len(o.Reason) > maxLong ||
		len(o.Detail) > maxLong || len(o.Evidence) > maxEvidence || len(o.Facts) > 0:
		return errors.New("an outcome is out of bounds")
	case nul(o.Subject, o.Summary, o.Reason):
		return errors.New("a subject, summary or reason has a NUL")
	case o.Accepted != nil && (len(o.Accepted.Reason) > maxText || len(o.Accepted.Until) > maxName || len(o.Accepted.By) > maxName ||
		len(o.Accepted.Lapsed) > maxText+maxName):
		return errors.New("an acceptance is out of bounds")
	}
	for _, e := range o.Evidence {
		if len(e.Source) > maxText || len(e.Value) > maxText {
			return errors.New("a piece of evidence is out of bounds")
		}
	}
	return nil
}

// Age is a time span that a message may have waited, within reason.
func Age(d time.Duration) time.Duration { return min(max(d, 0), 400*24*time.Hour) }
