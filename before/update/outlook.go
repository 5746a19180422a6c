package update

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/fact/conffile"
	"fettle/internal/lazy"
	"fettle/internal/sorted"
	"fettle/internal/ui"
)

// Outlook is what the changes mean for the host.
type Outlook struct {
	Changes []Change `json:"changes"`
	// Faults are known ones that come with the new versions and are not there today.
	Faults []Fault `json:"faults,omitempty"`
	// Removed are packages that go; Kernels new ones, which run after the next restart.
	Removed []string `json:"removed,omitempty"`
	Kernels []string `json:"kernels,omitempty"`
	// Restarts are active services that the packages' scripts restart.
	Restarts []string `json:"restarts,omitempty"`
	// Asks are configuration files that were changed here: dpkg or ucf asks if the package changes them too.
	Asks []string `json:"asks,omitempty"`
	// KeptBack are packages that apt does not upgrade although there is a newer version: held, or waiting for others.
	KeptBack []string `json:"kept_back,omitempty"`
	// NotLooked says what could not be looked at, and why.
	NotLooked []string `json:"not_looked,omitempty"`
}

// Fault is a known one of a version.
type Fault struct {
	Trap     string        `json:"trap"`
	Severity trap.Severity `json:"severity"`
	Subject  string        `json:"subject,omitempty"`
	Summary  string        `json:"summary"`
	Detail   string        `json:"detail,omitempty"`
	ByHand   string        `json:"by_hand,omitempty"`
}

// Question is the name under which a confined child is asked for the outlook. It is asked with the changes; without
// them it asks apt what it would install.
const Question = "update"

// Asked is what goes with the question.
type Asked struct {
	Changes []Change `json:"changes,omitempty"`
	Given   bool     `json:"given"`
}

// Answer gives the answer by the traps that judge versions.
func Answer(traps []*trap.Trap) func(ctx context.Context, h *host.Host, question json.RawMessage) (any, error) {
	return func(ctx context.Context, h *host.Host, question json.RawMessage) (any, error) {
		var q Asked
		if err := json.Unmarshal(question, &q); err != nil {
			return nil, err
		}
		if !q.Given {
			out, err := h.Run(ctx, "apt-get", host.AptSimulation...)
			if errors.Is(err, host.ErrNoCommand) {
				return nil, errors.New("this host has no apt, and fettle asks neither dnf nor zypper")
			}
			if err != nil {
				return nil, fmt.Errorf("asking apt what it would install: %w", err)
			}
			if out.Exit != 0 {
				return nil, fmt.Errorf("apt-get -s failed with status %d: %s", out.Exit, first(string(out.Stderr)))
			}
			q.Changes = ReadSimulation(string(out.Stdout))
			o := Look(ctx, h, trap.At(traps, trap.Update), q.Changes)
			o.KeptBack = ReadKeptBack(string(out.Stdout))
			if err := lists(ctx, h); err != nil {
				o.NotLooked = append(o.NotLooked, err.Error())
			}
			return o, nil
		}
		return Look(ctx, h, trap.At(traps, trap.Update), q.Changes), nil
	}
}

// name is the package, with its architecture where others of that name change too.
func (o *Outlook) name(c *Change) string {
	for i := range o.Changes {
		if o.Changes[i].Name == c.Name && o.Changes[i].Arch != c.Arch {
			return c.key()
		}
	}
	return c.Name
}

func first(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}

// lists fails where apt has no lists of packages: then it knows of nothing newer.
func lists(ctx context.Context, h *host.Host) error {
	const dir = "/var/lib/apt/lists"
	es, err := h.ReadDir(ctx, dir)
	if err != nil && !host.IsAbsent(err) {
		return fmt.Errorf("whether apt has lists of packages: %s", host.Reason(err))
	}
	if !slices.ContainsFunc(es, func(e host.Entry) bool { return strings.Contains(e.Name, "_Packages") }) {
		return errors.New("what is newer: apt has no lists of packages in " + dir + " (apt update fetches them)")
	}
	return nil
}

// Look tells what the changes mean.
func Look(ctx context.Context, h *host.Host, traps []*trap.Trap, changes []Change) *Outlook {
	o := &Outlook{Changes: changes}
	if len(changes) == 0 {
		return o
	}
	o.faults(ctx, h, traps)
	for _, c := range changes {
		switch {
		case c.Removes():
			o.Removed = append(o.Removed, o.name(&c))
		case isKernel(c.Name) && c.New != c.Old:
			o.Kernels = append(o.Kernels, c.Name)
		}
	}
	for _, look := range []func(context.Context, *host.Host) error{o.restarts, o.asks} {
		if err := look(ctx, h); err != nil {
			o.NotLooked = append(o.NotLooked, host.Reason(err))
		}
	}
	return o
}

