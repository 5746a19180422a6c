package api

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"fettle/engine/trap"
	"fettle/fleet/hub/store"
	"fettle/report"
	"fettle/why"
)

func fixOf(o *trap.Outcome) string {
	if o.ByHand != "" || !o.Fixable {
		return ""
	}
	return report.Command(o)
}

// TrapQuery asks for one trap.
type TrapQuery struct {
	ID    string `json:"id" need:"yes" about:"its name"`
	Group string `json:"group" about:"one group only; - is the one without a name"`
	Label string `json:"label" about:"hosts with this label: NAME=VALUE, or NAME; several with commas between"`
}

// Trap is one trap.
type Trap struct {
	ID       string            `json:"id"`
	Title    string            `json:"title"`
	Known    bool              `json:"known"` // this hub has its lore
	Symptoms []string          `json:"symptoms"`
	Since    string            `json:"since"` // which versions have it, as the lore says
	Refs     []string          `json:"refs"`
	Body     string            `json:"body"` // the lore, Markdown
	Fix      string            `json:"fix,omitempty"`
	First    string            `json:"first,omitempty"` // the first day on which some host had it, as far as the hub remembers
	Sums     store.Cell        `json:"sums"`
	Groups   []store.TrapGroup `json:"groups"`
	Year     store.Happened    `json:"year"`   // in the last 365 days
	Mended   []store.Mended    `json:"mended"` // the latest
	Changes  []Change          `json:"changes"`
}

// Trap answers what is known of one trap.
func (a *API) Trap(ctx context.Context, q TrapQuery) (t Trap, err error) {
	in, err := scope(ctx, q.Group, q.Label)
	if err != nil {
		return t, err
	}
	t.ID, t.Title = q.ID, a.Title(q.ID)
	if t.Groups, err = a.DB.TrapCells(ctx, in, q.ID); err != nil {
		return t, err
	}
	for _, g := range t.Groups {
		t.Sums.Add(g.Cell)
	}
	days, err := a.DB.TrapDays(ctx, in, q.ID, a.Now().AddDate(-1, 0, 0))
	if err != nil {
		return t, err
	}
	for _, d := range days {
		t.Year.Add(d.Happened)
	}
	if err := a.lore(&t); err != nil {
		return t, err
	}
	if !t.Known && len(t.Groups) == 0 && len(days) == 0 {
		if n, err := a.DB.CountFound(ctx, store.FoundQuery{Scope: sight(ctx), Trap: q.ID}); err != nil || n == 0 {
			return t, cmp.Or(err, store.ErrNone)
		}
	}
	if t.First, err = a.DB.FirstDay(ctx, in, q.ID); err != nil {
		return t, err
	}
	if t.Mended, err = a.DB.Mended(ctx, in, q.ID, 0, 20); err != nil {
		return t, err
	}
	changes, err := a.DB.Changes(ctx, store.ChangeQuery{Scope: in, Trap: q.ID, Limit: 15, Kinds: []string{store.New, store.Resolved,
		store.Returned}})
	t.Changes = a.titled(changes)
	return t, err
}

func (a *API) lore(t *Trap) error {
	known := a.traps[t.ID]
	if known == nil {
		return nil
	}
	art, err := known.Lore.Article()
	if err != nil {
		return err
	}
	t.Known, t.Symptoms, t.Since, t.Refs, t.Body = true, art.Seen(), art.Since, art.Refs, art.Body
	if known.Plan != nil {
		t.Fix = "fettle fix " + t.ID
	}
	return nil
}

// FoundQuery asks where a trap is.
type FoundQuery struct {
	ID       string `json:"id" need:"yes" about:"the trap's name"`
	Group    string `json:"group" about:"one group; - is the one without a name"`
	Label    string `json:"label" about:"hosts with this label: NAME=VALUE, or NAME; several with commas between"`
	Severity string `json:"severity" one:"unknown notice warning critical" about:"this severity alone, or unknown"`
	Offset   int    `json:"offset" most:"1000000" about:"number to skip"`
	Limit    int    `json:"limit" most:"1000" about:"maximum number; default 50"`
}

// Found is where a trap is.
type Found struct {
	Found []store.FoundOn `json:"found"`
	Count int             `json:"count"` // without the limit
	Next  int             `json:"next"`  // the offset of those that follow; 0: there are none
}

// CSV is a line for each.
func (f Found) CSV() (header []string, lines [][]string) {
	for _, x := range f.Found {
		lines = append(lines, texts(x.Severity, x.Host.Name, x.Host.Group, x.Subject, x.Summary, stamp(x.Since), x.Accepted, x.Host.Agent))
	}
	return []string{"severity", "host", "group", "subject", "summary", "since", "accepted", "host id"}, lines
}

// Found answers where a trap is found.
func (a *API) Found(ctx context.Context, q FoundQuery) (f Found, err error) {
	in, err := scope(ctx, q.Group, q.Label)
	if err != nil {
		return f, err
	}
	ask := store.FoundQuery{Trap: q.ID, Scope: in, Offset: q.Offset, Limit: limit(q.Limit)}
	if q.Severity != "" {
		n := rank(q.Severity)
		ask.Rank = &n
	}
	if f.Found, err = a.DB.FoundOn(ctx, ask); err != nil {
		return f, err
	}
	f.Count, err = a.DB.CountFound(ctx, ask)
	f.Next = following(q.Offset, len(f.Found), f.Count)
	return f, err
}

