package web

import (
	"context"
	"html/template"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"fettle/fleet/hub/api"
	"fettle/fleet/hub/store"
	"fettle/fleet/hub/web/login"
)

// ask reads an API question from a page's own query; pathID is its {id}.
func ask[Q any](r *http.Request) (Q, error) {
	given, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return api.Read[Q](url.Values{"?": {""}})
	}
	if id := r.PathValue("id"); id != "" {
		given.Set("id", id)
	}
	return api.Read[Q](given)
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// asking asks the API one thing after the other, until one answer is an error.
// Read err in a statement of its own: within one, Go may read it before it calls.
type asking struct {
	ctx context.Context
	err error
}

func answer[Q, R any](a *asking, f func(context.Context, Q) (R, error), q Q) (r R) {
	if a.err == nil {
		r, a.err = f(a.ctx, q)
	}
	return r
}

// groups and labels are what filters offer.
func (s *site) groups(a *asking) []store.Group { return answer(a, s.api.Groups, api.Nothing{}) }
func (s *site) labels(a *asking) []store.LabelCount {
	return answer(a, s.api.LabelMenu, api.Nothing{}).Labels
}

var fleetFeed = link{"Changes", "/feed/changes.atom"}

func (s *site) fleet(r *http.Request) (*page, error) {
	q, err := ask[api.MatrixQuery](r)
	if err != nil {
		return nil, err
	}
	if q.Limit == 0 {
		q.Limit = 15
	}
	a := asking{ctx: acting(r)}
	fleet := answer(&a, s.api.Fleet, api.FleetQuery{Group: q.Group, Label: q.Label})
	p := &page{Title: "Fleet", Here: "/", template: "fleet", Curves: true, Feeds: []link{fleetFeed}, Data: map[string]any{
		"Fleet": fleet, "Q": q, "Groups": s.groups(&a), "Labels": s.labels(&a),
		"Matrix":  answer(&a, s.api.Matrix, q),
		"News":    answer(&a, s.api.Changes, api.ChangesQuery{Since: "24h", Limit: 12, Group: q.Group, Label: q.Label, Severity: q.Severity}),
		"Unknown": answer(&a, s.api.Coverage, api.CoverageQuery{Limit: 6, Group: q.Group, Label: q.Label}),
		"Days":    answer(&a, s.api.Curves, api.CurvesQuery{Days: 14, Group: q.Group, Label: q.Label}).Days,
	}}
	if login.Who(r.Context()).Sees.All() {
		p.Data.(map[string]any)["Stopped"] = s.stopped(&a)
	}
	return p, a.err
}

func (s *site) traps(r *http.Request) (*page, error) {
	q, err := ask[api.MatrixQuery](r)
	if err != nil {
		return nil, err
	}
	if q.Limit == 0 {
		q.Limit = 500
	}
	a := asking{ctx: acting(r)}
	m := answer(&a, s.api.Matrix, q)
	p := &page{Title: "Traps", Here: "/traps", template: "traps", Data: map[string]any{
		"Matrix": m, "Pages": pagesOf(r, q.Offset, q.Limit, len(m.Rows), m.Count), "Groups": s.groups(&a), "Labels": s.labels(&a), "Q": q,
	}}
	return p, a.err
}

func (s *site) changes(r *http.Request) (*page, error) {
	q, err := ask[api.ChangesQuery](r)
	if err != nil {
		return nil, err
	}
	a := asking{ctx: acting(r)}
	list := answer(&a, s.api.Changes, q)
	feed := fleetFeed
	if f := without(r.URL.Query(), "before", "after", "limit", "since").Encode(); f != "" {
		feed = link{"These changes", fleetFeed.Href + "?" + f}
	}
	p := &page{Title: "Changes", Here: "/changes", template: "changelist", Feeds: []link{feed}, Data: map[string]any{
		"List": list.Changes, "Pages": along(r, list.Prev, list.Next, list.Count, store.CountedChanges), "Q": q,
		"Groups": s.groups(&a), "Labels": s.labels(&a),
		"Kinds":  []string{"new", "resolved", "returned", "changed", "seen", "unseen"},
		"Export": template.URL(without(r.URL.Query(), "before", "after", "limit").Encode()), // which escapes
	}}
	return p, a.err
}

