package keyservers

import (
	"context"
	"path"
	"slices"
	"strconv"
	"strings"

	"fettle/host"
)

// version is what counts of GnuPG's: the first three numbers.
type version [3]int

// reads says what a GnuPG from a version on reads besides the user's gpg.conf.
type reads struct {
	since   version
	options bool // ~/.gnupg/options, where no gpg.conf is there
	dirmngr bool // ~/.gnupg/dirmngr.conf, for keyservers too: it fetches for gpg
	system  bool // /etc/gnupg/gpg.conf and dirmngr.conf, before the user's
}

// table was tried with the programs: 1.4.23, 2.1.11, 2.2.4, 2.2.19, 2.2.27, 2.2.40
// and 2.4.7 as Debian and Ubuntu built them; of 2.0 it is what its source says
// (g10/gpg.c, get_default_configname). Between 2.2.19 and 2.2.27 came the option
// parser of libgpg-error, which knows no "options" and has a file for all users.
var table = []reads{
	{since: version{1, 4, 0}, options: true},
	{since: version{2, 1, 0}, options: true, dirmngr: true},
	{since: version{2, 2, 20}, dirmngr: true, system: true},
}

// newest is assumed for a GnuPG of which nothing is known.
var newest = version{2, 4, 0}

func (v version) reads() reads {
	for _, r := range slices.Backward(table) {
		if slices.Compare(v[:], r.since[:]) >= 0 {
			return r
		}
	}
	return table[0]
}

// names are the files in a user's folder of which gpg reads the first that is
// there: one for its very version before one for its series before gpg.conf.
func (v version) names() []string {
	var out []string
	for n := len(v); n > 0; n-- {
		name := "gpg.conf-" + strconv.Itoa(v[0])
		for _, x := range v[1:n] {
			name += "." + strconv.Itoa(x)
		}
		out = append(out, name)
	}
	out = append(out, "gpg.conf")
	if v.reads().options {
		out = append(out, "options")
	}
	return out
}

// installed are the versions of GnuPG on a host, by its packages: old releases
// have 1.4 and 2.0 side by side.
func installed(ctx context.Context, h *host.Host, missed func(error)) []version {
	var out []version
	for _, name := range []string{"gpg", "gnupg", "gnupg1", "gnupg2"} {
		p, err := h.Package(ctx, name)
		if err != nil {
			if host.IsAbsent(err) {
				continue
			}
			missed(err) // the same of each
			break
		}
		if v, ok := parseVersion(p.Version); ok && !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	if len(out) == 0 {
		out = append(out, newest)
	}
	return out
}

// parseVersion reads the version of a package: "1:1.4.23-1.1", "2.2.40-1.1+deb12u2".
func parseVersion(s string) (v version, ok bool) {
	if _, rest, found := strings.Cut(s, ":"); found {
		s = rest
	}
	s, _, _ = strings.Cut(s, "-")
	for i, part := range strings.SplitN(s, ".", len(v)) {
		digits := part[:len(part)-len(strings.TrimLeft(part, "0123456789"))]
		n, err := strconv.Atoi(digits)
		if err != nil {
			return v, i > 0
		}
		v[i] = n
	}
	return v, true
}

// used are the files that one of the versions reads in a user's folder.
func used(ctx context.Context, h *host.Host, dir string, versions []version) []string {
	list, err := h.ReadDir(ctx, dir)
	there := func(name string) bool {
		if err != nil { // not listed: only what is usual is looked for
			if name != "gpg.conf" && name != "options" {
				return false
			}
			_, err := h.Stat(ctx, path.Join(dir, name))
			return err == nil || name == "gpg.conf" && !host.IsAbsent(err)
		}
		return slices.ContainsFunc(list, func(e host.Entry) bool { return e.Name == name })
	}
	var out []string
	dirmngr := false
	for _, v := range versions {
		i := slices.IndexFunc(v.names(), there)
		if i >= 0 && !slices.Contains(out, v.names()[i]) {
			out = append(out, v.names()[i])
		}
		dirmngr = dirmngr || v.reads().dirmngr
	}
	if dirmngr {
		out = append(out, "dirmngr.conf")
	}
	return out
}
