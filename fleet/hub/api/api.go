// Package api is what the hub answers: functions that the web page calls, and
// the same as JSON over HTTP, described by OpenAPI. Nothing is shown on the page
// that a program could not ask for.
package api

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"fettle/engine/trap"
	"fettle/fleet/hub/store"
	"fettle/report"
	"fettle/why"
)

// Asker asks hosts for a run.
type Asker interface {
	Ask(ctx context.Context, agents []string) error // nil: all
}

// Config is what the API needs.
type Config struct {
	DB          *store.DB
	Traps       []*trap.Trap
	Asker       Asker // nil: nobody can be asked
	SilentAfter time.Duration
	Now         func() time.Time
}

// API answers.
type API struct {
	Config
	traps map[string]*trap.Trap
	find  *why.Index
	menus menus
}

// New makes an API.
func New(cfg Config) (*API, error) {
	a := &API{Config: cfg, traps: map[string]*trap.Trap{}, menus: menus{list: map[store.Rights]menu{}}}
	for _, t := range append(slices.Clone(cfg.Traps), report.NotAsBefore) {
		a.traps[t.ID()] = t
	}
	var err error
	a.find, err = why.New(cfg.Traps)
	return a, err
}

// operations is the whole API.
var operations = []op{
	operation(
		http.MethodGet,
		"/api/v1/fleet",
		"fleet",
		"The state of the fleet, and what changed since yesterday and in a week",
		(*API).Fleet,
	),
	operation(http.MethodGet, "/api/v1/curves", "curves", "Findings by severity, day by day", (*API).Curves),
	operation(http.MethodGet, "/api/v1/matrix", "matrix", "Traps by groups of hosts, the worst first", (*API).Matrix),
	operation(http.MethodGet, "/api/v1/changes", "changes", "What changed, the newest first", (*API).Changes),
	operation(http.MethodGet, "/api/v1/hosts", "hosts", "Hosts, the worst first", (*API).Hosts),
	operation(http.MethodGet, "/api/v1/hosts/{id}", "host", "One host: findings, history, identity", (*API).Host),
	operation(
		http.MethodGet,
		"/api/v1/traps/{id}",
		"trap",
		"One trap: its article, the hosts that have it, and those that resolved it",
		(*API).Trap,
	),
	operation(
		http.MethodGet,
		"/api/v1/foreign",
		"foreign",
		"Traps that this hub does not know, by the hosts that report them",
		(*API).Foreign,
	),
	operation(http.MethodGet, "/api/v1/traps/{id}/hosts", "found", "Where a trap is found, the worst first", (*API).Found),
	operation(http.MethodGet, "/api/v1/traps/{id}/curve", "trapCurve", "Hosts with a trap, day by day", (*API).TrapCurve),
	operation(http.MethodGet, "/api/v1/traps/{id}/fix", "fix", "The command that fixes a trap on the hosts that have it", (*API).Fix),
	operation(http.MethodGet, "/api/v1/traps/{id}/inventory", "inventory", "These hosts as an inventory of Ansible", (*API).Inventory).
		file(textType),
	operation(http.MethodGet, "/api/v1/traps/{id}/playbook", "playbook", "A playbook that fixes the trap on them",
		(*API).Playbook).file(yamlType),
	operation(http.MethodGet, "/api/v1/fixes", "fixes", "What fettle fix changed on hosts, the newest first", (*API).Fixes),
	operation(http.MethodGet, "/api/v1/restarts", "restarts", "What came of restarts: what did not come back, by its cause",
		(*API).Restarts),
	operation(http.MethodGet, "/api/v1/coverage", "coverage", "What could not be inspected, and why", (*API).Coverage),
	operation(http.MethodGet, "/api/v1/compare", "compare", "How two hosts differ", (*API).Compare),
	operation(http.MethodGet, "/api/v1/search", "search", "Hosts by name, traps by words", (*API).Search),
	operation(
		http.MethodPost,
		"/api/v1/why",
		"why",
		"The traps behind a pasted text, and on how many hosts they are found",
		(*API).Why,
	).forReaders(),
	operation(http.MethodGet, "/api/v1/labels", "labels", "Labels of hosts, and how many hosts have them", (*API).Labels),
	operation(http.MethodGet, "/api/v1/accepted", "accepted", "Findings that operators accepted here", (*API).Accepted),
	operation(http.MethodGet, "/api/v1/accepted/hosts", "acceptedOnHosts", "Findings that are accepted on the hosts themselves",
		(*API).OwnAccepted),
	operation(http.MethodGet, "/api/v1/accepted/rules", "rules", "Traps that operators accepted on many hosts", (*API).Rules),
	operation(http.MethodGet, "/api/v1/packs", "packs", "Packs that are handed on, and how far they got", (*API).Packs),
	operation(http.MethodGet, "/api/v1/packs/{id}/hosts", "packHosts", "What became of a pack on the hosts that it was handed to",
		(*API).PackHosts),
	operation(http.MethodGet, "/api/v1/audit", "audit", "Who did what, the newest first", (*API).Audit).forOperators(),
	operation(
		http.MethodGet,
		"/api/v1/attempts",
		"attempts",
		"Logins that were refused, counted by day, address and reason",
		(*API).Attempts,
	).
		forOperators(),
	uploading(
		"/api/v1/hosts/{id}/captures",
		"attach",
		"Attach a capture to a host, made by fettle capture --redact",
		zstdType,
		(*API).Attach,
	),
	operation(http.MethodGet, "/api/v1/captures/{id}", "capture", "A capture's file", (*API).Capture).forOperators(),
	operation(http.MethodPost, "/api/v1/captures/{id}/remove", "detach", "Remove a capture", (*API).Detach),
	operation(http.MethodPost, "/api/v1/accept", "accept", "Accept a finding", (*API).Accept),
	operation(http.MethodPost, "/api/v1/unaccept", "unaccept", "Take an acceptance back", (*API).Unaccept),
	operation(http.MethodPost, "/api/v1/accepted/rules", "acceptRule", "Accept a trap on all hosts, on a group, on a label",
		(*API).AcceptRule),
	operation(http.MethodPost, "/api/v1/accepted/rules/{id}/remove", "removeRule", "Take such an acceptance back", (*API).RemoveRule),
	operation(http.MethodPost, "/api/v1/hosts/set", "setHosts", "Set the group, the name, labels of hosts", (*API).SetHosts),
	operation(http.MethodPost, "/api/v1/ask", "ask", "Ask a host, or many, to check now", (*API).Ask),
}