func (s *site) restarts(r *http.Request) (*page, error) {
	q, err := ask[api.RestartsQuery](r)
	if err != nil {
		return nil, err
	}
	a := asking{ctx: acting(r)}
	p := &page{Title: "Restarts", Here: "/restarts", template: "restarts", Data: map[string]any{
		"R": answer(&a, s.api.Restarts, q), "Q": q, "Groups": s.groups(&a), "Labels": s.labels(&a),
		"Export": template.URL(without(r.URL.Query()).Encode()), // which escapes
	}}
	return p, a.err
}

func without(v url.Values, names ...string) url.Values {
	for _, n := range names {
		v.Del(n)
	}
	for name, vals := range v {
		if len(vals) == 1 && vals[0] == "" {
			v.Del(name)
		}
	}
	return v
}

func (s *site) trap(r *http.Request) (*page, error) {
	q, err := ask[api.FoundQuery](r)
	if err != nil {
		return nil, err
	}
	a := asking{ctx: acting(r)}
	t := answer(&a, s.api.Trap, api.TrapQuery{ID: q.ID, Group: q.Group, Label: q.Label})
	found := answer(&a, s.api.Found, q)
	var plan api.FixPlan
	if t.Known {
		fix := api.FixQuery{ID: q.ID, Group: q.Group, Label: q.Label}
		if q.Severity != "unknown" {
			fix.Severity = q.Severity
		}
		plan = answer(&a, s.api.Fix, fix)
	}
	fixes := answer(&a, s.api.Fixes, api.FixesQuery{Trap: q.ID, Group: q.Group, Label: q.Label, Limit: 10})
	p := &page{
		Title:    t.ID,
		Here:     "/traps",
		template: "trap",
		Curves:   true,
		Feeds:    []link{{"Changes of " + t.ID, "/feed/changes.atom?trap=" + url.QueryEscape(t.ID)}},
		Data: map[string]any{
			"Trap": t, "Found": found, "Plan": plan, "Fixes": fixes, "Q": q, "Groups": s.groups(&a), "Labels": s.labels(&a), "Pages": pagesOf(r,
				q.Offset, 50, len(found.Found),
				found.Count),
		},
	}
	return p, a.err
}

func (s *site) hosts(r *http.Request) (*page, error) {
	q, err := ask[api.HostsQuery](r)
	if err != nil {
		return nil, err
	}
	a := asking{ctx: acting(r)}
	list := answer(&a, s.api.Hosts, q)
	p := &page{Title: "Hosts", Here: "/hosts", template: "hosts", Data: map[string]any{
		"List": list, "Pages": pagesOf(r, q.Offset, 50, len(list.Hosts), list.Count), "Q": q, "Groups": s.groups(&a), "Labels": s.labels(&a),
		"Export": template.URL(without(r.URL.Query(), "offset", "limit").Encode()), // which escapes
	}}
	return p, a.err
}

func (s *site) host(r *http.Request) (*page, error) {
	q, err := ask[api.HostQuery](r)
	if err != nil {
		return nil, err
	}
	h, err := s.api.Host(acting(r), q)
	if err != nil {
		return nil, err
	}
	groups, err := s.api.Groups(acting(r), api.Nothing{})
	if err != nil {
		return nil, err
	}
	return &page{Title: h.Host.Name, Here: "/hosts", template: "host", Data: map[string]any{"Host": h, "MayAsk": s.cfg.Asker != nil,
		"Groups": groups,
		"Pages":  pagesOf(r, q.Offset, api.FindingsShown, len(h.Findings)+len(h.Unknown), h.Count)}}, nil
}

