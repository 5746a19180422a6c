// Package configurationrefused finds services that run, and will not start again: since they were
// started somebody changed what they read then, or took away a file that it names.
package configurationrefused

import (
	"context"
	_ "embed"
	"path"
	"slices"
	"strings"
	"time"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/fact/startup"
)

//go:embed lore.md
var lore trap.Lore

// Trap is configuration-refused.
var Trap = trap.Trap{Lore: lore, Cost: trap.Instant, Limit: time.Minute, Check: check}

func check(ctx context.Context, h *host.Host, r *trap.Report) error {
	err := h.Systemd(ctx)
	if startup.WithoutManager(ctx, h, err) {
		r.NotApplicable("", startup.NoManager)
		return nil
	}
	if err != nil {
		return err
	}
	php, err := phpServices(ctx, h)
	if err != nil {
		return err
	}
	all := append(slices.Clip(services), php...)
	us, err := h.Units(ctx, names(all)...)
	if err != nil {
		return err
	}
	looked := false
	for _, s := range all {
		for _, name := range s.units {
			u := us[name]
			waits := s.socket != "" && us[s.socket].Active() && u.LoadState == "loaded"
			if !u.Active() && !waits || u.ID != "" && u.ID != name { // an alias is looked at by its own name
				continue
			}
			looked = true
			s.judge(ctx, h, us[name], r)
			break // the next name is an older one, or one that only stands for it
		}
	}
	for _, name := range unvalidated {
		if u := us[name]; u.Active() && (u.ID == "" || u.ID == name) {
			looked = true
			r.NotApplicable(name, "no program checks its configuration without starting it")
		}
	}
	if !looked {
		r.NotApplicable("", "none of the services whose configuration fettle can check is running")
	}
	return nil
}

// names are the units of all services, and those that nothing can validate.
func names(all []service) []string {
	out := slices.Clone(unvalidated)
	for _, s := range all {
		out = append(out, s.units...)
		if s.socket != "" {
			out = append(out, s.socket)
		}
	}
	return out
}

// judge looks at what one service would read if it started now.
func (s *service) judge(ctx context.Context, h *host.Host, u host.Unit, r *trap.Report) {
	where, err := s.elsewhere(ctx, h, u)
	switch {
	case err != nil:
		r.Unknown(u.Name, err)
		return
	case where != "":
		r.NotApplicable(u.Name, "it is started with options of its own ("+where+"): fettle checks the default configuration")
		return
	}
	var said []trap.Evidence
	for _, look := range s.looks {
		v := look(ctx, h)
		switch {
		case v.err != nil:
			r.Unknown(u.Name, v.err)
			return
		case v.refused != "":
			r.Found(s.finding(u.Name, v))
			return
		}
		if v.ev.Source != "" {
			said = append(said, v.ev)
		}
	}
	r.Clear(u.Name, "its configuration is accepted", said...)
}

// verdict is what one look says: refused is the line that tells why the service won't start.
type verdict struct {
	refused string
	lost    string // what is missing then, where the service itself starts; empty: the service
	err     error
	ev      trap.Evidence
	command bool // ev is what a command said
}

func (s *service) finding(unit string, v verdict) trap.Finding {
	f := trap.Finding{
		Subject:  unit,
		Severity: trap.Warning,
		Summary:  "runs, but will not start again: it refuses its configuration as it is now",
		Detail:   trap.Prose(v.refused),
		Lost:     v.lost,
		ByHand:   "fix " + v.ev.Source,
		Evidence: []trap.Evidence{v.ev},
	}
	if v.command {
		f.ByHand = "fix its configuration until this accepts it: " + v.ev.Source
	}
	if v.lost != "" {
		f.Summary = "starts again, but not with all of its configuration as it is now"
	}
	if s.login {
		f.Severity, f.Start = trap.Critical, trap.StartFails
		f.Summary = "runs, but will not start again: nobody will be able to log in over SSH"
	}
	return f
}

// elsewhere says where the unit, or the file of options beside it, names another configuration.
func (s *service) elsewhere(ctx context.Context, h *host.Host, u host.Unit) (string, error) {
	if s.other == nil {
		return "", nil
	}
	files := append([]string{u.FragmentPath}, s.options...)
	drops, err := h.Glob(ctx, "/etc/systemd/system/"+u.Name+".d", "*.conf")
	if err != nil {
		return "", err
	}
	for _, f := range append(files, drops...) {
		if !path.IsAbs(f) {
			continue
		}
		b, err := h.ReadFile(ctx, f)
		if host.IsAbsent(err) {
			continue
		}
		if err != nil {
			return "", err
		}
		for line := range strings.Lines(string(b)) {
			if t := strings.TrimSpace(line); !strings.HasPrefix(t, "#") && s.other(t) {
				return f, nil
			}
		}
	}
	return "", nil
}
