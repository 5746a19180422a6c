package deletedopenfiles

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"fettle/engine/remedy"
	"fettle/engine/remedy/step"
	"fettle/engine/trap"
	"fettle/host"
)

// refused says why fettle does not restart a unit, and what to do instead.
// Patterns end in "*".
var refused = []struct{ unit, why string }{
	{"init.scope", "process 1 is not restarted; systemctl daemon-reexec makes systemd run its new program and keeps every unit running"},
	{"dbus.service", "restarting D-Bus takes the services on it down with it; reboot at the next opportunity"},
	{"dbus-broker.service", "restarting D-Bus takes the services on it down with it; reboot at the next opportunity"},
	{"systemd-logind.service", "restarting it can end login sessions; reboot at the next opportunity"},
	{"getty@*", "restarting it ends the session on that console; log out there"},
	{"serial-getty@*", "restarting it ends the session on that console; log out there"},
	{"display-manager.service", "restarting it ends graphical sessions; log out there and restart it then"},
	{"gdm*", "restarting it ends graphical sessions; log out there and restart it then"},
	{"lightdm.service", "restarting it ends graphical sessions; log out there and restart it then"},
	{"sddm.service", "restarting it ends graphical sessions; log out there and restart it then"},
	{"networking.service", "restarting it takes the network down; do it at the console, or reboot"},
	{"ifup@*", "restarting it takes the network down; do it at the console, or reboot"},
	{"wpa_supplicant*", "restarting it takes the network down; do it at the console, or reboot"},
	{"openvpn*", "restarting it takes the tunnel down; do it at the console, or over another way in"},
	{"wg-quick@*", "restarting it takes the tunnel down; do it at the console, or over another way in"},
	{"systemd-nspawn@*", "restarting it restarts a whole container"},
	{"lxc@*", "restarting it restarts a whole container"},
	{"pve-container@*", "restarting it restarts a whole container"},
	{"corosync.service", "without it the cluster may fence this host; put the host into maintenance first"},
	{"pacemaker.service", "restarting it moves or stops what the cluster runs here; put the host into maintenance first"},
}

// careful says what an admin ought to know before a unit is restarted.
var careful = []struct{ unit, note string }{
	{
		"ssh.service",
		"sshd: sessions that are open stay open, but a broken configuration would keep it from starting: run sshd -t first, and try a new " +
			"login before you log out.",
	},
	{
		"sshd.service",
		"sshd: sessions that are open stay open, but a broken configuration would keep it from starting: run sshd -t first, and try a new " +
			"login before you log out.",
	},
	{"docker.service", "docker: restarting it stops containers, unless live-restore is on."},
	{"NetworkManager.service", "NetworkManager leaves links up over a restart."},
	{"systemd-networkd.service", "systemd-networkd leaves links up over a restart."},
}

func matches(pattern, unit string) bool {
	if p, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(unit, p)
	}
	return pattern == unit
}

// leaves says why fettle leaves a finding to the admin, and what to do, in one
// line and what else there is to say; empty where it has a remedy.
func leaves(subject string, told facts) (line, more string) {
	if c := told.Container; c != "" {
		return inContainer(c, told.Inside), "These run with old files: " + told.loose()
	}
	switch subject {
	case userSessions:
		return "login sessions are their users' own: log out and in again", "These run with old files: " + told.loose()
	case containers:
		return "the programs belong to containers: let their " +
			"manager create them again from a current image", "These run with old files: " + told.loose()
	case shims:
		return "restart the containers when it suits them: a restart of their service leaves these running", ""
	case guests:
		return "shut each down and start it again, or migrate it: a reboot inside the guest keeps the old program", ""
	case "init.scope":
		return refused[0].why, ""
	}
	if len(told.Loose) > 0 {
		return byHand(told.Kind, told.loose(), told.Units)
	}
	for _, u := range told.Units {
		for _, r := range refused {
			if matches(r.unit, u) {
				return u + ": " + r.why, ""
			}
		}
	}
	return "", ""
}

