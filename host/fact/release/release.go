// Package release lists the upgrades from one release of a distribution to the next: which
// there are, and which version of a package each release has.
//
// An upgrade goes one release at a time, as the distributions support it; so a host's release
// determines the next one. Another way is a row in ways and a column in packages.txt.
package release

import (
	"context"
	_ "embed"
	"fmt"
	"strings"
	"sync"

	"fettle/host"
	"fettle/host/format/osrelease"
)

// Release is one of a distribution.
type Release struct {
	ID       string `json:"id"`      // os-release's: "debian"
	Version  string `json:"version"` // "13"
	Codename string `json:"codename"`
}

// String is "Debian 13".
func (r Release) String() string { return names[r.ID] + " " + r.Version }

// Is reports whether somebody means it: "13", "trixie", "debian 13".
func (r Release) Is(said string) bool {
	said = strings.ToLower(strings.TrimSpace(said))
	return said == r.Version || said == r.Codename || said == strings.ToLower(r.String())
}

var names = map[string]string{"debian": "Debian", "ubuntu": "Ubuntu"}

var (
	bullseye = Release{"debian", "11", "bullseye"}
	bookworm = Release{"debian", "12", "bookworm"}
	trixie   = Release{"debian", "13", "trixie"}
	jammy    = Release{"ubuntu", "22.04", "jammy"}
	noble    = Release{"ubuntu", "24.04", "noble"}
)

// Way is an upgrade.
type Way struct {
	From, To Release
	// Source is where what it changes was read, and when.
	Source string
}

// ways are those whose breakages the traps know.
var ways = []Way{
	{
		bullseye, bookworm,
		"release notes of Debian 12, NEWS.Debian of its packages, and two hosts upgraded from 11.11 to 12.15, 2026-11-28",
	},
	{
		bookworm, trixie,
		"release notes of Debian 13, NEWS.Debian of its packages, and two hosts upgraded from 12.12 to 13.8, 2026-11-26",
	},
	{
		jammy, noble,
		"release notes of Ubuntu 24.04, NEWS.Debian of its packages, and two hosts upgraded from 22.04.5 to 24.04, 2026-11-28",
	},
}

// Ways are the upgrades that fettle knows.
func Ways() []Way { return ways }

// String is "Debian 12 to 13".
func (w Way) String() string { return w.From.String() + " to " + w.To.Version }

// NoWay is the error of a host from whose release fettle knows no upgrade.
type NoWay struct{ From string }

func (n *NoWay) Error() string {
	var known []string
	for _, w := range ways {
		known = append(known, w.String())
	}
	from := n.From
	if from == "" {
		from = "a distribution that its os-release does not name"
	}
	return fmt.Sprintf("fettle does not know the upgrade from %s; it knows %s", from, strings.Join(known, ", "))
}

// Of is the upgrade that a host has before it. The error is NoWay where fettle knows none.
func Of(ctx context.Context, h *host.Host) (Way, error) {
	f, err := osrelease.Read(ctx, h)
	if err != nil {
		return Way{}, err
	}
	return From(f.ID(), f.Fields["VERSION_ID"], f.Name())
}

// From is the upgrade from a release; name is what the error calls it.
func From(id, version, name string) (Way, error) {
	for _, w := range ways {
		if w.From.ID == id && w.From.Version == version {
			return w, nil
		}
	}
	return Way{}, &NoWay{name}
}

// Named is the upgrade from the release that os-release calls so: "Debian 12", "Ubuntu 24.04.1 LTS".
func Named(name string) (Way, error) {
	for _, w := range ways {
		if rest, ok := strings.CutPrefix(name, w.From.String()); ok && (rest == "" || rest[0] == ' ' || rest[0] == '.') {
			return w, nil
		}
	}
	return Way{}, &NoWay{name}
}

//go:embed packages.txt
var packagesText string

// packages are the versions by package, then by release ("debian/13").
var packages = sync.OnceValue(func() map[string]map[string]string {
	out := map[string]map[string]string{}
	var columns []string
	for line := range strings.Lines(packagesText) {
		f := strings.Fields(line)
		switch {
		case len(f) == 0 || f[0] == "#":
		case columns == nil:
			columns = f[1:]
		default:
			out[f[0]] = map[string]string{}
			for i, c := range columns {
				out[f[0]][c] = strings.TrimPrefix(f[i+1], "-")
			}
		}
	}
	return out
})

// Has tells which version of a package a release has, empty if none. It is not known of a
// package that the table does not have.
func (r Release) Has(pkg string) (version string, known bool) {
	version, known = packages()[pkg][r.ID+"/"+r.Version]
	return version, known
}

// Knows reports whether the table has a package.
func Knows(pkg string) bool { return packages()[pkg] != nil }