func (s *site) coverage(r *http.Request) (*page, error) {
	q, err := ask[api.CoverageQuery](r)
	if err != nil {
		return nil, err
	}
	if q.Limit == 0 {
		q.Limit = 150
	}
	a := asking{ctx: acting(r)}
	c := answer(&a, s.api.Coverage, q)
	p := &page{Title: "Unknowns", Here: "/coverage", template: "coverage", Data: map[string]any{
		"Coverage": c, "Pages": pagesOf(r, q.Offset, q.Limit, len(c.Reasons), c.Count),
		"Quiet": answer(&a, s.api.Hosts, api.HostsQuery{Silent: true, Order: "seen", Limit: 50, Group: q.Group, Label: q.Label}),
		"Q":     q, "Groups": s.groups(&a), "Labels": s.labels(&a),
	}}
	return p, a.err
}

func (s *site) compare(r *http.Request) (*page, error) {
	p := &page{Title: "Compare", Here: "/compare", template: "compare"}
	a, b := r.URL.Query().Get("a"), r.URL.Query().Get("b")
	data := map[string]any{"A": a, "B": b}
	p.Data = data
	if a == "" || b == "" {
		return p, nil
	}
	q, err := ask[api.CompareQuery](r)
	if err != nil {
		return nil, err
	}
	c, err := s.api.Compare(acting(r), q)
	if err != nil {
		if status, said := api.Problem(err); status < http.StatusInternalServerError {
			p.Error = said
			return p, nil
		}
		return nil, err
	}
	p.Title = "Compare " + c.A.Name + " with " + c.B.Name
	data["Result"] = &c
	return p, nil
}

func (s *site) search(r *http.Request) (*page, error) {
	p := &page{Title: "Search", template: "search", Query: r.URL.Query().Get("q")}
	if p.Query == "" {
		p.Data = map[string]any{}
		return p, nil
	}
	q, err := ask[api.SearchQuery](r)
	if err != nil {
		return nil, err
	}
	hits, err := s.api.Search(acting(r), q)
	if err != nil {
		return nil, err
	}
	if len(hits.Hosts) == 1 && hits.Hosts[0].Name == q.Q && len(hits.Traps) == 0 {
		return &page{redirect: hostPage(hits.Hosts[0].Agent)}, nil
	}
	p.Data = map[string]any{"Hits": hits}
	return p, nil
}

func (s *site) paste(r *http.Request) (*page, error) {
	p := &page{Title: "Paste", Here: "/paste", template: "paste"}
	data := map[string]any{"Text": ""}
	p.Data = data
	if r.Method != http.MethodPost {
		return p, nil
	}
	q, err := api.Read[api.WhyQuery](without(url.Values{"text": r.PostForm["text"]}))
	if err != nil {
		_, p.Error = api.Problem(err)
		return p, nil
	}
	v, err := s.api.Why(acting(r), q)
	if err != nil {
		return nil, err
	}
	data["Text"], data["Asked"], data["Traps"] = q.Text, true, v.Traps
	return p, nil
}

func (s *site) accepted(r *http.Request) (*page, error) {
	q, err := ask[api.AcceptedQuery](r)
	if err != nil {
		return nil, err
	}
	a := asking{ctx: acting(r)}
	l := answer(&a, s.api.Accepted, q)
	own := answer(&a, s.api.OwnAccepted, api.AcceptedQuery{Group: q.Group, Label: q.Label, Limit: 200})
	rules := answer(&a, s.api.Rules, api.Nothing{})
	return &page{Title: "Accepted", template: "accepted", Data: map[string]any{
		"List": l.Accepted, "Pages": pagesOf(r, q.Offset, 50, len(l.Accepted), l.Count), "Own": own, "Rules": rules.Rules, "Q": q,
		"Groups": s.groups(&a), "Labels": s.labels(&a), "Trap": r.URL.Query().Get("trap"),
	}}, a.err
}

func (s *site) audit(r *http.Request) (*page, error) {
	q, err := ask[api.AuditQuery](r)
	if err != nil {
		return nil, err
	}
	l, err := s.api.Audit(acting(r), q)
	if err != nil {
		return nil, err
	}
	return &page{Title: "Audit log", template: "audit", Data: map[string]any{
		"List": l.Acts, "Pages": pagesOf(r, q.Offset, 50, len(l.Acts), l.Count)}}, nil
}

