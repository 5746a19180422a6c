package fix

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"fettle/engine/remedy"
	"fettle/engine/remedy/step"
	"fettle/host"
	"fettle/host/fact/managed"
	"fettle/internal/units"
)

// ownedNotes says of each file of a plan that something else writes that this change will
// be rolled back, and offers it in a form that can be handed to what does.
func ownedNotes(ctx context.Context, h *host.Host, id string, plan remedy.Plan) []string {
	type group struct {
		owner managed.Owner
		files []string
	}
	var groups []*group
	var others []string // files that nothing shows to be anybody's
	for _, s := range plan.Steps {
		name := step.Target(s)
		if !lasting(name) {
			continue
		}
		o, ok := managed.Of(ctx, h, name)
		if !ok {
			if !slices.Contains(others, name) {
				others = append(others, name)
			}
			continue
		}
		i := slices.IndexFunc(groups, func(g *group) bool { return g.owner.Name == o.Name })
		if i < 0 {
			i = len(groups)
			groups = append(groups, &group{owner: o})
		}
		if g := groups[i]; !slices.Contains(g.files, name) {
			g.files = append(g.files, name)
		}
	}
	var notes []string
	for _, g := range groups {
		belongs, what := "belongs", "it"
		if len(g.files) > 1 {
			belongs, what = "belong", "them"
		}
		form := "--plan --format sh, or ansible"
		if g.owner.Name == "Ansible" {
			form = "--plan --format ansible"
		}
		notes = append(notes, fmt.Sprintf("%s %s to %s (%s): %s takes this change back. Change %s there instead; "+
			"fettle fix %s %s writes the change in a form to take over.",
			strings.Join(g.files, ", "), belongs, g.owner.Name, g.owner.Why, g.owner.Again, what, id, form))
	}
	if len(others) > 0 {
		for _, r := range managed.Recent(ctx, h) {
			notes = append(notes, fmt.Sprintf("%s ran on this host %s ago (%s). Nothing shows whether it writes %s; if it does, its next "+
				"run takes this change back.", r.Name, units.Duration(r.Ago.Truncate(time.Minute)), r.Why, strings.Join(others, ", ")))
		}
	}
	return notes
}

// lasting tells whether a path is one that outlives the boot.
func lasting(name string) bool {
	for _, top := range []string{"/proc/", "/sys/", "/run/", "/dev/"} {
		if strings.HasPrefix(name, top) {
			return false
		}
	}
	return strings.HasPrefix(name, "/")
}
