package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"fettle/internal/ui"
	"fettle/lore/rule"
	"fettle/trap"
)

// ruleSet is what rules of the admin's own add to fettle's traps.
type ruleSet struct {
	dir     string // --traps
	loaded  []*rule.Rule
	refused []rule.Refused
}

// ruleless are verbs that know no trap of this host.
var ruleless = []string{"lore", "man", "lab", "measure", "help", "completion", "version", "confirm", "changes", "watch"}

// prepare comes before every verb: it loads the admin's rules.
func (a *app) prepare(c *cobra.Command, args []string) error {
	if err := noEmptyFlags(c, args); err != nil {
		return err
	}
	for v := c; v.HasParent(); v = v.Parent() {
		if !v.Parent().HasParent() && slices.Contains(ruleless, v.Name()) {
			return nil
		}
	}
	return a.loadRules()
}

func (a *app) loadRules() error {
	dirs := rule.Dirs()
	if a.rules.dir != "" {
		if st, err := os.Stat(a.rules.dir); err != nil {
			return usagef("--traps: %w", err)
		} else if !st.IsDir() {
			return usagef("--traps %s: not a folder", a.rules.dir)
		}
		abs, err := filepath.Abs(a.rules.dir)
		if err != nil {
			return usagef("--traps: %w", err)
		}
		dirs = append([]string{abs}, dirs...)
	}
	a.rules.loaded, a.rules.refused = rule.Load(slices.Compact(dirs), func(id string) bool {
		return slices.ContainsFunc(a.traps, func(t *trap.Trap) bool { return t.ID() == id })
	})
	for _, r := range a.rules.refused {
		fmt.Fprint(a.stderr, complaint("fettle: "+ui.Visible(r.Error()), a.stderr))
	}
	for _, r := range a.rules.loaded {
		a.traps = append(a.traps, r.Trap())
	}
	return nil
}

// notLoaded stands in a report for the rules that were not loaded: what they
// would have looked for, nobody knows.
const notLoaded = "rule-not-loaded"

// refusedTraps is the trap that notLoaded names, if there is need for it.
func (a *app) refusedTraps() []*trap.Trap {
	if len(a.rules.refused) == 0 {
		return nil
	}
	return []*trap.Trap{{Lore: "---\nid: " + notLoaded + "\ntitle: A rule was not loaded\n---\n"}}
}

// tellRefused adds to a report an outcome for each rule that was not loaded.
func (a *app) tellRefused(out *output) error {
	if len(a.rules.refused) == 0 {
		return nil
	}
	res := trap.Result{Trap: notLoaded}
	for _, r := range a.rules.refused {
		res.Outcomes = append(res.Outcomes, trap.Outcome{Trap: res.Trap, Subject: r.Path, Status: trap.Unknown, Reason: r.Error()})
	}
	return out.Result(res)
}

// ofRules are those of the rules that traps need, for the confined child:
// checked already, so that it parses nothing.
func (a *app) ofRules(traps []*trap.Trap) ([]json.RawMessage, error) {
	var out []json.RawMessage
	for _, r := range a.rules.loaded {
		if !slices.ContainsFunc(traps, func(t *trap.Trap) bool { return t.ID() == r.ID }) {
			continue
		}
		b, err := r.Encode()
		if err != nil {
			return nil, err
		}
		out = append(out, b)
	}
	return out, nil
}

// takeRules gives the confined child its parent's rules.
func (a *app) takeRules(encoded []json.RawMessage) error {
	for _, b := range encoded {
		r, err := rule.Decode(b)
		if err != nil {
			return fmt.Errorf("reading a rule: %w", err)
		}
		a.traps = append(a.traps, r.Trap())
	}
	return nil
}

// forFleet leaves this machine's rules out of a check of other hosts: these
// have their own.
func (a *app) forFleet(traps []*trap.Trap, ids []string) ([]*trap.Trap, error) {
	own := func(t *trap.Trap) bool {
		return slices.ContainsFunc(a.rules.loaded, func(r *rule.Rule) bool { return r.ID == t.ID() })
	}
	for _, t := range traps {
		if own(t) && slices.Contains(ids, t.ID()) {
			return nil, usagef("%s is a rule of this machine; with --host, rules are those in /etc/fettle/traps.d of each host", t.ID())
		}
	}
	if a.rules.dir != "" {
		return nil, usagef("--traps does not go with --host: put the rules into /etc/fettle/traps.d of each host")
	}
	return slices.DeleteFunc(slices.Clone(traps), own), nil
}