// faults runs the traps on the host as it is and as it will be, for each architecture that has packages of the same name.
func (o *Outlook) faults(ctx context.Context, h *host.Host, traps []*trap.Trap) {
	all, err := h.Packages(ctx)
	if err != nil {
		all = nil // the traps say so
	}
	arches, several := architectures(all, o.Changes)
	if len(arches) == 0 {
		arches = []string{""}
	}
	for _, arch := range arches {
		today := map[Fault]bool{}
		for _, f := range o.found(ctx, &view{Source: h.Source(), several: several, arch: arch}, traps) {
			today[f] = true
		}
		then := newView(h.Source(), o.Changes)
		then.several, then.arch = several, arch
		for _, f := range o.found(ctx, then, traps) {
			if !today[f] && !slices.Contains(o.Faults, f) {
				o.Faults = append(o.Faults, f)
			}
		}
	}
	sorted.By(o.Faults, func(a, b Fault) int { return int(b.Severity) - int(a.Severity) })
}

// eachTrap is how long one of them may take: the hook has 5 s for all.
const eachTrap = time.Second

func (o *Outlook) found(ctx context.Context, v *view, traps []*trap.Trap) (out []Fault) {
	trap.Run(ctx, host.New(v), traps, trap.Options{Limit: eachTrap}, func(r trap.Result) {
		for _, f := range r.Outcomes {
			switch f.Status {
			case trap.Found:
				out = append(out, Fault{f.Trap, f.Severity, f.Subject, f.Summary, string(f.Detail), f.ByHand})
			case trap.Unknown:
				if why := f.Trap + ": " + f.Reason; !slices.Contains(o.NotLooked, why) {
					o.NotLooked = append(o.NotLooked, why)
				}
			}
		}
	})
	return out
}

// isKernel tells whether a package is a kernel, not what leads to the newest one.
func isKernel(name string) bool {
	v, ok := strings.CutPrefix(name, "linux-image-")
	return ok && v != "" && v[0] >= '0' && v[0] <= '9' && !strings.HasSuffix(name, "-dbg")
}

// restarted are the units that a package's script restarts after an upgrade (dh_installsystemd(1)).
var restarted = lazy.Regexp(`deb-systemd-invoke\s+(?:\$_dh_action|restart|try-restart)\s+((?:'?[A-Za-z0-9@._:\\-]+'?\s+)+)>`)

// restarts reads the scripts of the installed versions: those of the new ones are not there yet.
func (o *Outlook) restarts(ctx context.Context, h *host.Host) error {
	var units []string
	for _, c := range o.Changes {
		if c.Removes() || c.Old == "" {
			continue
		}
		text, err := h.ReadString(ctx, "/var/lib/dpkg/info/"+c.Name+".postinst")
		if host.IsAbsent(err) {
			text, err = h.ReadString(ctx, "/var/lib/dpkg/info/"+c.Name+":"+c.Arch+".postinst")
		}
		if host.IsAbsent(err) {
			continue
		}
		if err != nil {
			return err
		}
		for _, m := range restarted().FindAllStringSubmatch(text, -1) {
			for _, u := range strings.Fields(m[1]) {
				if u = strings.Trim(u, "'"); strings.HasSuffix(u, ".service") && !slices.Contains(units, u) {
					units = append(units, u)
				}
			}
		}
	}
	if len(units) == 0 {
		return nil
	}
	us, err := h.Units(ctx, units...)
	if errors.Is(err, host.ErrNoSystemd) || errors.Is(err, host.ErrNotRunning) {
		return nil // nothing runs that could be restarted
	}
	if err != nil {
		return err
	}
	for _, u := range units {
		if us[u].Active() {
			o.Restarts = append(o.Restarts, u)
		}
	}
	return nil
}

func (o *Outlook) asks(ctx context.Context, h *host.Host) error {
	upgraded := map[string]bool{}
	for _, c := range o.Changes {
		upgraded[c.Name] = upgraded[c.Name] || !c.Removes()
	}
	all, err := conffile.All(ctx, h, func(f conffile.File) bool { return upgraded[f.Package] && !f.Obsolete })
	if err != nil {
		return err
	}
	var unread []string
	for _, f := range all {
		switch {
		case f.Err != nil:
			unread = append(unread, f.Path)
		case f.Changed && !f.Gone:
			o.Asks = append(o.Asks, f.Path)
		}
	}
	if len(unread) > 0 {
		return fmt.Errorf("whether configuration files were changed here: %s cannot be read; run it as root", ui.Few(unread, 3))
	}
	return nil
}
