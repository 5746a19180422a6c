// Package trap is the vocabulary of fettle: traps, outcomes, evidence; and
// the engine that runs many checks concurrently.
package trap

import (
	"context"
	"time"

	"fettle/engine/remedy"
	"fettle/host"
)

// Trap is one known problem. It is a value, written beside its lore in
// traps/NAME and listed in traps/all.go.
type Trap struct {
	Lore Lore // the embedded lore.md
	Cost Cost
	// Talks: an instant check that asks other hosts too where the run allows
	// it (see MayTalk): check --network, fix.
	Talks bool
	// Samples: an instant check that looks a second time after an interval
	// where the run has one (see Interval): check --sample, fix, accept.
	Samples bool
	// Units are systemd units whose state the check asks for on most hosts. They are
	// asked about with those of the other checks.
	Units []string
	// Limit is how long the check may take; zero takes the limit of its cost.
	Limit time.Duration
	// Check looks at the host and reports one outcome per subject. It reads
	// and never writes. An error becomes an unknown outcome with its reason.
	Check func(ctx context.Context, h *host.Host, r *Report) error
	// Plan says how to fix one finding. It reads and never writes: the plan
	// is data. Nil: fettle knows no remedy to apply.
	Plan func(ctx context.Context, h *host.Host, f Finding) (remedy.Plan, error)
	// Setup is what the plan can set up where nothing is wrong; nil for most traps.
	Setup *Setup
	// Choices are what the admin may decide about the remedy; Plan asks
	// Finding.Chosen.
	Choices []Choice
}

// Together makes the host ask about the units of all these traps with one command,
// whichever of them are checked, and returns the traps.
func Together(traps []*Trap) []*Trap {
	for _, t := range traps {
		host.AskTogether(t.Units...)
	}
	return traps
}

// Setup is what a trap's plan sets up where nothing is wrong.
type Setup struct {
	Name    string  // what for: "totp" of fettle totp setup
	Finding Finding // what the plan is asked about
	// Choice is the one whose presence asks for it in fettle fix: --on SUBJECT --with
	// CHOICE=VALUE; empty: another verb does.
	Choice string
}

// ID is the trap's name: "bridge-mtu".
func (t *Trap) ID() string { return t.Lore.field("id") }

// Title is the trap in one line.
func (t *Trap) Title() string { return t.Lore.field("title") }

func (t *Trap) limit(network bool) time.Duration {
	switch {
	case t.Limit > 0:
		return t.Limit
	case t.Talks && network:
		return Network.limit()
	}
	return t.Cost.limit()
}

// Cost is what a check needs.
type Cost int

const (
	Instant Cost = iota // files and netlink; the default
	Sampled             // an interval between two readings: check --sample 10s
	Network             // talks to other hosts: check --network
)

func (c Cost) String() string { return [...]string{"instant", "sampled", "network"}[c] }

func (c Cost) limit() time.Duration {
	switch c {
	case Sampled:
		return 5 * time.Second // beyond the interval itself
	case Network:
		return 30 * time.Second
	}
	return 5 * time.Second
}

// Severity ranks findings.
type Severity int

const (
	Notice   Severity = iota + 1 // will bite one day, or costs a little
	Warning                      // bites now, or at the next change
	Critical                     // data, security or reachability is at risk
)

var severities = []string{"", "notice", "warning", "critical"}

func (s Severity) String() string { return severities[s] }

// ParseSeverity reads a severity's name.
func ParseSeverity(s string) (Severity, bool) {
	for i, n := range severities {
		if i > 0 && n == s {
			return Severity(i), true
		}
	}
	return 0, false
}

func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
func (s *Severity) UnmarshalText(b []byte) error {
	*s, _ = ParseSeverity(string(b))
	return nil
}

// Status is what a check says of one subject.
type Status string

const (
	Found         Status = "found"
	Clear         Status = "clear"
	NotApplicable Status = "not-applicable"
	Unknown       Status = "unknown" // could not look; never the same as clear
)

