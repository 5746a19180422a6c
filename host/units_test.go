package host_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"fettle/host"
	"fettle/host/hosttest"
)

const showArgs = "systemctl show --property=Id,LoadState,ActiveState,SubState,UnitFileState,FragmentPath,Type,MainPID,CanReload," +
	"RefuseManualStart,RefuseManualStop,NeedDaemonReload -- "

const systemd = "-- stat/run/systemd/system --\ntype dir mode 755\n"

func TestUnits(t *testing.T) {
	h := hosttest.New(t, systemd+"-- command/"+showArgs+`nope.service ssh.service --
Id=nope.service
LoadState=not-found
ActiveState=inactive
SubState=dead
MainPID=0
CanReload=no

Type=notify
Id=ssh.service
LoadState=loaded
ActiveState=active
SubState=running
FragmentPath=/lib/systemd/system/ssh.service
UnitFileState=enabled
MainPID=812
CanReload=yes
RefuseManualStart=yes
RefuseManualStop=no
NeedDaemonReload=yes
`)
	us, err := h.Units(t.Context(), "ssh.service", "nope.service", "ssh.service")
	if err != nil {
		t.Fatal(err)
	}
	want := host.Unit{Name: "ssh.service", ID: "ssh.service", LoadState: "loaded", ActiveState: "active", SubState: "running",
		UnitFileState: "enabled", FragmentPath: "/lib/systemd/system/ssh.service", Type: "notify", MainPID: 812, CanReload: true,
		NoManualStart:     true,
		NeedsDaemonReload: true}
	for state, active := range map[string]bool{"reloading": true, "activating": false, "failed": false} {
		if (host.Unit{ActiveState: state}).Active() != active {
			t.Errorf("%s is active: %v", state, !active)
		}
	}
	if us["ssh.service"] != want || !want.Active() {
		t.Errorf("ssh: %+v", us["ssh.service"])
	}
	if n := us["nope.service"]; n.LoadState != "not-found" || n.Active() || n.Name != "nope.service" {
		t.Errorf("nope: %+v", n)
	}
}

func TestUnitsFromList(t *testing.T) {
	h := hosttest.New(t, "incomplete: true\n"+systemd+`-- command/systemctl list-units --
  UNIT           LOAD   ACTIVE SUB     DESCRIPTION
  cron.service   loaded active running Regular background program processing daemon
● bad.service    loaded failed failed  Something
  a\x2db.device  loaded active plugged Disk

LOAD   = Reflects whether the unit definition was properly loaded.
3 loaded units listed.
`)
	for name, want := range map[string]string{"cron.service": "active", "bad.service": "failed", `a\x2db.device`: "active"} {
		u, err := h.Unit(t.Context(), name)
		if err != nil || u.ActiveState != want || !u.Partial {
			t.Errorf("%s: %+v, %v", name, u, err)
		}
	}
	if _, err := h.Unit(t.Context(), "other.service"); !errors.Is(err, host.ErrNotCollected) {
		t.Errorf("a unit that is not listed: %v", err)
	}
}

// TestUnitsAskedTogether: a capture of an older fettle asked about fewer units at once, or about one alone; what it
// holds of that one is an answer.
func TestUnitsAskedTogether(t *testing.T) {
	host.AskTogether("together-b.service", "together-a.service")
	const unit = "Id=together-%s.service\nLoadState=loaded\nActiveState=%s\n"
	a, b := fmt.Sprintf(unit, "a", "active"), fmt.Sprintf(unit, "b", "failed")
	for name, text := range map[string]string{
		"both":  systemd + "-- command/" + showArgs + "together-a.service together-b.service --\n" + a + "\n" + b,
		"alone": "incomplete: true\n" + systemd + "-- command/" + showArgs + "together-a.service --\n" + a,
	} {
		u, err := hosttest.New(t, text).Unit(t.Context(), "together-a.service")
		if err != nil || u.ActiveState != "active" {
			t.Errorf("%s: %+v, %v", name, u, err)
		}
	}
}

func TestUnitsNone(t *testing.T) {
	for name, c := range map[string]struct {
		text, unit string
		want       error
	}{
		"no systemd":        {"", "ssh.service", host.ErrNoSystemd},
		"root folder":       {"kind: root\n", "ssh.service", host.ErrNotRunning},
		"systemctl missing": {systemd, "ssh.service", host.ErrNoCommand},
		"nothing collected": {"incomplete: true\n", "ssh.service", host.ErrNotCollected},
		"failed":            {systemd + "-- command/" + showArgs + "ssh.service --\nexit 1\n", "ssh.service", nil},
		"too short":         {systemd + "-- command/" + showArgs + "ssh.service --\n\n", "ssh.service", nil},
		"an option":         {systemd, "--host=x.service", nil},
		"not a name":        {systemd, "ssh", nil},
		"blanks":            {systemd, "a b.service", nil},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := hosttest.New(t, c.text).Unit(t.Context(), c.unit)
			if err == nil || c.want != nil && !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
}

// TestTroubledUnits: what systemctl lists is told, and that it lists nothing is not taken for no trouble.
func TestTroubledUnits(t *testing.T) {
	const line = "-- command/systemctl list-units --state=failed,auto-restart --all --plain --no-legend --no-pager --\n"
	for text, want := range map[string]string{
		systemd + line + "a.service loaded failed failed A\n": "", systemd + line + "exit 1\n": "failed with status 1",
		systemd: host.ErrNoCommand.Error(),
	} {
		us, err := hosttest.New(t, text).TroubledUnits(t.Context())
		if want == "" && (err != nil || len(us) != 1 || us[0].Name != "a.service" || us[0].SubState != "failed") ||
			want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %+v, %v, want %q", text, us, err, want)
		}
	}
}
