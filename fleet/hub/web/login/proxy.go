package login

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"

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
}

// user is whom the proxy names. A header that is there twice is refused: one of
// the two was somebody else's.
func (p *Proxy) user(r *http.Request) (string, store.Role, bool) {
	if p == nil || !within(p.From, peer(r)) {
		return "", "", false
	}
	names := r.Header.Values(p.Header)
	if len(names) != 1 {
		return "", "", false
	}
	name := strings.TrimSpace(names[0])
	if !Plausible(name) {
		return "", "", false
	}
	var groups []string
	if p.Groups != "" {
		groups = strings.FieldsFunc(strings.Join(r.Header.Values(p.Groups), ","), func(c rune) bool { return c == ',' || c == ' ' })
	}
	return name, roleOf(name, groups, p.Operators), true
}

// Plausible keeps names out that could be read as something else.
func Plausible(name string) bool {
	return name != "" && len(name) <= 200 && !strings.ContainsFunc(name, func(c rune) bool { return c <= ' ' || c == 0x7f || c == '\ufffd' })
}

func roleOf(name string, groups, operators []string) store.Role {
	if slices.Contains(operators, "user:"+name) || slices.ContainsFunc(groups, func(g string) bool { return slices.Contains(operators, g) }) {
		return store.Operator
	}
	return store.Reader
}
