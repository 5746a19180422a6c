package unitnotstartedatboot

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"fettle/host"
	"fettle/host/fact/startup"
	"fettle/internal/lazy"
)

// world is what a unit is compared with.
type world struct {
	units   map[string]*startup.Unit
	started map[string]bool     // at boot, by what systemd has loaded
	pulls   map[string][]string // by links that the next start finds
	bus     map[string]bool     // units that D-Bus starts when somebody asks
	unread  error               // why it may start others
}

func newWorld(ctx context.Context, h *host.Host, all []startup.Unit) (*world, error) {
	w := &world{units: map[string]*startup.Unit{}, started: map[string]bool{}, bus: map[string]bool{}}
	for i := range all {
		w.units[all[i].ID] = &all[i]
	}
	var err error
	if w.pulls, err = startup.Pulls(ctx, h); err != nil {
		return nil, err
	}
	if err := w.spread(ctx, h, all); err != nil {
		return nil, err
	}
	return w, w.readBus(ctx, h)
}

// spread finds what is started at boot: from the default target and from devices, which udev
// makes appear, along what wants and requires what.
func (w *world) spread(ctx context.Context, h *host.Host, all []startup.Unit) error {
	def, err := startup.DefaultTarget(ctx, h)
	if err != nil {
		return err
	}
	w.started[def] = true
	if w.units[def] == nil { // the host was brought to another target by hand
		for _, u := range w.pulls[def] {
			w.started[u] = true
		}
		w.started["multi-user.target"] = true // graphical.target requires it
	}
	for before := 0; before != len(w.started); {
		before = len(w.started)
		for i := range all {
			if u := &all[i]; slices.ContainsFunc(u.By, w.starts) || slices.ContainsFunc(u.TriggeredBy, w.starts) {
				w.started[u.ID] = true
			}
		}
	}
	return nil
}

// starts tells whether a unit is started at boot, also one that is not active now: where its
// condition is not met, as udev's in a container, what it wants is started nevertheless.
func (w *world) starts(id string) bool {
	if w.started[id] || strings.HasSuffix(id, ".device") {
		return true
	}
	return w.units[id] == nil && slices.ContainsFunc(w.wanters(id), func(by string) bool { return w.started[by] })
}

// busFolder is where D-Bus finds whom to start (dbus-daemon(1), "INTEGRATING SYSTEM SERVICES").
const busFolder = "/usr/share/dbus-1/system-services"

func (w *world) readBus(ctx context.Context, h *host.Host) error {
	files, err := h.Glob(ctx, busFolder, "*.service")
	if err != nil {
		return err
	}
	for _, f := range files {
		b, err := h.ReadFile(ctx, f)
		if host.IsAbsent(err) {
			continue
		}
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(b)) {
			if unit, ok := strings.CutPrefix(strings.TrimSpace(line), "SystemdService="); ok {
				w.bus[unit] = true
				w.alias(ctx, h, unit)
			}
		}
	}
	return nil
}

// alias follows a name such as dbus-org.freedesktop.hostname1.service to its unit.
func (w *world) alias(ctx context.Context, h *host.Host, name string) {
	if strings.Contains(name, "/") || !strings.HasPrefix(name, "dbus-") {
		return
	}
	var unread error
	for _, dir := range []string{"/etc/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system"} {
		to, err := h.Readlink(ctx, path.Join(dir, name))
		if err == nil {
			w.bus[path.Base(to)] = true
			return
		}
		if host.IsWithheld(err) { // others: there is none
			unread = cmp.Or(unread, err)
		}
	}
	w.unread = cmp.Or(w.unread, unread)
}

// ofPodman are transient units by which podman checks a container's health; it makes them
// again when it starts the container.
var ofPodman = lazy.Regexp(`^[0-9a-f]{64}(?:-[0-9a-f]+)?\.(?:service|timer)$`)

// lost says why nothing starts an active unit at boot; nil: something does, or it is started
// when it is needed.
func (w *world) lost(ctx context.Context, h *host.Host, u *startup.Unit) (*cause, error) {
	switch {
	case u.Transient:
		if ofPodman().MatchString(u.ID) {
			return nil, nil
		}
		return &cause{"runs, but was made by systemd-run, and is gone after a restart", "Transient=yes",
			"write a unit file for it in /etc/systemd/system"}, nil
	case u.LoadState == "masked":
		return &cause{"runs, but is masked: nothing can start it again", "LoadState=masked", "systemctl unmask " + u.ID}, nil
	case u.LoadState == "not-found":
		return &cause{"runs, but its unit file is gone", "LoadState=not-found", restore}, nil
	case startup.UntilRestart(u.FragmentPath):
		return &cause{"runs, but its unit file is in /run, which is empty after a restart", "FragmentPath=" + u.FragmentPath,
			"copy " + u.FragmentPath + " to /etc/systemd/system, and enable it"}, nil
	}
	if u.FragmentPath != "" && !strings.HasPrefix(u.FragmentPath, "/run/") && u.SourcePath == "" {
		there, err := h.Exists(ctx, u.FragmentPath)
		if err != nil {
			return nil, err
		}
		if !there {
			return &cause{"runs, but its unit file is gone", u.FragmentPath + " does not exist", restore}, nil
		}
	}
	c := w.unpulled(u)
	if c != nil && w.unread != nil {
		return nil, fmt.Errorf("whether D-Bus starts it is not known: %w", w.unread)
	}
	return c, nil
}

const restore = "restore its unit file, or stop it"

func (w *world) unpulled(u *startup.Unit) *cause {
	onDemand := w.bus[u.ID] || slices.ContainsFunc(u.TriggeredBy, func(t string) bool { return w.units[t] != nil })
	switch {
	case onDemand: // its trigger is a unit of its own
	case u.UnitFileState == "enabled-runtime" && !w.linked(u.ID):
		return &cause{"runs, but is enabled only until the next restart", "UnitFileState=enabled-runtime", ""}
	case w.started[u.ID]:
	case u.UnitFileState == "disabled":
		return &cause{"runs, but nothing starts it at boot: it is disabled", "UnitFileState=disabled", ""}
	case u.UnitFileState == "enabled":
		return &cause{"is enabled for a target that is not reached at boot: nothing starts it",
			"UnitFileState=enabled, wanted by " + orNothing(w.wanters(u.ID)),
			"set WantedBy=multi-user.target in its section [Install], and systemctl reenable " + u.ID}
	case u.UnitFileState == "static" && strings.HasPrefix(u.FragmentPath, "/etc/"):
		return &cause{"runs, but nothing starts it at boot: its unit file has no section [Install]", "UnitFileState=static",
			"add [Install] with WantedBy=multi-user.target to " + u.FragmentPath + ", and enable it"}
	case u.UnitFileState == "generated" && strings.HasPrefix(u.SourcePath, "/etc/init.d/"):
		return &cause{"runs, but nothing starts it at boot: no runlevel has a link to its script", "SourcePath=" + u.SourcePath,
			"update-rc.d " + path.Base(u.SourcePath) + " defaults"}
	}
	return nil
}

// linked tells whether a link that is there after a restart pulls the unit in.
func (w *world) linked(id string) bool { return len(w.wanters(id)) > 0 }

// wanters are the units whose folders have a link to id, sorted.
func (w *world) wanters(id string) []string {
	var out []string
	for by, ids := range w.pulls {
		if slices.Contains(ids, id) {
			out = append(out, by)
		}
	}
	slices.Sort(out)
	return out
}

func orNothing(names []string) string {
	if len(names) == 0 {
		return "nothing"
	}
	return strings.Join(names, " ")
}
