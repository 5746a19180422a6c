package rule

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"fettle/host"
)

// together are units that are asked about with one command, whoever needs one
// of them: each command costs some milliseconds.
var together struct {
	sync.Mutex
	names map[string]bool
}

// AskTogether adds units to those that are asked about with one command.
func AskTogether(names ...string) {
	together.Lock()
	defer together.Unlock()
	if together.names == nil {
		together.names = map[string]bool{}
	}
	for _, n := range names {
		together.names[n] = true
	}
}

// Units are the units that the rule asks about.
func (r *Rule) Units() []string {
	var out []string
	for _, f := range r.Facts {
		if f.Kind == "unit" {
			out = append(out, f.Args...)
		}
	}
	return out
}

// units asks about units, and about all that go together with them.
func (r *reading) units(names []string) (map[string]host.Unit, error) {
	together.Lock()
	all := slices.Sorted(maps.Keys(together.names))
	together.Unlock()
	for _, n := range names {
		if _, ok := slices.BinarySearch(all, n); !ok {
			return r.h.Units(r.ctx, names...)
		}
	}
	us, err := r.h.Units(r.ctx, all...)
	if errors.Is(err, host.ErrNotCollected) { // a capture of another version asked otherwise
		return r.h.Units(r.ctx, names...)
	}
	return us, err
}

// readUnit finds the first of several units that exists. Where systemd does
// not run the host there is none.
func readUnit(r *reading, f *Fact) (any, error) {
	us, err := r.units(f.Args)
	if errors.Is(err, host.ErrNoSystemd) {
		return newObject("unit", "systemctl", "systemd does not run this host", map[string]any{"name": f.Args[0]}), nil
	}
	if err != nil {
		return nil, err
	}
	u := us[f.Args[0]]
	for _, name := range f.Args {
		if us[name].LoadState != "not-found" {
			u = us[name]
			break
		}
	}
	fields := map[string]any{"systemd": true, "exists": u.LoadState != "not-found", "name": u.Name, "load": u.LoadState, "active": u.ActiveState,
		"sub": u.SubState, "is_active": u.Active(), "is_failed": u.ActiveState == "failed", "is_masked": u.LoadState == "masked",
		"file_state": u.UnitFileState, "is_enabled": strings.HasPrefix(u.UnitFileState, "enabled")}
	if u.Partial {
		miss := later(func() (any, error) { return nil, fmt.Errorf("whether %s is enabled: %w", u.Name, host.ErrNotCollected) })
		fields["file_state"], fields["is_enabled"] = miss, miss
	}
	say := u.ActiveState + " (" + u.SubState + ")"
	if u.UnitFileState != "" {
		say += ", " + u.UnitFileState
	}
	if u.LoadState != "loaded" {
		say = u.LoadState + ", " + say
	}
	return newObject("unit", "systemctl show "+u.Name, say, fields), nil
}
