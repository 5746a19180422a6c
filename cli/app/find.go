package app

import (
	"fmt"
	"slices"

	"fettle/engine/trap"
	"fettle/internal/nearest"
)

// Find returns the traps of these ids, in the list's order, each once. An id
// that no trap has is a usage error that names the nearest.
func (a *App) Find(ids []string) ([]*trap.Trap, error) {
	have := map[string]bool{}
	for _, t := range a.Traps {
		have[t.ID()] = true
	}
	for _, id := range ids {
		if !have[id] {
			return nil, Usagef("%s", a.noSuchTrap(id))
		}
	}
	var out []*trap.Trap
	for _, t := range a.Traps {
		if slices.Contains(ids, t.ID()) {
			out = append(out, t)
		}
	}
	return out, nil
}

func (a *App) noSuchTrap(id string) string {
	var ids []string
	for _, t := range a.Traps {
		ids = append(ids, t.ID())
	}
	packs := ""
	if slices.ContainsFunc(a.Rules.refused, onlyForRoot) {
		packs = "; if it is one of a pack, ask as root: only root can read packs"
	}
	if near := nearest.Word(id, ids); near != "" {
		return fmt.Sprintf("no trap is called %q; did you mean %s? (fettle list shows them all)%s", id, near, packs)
	}
	return fmt.Sprintf("no trap is called %q; fettle list shows them all%s", id, packs)
}

// Title is the trap's title, or "" of one that is not there.
func (a *App) Title(id string) string {
	if t := a.Trap(id); t != nil {
		return t.Title()
	}
	return ""
}

// SetsUp is the trap whose plan sets something up, by its name.
func (a *App) SetsUp(name string) (*trap.Trap, error) {
	for _, t := range a.Traps {
		if t.Setup != nil && t.Setup.Name == name {
			return t, nil
		}
	}
	return nil, Failf("this fettle has no trap that sets up %s", name)
}

// Trap is the trap of this id, or nil.
func (a *App) Trap(id string) *trap.Trap {
	for _, t := range a.Traps {
		if t.ID() == id {
			return t
		}
	}
	return nil
}
