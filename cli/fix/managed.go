package fix

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"fettle/engine/remedy"
	"fettle/engine/remedy/step"
	"fettle/host"
	"fettle/host/fact/managed"
)

// ownedNotes says of each file of a plan that something else writes that this change will
// be taken back, and offers it in a form that can be handed to what does.
func ownedNotes(ctx context.Context, h *host.Host, id string, plan remedy.Plan) []string {
	type group struct {
		owner managed.Owner
		files []string
	}
	var groups []*group
	for _, s := range plan.Steps {
		name := step.Target(s)
		if !lasting(name) {
			continue
		}
		o, ok := managed.Of(ctx, h, name)
		if !ok {
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
		what := "it"
		if len(g.files) > 1 {
			what = "them"
		}
		form := "--plan --format sh, or ansible"
		if g.owner.Name == "Ansible" {
			form = "--plan --format ansible"
		}
		notes = append(notes, fmt.Sprintf("%s belongs to %s (%s): %s takes this change back. Change %s there instead; "+
			"fettle fix %s %s writes the change in a form to take over.",
			strings.Join(g.files, ", "), g.owner.Name, g.owner.Why, g.owner.Again, what, id, form))
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
