package pack

import (
	"bytes"
	"fmt"

	"fettle/engine/rule"
)

// Have is what a host has of a pack already, byte for byte.
type Have int

// What a host can have of a pack.
const (
	Not   Have = iota
	InUse      // it is installed
	Kept       // it is the version that a rollback returns to
)

// Admit tells whether this host would take a verified pack, and whether it has it already.
// One that is not newer than all that ever were installed is refused: it was rolled back, or
// somebody offers an old one. So is one with a trap of another pack.
func (s Store) Admit(p *Pack, b []byte) (Have, error) {
	high, err := s.highest(p.Name)
	if err != nil {
		return Not, err
	}
	for _, have := range []struct {
		kind string
		have Have
	}{{"pack", InUse}, {"previous", Kept}} {
		if old, err := rule.ReadTrusted(s.file(p.Name, have.kind), Limit); err == nil && bytes.Equal(old, b) {
			return have.have, nil
		}
	}
	now, err := s.Installed(p.Name)
	if err == nil { // a power cut may have come before its version was noted
		high = max(high, now.Version)
	}
	if p.Version <= high {
		advice := "hosts take only newer ones: raise version in " + ManifestFile
		if now == nil {
			advice = "to install it again, remove " + s.file(p.Name, "highest") + " first"
		}
		return Not, fmt.Errorf("%s is not newer than version %d, which was installed here; %s", p.Title(), high, advice)
	}
	return Not, s.clash(p)
}

// clash is an error where a trap of a pack is in another pack that is in use.
func (s Store) clash(p *Pack) error {
	names, err := s.Names()
	if err != nil {
		return err
	}
	mine := map[string]bool{}
	for _, id := range p.IDs() {
		mine[id] = true
	}
	for _, name := range names {
		if name == p.Name {
			continue
		}
		other, err := s.Installed(name)
		if err != nil {
			continue // nothing of it is loaded, and check says so
		}
		for _, id := range other.IDs() {
			if mine[id] {
				return fmt.Errorf("%s is a trap of the pack %s, which is installed here: "+
					"give it another id in the pack %s, or remove %[2]s", id, name, p.Name)
			}
		}
	}
	return nil
}
