package unitsfailed

import (
	"context"
	"strings"
	"time"

	"fettle/engine/remedy"
	"fettle/engine/remedy/step"
	"fettle/engine/trap"
	"fettle/host"
)

// startable tells of a service that is to keep running and may be started by
// hand; why says what keeps another from it.
func startable(ctx context.Context, h *host.Host, name string) (ok bool, why string) {
	if !strings.HasSuffix(name, ".service") {
		return false, "it is not a service"
	}
	us, err := h.Units(ctx, name)
	u := us[name]
	switch {
	case err != nil || u.Partial:
		return false, "systemd could not be queried about it"
	case u.LoadState != "loaded":
		return false, "it is " + u.LoadState
	case u.NoManualStart:
		return false, "it may not be started by hand (RefuseManualStart)"
	case u.Type == "oneshot":
		return false, "it is a oneshot service, whose work may not be wanted twice"
	case u.Type == "":
		return false, "its type is not known"
	}
	return true, ""
}

// plan starts a service again.
func plan(ctx context.Context, h *host.Host, f trap.Finding) (remedy.Plan, error) {
	if ok, why := startable(ctx, h, f.Subject); !ok {
		return remedy.Plan{}, remedy.Refuse(
			"%s: %s. Read journalctl -b -u %s, fix the cause, then systemctl restart %s",
			f.Subject,
			why,
			f.Subject,
			f.Subject,
		)
	}
	return remedy.Plan{Title: "start " + f.Subject + " again", Settle: 5 * time.Second,
		Vanishes: "the check reports only failed units, which this one no longer is",
		Notes:    []string{"If the cause remains, it fails again and the change is rolled back: journalctl -b -u " + f.Subject + " says more."},
		Steps:    []step.Step{step.Unit{Name: f.Subject, Act: "start"}}}, nil
}
