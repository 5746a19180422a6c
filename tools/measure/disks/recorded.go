package disks

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// OfZpool tells whether a file that begins so is output of zpool iostat -v or
// zpool list -v.
func OfZpool(head string) bool {
	return strings.Contains(head, "capacity") && strings.Contains(head, "operations") ||
		strings.Contains(head, "ALLOC") && strings.Contains(head, "FREE")
}

// Recorded is what output of zpool shows. It does not contain the module's
// parameters: the defaults are assumed.
func Recorded(pools []*Vdev) Seen {
	s := Seen{Pools: pools, Rule: DefaultRule}
	for _, p := range pools {
		if p.Reports > 0 {
			s.Groups = append(s.Groups, p.Groups()...)
		}
	}
	return s
}

// Together is the group of the disks that somebody named, separated by commas.
func Together(loads []Load, names string) (Group, error) {
	g := Group{Name: names, Kind: "given"}
	for n := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(loads, func(l Load) bool { return l.Name == n })
		if i < 0 {
			return g, fmt.Errorf("there is no disk %q in the file", n)
		}
		g.Members = append(g.Members, loads[i])
	}
	if len(g.Members) < 2 {
		return g, errors.New("expected at least two disks")
	}
	return g, nil
}

// Alike groups disks whose names begin with the same letters: iostat does not
// print which belong together.
func Alike(loads []Load) []Group {
	var out []Group
	for _, kind := range []string{"sd", "nvme", "vd", "xvd", "hd"} {
		g := Group{Name: kind + "*", Kind: "assumed to belong together"}
		for _, l := range loads {
			if strings.HasPrefix(l.Name, kind) {
				g.Members = append(g.Members, l)
			}
		}
		if len(g.Members) > 1 {
			out = append(out, g)
		}
	}
	return out
}
