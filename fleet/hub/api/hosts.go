package api

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"fettle/engine/trap"
	"fettle/fleet/hub/store"
	"fettle/report/history"
)

// HostsQuery asks for hosts.
type HostsQuery struct {
	Q        string `json:"q" about:"in the name"`
	Group    string `json:"group" about:"one group; - is the one without a name"`
	Label    string `json:"label" about:"hosts with this label: NAME=VALUE, or NAME; several with commas between"`
	Severity string `json:"severity" one:"notice warning critical" about:"only hosts with findings of at least this severity"`
	Silent   bool   `json:"silent" about:"only silent hosts"`
	Twins    bool   `json:"twins" about:"only hosts whose key two machines use"`
	Order    string `json:"order" one:"worst name seen" about:"worst unless given"`
	Offset   int    `json:"offset" most:"1000000" about:"number to skip"`
	Limit    int    `json:"limit" most:"1000" about:"maximum number; default 50"`
}

// Hosts are hosts.
type Hosts struct {
	Hosts []*store.Host `json:"hosts"`
	Count int           `json:"count"` // without the limit
	Next  int           `json:"next"`  // the offset of those that follow; 0: there are none
}

// CSV is a line for each host.
func (h Hosts) CSV() (header []string, lines [][]string) {
	for _, x := range h.Hosts {
		c := x.Counts
		lines = append(
			lines,
			texts(
				x.Name,
				x.Group,
				labelled(x.Labels),
				c.Critical,
				c.Warning,
				c.Notice,
				c.Unknown,
				c.Accepted,
				x.OS,
				x.Kernel,
				x.Arch,
				stamp(x.Seen),
				stamp(x.Checked),
				x.Agent,
			),
		)
	}
	return []string{
		"host",
		"group",
		"labels",
		"critical",
		"warning",
		"notice",
		"unknown",
		"accepted",
		"os",
		"kernel",
		"arch",
		"seen",
		"checked",
		"host id",
	}, lines
}

// labelled writes labels in one cell.
func labelled(m map[string]string) string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(m)) {
		out = append(out, name+"="+m[name])
	}
	return strings.Join(out, ",")
}

// Hosts answers which hosts there are.
func (a *API) Hosts(ctx context.Context, q HostsQuery) (h Hosts, err error) {
	in, err := scope(ctx, q.Group, q.Label)
	if err != nil {
		return h, err
	}
	ask := store.HostQuery{
		Contains: q.Q,
		Scope:    in,
		Rank:     rank(q.Severity),
		Twins:    q.Twins,
		Order:    q.Order,
		Offset:   q.Offset,
		Limit:    limit(q.Limit),
	}
	if q.Silent {
		ask.SilentBefore = a.silentBefore()
	}
	if h.Hosts, err = a.DB.Hosts(ctx, ask); err != nil {
		return h, err
	}
	h.Count, err = a.DB.CountHosts(ctx, ask)
	h.Next = following(q.Offset, len(h.Hosts), h.Count)
	return h, err
}

// HostQuery asks for one host.
type HostQuery struct {
	ID     string `json:"id" need:"yes" about:"its id, or its name if no other host has that"`
	Offset int    `json:"offset" most:"1000000" about:"number of findings and unknown outcomes to skip"`
	Limit  int    `json:"limit" most:"1000" about:"maximum number of them; default 200"`
}

// Finding is a finding on a host, and what to run against it there.
type Finding struct {
	store.Finding
	Fix      string          `json:"fix,omitempty"` // a command line; empty: by hand
	Accepted *store.Accepted `json:"accepted_here,omitempty"`
	Rule     *store.Rule     `json:"accepted_by_rule,omitempty"`
}

// Host is one host.
type Host struct {
	Host     *store.Host    `json:"host"`
	Silent   bool           `json:"silent"`
	Twins    []*store.Host  `json:"twins"` // others of that name
	Findings []Finding      `json:"findings"`
	Unknown  []Finding      `json:"unknown"`
	Count    int            `json:"count"`   // of both, without the limit
	Next     int            `json:"next"`    // the offset of those that follow; 0: there are none
	Changes  []Change       `json:"changes"` // the newest
	Mended   []store.Mended `json:"mended"`
	// Fixes are what fettle fix changed on it, the newest first.
	Fixes []store.Fix `json:"fixes"`
	// Captures that operators attached, the newest first.
	Captures []store.Capture `json:"captures"`
	// Speakers are the machines that use the host's key, where it is more than one.
	Speakers []store.Speaker `json:"speakers"`
}

// CSV is a line for each finding, and each subject that is unknown.
func (h Host) CSV() (header []string, lines [][]string) {
	for _, list := range [][]Finding{h.Findings, h.Unknown} {
		for _, f := range list {
			lines = append(lines, texts(f.Severity, f.Trap, f.Subject, f.Summary, stamp(f.Since), f.Finding.Accepted))
		}
	}
	return []string{"severity", "trap", "subject", "summary", "since", "accepted"}, lines
}