// Who is somebody who asks or acts, with the groups of hosts that he sees; package web
// puts it in. Who is nobody sees nothing.
type Who struct {
	Name, From string
	Sees       store.Rights
}

type whoKey struct{}

// As is a context in which somebody asks or acts.
func As(ctx context.Context, w Who) context.Context { return context.WithValue(ctx, whoKey{}, w) }

func who(ctx context.Context) Who {
	w, _ := ctx.Value(whoKey{}).(Who)
	return w
}

// Title is a trap's title, of one that this hub does not know the empty string.
func (a *API) Title(id string) string {
	if t := a.traps[id]; t != nil {
		return t.Title()
	}
	return ""
}

func (a *API) silentBefore() time.Time { return a.Now().Add(-a.SilentAfter) }

// group is a group that was asked for. The group without a name is "-" in
// questions, where the empty string is no question.
func group(s string) *string {
	switch s {
	case "":
		return nil
	case "-":
		s = ""
	}
	return &s
}

// rank is a severity's, 0 for none.
func rank(severity string) int {
	s, _ := trap.ParseSeverity(severity)
	return int(s)
}

// moment reads the point in time of a parameter: a day, or a span like "7d" or "12h" before now.
func (a *API) moment(name, s string) (time.Time, error) {
	if t, err := time.Parse(time.DateOnly, s); err == nil {
		return t, nil
	}
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		return t, nil
	}
	if days, ok := strings.CutSuffix(s, "d"); ok {
		if n := number(days, -1); n >= 0 && n <= 4000 {
			return a.Now().AddDate(0, 0, -n), nil
		}
	}
	if d, err := time.ParseDuration(s); err == nil && d >= 0 {
		return a.Now().Add(-d), nil
	}
	return time.Time{}, bad("%s %q: expected 24h, 7d, or a day as 2026-01-31", name, clip(s))
}

// scope is the hosts that whoever asks means: of those that he sees.
func scope(ctx context.Context, asked, label string) (store.Scope, error) {
	labels, err := store.ParseLabels(label)
	if err != nil {
		return store.Scope{}, bad("%v", err)
	}
	return who(ctx).Sees.Scope(group(asked), labels), nil
}

// sight is all hosts that whoever asks sees.
func sight(ctx context.Context) store.Scope { return who(ctx).Sees.Scope(nil, nil) }

// errWhole: a question or an act that concerns hosts of all groups.
var errWhole = &Forbidden{"this needs rights over all groups of hosts"}

// Forbidden is what the caller may not do.
type Forbidden struct{ Said string }

func (e *Forbidden) Error() string { return e.Said }

// host is a host by its id, if whoever asks sees it: another one is not there.
func (a *API) host(ctx context.Context, agent string) (*store.Host, error) {
	h, err := a.DB.HostByAgent(ctx, agent)
	if err == nil && !who(ctx).Sees.Over(h.Group) {
		return nil, store.ErrNone
	}
	return h, err
}

// named are the hosts of a name that whoever asks sees.
func (a *API) named(ctx context.Context, name string) ([]*store.Host, error) {
	list, err := a.DB.HostsNamed(ctx, name)
	return slices.DeleteFunc(list, func(h *store.Host) bool { return !who(ctx).Sees.Over(h.Group) }), err
}

// hostBy finds a host by its id, or by its name if only one has that.
func (a *API) hostBy(ctx context.Context, s string) (*store.Host, error) {
	h, err := a.host(ctx, s)
	if err != store.ErrNone {
		return h, err
	}
	named, err := a.named(ctx, s)
	switch {
	case err != nil:
		return nil, err
	case len(named) == 0:
		return nil, store.ErrNone
	case len(named) > 1:
		var ids []string
		for _, h := range named {
			ids = append(ids, h.Agent)
		}
		return nil, bad("%d hosts call themselves %s: give one's id: %s", len(named), clip(s), strings.Join(ids[:min(len(ids), 5)], ", "))
	}
	return named[0], nil
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// cut takes a page's worth of a list of which one more was asked for.
func cut[T any](list []T, n int) ([]T, bool) {
	if len(list) <= n {
		return list, false
	}
	return slices.Clip(list[:n]), true
}

// following is the offset of the page after one; 0: there is none.
func following(offset, shown, all int) int {
	if end := offset + shown; shown > 0 && end < all {
		return end
	}
	return 0
}

func limit(n int) int {
	if n == 0 {
		return 50
	}
	return n
}