// TrapCurveQuery asks for a trap's curve.
type TrapCurveQuery struct {
	ID    string `json:"id" need:"yes" about:"the trap's name"`
	Days  int    `json:"days" most:"3660" about:"number of days; default 90"`
	Group string `json:"group" about:"one group; - is the one without a name"`
	Label string `json:"label" about:"hosts with this label: NAME=VALUE, or NAME; several with commas between"`
}

// TrapCurve is a trap's days.
type TrapCurve struct {
	Days []store.TrapDay `json:"days"`
}

// CSV is a line for each day.
func (c TrapCurve) CSV() (header []string, lines [][]string) {
	for _, d := range c.Days {
		lines = append(lines, texts(d.Day, d.Hosts, d.New, d.Resolved, d.Returned))
	}
	return []string{"day", "hosts", "new", "resolved", "returned"}, lines
}

// TrapCurve answers how a trap spread.
func (a *API) TrapCurve(ctx context.Context, q TrapCurveQuery) (c TrapCurve, err error) {
	in, err := scope(ctx, q.Group, q.Label)
	if err != nil {
		return c, err
	}
	days := CurvesQuery{Days: q.Days}
	c.Days, err = a.DB.TrapDays(ctx, in, q.ID, a.Now().AddDate(0, 0, 1-days.days()))
	return c, err
}

// SearchQuery asks for anything.
type SearchQuery struct {
	Q string `json:"q" need:"yes" about:"a part of a host's name, a trap's name, words of a symptom"`
}

// Hit is a trap that a search or a pasted text leads to.
type Hit struct {
	Trap    string     `json:"trap"`
	Title   string     `json:"title"`
	Score   float64    `json:"score,omitempty"` // of pasted text: 0 to 1
	Symptom string     `json:"symptom,omitempty"`
	Lines   []string   `json:"lines,omitempty"` // of the paste, that say so
	Sums    store.Cell `json:"sums"`
	Near    bool       `json:"near,omitempty"` // no match, but the nearest that there is
}

// Hits are what a search found.
type Hits struct {
	Hosts []*store.Host `json:"hosts"`
	More  int           `json:"more"` // hosts beyond those
	Traps []Hit         `json:"traps"`
}

// Search answers where words lead to.
func (a *API) Search(ctx context.Context, q SearchQuery) (s Hits, err error) {
	hosts, err := a.Hosts(ctx, HostsQuery{Q: q.Q, Order: "name", Limit: 20})
	if err != nil {
		return s, err
	}
	s.Hosts, s.More = hosts.Hosts, hosts.Count-len(hosts.Hosts)
	sums, err := a.sums(ctx)
	if err != nil {
		return s, err
	}
	seen := map[string]bool{}
	add := func(h Hit) {
		if !seen[h.Trap] && len(s.Traps) < 20 {
			seen[h.Trap] = true
			h.Title, h.Sums = a.Title(h.Trap), sums[h.Trap].Cell
			s.Traps = append(s.Traps, h)
		}
	}
	words := strings.ToLower(q.Q)
	for _, t := range a.Traps {
		if strings.Contains(t.ID(), words) || strings.Contains(strings.ToLower(t.Title()), words) {
			add(Hit{Trap: t.ID()})
		}
	}
	ranked, err := a.find.Rank(strings.NewReader(q.Q))
	if err != nil {
		return s, err
	}
	matches, _ := why.Told(ranked)
	for _, m := range matches {
		add(Hit{Trap: m.Trap, Score: m.Score, Symptom: m.Symptom})
	}
	return s, nil
}

func (a *API) sums(ctx context.Context) (map[string]store.TrapSums, error) {
	list, err := a.DB.TrapSums(ctx, sight(ctx))
	out := map[string]store.TrapSums{}
	for _, s := range list {
		out[s.Trap] = s
	}
	return out, err
}

// WhyQuery is a pasted text.
type WhyQuery struct {
	Text string `json:"text" need:"yes" long:"900000" about:"an error message, lines of a log, or a problem in your own words"`
}

// Verdict is what a text speaks of. What is found in the fleet comes first.
type Verdict struct {
	Traps []Hit `json:"traps"`
}

// Why answers which traps a text speaks of.
func (a *API) Why(ctx context.Context, q WhyQuery) (v Verdict, err error) {
	ranked, err := a.find.Rank(strings.NewReader(q.Text))
	if err != nil {
		return v, err
	}
	sums, err := a.sums(ctx)
	if err != nil {
		return v, err
	}
	matches, near := why.Told(ranked)
	for _, list := range [][]why.Match{matches, near} {
		for _, m := range list {
			lines, _ := cut(m.Lines, 5)
			v.Traps = append(
				v.Traps,
				Hit{
					Trap:    m.Trap,
					Title:   a.Title(m.Trap),
					Score:   m.Score,
					Symptom: m.Symptom,
					Lines:   lines,
					Sums:    sums[m.Trap].Cell,
					Near:    len(matches) == 0,
				},
			)
		}
	}
	slices.SortStableFunc(v.Traps, func(x, y Hit) int {
		switch fx, fy := x.Sums.Found() > 0, y.Sums.Found() > 0; {
		case fx == fy:
			return 0
		case fx:
			return -1
		}
		return 1
	})
	return v, nil
}
