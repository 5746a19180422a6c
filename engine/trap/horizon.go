package trap

import (
	"slices"
	"strings"
)

// Horizon is when a trap bites.
type Horizon string

// The horizons. A trap without a horizon bites now.
const (
	Now       Horizon = "now"        // fettle check
	NextStart Horizon = "next-start" // fettle before reboot
	Upgrade   Horizon = "upgrade"    // fettle before upgrade
	Update    Horizon = "update"     // fettle before update: it judges versions of packages
)

// HorizonNames are the names of the horizons.
var HorizonNames = []string{string(Now), string(NextStart), string(Upgrade), string(Update)}

// At tells whether the trap bites at that horizon.
func (t *Trap) At(h Horizon) bool {
	return bites(t.Lore.names("horizon"), h)
}

// At tells whether the trap that the article is about bites at that horizon.
func (a *Article) At(h Horizon) bool { return bites(a.Horizon, h) }

func bites(horizons []string, h Horizon) bool {
	return len(horizons) == 0 && h == Now || slices.Contains(horizons, string(h))
}

// Horizons are the horizons of a trap that does not bite now alone; nil for one that does.
func (t *Trap) Horizons() []Horizon {
	var out []Horizon
	for _, n := range t.Lore.names("horizon") {
		out = append(out, Horizon(n))
	}
	return out
}

// At are the traps that bite at that horizon.
func At(traps []*Trap, h Horizon) []*Trap {
	var out []*Trap
	for _, t := range traps {
		if t.At(h) {
			out = append(out, t)
		}
	}
	return out
}

// Area is a part of the host that must have been looked at before anybody can say that
// the host comes back.
type Area string

// The areas. A trap of the horizon NextStart names those that it covers; an area is looked at
// when a trap covers it and none that covers it has an unknown outcome.
const (
	Boot          Area = "boot"          // boot loader, its entries, kernels, the root file system
	Initramfs     Area = "initramfs"     // what the initramfs needs to find the root file system
	Fstab         Area = "fstab"         // what is mounted and unlocked at boot
	StartUnits    Area = "units"         // what systemd starts
	Configuration Area = "configuration" // what services read when they start; not needed for the verdict
)

// Packages is the area of apt and dpkg themselves: space, holds, pins, sources. A trap of the
// horizon Upgrade may cover it; what it finds is told last.
const Packages Area = "packages"

// Needed are the areas without which nobody can say that a host comes back.
var Needed = []Area{Boot, Initramfs, Fstab, StartUnits}

// AreaNames are the names of the areas.
var AreaNames = []string{string(Boot), string(Initramfs), string(Fstab), string(StartUnits), string(Configuration), string(Packages)}

// Covers tells whether the trap's check looks at that area.
func (t *Trap) Covers(a Area) bool { return slices.Contains(t.Lore.names("covers"), string(a)) }

// names reads "field: [a, b]" or "field: a", at the top level of the front matter.
func (l Lore) names(field string) []string {
	return strings.FieldsFunc(l.field(field), func(r rune) bool { return strings.ContainsRune(`[]," '`, r) })
}

// Start is what a finding means for the next start of the host.
type Start string

const (
	// StartFails: the host does not come back: it does not boot, or nobody can log in.
	StartFails Start = "fails"
	// StartWithout: the host comes back without Outcome.Lost.
	StartWithout Start = "without"
	// StartSame: nothing is lost.
	StartSame Start = "same"
)

// AtStart is what a finding means for the next start. Where its check does not say, a
// notice loses nothing.
func (o *Outcome) AtStart() Start {
	switch {
	case o.Start != "":
		return o.Start
	case o.Severity == Notice:
		return StartSame
	}
	return StartWithout
}

// Losing is what the host comes back without.
func (o *Outcome) Losing() string {
	if o.Lost != "" {
		return o.Lost
	}
	return o.Subject
}

// Next says, for goldens, what a check itself said of the next start.
func (o *Outcome) Next() string {
	var s string
	if o.Start != "" {
		s = " [start: " + string(o.Start) + "]"
	}
	if o.Lost != "" {
		s += " [without: " + o.Lost + "]"
	}
	return s
}

// Consequence is what an upgrade does that a trap of the horizon Upgrade foretells. It is the
// severity that says so.
type Consequence string

// The consequences, the most severe first.
const (
	Stops    Consequence = "stops"    // critical: apt or dpkg stops, a service does not start, nobody can log in
	Changes  Consequence = "changes"  // warning: something is different afterwards, or gone, without an error
	Asks     Consequence = "asks"     // notice: a question comes, or a decision is needed
	Prepares Consequence = "prepares" // less than critical, about apt and dpkg: space, holds, sources
)

// Consequences are all, the most severe first.
var Consequences = []Consequence{Stops, Changes, Asks, Prepares}

// AtUpgrade is what a finding of the trap means for the upgrade.
func (t *Trap) AtUpgrade(o *Outcome) Consequence {
	switch {
	case o.Severity == Critical:
		return Stops
	case t.Covers(Packages):
		return Prepares
	case o.Severity == Warning:
		return Changes
	}
	return Asks
}
