package hub

import (
	"context"
	"errors"
	"strings"
	"time"

	"fettle/cli/app"
	"fettle/fleet/hub/store"
)

// listed is how many hosts a list has at most.
const listed = 1000

// maxSkew is how far a clock may be off without a remark.
const maxSkew = time.Minute

// find is the host that a user means, by its id or its name, if one alone has it.
func find(ctx context.Context, db *store.DB, given string) (*store.Host, error) {
	h, err := db.HostByAgent(ctx, given)
	if err == nil {
		return h, nil
	}
	if !errors.Is(err, store.ErrNone) {
		return nil, app.Failf("%w", err)
	}
	named, err := db.HostsNamed(ctx, given)
	switch {
	case err != nil:
		return nil, app.Failf("%w", err)
	case len(named) == 0:
		return nil, app.Usagef("no host has the name or id %q", given)
	case len(named) > 1:
		var ids []string
		for _, n := range named {
			ids = append(ids, n.Agent)
		}
		return nil, app.Usagef("%d hosts have the name %q: name one by its ID: %s", len(named), given, strings.Join(ids, ", "))
	}
	return named[0], nil
}

// remarks are what is odd about a host's agent.
func remarks(h *store.Host) string {
	var out []string
	for _, r := range []struct {
		so   bool
		says string
	}{
		{!h.Retired.IsZero(), "retired"},
		{!h.Twin.IsZero(), "two machines use its key"},
		{!h.Held.IsZero(), "sent too much: some reports were not stored"},
		{h.Failed != "", "its last check failed"},
		{h.Bad > 0, "sent what no agent sends"},
		{h.Dropped > 0, "lost results"},
		{h.Skew.Abs() > maxSkew, "its clock is off"},
	} {
		if r.so {
			out = append(out, r.says)
		}
	}
	return strings.Join(out, ", ")
}
