package api

import (
	"context"
	"slices"
	"time"

	"fettle/fleet/hub/store"
)

// Pack is a pack that is handed on, and how far it got.
type Pack struct {
	Name     string    `json:"name"`
	Version  int       `json:"version"`
	Signer   string    `json:"signer"`
	Canary   string    `json:"canary"` // the group that gets it first
	Stage    string    `json:"stage"`  // canary, all, stopped
	Stalled  bool      `json:"stalled"`
	Standing string    `json:"standing"` // in words: why it was stopped, what it waits for
	Offered  time.Time `json:"offered"`
	Who      string    `json:"who"`
	Others   time.Time `json:"others"`    // when the others get it, at the earliest
	StopAt   int       `json:"stop_at"`   // per cent
	ResumeAt int       `json:"resume_at"` // where it would go on
	Sent     int       `json:"sent"`      // hosts, as are the rest
	Have     int       `json:"have"`
	Refused  int       `json:"refused"`
	Found    int       `json:"found"`   // they report more since
	Unknown  int       `json:"unknown"` // they cannot look
}

// Packs are those that are handed on.
type Packs struct {
	Packs []Pack `json:"packs"`
}

// CSV is a line for each.
func (l Packs) CSV() (header []string, lines [][]string) {
	for _, p := range l.Packs {
		lines = append(lines, texts(p.Name, p.Version, p.Signer, p.Canary, p.Stage, p.Standing, p.Sent, p.Have, p.Refused, p.Found, p.Unknown,
			stamp(p.Offered), p.Who))
	}
	header = []string{"pack", "version", "signer", "canary", "stage", "standing", "sent", "have", "refused", "found", "unknown",
		"offered", "by"}
	return header, lines
}

// Packs answers which packs are handed on.
func (a *API) Packs(ctx context.Context, _ Nothing) (l Packs, err error) {
	if !who(ctx).Sees.All() { // they go over all groups
		return l, errWhole
	}
	list, err := a.DB.Packs(ctx)
	for _, p := range list {
		l.Packs = append(l.Packs, Pack{Name: p.Name, Version: p.Version, Signer: p.Signer, Canary: p.Canary, Stage: p.Stage,
			Stalled: p.Stalled(a.Now()), Standing: p.Standing(a.Now()), Offered: p.Began, Who: p.Who, Others: p.Others(),
			StopAt: p.StopAt, ResumeAt: p.ResumeAt(),
			Sent: p.Sent, Have: p.Taken, Refused: p.Refused, Found: p.Found, Unknown: p.Unknown})
	}
	return l, err
}

// PackQuery asks for a pack's hosts.
type PackQuery struct {
	ID     string `json:"id" need:"yes" about:"the pack's name"`
	Offset int    `json:"offset" most:"1000000" about:"number to skip"`
	Limit  int    `json:"limit" most:"1000" about:"maximum number; default 50"`
}

// PackHosts are the hosts that a pack was handed to: those that refused it first, then those that report more.
type PackHosts struct {
	Pack  Pack             `json:"pack"`
	Hosts []store.PackHost `json:"hosts"`
	Count int              `json:"count"` // without the limit
	Next  int              `json:"next"`  // the offset of those that follow; 0: there are none
}

// CSV is a line for each host.
func (l PackHosts) CSV() (header []string, lines [][]string) {
	for _, h := range l.Hosts {
		taken := ""
		if !h.Taken.IsZero() {
			taken = stamp(h.Taken)
		}
		lines = append(lines, texts(h.Host.Name, h.Host.Group, stamp(h.Sent), taken, h.Refused, h.Found, h.Unknown, h.Host.Agent))
	}
	return []string{"host", "group", "sent", "taken", "refused", "found", "unknown", "host id"}, lines
}

// PackHosts answers what became of a pack on its hosts.
func (a *API) PackHosts(ctx context.Context, q PackQuery) (l PackHosts, err error) {
	all, err := a.Packs(ctx, Nothing{})
	if err != nil {
		return l, err
	}
	i := slices.IndexFunc(all.Packs, func(p Pack) bool { return p.Name == q.ID })
	if i < 0 {
		return l, store.ErrNone
	}
	l.Pack = all.Packs[i]
	l.Hosts, l.Count, err = a.DB.PackHosts(ctx, q.ID, q.Offset, limit(q.Limit))
	l.Next = following(q.Offset, len(l.Hosts), l.Count)
	return l, err
}
