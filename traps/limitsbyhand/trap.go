// Package limitsbyhand finds resource limits of running services that were raised from outside,
// and that a restart takes back.
package limitsbyhand

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/fact/startup"
)

//go:embed lore.md
var lore trap.Lore

// Trap is limits-by-hand.
var Trap = trap.Trap{Lore: lore, Cost: trap.Instant, Check: check}

// service is one whose process cannot raise its limits itself.
type service struct {
	*startup.Unit
	text  *startup.Text
	has   startup.Limits
	gives startup.Limits // by its own text
}

func check(ctx context.Context, h *host.Host, r *trap.Report) error {
	units, err := startup.Units(ctx, h)
	if startup.WithoutManager(ctx, h, err) {
		r.NotApplicable("", startup.NoManager)
		return nil
	}
	if err != nil {
		return err
	}
	defaults, err := startup.DefaultLimits(ctx, h)
	if err != nil {
		return err
	}
	var all []service
	for i := range units {
		s, err := bound(ctx, h, &units[i])
		if err != nil {
			r.Unknown(units[i].ID, err)
		} else if s != nil {
			all = append(all, *s)
		}
	}
	for i := range all {
		all[i].report(r, defaults, all)
	}
	if len(all) == 0 {
		r.NotApplicable("", "no service runs as another user than root from its start")
	}
	return nil
}

// bound is a service that systemd starts as another user than root, and whose process may not
// raise its limits; nil: it is none.
func bound(ctx context.Context, h *host.Host, u *startup.Unit) (*service, error) {
	if u.Kind() != "service" || u.ActiveState != "active" || u.MainPID == 0 || u.Transient || u.FragmentPath == "" ||
		strings.HasPrefix(u.Slice, "user-") {
		return nil, nil
	}
	t, err := startup.Read(ctx, h, u)
	if err != nil {
		return nil, err
	}
	user := t.Value("Service", "User")
	asOther := user != "" && user != "root" && user != "0" || t.Value("Service", "DynamicUser") == "yes"
	if !asOther || t.Value("Service", "PAMName") != "" {
		return nil, nil
	}
	for _, e := range t.List("Service", "ExecStart") {
		if _, prefixes := startup.Program(e.Value); strings.ContainsAny(prefixes, "+!") {
			return nil, nil
		}
	}
	status, err := h.ReadString(ctx, fmt.Sprintf("/proc/%d/status", u.MainPID))
	if host.IsAbsent(err) {
		return nil, nil // it has ended meanwhile
	}
	if err != nil {
		return nil, err
	}
	if mayRaise(status) {
		return nil, nil
	}
	has, err := startup.LimitsOf(ctx, h, u.MainPID)
	if host.IsAbsent(err) {
		return nil, nil
	}
	return &service{u, t, has, t.Limits()}, err
}

// mayRaise tells by /proc/PID/status (proc_pid_status(5)) whether a process may raise its hard
// limits: it has CAP_SYS_RESOURCE (capabilities(7)).
func mayRaise(status string) bool {
	const capSysResource = 24
	for line := range strings.Lines(status) {
		if mask, ok := strings.CutPrefix(line, "CapEff:"); ok {
			var bits uint64
			_, err := fmt.Sscanf(strings.TrimSpace(mask), "%x", &bits)
			return err != nil || bits>>capSysResource&1 == 1
		}
	}
	return true
}

// report compares what a service has with what its unit gives.
func (s *service) report(r *trap.Report, defaults startup.Limits, all []service) {
	for _, name := range startup.LimitNames {
		gives, ok := s.gives[name]
		source := s.text.File
		if !ok {
			if gives, ok = defaults[name]; ok {
				source = "system.conf, Default" + name
			} else {
				gives, ok = usual(name, all)
				source = "what other services have"
			}
		}
		has, known := s.has[name]
		if !ok || !known || has <= gives {
			continue
		}
		r.Found(trap.Finding{
			Subject: s.ID, Severity: trap.Warning, Lost: fmt.Sprintf("%s's %s=%s", s.ID, name, has),
			Summary: fmt.Sprintf("runs with %s=%s, which was raised from outside: after the next start it is %s", name, has, gives),
			ByHand:  fmt.Sprintf("systemctl edit %s: [Service] %s=%s", s.ID, name, has),
			Evidence: []trap.Evidence{trap.Ev(fmt.Sprintf("/proc/%d/limits", s.MainPID), "%s %s", name, has),
				trap.Ev(source, "%s", gives)},
		})
		return
	}
	r.Clear(s.ID, "has no limit above what its unit gives")
}

// usual is the limit that most services have whose units set none: three at least, and more than
// half of them.
func usual(name string, all []service) (startup.Limit, bool) {
	count, of := map[startup.Limit]int{}, 0
	for i := range all {
		if _, own := all[i].gives[name]; !own {
			if l, ok := all[i].has[name]; ok {
				count[l]++
				of++
			}
		}
	}
	for l, n := range count {
		if n >= 3 && 2*n > of {
			return l, true
		}
	}
	return 0, false
}
