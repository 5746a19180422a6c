package app

import (
	"fmt"
	"maps"
	"os"
	"slices"

	"fettle/internal/config"
)

// Config reads the configuration: of a file, or, "", of the usual one, which is
// warned of and left out where this user may not read it. Traps that it names
// must be there.
func (a *App) Config(file string) (*config.Config, error) {
	var c *config.Config
	var err error
	if file != "" {
		if _, err := os.Stat(file); err != nil { // one that is named is meant
			return nil, Unread(err, "a file such as "+config.File)
		}
		c, err = config.Load(file)
	} else {
		var skipped error
		if c, skipped, err = config.Default(); skipped != nil {
			a.Warn(fmt.Sprintf("%v; it is left out", skipped))
		}
	}
	if err != nil {
		return nil, Usagef("%w", err)
	}
	for at, ids := range map[string][]string{"$.check.only": c.Check.Only, "$.check.skip": c.Check.Skip,
		"$.check.unknown_ok": c.Check.UnknownOK} {
		for i, id := range ids {
			if a.Trap(id) == nil && (id != config.AllTraps || at != "$.check.unknown_ok") {
				return nil, Usagef("%w", c.At(fmt.Sprintf("%s[%d]", at, i), "%s", a.noSuchTrap(id)))
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(c.Severities)) {
		if a.Trap(id) == nil {
			return nil, Usagef("%w", c.At("$.severities."+id, "%s", a.noSuchTrap(id)))
		}
	}
	return c, nil
}
