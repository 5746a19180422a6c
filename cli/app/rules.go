package app

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/spf13/cobra"

	"fettle/engine/pack"
	"fettle/engine/rule"
	"fettle/engine/trap"
	"fettle/internal/config"
)

// RuleSet is what rules of the admin's own add to fettle's traps.
type RuleSet struct {
	Dir     string // --traps
	loaded  []*rule.Frozen
	refused []rule.Refused
}

// NoRules is the annotations of verbs that need no trap, and so no rules.
var NoRules = map[string]string{"rules": "none"}

// Prepare comes before every verb: it refuses empty flags and loads the
// admin's rules.
func (a *App) Prepare(c *cobra.Command, args []string) error {
	if err := NoEmptyFlags(c, args); err != nil {
		return err
	}
	for v := c; v != nil; v = v.Parent() {
		if v.Annotations["rules"] == NoRules["rules"] {
			return nil
		}
	}
	return a.loadRules()
}

func (a *App) loadRules() error {
	dirs := rule.Dirs()
	if a.Rules.Dir != "" {
		if st, err := os.Stat(a.Rules.Dir); err != nil {
			return Usagef("--traps: %w; expected a folder of rules (fettle lore new writes one)", err)
		} else if !st.IsDir() {
			return Usagef("--traps %s: not a folder", a.Rules.Dir)
		}
		abs, err := filepath.Abs(a.Rules.Dir)
		if err != nil {
			return Usagef("--traps: %w", err)
		}
		dirs = append([]string{abs}, dirs...)
	}
	taken := map[string]bool{}
	for _, t := range a.Traps {
		taken[t.ID()] = true
	}
	cache := rule.OpenCache(rule.CacheFile)
	a.Rules.loaded, a.Rules.refused = rule.Load(slices.Compact(dirs), taken, cache)
	for _, r := range a.Rules.loaded {
		taken[r.ID] = true
	}
	packed, refused := pack.Host().Rules(taken, packRemedies(), cache)
	a.Rules.loaded, a.Rules.refused = append(a.Rules.loaded, packed...), append(a.Rules.refused, refused...)
	cache.Save()
	for _, r := range a.Rules.refused {
		if !onlyForRoot(r) {
			a.Warn(r.Error())
		}
	}
	for _, r := range a.Rules.loaded {
		a.Traps = append(a.Traps, r.Trap())
	}
	return nil
}

// onlyForRoot reports whether this user may not look for packs: fettle's folder is root's, and most hosts have no
// pack. check says that it is unknown; the other verbs need no warning each time.
func onlyForRoot(r rule.Refused) bool {
	return r.Path == pack.Host().Dir && errors.Is(r.Err, fs.ErrPermission) && os.Geteuid() != 0
}

// packRemedies tells of a pack whether root turned its remedies on: packs.remedies in
// fettle.yaml. A configuration that cannot be read turns none on.
func packRemedies() func(name string) bool {
	conf := sync.OnceValue(func() *config.Config {
		c, _, err := config.Default()
		if err != nil {
			return &config.Config{}
		}
		return c
	})
	return func(name string) bool { return slices.Contains(conf().Packs.Remedies, name) }
}

// RemedyOff is the pack whose remedies root has not turned on, where a trap has one; else empty.
func (a *App) RemedyOff(id string) string {
	for _, r := range a.Rules.loaded {
		if r.ID == id {
			return r.Off
		}
	}
	return ""
}

// NotLoaded is the trap that stands for rules that were not loaded, and its
// result; nil when all were.
func (a *App) NotLoaded() (*trap.Trap, trap.Result) {
	if len(a.Rules.refused) == 0 {
		return nil, trap.Result{}
	}
	res := trap.Result{Trap: trap.NotLoaded}
	for _, r := range a.Rules.refused {
		res.Outcomes = append(res.Outcomes, trap.Outcome{Trap: res.Trap, Subject: r.Path, Status: trap.Unknown, Reason: r.Error()})
	}
	return &trap.Trap{Lore: "---\nid: " + trap.NotLoaded + "\ntitle: A rule was not loaded\n---\n"}, res
}

// ForFleet leaves this machine's rules out of a check of other hosts: these
// have their own.
func (a *App) ForFleet(traps []*trap.Trap, ids []string) ([]*trap.Trap, error) {
	own := func(t *trap.Trap) bool {
		return slices.ContainsFunc(a.Rules.loaded, func(r *rule.Frozen) bool { return r.ID == t.ID() })
	}
	for _, t := range traps {
		if own(t) && slices.Contains(ids, t.ID()) {
			return nil, Usagef("%s is a rule of this machine; with --host, rules are those in /etc/fettle/traps.d of each host", t.ID())
		}
	}
	if a.Rules.Dir != "" {
		return nil, Usagef("--traps does not go with --host: put the rules into /etc/fettle/traps.d of each host")
	}
	return slices.DeleteFunc(slices.Clone(traps), own), nil
}