func (s *site) foreign(r *http.Request) (*page, error) {
	q, err := ask[api.ForeignQuery](r)
	if err != nil {
		return nil, err
	}
	f, err := s.api.Foreign(acting(r), q)
	if err != nil {
		return nil, err
	}
	return &page{Title: "Traps that this hub does not know", Here: "/traps", template: "foreign", Data: map[string]any{
		"List": f.Foreign, "Pages": pagesOf(r, q.Offset, 50, len(f.Foreign), f.Count)}}, nil
}

func (s *site) attempts(r *http.Request) (*page, error) {
	q, err := ask[api.AttemptsQuery](r)
	if err != nil {
		return nil, err
	}
	l, err := s.api.Attempts(acting(r), q)
	if err != nil {
		return nil, err
	}
	return &page{Title: "Refused logins", template: "attempts", Data: map[string]any{
		"List": l.Attempts, "Pages": pagesOf(r, q.Offset, 50, len(l.Attempts), l.Count)}}, nil
}

func (s *site) apiPage(*http.Request) (*page, error) {
	return &page{Title: "API", template: "api", Data: api.Operations()}, nil
}

// acting is the context of a request: what is asked is answered as its visitor may see it,
// and acts are recorded as the visitor's.
func acting(r *http.Request) context.Context {
	v := login.Who(r.Context())
	return api.As(r.Context(), api.Who{Name: v.Name, From: v.From, Sees: v.Sees})
}

// act does what a form with these fields asks for, and then leads back to a page that says so.
func act[Q any](
	s *site,
	do func(context.Context, Q) (api.Done, error),
	after func(Q) (next, said string),
	names ...string,
) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		q, err := api.Read[Q](fields(r, names...))
		if err == nil {
			_, err = do(acting(r), q)
		}
		if err != nil {
			s.problem(w, r, err)
			return
		}
		next, said := after(q)
		s.done(w, r, next, said)
	}
}

func afterAccept(q api.AcceptQuery) (next, said string) {
	return hostPage(q.Host), "Accepted: " + q.Trap
}

func afterUnaccept(q api.UnacceptQuery) (next, said string) {
	return hostPage(q.Host), "No longer accepted: " + q.Trap
}

func afterAsk(q api.AskQuery) (next, said string) {
	if q.Host == "" {
		said = "All hosts were asked to check now."
		if q.Group != "" || q.Label != "" {
			said = "The hosts were asked to check now."
		}
		return "/?" + string(queryOf("group", q.Group, "label", q.Label)), said
	}
	return hostPage(q.Host), "The host was asked to check now."
}

func afterRule(q api.RuleQuery) (next, said string) { return "/accepted", "Accepted: " + q.Trap }

func afterRemoveRule(api.RemoveRuleQuery) (next, said string) {
	return "/accepted", "The acceptance was removed."
}

// setHosts puts the hosts that a form names in order.
func (s *site) setHosts(w http.ResponseWriter, r *http.Request) {
	given := fields(r, "group", "name", "own_name", "label", "remove")
	given.Set("hosts", strings.Join(r.PostForm["host"], ","))
	q, err := api.Read[api.SetQuery](given)
	if err == nil {
		_, err = s.api.SetHosts(acting(r), q)
	}
	if err != nil {
		s.problem(w, r, err)
		return
	}
	said := "1 host was set."
	if n := len(r.PostForm["host"]); n > 1 {
		said = itoa(int64(n)) + " hosts were set."
	}
	s.done(w, r, login.Local(r.PostForm.Get("next")), said)
}

func hostPage(id string) string { return "/host/" + url.PathEscape(id) }

// fields are some fields of a form. A subject is encoded in it.
func fields(r *http.Request, names ...string) url.Values {
	out := url.Values{}
	for _, n := range names {
		if v := r.PostForm[n]; len(v) > 0 {
			out[n] = v
		}
	}
	if s, err := url.QueryUnescape(out.Get("subject")); err == nil && s != "" {
		out["subject"] = []string{s}
	}
	return out
}