func plan(ctx context.Context, h *host.Host, f trap.Finding) (remedy.Plan, error) {
	told, err := trap.FactsIn[facts](f)
	if err != nil {
		return remedy.Plan{}, err
	}
	if line, more := leaves(f.Subject, told); line != "" {
		return remedy.Plan{}, &remedy.Refusal{Why: strings.TrimRight(line+".\n"+more, "\n")}
	}
	units := told.Units
	if len(units) == 0 {
		return remedy.Plan{}, remedy.Refuse("the finding does not name the processes that have the files open; run fettle check again")
	}
	states, err := h.Units(ctx, units...)
	if errors.Is(err, host.ErrNoSystemd) {
		return remedy.Plan{}, remedy.Refuse(
			"%s belongs to a service manager that fettle cannot ask (%v): restart it by hand",
			strings.Join(units, " "),
			err,
		)
	}
	if err != nil {
		return remedy.Plan{}, err
	}
	act, why := restartOrReload(ctx, h, f.Subject, told.Kind, states)
	p := remedy.Plan{Title: act + " " + strings.Join(units, " "), Settle: 10 * time.Second,
		Vanishes: "the check reports only programs that hold deleted files, which this one no longer does"}
	for _, u := range units {
		st := states[u]
		switch {
		case st.LoadState != "loaded":
			return remedy.Plan{}, remedy.Refuse(
				"%s is %s to systemd: its unit file is gone, so a restart would only stop it. Restart it by hand",
				u,
				st.LoadState,
			)
		case st.NoManualStop || st.NoManualStart:
			return remedy.Plan{}, remedy.Refuse(
				"%s may not be restarted by hand (RefuseManualStart, RefuseManualStop): reboot at the next opportunity",
				u,
			)
		case st.NeedsDaemonReload && len(p.Steps) == 0:
			p.Steps = append(p.Steps, step.Unit{Act: "daemon-reload"})
			p.Notes = append(p.Notes, u+" has a unit file that changed since systemd read it: it is read first, and counts from the restart on.")
		}
		for _, c := range careful {
			if matches(c.unit, u) {
				p.Notes = append(p.Notes, c.note)
			}
		}
		p.CutsConnection = p.CutsConnection || u == "NetworkManager.service" || u == "systemd-networkd.service"
	}
	losses, err := lossesOf(ctx, h, told)
	if err != nil {
		return remedy.Plan{}, fmt.Errorf("looking for what a %s destroys: %w", act, err)
	}
	copies, into, err := copiesOf(ctx, h, f, losses)
	if err != nil {
		return remedy.Plan{}, err
	}
	p.Steps = append(copies, p.Steps...)
	for _, u := range units {
		p.Steps = append(p.Steps, step.Unit{Name: u, Act: act, Destroys: losses.of(u, into)})
	}
	if act == "restart" {
		p.Notes = append(
			p.Notes,
			"A restart closes what the service has open, disconnects its clients, and discards what is only in its memory.",
		)
	}
	if into != "" {
		p.Notes = append(
			p.Notes,
			"What is written to the deleted files between the copy and the "+act+" is not in the copies. Without copies: --with copy=no.",
		)
	}
	if why != "" {
		p.Notes = append(p.Notes, why)
	}
	return p, nil
}

// restartOrReload decides how writers of a log are made to open it again. A
// reload is trusted only where the log's own rotation asks for one: many
// daemons reload without touching their logs.
func restartOrReload(ctx context.Context, h *host.Host, subject, kind string, states map[string]host.Unit) (act, note string) {
	if kind != kindLog {
		return "restart", ""
	}
	rule, err := rotationOf(ctx, h, subject)
	switch {
	case err != nil:
		return "restart", "logrotate's configuration could not be read, so the plan restarts the service: " + host.Reason(err)
	case rule == nil:
		return "restart", "No block of logrotate's configuration rotates this log: whatever renames it must also notify its writer, or this " +
			"happens again."
	case rule.silent():
		return "restart", rule.where() + " rotates this log and does not notify its writer: add a postrotate that makes the writer open it " +
			"again, or copytruncate, or this happens again."
	}
	for _, u := range states {
		if !u.CanReload {
			return "restart", ""
		}
	}
	if rule.reloads() {
		return "reload", rule.where() + " asks for the same after rotating; see in its journal why that failed."
	}
	return "restart", ""
}

// byHand says what to do about processes that fettle will not touch.
func byHand(kind, loose string, units []string) (line, more string) {
	line = "restart what belongs to no systemd service in the way it was started"
	if len(units) > 0 {
		more = "Besides " + strings.Join(units, " ") + ", these still have the file open: " + loose + "."
	} else {
		more = "fettle restarts systemd services only. These belong to none: " + loose + "."
	}
	if kind == kindSpace {
		more += "\nIf that has to wait and the content is expendable: truncating frees the space immediately," +
			"\n    : > /proc/PID/fd/N" +
			"\nThis destroys the content. A writer that did not open the file for appending continues at its old" +
			"\noffset (a sparse file, and a reader sees zeros first); it ruins a database or a virtual disk."
	}
	return line, more
}
