package api

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"fettle/fleet/hub/store"
)

// Fleet is the state of the whole fleet.
type Fleet struct {
	store.Sums
	Silent int            `json:"silent"` // hosts that said nothing for a while
	Old    store.Sums     `json:"old"`    // of the sums, what silent hosts said last
	Day    store.Happened `json:"day"`    // since yesterday
	Week   store.Happened `json:"week"`
	Groups []store.Group  `json:"groups"`
	Quiet  []*store.Host  `json:"quiet"`  // the hosts that have been silent longest, a few
	Shared int            `json:"shared"` // hosts whose key two machines use
	Twins  []*store.Host  `json:"twins"`  // some of them
	Pulse  int64          `json:"pulse"`  // grows whenever something was stored
}

// Nothing is a question without parameters.
type Nothing struct{}

// FleetQuery asks how hosts stand.
type FleetQuery struct {
	Group string `json:"group" about:"one group only; - is the one without a name"`
	Label string `json:"label" about:"hosts with this label: NAME=VALUE, or NAME; several with commas between"`
}

// Fleet answers with the state of the whole fleet.
func (a *API) Fleet(ctx context.Context, q FleetQuery) (f Fleet, err error) {
	in, err := scope(ctx, q.Group, q.Label)
	if err != nil {
		return f, err
	}
	if f.Groups, err = a.DB.Groups(ctx, in); err != nil {
		return f, err
	}
	f.Sums = sumsOf(f.Groups)
	quiet := store.HostQuery{Scope: in, SilentBefore: a.silentBefore(), Order: "seen", Limit: 10}
	if f.Old, err = a.DB.OldSums(ctx, in, quiet.SilentBefore); err != nil {
		return f, err
	}
	f.Silent, f.Old = f.Old.Hosts, least(f.Old, f.Sums)
	if f.Quiet, err = a.DB.Hosts(ctx, quiet); err != nil {
		return f, err
	}
	twins := store.HostQuery{Scope: in, Twins: true, Order: "name", Limit: 10}
	if f.Shared, err = a.DB.CountHosts(ctx, twins); err != nil {
		return f, err
	}
	if f.Twins, err = a.DB.Hosts(ctx, twins); err != nil {
		return f, err
	}
	week, err := a.DB.Days(ctx, in, a.Now().AddDate(0, 0, -6))
	if err != nil {
		return f, err
	}
	yesterday := a.Now().UTC().AddDate(0, 0, -1).Format("2006-01-02")
	for _, d := range week {
		f.Week.Add(d.Happened)
		if d.Day >= yesterday {
			f.Day.Add(d.Happened)
		}
	}
	f.Pulse, err = a.DB.Pulse(ctx, sight(ctx))
	return f, err
}

// Reporting is what hosts say that are not silent.
func (f Fleet) Reporting() store.Sums {
	return store.Sums{Hosts: f.Hosts - f.Old.Hosts, Critical: f.Critical - f.Old.Critical, Warning: f.Warning - f.Old.Warning,
		Notice: f.Notice - f.Old.Notice, Unknown: f.Unknown - f.Old.Unknown, Accepted: f.Accepted - f.Old.Accepted}
}

// least bounds a host's own sums by the fleet's, which leave out traps that this hub does not know.
func least(a, most store.Sums) store.Sums {
	return store.Sums{Hosts: min(a.Hosts, most.Hosts), Critical: min(a.Critical, most.Critical), Warning: min(a.Warning, most.Warning),
		Notice: min(a.Notice, most.Notice), Unknown: min(a.Unknown, most.Unknown), Accepted: min(a.Accepted, most.Accepted)}
}

// Groups are the groups of hosts, the worst first.
func (a *API) Groups(ctx context.Context, _ Nothing) ([]store.Group, error) {
	return a.DB.Groups(ctx, sight(ctx))
}

func sumsOf(groups []store.Group) (all store.Sums) {
	for _, g := range groups {
		all.Add(g.Sums)
	}
	return all
}

