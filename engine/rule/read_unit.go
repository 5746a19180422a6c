package rule

import (
	"errors"
	"strings"

	"fettle/host"
)

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

// readUnit finds the first of several units that exists. Where systemd does
// not run the host there is none.
func readUnit(r *reading, f *Fact) (*unitFact, error) {
	us, err := r.h.Units(r.ctx, f.Args...)
	if errors.Is(err, host.ErrNoSystemd) {
		return &unitFact{seen: seen{"systemctl", "this host does not run systemd"}, Name: f.Args[0]}, nil
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
	o := &unitFact{Systemd: true, Exists: u.LoadState != "not-found", Name: u.Name, Load: u.LoadState, Active: u.ActiveState,
		Sub: u.SubState, IsActive: u.Active(), IsFailed: u.ActiveState == "failed", IsMasked: u.LoadState == "masked",
		FileState: value(u.UnitFileState), IsEnabled: value(strings.HasPrefix(u.UnitFileState, "enabled"))}
	if u.Partial {
		o.FileState = noValue[string]("whether %s is enabled: %w", u.Name, host.ErrNotCollected)
		o.IsEnabled = noValue[bool]("whether %s is enabled: %w", u.Name, host.ErrNotCollected)
	}
	say := u.ActiveState + " (" + u.SubState + ")"
	if u.UnitFileState != "" {
		say += ", " + u.UnitFileState
	}
	if u.LoadState != "loaded" {
		say = u.LoadState + ", " + say
	}
	o.seen = seen{"systemctl show " + u.Name, say}
	return o, nil
}