// Outcome is what a check says of one subject.
type Outcome struct {
	Trap    string `json:"trap"`
	Subject string `json:"subject,omitempty"` // stable: a name, never a pid, index or time; empty is the whole host
	Status  Status `json:"status"`
	// Severity is set for found only.
	Severity Severity `json:"severity,omitzero"`
	// Summary is one sentence. Of a finding it holds nothing that changes by
	// itself (sizes, rates, pids): a changed summary is a changed finding,
	// and comes back although it was accepted.
	Summary string `json:"summary,omitempty"`
	// Detail is what else an admin wants to know now; may hold changing figures.
	Detail Prose `json:"detail,omitempty"`
	// Reason says why the outcome is unknown or not applicable.
	Reason   string     `json:"reason,omitempty"`
	Evidence []Evidence `json:"evidence,omitempty"`
	// Start says what a finding means for the host's next start, and Lost what the host comes
	// back without ("the address 10.0.0.9 on eth1"): of traps whose horizon is NextStart.
	Start Start  `json:"start,omitempty"`
	Lost  string `json:"lost,omitempty"`
	// Facts are what Plan needs to know beyond the subject: see FactsOf.
	Facts Facts `json:"facts,omitempty"`
	// ByHand is set by the check for a finding that the trap's remedy does not
	// serve: what the admin does instead, in one line.
	ByHand string `json:"by_hand,omitempty"`
	// Fixable is set by the engine: the trap has a remedy to apply.
	Fixable bool `json:"fixable,omitempty"`
	// Accepted is set when an admin accepted this finding.
	Accepted *Acceptance `json:"accepted,omitempty"`
	// OnHub is set when an operator accepted this finding on the hub. It is a label: alone it
	// neither hides the finding nor keeps it from counting.
	OnHub *Acceptance `json:"accepted_on_hub,omitempty"`
	// Known is set by check --new: an earlier run showed this finding, or did
	// not know either.
	Known bool `json:"known,omitempty"`
	// Since is set by check --new: when a run showed this finding first.
	Since time.Time `json:"since,omitzero"`
	// Below is set for a finding below check --severity.
	Below bool `json:"below,omitempty"`

	chosen map[string]string // by Choose
}

// Finding is an outcome whose status is found.
type Finding = Outcome

// ID names a finding permanently: "bridge-mtu:br0".
func (o *Outcome) ID() string {
	if o.Subject == "" {
		return o.Trap
	}
	return o.Trap + ":" + o.Subject
}

// Evidence is one thing that was read: where, and what it said.
type Evidence struct {
	Source string `json:"source"` // "/etc/network/interfaces:12", "netlink", "systemctl show ssh"
	Value  string `json:"value"`  // as read, one line
}

// Result is all that one trap's check said.
type Result struct {
	Trap     string        `json:"trap"`
	Outcomes []Outcome     `json:"outcomes"`
	Took     time.Duration `json:"took_ns"`
	// Resolved is set by check --new: findings that an earlier run showed and
	// that are no longer there.
	Resolved []Resolved `json:"resolved,omitempty"`
	// UnknownOK is set by check --unknown-ok: unknown outcomes do not affect the exit status.
	UnknownOK bool `json:"-"`
}

// Regrade gives the findings the severity that the admin decided on.
func (r *Result) Regrade(s Severity) {
	for i := range r.Outcomes {
		if r.Outcomes[i].Status == Found {
			r.Outcomes[i].Severity = s
		}
	}
}

// Resolved is a finding of an earlier run that is no longer there.
type Resolved struct {
	Subject string    `json:"subject,omitempty"`
	Said    string    `json:"said"` // its severity and summary
	Since   time.Time `json:"since,omitzero"`
}

// NotLoaded is in a report for the rules that were not loaded: what they would have found, nobody knows. No trap is
// called so.
const NotLoaded = "rule-not-loaded"
