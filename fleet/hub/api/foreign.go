package api

import (
	"context"

	"fettle/fleet/hub/store"
)

// ForeignQuery asks for traps that this hub does not know.
type ForeignQuery struct {
	Offset int `json:"offset" most:"1000000" about:"number to skip"`
	Limit  int `json:"limit" most:"1000" about:"maximum number; default 50"`
}

// Foreign is what hosts report under names that this hub does not know: of another
// version of fettle, of rules of their own, or invented.
type Foreign struct {
	Foreign []store.Foreign `json:"foreign"`
	Count   int             `json:"count"` // without the limit
	Next    int             `json:"next"`  // the offset of those that follow; 0: there are none
}

// CSV is a line for each trap and host.
func (f Foreign) CSV() (header []string, lines [][]string) {
	for _, x := range f.Foreign {
		lines = append(lines, texts(x.Host.Name, x.Host.Group, x.Trap, x.Title, x.Severity, x.Count, x.Host.Agent))
	}
	return []string{"host", "group", "trap", "title", "severity", "count", "host id"}, lines
}

// Foreign answers which traps hosts report that this hub does not know.
func (a *API) Foreign(ctx context.Context, q ForeignQuery) (f Foreign, err error) {
	f.Foreign, f.Count, err = a.DB.Foreigns(ctx, sight(ctx), q.Offset, limit(q.Limit))
	f.Next = following(q.Offset, len(f.Foreign), f.Count)
	return f, err
}
