package sshslowlogin

import (
	"context"
	"errors"
	"time"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/fact/process"
)

const logindUnit = "systemd-logind.service"

var logindUnits = []string{logindUnit, "dbus.service"}

// logind reports of the daemon that pam_systemd asks over D-Bus for each
// session. A call that gets no answer ends after 25 s (D-Bus's default).
func (f *facts) logind(ctx context.Context, r *trap.Report) {
	ok, err := f.sessions()
	switch {
	case err != nil:
		r.Unknown(logind, err)
		return
	case !ok:
		r.Clear(logind, "sshd opens no PAM sessions")
		return
	}
	uses := f.pam.Uses("session", "pam_systemd")
	if len(uses) == 0 {
		r.Clear(logind, "pam_systemd is not among sshd's PAM modules")
		return
	}
	ev := []trap.Evidence{trap.Ev(at(uses[0]), "session %s pam_systemd", uses[0].Control)}
	us, err := f.h.Units(ctx, logindUnits...)
	if errors.Is(err, host.ErrNoSystemd) {
		r.Clear(logind, "this host does not run systemd: pam_systemd does nothing", ev...)
		return
	}
	if err != nil {
		r.Unknown(logind, err, ev...)
		return
	}
	l, bus := us[logindUnit], us["dbus.service"]
	ev = append(ev, trap.Ev("systemctl show "+logindUnit, "%s, %s (%s)", l.LoadState, l.ActiveState, l.SubState),
		trap.Ev("systemctl show dbus.service", "%s (%s)", bus.ActiveState, bus.SubState))
	const detail = "pam_systemd waits for an answer over D-Bus: 25 s, and in some versions of systemd more. "
	switch {
	case l.LoadState == "not-found" || l.LoadState == "masked":
		r.Clear(logind, "systemd-logind is disabled here, and D-Bus reports that immediately", ev...)
	case !bus.Active():
		findByHand(r, logind, trap.Warning, "D-Bus is not running, and each login may wait for it", detail+measure,
			"see why: systemctl status dbus.service, journalctl -u dbus.service; restarting it ends desktop sessions", ev...)
	case l.ActiveState == "inactive":
		find(r, logind, trap.Notice, "systemd-logind is not running: a login has to start it first, and may wait", detail+measure, ev...)
	case !l.Active():
		find(r, logind, trap.Warning, "systemd-logind does not start, and each login may wait for it", detail+measure, ev...)
	default:
		f.older(ctx, r, l, bus, ev)
	}
}

// older reports of a D-Bus that was started after systemd-logind: logind may
// then be off the bus, where calls to it wait (systemd issue 2925).
func (f *facts) older(ctx context.Context, r *trap.Report, l, bus host.Unit, ev []trap.Evidence) {
	if l.MainPID == 0 || bus.MainPID == 0 {
		r.Clear(logind, "systemd-logind and D-Bus are running", ev...)
		return
	}
	own, err := process.ReadStat(ctx, f.h, l.MainPID)
	buses, err2 := process.ReadStat(ctx, f.h, bus.MainPID)
	if err = errors.Join(err, err2); err != nil {
		r.Unknown(logind, err, ev...)
		return
	}
	ev = append(
		ev,
		trap.Ev("/proc/PID/stat", "systemd-logind started %d s after boot, D-Bus %d s", int(own.Start.Seconds()), int(buses.Start.Seconds())),
	)
	if buses.Start > own.Start+10*time.Second { // at boot both start together
		find(r, logind, trap.Notice, "D-Bus was restarted after systemd-logind, which may have lost its connection: each login may wait",
			"Where logind is off the bus, pam_systemd waits 25 s. "+measure, ev...)
		return
	}
	r.Clear(logind, "systemd-logind and D-Bus are running", ev...)
}
