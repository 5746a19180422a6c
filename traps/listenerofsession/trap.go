// Package listenerofsession finds programs that others connect to and that nothing starts at boot, because somebody started
// them in a login session, or a user's own systemd did.
package listenerofsession

import (
	"context"
	_ "embed"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/fact/startup"
	"fettle/host/format/accounts"
)

//go:embed lore.md
var lore trap.Lore

// Trap is listener-of-session.
var Trap = trap.Trap{Lore: lore, Cost: trap.Instant, Check: check}

func check(ctx context.Context, h *host.Host, r *trap.Report) error {
	if err := h.Systemd(ctx); err != nil {
		if startup.WithoutManager(ctx, h, err) {
			r.NotApplicable("", startup.NoManager)
			return nil
		}
		return err
	}
	all, err := h.Listeners(ctx)
	if err != nil {
		return err
	}
	j := judge{h: h, told: map[string]bool{}}
	for _, l := range all {
		if l.PID == 0 || !l.Own() || passing(l) {
			continue
		}
		if err := j.one(ctx, r, l); err != nil && !j.told[subject(l)] {
			j.told[subject(l)] = true
			r.Unknown(subject(l), err)
		}
	}
	if len(j.told) == 0 {
		r.Clear("", "no program that listens belongs to a login session")
	}
	return nil
}

// subject is stable: the program's name and its port.
func subject(l host.Listener) string { return fmt.Sprintf("%s on %s port %d", l.Comm, l.Proto, l.Port) }

// ofLogins are programs that listen for as long as a login lasts: forwarded ports, desktops, agents.
var ofLogins = []string{"sshd", "sshd-session", "ssh", "systemd", "dbus-daemon", "gpg-agent", "ssh-agent", "Xorg", "Xwayland", "Xvnc",
	"gdb"}

// passing tells whether nobody misses the socket after a restart: ports of ofLogins, and those that a program chose for
// itself on the loopback interface (ip_local_port_range begins at 32768, Documentation/networking/ip-sysctl.rst).
func passing(l host.Listener) bool {
	ip, err := netip.ParseAddr(l.Address)
	return slices.Contains(ofLogins, l.Comm) || err == nil && ip.Unmap().IsLoopback() && l.Port >= 32768
}

type judge struct {
	h       *host.Host
	told    map[string]bool // subjects
	desktop *bool
}

func (j *judge) one(ctx context.Context, r *trap.Report, l host.Listener) error {
	uid, user := strings.CutPrefix(strings.TrimSuffix(l.Unit, ".service"), "user@")
	session := strings.HasPrefix(l.Unit, "session-") && strings.HasSuffix(l.Unit, ".scope")
	if j.told[subject(l)] || !user && !session {
		return nil
	}
	if session {
		left, by, err := j.left(ctx, l.PID)
		if err != nil || !left {
			return err
		}
		j.found(r, l, "was started in a login session ("+by+"), and nothing starts it at boot",
			"write a unit for it in /etc/systemd/system, and enable it")
		return nil
	}
	name, lingers, err := j.lingers(ctx, uid)
	if err != nil || lingers {
		return err
	}
	graphical, err := j.graphical(ctx)
	if err != nil || graphical {
		return err
	}
	j.found(r, l, "belongs to the own systemd of "+name+", which starts only when that user logs in",
		"loginctl enable-linger "+name)
	return nil
}

func (j *judge) found(r *trap.Report, l host.Listener, summary, byHand string) {
	j.told[subject(l)] = true
	r.Found(trap.Finding{
		Subject: subject(l), Severity: trap.Warning, Lost: subject(l), Summary: summary, ByHand: byHand,
		Evidence: []trap.Evidence{trap.Ev("/proc/"+strconv.Itoa(l.PID)+"/cgroup", "%s", l.Unit)},
	})
}

// logins are programs that a login in the foreground runs below.
var logins = []string{"sshd", "sshd-session", "login", "agetty", "su", "sudo", "gdm-session-wor", "sddm-helper", "lightdm"}

// multiplexers keep what they started when the login ends.
var multiplexers = []string{"tmux", "screen", "SCREEN", "dtach", "abduco", "zellij"}

// left tells whether a process has outlived its login: its ancestors end at process 1 or a user's systemd, or a terminal
// multiplexer is among them. Where a login's program is above it, somebody runs it in the foreground.
func (j *judge) left(ctx context.Context, pid int) (left bool, by string, err error) {
	for range 64 {
		text, err := j.h.ReadString(ctx, fmt.Sprintf("/proc/%d/status", pid))
		if host.IsAbsent(err) {
			return false, "", nil // it has ended meanwhile
		}
		if err != nil {
			return false, "", err
		}
		name, parent := status(text)
		switch {
		case slices.ContainsFunc(multiplexers, func(m string) bool { return name == m || strings.HasPrefix(name, m+":") }):
			return true, strings.ToLower(strings.TrimSuffix(name, ": server")), nil
		case slices.Contains(logins, name):
			return false, "", nil
		case parent <= 1, name == "systemd":
			return true, "its shell has ended", nil
		}
		pid = parent
	}
	return false, "", nil
}

// status reads the name and the parent of /proc/PID/status (proc_pid_status(5)).
func status(text string) (name string, parent int) {
	for line := range strings.Lines(text) {
		k, v, _ := strings.Cut(line, ":")
		switch v = strings.TrimSpace(v); k {
		case "Name":
			name = v
		case "PPid":
			parent, _ = strconv.Atoi(v)
		}
	}
	return name, parent
}

// lingers tells whether a user's systemd is started at boot (loginctl(1), enable-linger).
func (j *judge) lingers(ctx context.Context, uid string) (name string, lingers bool, err error) {
	db, err := accounts.Read(ctx, j.h)
	if err != nil {
		return "", false, err
	}
	id, err := strconv.ParseUint(uid, 10, 32)
	if err != nil {
		return "", false, fmt.Errorf("user@%s.service: %w", uid, err)
	}
	u, ok := db.UserByID(uint32(id))
	if !ok {
		return "", false, fmt.Errorf("/etc/passwd has no user %s: whether it lingers is not known", uid)
	}
	name = u.Name
	there, err := j.h.Exists(ctx, "/var/lib/systemd/linger/"+name)
	return name, there, err
}

// graphical tells whether users log in at a display: there their services are meant to come and go with them.
func (j *judge) graphical(ctx context.Context) (bool, error) {
	if j.desktop == nil {
		us, err := j.h.Units(ctx, "display-manager.service")
		if err != nil {
			return false, err
		}
		active := us["display-manager.service"].Active()
		j.desktop = &active
	}
	return *j.desktop, nil
}