// CurvesQuery asks for curves.
type CurvesQuery struct {
	Days  int    `json:"days" most:"3660" about:"number of days; default 90"`
	Group string `json:"group" about:"one group; - is the one without a name"`
	Label string `json:"label" about:"hosts with this label: NAME=VALUE, or NAME; several with commas between"`
}

// Curves are days.
type Curves struct {
	Days []store.Day `json:"days"`
}

// CSV is the days as rows.
func (c Curves) CSV() (header []string, lines [][]string) {
	for _, d := range c.Days {
		lines = append(lines, texts(d.Day, d.Hosts, d.Critical, d.Warning, d.Notice, d.Unknown, d.Accepted, d.New, d.Resolved, d.Returned))
	}
	return []string{"day", "hosts", "critical", "warning", "notice", "unknown", "accepted", "new", "resolved", "returned"}, lines
}

func texts(vs ...any) []string {
	out := make([]string, len(vs))
	for i, v := range vs {
		out[i] = fmt.Sprint(v)
	}
	return out
}

func (q *CurvesQuery) days() int {
	if q.Days == 0 {
		return 90
	}
	return q.Days
}

// Curves answers how findings came and went.
func (a *API) Curves(ctx context.Context, q CurvesQuery) (c Curves, err error) {
	in, err := scope(ctx, q.Group, q.Label)
	if err == nil {
		c.Days, err = a.DB.Days(ctx, in, a.Now().AddDate(0, 0, 1-q.days()))
	}
	return c, err
}

// MatrixQuery asks for traps by groups.
type MatrixQuery struct {
	Group    string `json:"group" about:"one group only; - is the one without a name"`
	Label    string `json:"label" about:"hosts with this label: NAME=VALUE, or NAME; several with commas between"`
	Severity string `json:"severity" one:"notice warning critical" about:"at least this severity"`
	Unknown  bool   `json:"unknown" about:"also traps that are only unknown somewhere"`
	Groups   int    `json:"groups" most:"500" about:"number of groups, worst first; default 8"`
	Offset   int    `json:"offset" most:"1000000" about:"number to skip"`
	Limit    int    `json:"limit" most:"1000" about:"number of traps; default 50"`
}

// Row is a trap in all groups, and in each of the matrix's.
type Row struct {
	store.TrapSums
	Title string       `json:"title"`
	Cells []store.Cell `json:"cells"` // in the order of Groups
}

// Worst is the highest severity with which a row's trap is found.
func (r Row) Worst() string { return Worst(r.Cell) }

// AtWorst is on how many hosts it is that severe: by this, rows are in order.
func (r Row) AtWorst() int {
	switch {
	case r.Critical > 0:
		return r.Critical
	case r.Warning > 0:
		return r.Warning
	}
	return r.Notice
}

// Worst is the highest severity that is counted.
func Worst(c store.Cell) string {
	switch {
	case c.Critical > 0:
		return "critical"
	case c.Warning > 0:
		return "warning"
	case c.Notice > 0:
		return "notice"
	case c.Unknown > 0:
		return "unknown"
	}
	return ""
}

// Matrix is traps by groups of hosts.
type Matrix struct {
	Groups []string `json:"groups"`
	Rows   []Row    `json:"rows"`
	Left   int      `json:"left"`    // traps that the limit left out
	Count  int      `json:"count"`   // of traps, without the limit
	Next   int      `json:"next"`    // the offset of those that follow; 0: there are none
	Other  int      `json:"unknown"` // traps that this hub does not know, by hosts: see foreign
}

// CSV is a line for each trap.
func (m Matrix) CSV() (header []string, lines [][]string) {
	header = append([]string{"trap", "title", "severity", "hosts", "critical", "warning", "notice", "unknown", "accepted"}, m.Groups...)
	for _, r := range m.Rows {
		line := texts(r.Trap, r.Title, r.Worst(), r.Found(), r.Critical, r.Warning, r.Notice, r.Unknown, r.Accepted)
		for _, c := range r.Cells {
			line = append(line, strconv.Itoa(c.Found()))
		}
		lines = append(lines, line)
	}
	return header, lines
}

