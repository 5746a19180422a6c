package login

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"unicode"

	"fettle/fleet/hub/store"
)

// Proxy trusts a header that a reverse proxy sets after it has found out who
// somebody is. Only requests from its own addresses are believed.
type Proxy struct {
	From   []netip.Prefix
	Header string // the user's name: "X-Remote-User"
	// Groups is the header with the user's groups, separated by commas or blanks.
	Groups string
	// Operators are the groups whose members may act, and names with "user:" before them.
	Operators []string
	// Sees are the groups of hosts that members of a group see, as in OIDC; nil: all.
	Sees map[string][]string
}

// errIdentity: the headers of a request do not tell whom the proxy means.
var errIdentity = errors.New("the proxy's headers do not say who you are")

func errTwice(header string) error {
	return fmt.Errorf("%w: %s came twice, or in another spelling; the proxy must remove this header from requests", errIdentity, header)
}

// user is whom the proxy names; the empty string is nobody. A request in which a
// visitor's own header may stand beside the proxy's is refused: proxies and what is
// behind them differ in which of the two they take.
func (p *Proxy) user(r *http.Request) (identity, error) {
	if p == nil || !within(p.From, peer(r)) {
		return identity{}, nil
	}
	if err := p.unmistakable(r.Header); err != nil {
		return identity{}, err
	}
	name := strings.TrimSpace(r.Header.Get(p.Header))
	if name == "" {
		return identity{}, nil
	}
	if !Plausible(name) {
		return identity{}, fmt.Errorf("%w: %s: expected a name of up to 200 characters without blanks", errIdentity, p.Header)
	}
	var groups []string
	if p.Groups != "" {
		groups = strings.FieldsFunc(r.Header.Get(p.Groups), func(c rune) bool { return c == ',' || c == ' ' })
	}
	return identity{name, roleOf(name, groups, p.Operators), rightsOf(name, groups, p.Sees)}, nil
}

// unmistakable wants each header of the identity once at most, and in its own spelling:
// CGI made X_Remote_User and X-Remote-User one variable (RFC 3875, 4.1.18), and much
// between a browser and a program still takes one for the other. Nor may a visitor have
// the proxy drop one, by naming it in Connection (RFC 9110, 7.6.1).
func (p *Proxy) unmistakable(h http.Header) error {
	for _, own := range []string{p.Header, p.Groups} {
		if own == "" {
			continue
		}
		sound := letters(own)
		for name, values := range h {
			if letters(name) == sound && (name != http.CanonicalHeaderKey(own) || len(values) != 1) {
				return errTwice(own)
			}
		}
		for _, list := range h.Values("Connection") {
			for name := range strings.SplitSeq(list, ",") {
				if letters(name) == sound {
					return errTwice(own)
				}
			}
		}
	}
	return nil
}

// letters is a header's name without what may be written in more than one way.
func letters(name string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9':
			return c
		case c >= 'A' && c <= 'Z':
			return c - 'A' + 'a'
		}
		return -1
	}, name)
}

// Plausible keeps names out that could be read as something else.
func Plausible(name string) bool {
	return name != "" && len(name) <= 200 && !strings.ContainsFunc(name, func(c rune) bool {
		return c == ' ' || c == '\ufffd' || !unicode.IsPrint(c) || unicode.Is(unicode.Other_Default_Ignorable_Code_Point, c)
	})
}

func roleOf(name string, groups, operators []string) store.Role {
	if slices.Contains(operators, "user:"+name) || slices.ContainsFunc(groups, func(g string) bool {
		return !strings.HasPrefix(g, "user:") && slices.Contains(operators, g)
	}) {
		return store.Operator
	}
	return store.Reader
}

// rightsOf are the groups of hosts that somebody sees: those of each group that has him,
// and of "user:" with his name. Who is in none of them sees nothing.
func rightsOf(name string, groups []string, sees map[string][]string) store.Rights {
	if sees == nil {
		return store.AllGroups
	}
	list := slices.Clone(sees["user:"+name])
	for _, g := range groups {
		if !strings.HasPrefix(g, "user:") {
			list = append(list, sees[g]...)
		}
	}
	if slices.Contains(list, "*") {
		return store.AllGroups
	}
	for i, g := range list {
		if g == "-" {
			list[i] = ""
		}
	}
	return store.OnlyGroups(list...)
}
