package remedy

import (
	"context"
	"errors"
	"strconv"
	"syscall"
	"time"
)

func (LinkMTU) running() bool       { return true }
func (SolicitRouter) running() bool { return true }

// items: the link, and those whose MTU follows it: the master it is a port
// of, and the VLANs and macvlans above it or above the master, which the
// kernel clamps and does not let grow back (vlan_device_event(),
// net/8021q/vlan.c).
func (s LinkMTU) items(_ context.Context, m Machine) ([]Item, error) {
	ls, err := m.Links()
	if err != nil {
		return nil, err
	}
	item := func(l Link, aside bool) Item {
		return Item{Kind: itemMTU, Path: l.Name, Value: strconv.Itoa(l.MTU), Index: l.Index, Aside: aside}
	}
	var out []Item
	reached := map[int]bool{}
	for _, l := range ls {
		if l.Name == s.Link {
			out = append(out, item(l, false))
			reached[l.Index] = true
		}
	}
	if len(out) == 0 {
		return nil, &Changed{Path: "link " + s.Link, Why: "does not exist"}
	}
	for i := 0; i < len(out); i++ {
		var at Link
		for _, l := range ls {
			if l.Index == out[i].Index {
				at = l
			}
		}
		for _, l := range ls {
			if !reached[l.Index] && (l.Index == at.Master || l.Parent == at.Index) {
				reached[l.Index] = true
				out = append(out, item(l, true))
			}
		}
	}
	return out, nil
}

func (s LinkMTU) act(ctx context.Context, st *site, before []Item) error {
	now, err := readItem(ctx, st.m, before[0])
	if err != nil {
		return err
	}
	if now.Gone {
		return &Changed{Path: "link " + s.Link, Why: "went away or was made anew a moment ago"}
	}
	return st.m.SetMTU(now.Index, s.MTU)
}

func (s LinkMTU) done(_ context.Context, _ Machine, _, now []Item) (bool, error) {
	return !now[0].Gone && now[0].Value == strconv.Itoa(s.MTU), nil
}

func (s LinkMTU) between(_, now Item) bool {
	return now.Value == strconv.Itoa(s.MTU)
}

func (SolicitRouter) items(context.Context, Machine) ([]Item, error) { return nil, nil }

func (s SolicitRouter) act(ctx context.Context, st *site, _ []Item) error {
	// For a second or two after it came up a link has only addresses that may
	// not be used yet (duplicate address detection, RFC 4862 §5.4).
	for end := time.Now().Add(dadLimit); ; {
		err := st.m.Solicit(ctx, s.Link)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, syscall.EADDRNOTAVAIL) && time.Now().Before(end) && ctx.Err() == nil:
			time.Sleep(200 * time.Millisecond)
		default:
			// It only saves waiting: routers advertise themselves anyway.
			// Whether what was wanted came about, the check tells.
			st.note("note: %v; the next advertisement may take minutes", err)
			return nil
		}
	}
}

const dadLimit = 3 * time.Second

// done: asking twice does no harm, and no one can see a question.
func (SolicitRouter) done(context.Context, Machine, []Item, []Item) (bool, error) { return false, nil }
func (SolicitRouter) between(_, _ Item) bool                                      { return false }