// Host answers what is known of one host.
func (a *API) Host(ctx context.Context, q HostQuery) (out Host, err error) {
	h, err := a.hostBy(ctx, q.ID)
	if err != nil {
		return out, err
	}
	out.Host = h
	out.Silent = h.Seen.Before(a.silentBefore())
	named, err := a.named(ctx, h.Name)
	if err != nil {
		return out, err
	}
	for _, t := range named {
		if t.ID != h.ID {
			out.Twins = append(out.Twins, t)
		}
	}
	if err := a.findings(ctx, h, q, &out); err != nil {
		return out, err
	}
	changes, err := a.DB.Changes(ctx, store.ChangeQuery{Scope: sight(ctx), Host: h.ID, Limit: 30})
	if err != nil {
		return out, err
	}
	out.Changes = a.titled(changes)
	if out.Mended, err = a.DB.Mended(ctx, sight(ctx), "", h.ID, 30); err != nil {
		return out, err
	}
	if out.Fixes, _, err = a.DB.Fixes(ctx, store.FixQuery{Scope: sight(ctx), Host: h.ID, Limit: 50}); err != nil {
		return out, err
	}
	if out.Captures, err = a.DB.Captures(ctx, h.ID); err != nil || h.Twin.IsZero() {
		return out, err
	}
	out.Speakers, err = a.DB.Speakers(ctx, h.ID)
	return out, err
}

// FindingsShown is how many findings of a host are shown at a time.
const FindingsShown = 200

func (a *API) findings(ctx context.Context, h *store.Host, q HostQuery, out *Host) error {
	list, err := a.DB.Findings(ctx, h.ID, q.Offset, cmp.Or(q.Limit, FindingsShown))
	if err != nil {
		return err
	}
	c := h.Counts
	out.Count = c.Critical + c.Warning + c.Notice + c.Unknown + c.Accepted
	out.Next = following(q.Offset, len(list), out.Count)
	accepted, err := a.DB.Acceptances(ctx, sight(ctx), h.ID, 0, 10_000)
	if err != nil {
		return err
	}
	rules, err := a.DB.RulesFor(ctx, h)
	if err != nil {
		return err
	}
	by := map[[2]string]*store.Accepted{}
	for i := range accepted {
		by[[2]string{accepted[i].Trap, accepted[i].Subject}] = &accepted[i]
	}
	for _, f := range list {
		x := Finding{Finding: f, Accepted: by[[2]string{f.Trap, f.Subject}]}
		if t := a.Title(f.Trap); t != "" {
			x.Title = t
		}
		if i := slices.IndexFunc(rules, func(r store.Rule) bool { return r.Holds(&f) }); i >= 0 {
			x.Rule = &rules[i]
		}
		if f.Outcome.Status == trap.Found {
			x.Fix = fixOf(&f.Outcome)
			out.Findings = append(out.Findings, x)
		} else {
			out.Unknown = append(out.Unknown, x)
		}
	}
	return nil
}

// CompareQuery asks how two hosts differ.
type CompareQuery struct {
	A string `json:"a" need:"yes" about:"a host's id, or its name"`
	B string `json:"b" need:"yes" about:"another's"`
}

// Comparison is how two hosts differ.
type Comparison struct {
	A           *store.Host      `json:"a"`
	B           *store.Host      `json:"b"`
	Differences []history.Change `json:"differences"` // the gravest first
	Facts       []FactPair       `json:"facts"`       // of identity, those that differ
}

// FactPair is a fact of two hosts.
type FactPair struct {
	Name string `json:"name"`
	A    string `json:"a"`
	B    string `json:"b"`
}

// CSV is a line for each difference.
func (c Comparison) CSV() (header []string, lines [][]string) {
	for _, d := range c.Differences {
		lines = append(lines, texts(string(d.Kind), d.Trap, d.Subject, Said(d.Before), Said(d.After)))
	}
	return []string{"kind", "trap", "subject", c.A.Name, c.B.Name}, lines
}

// Said is what a side of a comparison says, in a few words. Of what is neither
// found nor unknown hosts send numbers alone.
func Said(o *trap.Outcome) string {
	switch {
	case o == nil:
		return "not checked"
	case o.Status == trap.Found:
		return o.Severity.String() + ": " + o.Summary
	case o.Status == trap.Unknown:
		return "unknown: " + o.Reason
	}
	return "not found"
}

// Compare answers how two hosts differ.
func (a *API) Compare(ctx context.Context, q CompareQuery) (c Comparison, err error) {
	if c.A, err = a.hostBy(ctx, q.A); err != nil {
		return c, err
	}
	if c.B, err = a.hostBy(ctx, q.B); err != nil {
		return c, err
	}
	one, err := a.DB.Document(ctx, c.A.ID)
	if err != nil {
		return c, err
	}
	other, err := a.DB.Document(ctx, c.B.ID)
	if err != nil {
		return c, err
	}
	c.Differences = history.Compare(one, other)
	for _, p := range []FactPair{{"group", c.A.Group, c.B.Group}, {"distribution", c.A.OS, c.B.OS}, {"kernel", c.A.Kernel, c.B.Kernel},
		{"architecture", c.A.Arch, c.B.Arch}, {"machine", c.A.Kind, c.B.Kind}, {"fettle", c.A.Fettle, c.B.Fettle}} {
		if p.A != p.B {
			c.Facts = append(c.Facts, p)
		}
	}
	return c, nil
}