// Matrix answers which traps are where.
func (a *API) Matrix(ctx context.Context, q MatrixQuery) (m Matrix, err error) {
	in, err := scope(ctx, q.Group, q.Label)
	if err != nil {
		return m, err
	}
	sums, err := a.DB.TrapSums(ctx, in)
	if err != nil {
		return m, err
	}
	floor := rank(q.Severity)
	sums = slices.DeleteFunc(sums, func(s store.TrapSums) bool {
		worst := rank(Worst(s.Cell))
		return worst == 0 && !q.Unknown || worst < floor
	})
	m.Count = len(sums)
	sums, _ = cut(sums[min(q.Offset, len(sums)):], limit(q.Limit))
	m.Left, m.Next = m.Count-len(sums), following(q.Offset, len(sums), m.Count)
	if _, m.Other, err = a.DB.Foreigns(ctx, in, 0, 0); err != nil {
		return m, err
	}
	if m.Groups, err = a.columns(ctx, in, q); err != nil {
		return m, err
	}
	shown := in
	if shown.Groups = m.Groups; len(in.Labels) == 0 {
		shown.All = false
	}
	cells, err := a.DB.Cells(ctx, shown)
	if err != nil {
		return m, err
	}
	m.Rows = []Row{}
	for _, s := range sums {
		r := Row{TrapSums: s, Title: a.Title(s.Trap), Cells: []store.Cell{}}
		for _, g := range m.Groups {
			r.Cells = append(r.Cells, cells[store.Place{Trap: s.Trap, Group: g}])
		}
		m.Rows = append(m.Rows, r)
	}
	return m, nil
}

func (a *API) columns(ctx context.Context, in store.Scope, q MatrixQuery) ([]string, error) {
	out := []string{}
	if group(q.Group) != nil {
		return append(out, in.Groups...), nil
	}
	groups, err := a.DB.Groups(ctx, in)
	if err != nil {
		return nil, err
	}
	n := q.Groups
	if n == 0 {
		n = 8
	}
	groups, _ = cut(groups, n)
	for _, g := range groups {
		out = append(out, g.Name)
	}
	return out, nil
}

// CoverageQuery asks what is unknown.
type CoverageQuery struct {
	Group  string `json:"group" about:"one group only; - is the one without a name"`
	Label  string `json:"label" about:"hosts with this label: NAME=VALUE, or NAME; several with commas between"`
	Offset int    `json:"offset" most:"1000000" about:"number of reasons to skip"`
	Limit  int    `json:"limit" most:"1000" about:"number of reasons; default 50"`
}

// Coverage is what checks could not look at.
type Coverage struct {
	Sums    store.Sums     `json:"sums"`
	Reasons []store.Reason `json:"reasons"`
	Count   int            `json:"count"`  // of reasons, without the limit
	Next    int            `json:"next"`   // the offset of those that follow; 0: there are none
	Failed  []*store.Host  `json:"failed"` // hosts whose last check gave no report
}

// CSV is a line for each reason.
func (c Coverage) CSV() (header []string, lines [][]string) {
	for _, r := range c.Reasons {
		lines = append(lines, texts(r.Trap, r.Reason, r.Count))
	}
	return []string{"trap", "reason", "count"}, lines
}

// Coverage answers what checks could not look at, and why.
func (a *API) Coverage(ctx context.Context, q CoverageQuery) (c Coverage, err error) {
	in, err := scope(ctx, q.Group, q.Label)
	if err != nil {
		return c, err
	}
	groups, err := a.DB.Groups(ctx, in)
	if err != nil {
		return c, err
	}
	c.Sums = sumsOf(groups)
	if c.Reasons, c.Count, err = a.DB.Reasons(ctx, in, q.Offset, limit(q.Limit)); err != nil {
		return c, err
	}
	c.Next = following(q.Offset, len(c.Reasons), c.Count)
	c.Failed, err = a.DB.FailedHosts(ctx, in, 20)
	return c, err
}
