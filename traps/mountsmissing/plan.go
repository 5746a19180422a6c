package mountsmissing

import (
	"context"
	"time"

	"fettle/engine/remedy"
	"fettle/engine/remedy/step"
	"fettle/engine/trap"
	"fettle/host"
)

// facts are what the plan needs to know beyond the folder.
type facts struct {
	Unit  string `json:"unit"`            // that systemd makes of the line
	Below int    `json:"below,omitempty"` // names in the folder
}

// plan mounts it, by its unit.
func plan(ctx context.Context, h *host.Host, f trap.Finding) (remedy.Plan, error) {
	know, err := trap.FactsIn[facts](f)
	if err != nil {
		return remedy.Plan{}, err
	}
	if know.Below > 0 || f.ByHand != "" {
		return remedy.Plan{}, remedy.Refuse("%s: %s", f.Subject, f.ByHand)
	}
	us, err := h.Units(ctx, know.Unit)
	if err != nil {
		return remedy.Plan{}, remedy.Refuse("systemd could not be queried about %s (%v): mount %s by hand", know.Unit, err, f.Subject)
	}
	p := remedy.Plan{Title: "mount " + f.Subject, Settle: 5 * time.Second}
	if u := us[know.Unit]; u.LoadState != "loaded" || u.NeedsDaemonReload {
		p.Steps = append(p.Steps, step.Unit{Act: "daemon-reload"})
		p.Notes = append(p.Notes, "fstab changed since systemd read it: it is read first.")
	}
	p.Steps = append(p.Steps, step.Unit{Name: know.Unit, Act: "start"})
	return p, nil
}
