package remedy

import (
	"fmt"
	"strings"

	"fettle/engine/remedy/step"
)

// Diff is the three-way view of a conflict: what fettle changed, and what was
// changed since.
func (c Conflict) Diff() string {
	before, wrote, now := c.Was.Show(), c.Wrote.Show(), c.Now.Show()
	name := c.Now.Path
	if c.Now.Kind == step.FileItem {
		var b strings.Builder
		if c.Now.Secret || c.Was.Private() || c.Now.Private() {
			diff := func(a, b step.Item) string {
				return step.Hidden(name+" ("+a.Kind+")", name+" ("+b.Kind+")", a.Content(), b.Content())
			}
			a, w, n := c.Was, c.Wrote, c.Now
			a.Kind, w.Kind, n.Kind = "before", "fettle", "now"
			return "what fettle changed:\n" + diff(a, w) + "what was changed since:\n" + diff(w, n)
		}
		if d := step.Diff(name+" (before)", name+" (fettle)", c.Was.Content(), c.Wrote.Content()); d != "" {
			b.WriteString("what fettle changed:\n" + d)
		}
		if d := step.Diff(name+" (fettle)", name+" (now)", c.Wrote.Content(), c.Now.Content()); d != "" {
			b.WriteString("what was changed since:\n" + d)
		}
		if b.Len() > 0 && step.SameMeta(*c.Wrote.Image, *c.Now.Image) {
			return b.String()
		}
		fmt.Fprintf(&b, "%s\n  before:  %s\n  fettle:  %s\n  now:     %s\n", name, before, wrote, now)
		return b.String()
	}
	return fmt.Sprintf("%s\n  before:  %s\n  fettle:  %s\n  now:     %s\n", name, before, wrote, now)
}
