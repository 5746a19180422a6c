package pack

import (
	"fmt"

	"fettle/engine/rule"
)

// Rules are those of all packs in use, without the traps that are there already. What
// the cache has of a pack is not read again, as long as neither it nor the keys changed.
func (s Store) Rules(taken map[string]bool, remedies func(pack string) bool, c *rule.Cache) ([]*rule.Frozen, []rule.Refused) {
	names, err := s.Names()
	if err != nil {
		return nil, []rule.Refused{{Path: s.Dir, Err: err}}
	}
	var out []*rule.Frozen
	var refused []rule.Refused
	from := map[string]string{} // the pack that has a trap
	for _, name := range names {
		file := s.file(name, "pack")
		rules, err := s.rules(name, c)
		if err != nil {
			refused = append(refused, rule.Refused{Path: file, Err: err})
		}
		for _, r := range rules {
			if taken[r.ID] {
				where := "is there already"
				if other := from[r.ID]; other != "" {
					where = "is a trap of the pack " + other + " already"
				}
				refused = append(refused, rule.Refused{Path: file, Err: fmt.Errorf("%s: %s %s", file, r.ID, where)})
				continue
			}
			taken[r.ID], from[r.ID] = true, name
			if r.Remedy && !remedies(name) {
				off := *r // the cache keeps what the pack says
				off.Remedy, off.Off = false, name
				r = &off
			}
			out = append(out, r)
		}
	}
	return out, refused
}

// rules are those of one pack; an error beside them says that it is old.
func (s Store) rules(name string, c *rule.Cache) ([]*rule.Frozen, error) {
	file := s.file(name, "pack")
	stamp := ""
	if f, k := rule.Stamp(file), rule.Stamp(s.Keys); f != "" && k != "" {
		stamp = f + " " + k
	}
	rules, expires, ok := c.Find(file, stamp)
	if !ok {
		p, err := s.Installed(name)
		if err != nil {
			return nil, err
		}
		read, err := p.Rules()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		for _, r := range read {
			rules = append(rules, r.Freeze())
		}
		expires = p.Expires
		c.Add(file, stamp, expires, rules)
	}
	if m := (Manifest{Expires: expires}); m.Expired(s.Now()) {
		return rules, fmt.Errorf("the pack %s expired on %s: is a newer one kept from this host?", name, expires)
	}
	return rules, nil
}
