// Package sshlogin finds out who can log in to a host over SSH with what: a
// key, a password, a one-time code, or several of them. It joins the effective
// configuration of sshd with a simulation of the PAM stacks.
package sshlogin

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fettle/host"
	"fettle/host/format/accounts"
	"fettle/host/format/pam"
	"fettle/host/format/sshd"
)

// Service is the name that sshd gives to PAM.
const Service = "sshd"

// Means are the things that somebody brings.
type Means struct{ Key, Password, Code bool }

func (m Means) String() string {
	var s []string
	for _, p := range []struct {
		has  bool
		name string
	}{{m.Key, "key"}, {m.Password, "password"}, {m.Code, "code"}} {
		if p.has {
			s = append(s, p.name)
		}
	}
	if len(s) == 0 {
		return "nothing"
	}
	return strings.Join(s, "+")
}

// within reports whether n brings all that m does.
func (m Means) within(n Means) bool {
	return (!m.Key || n.Key) && (!m.Password || n.Password) && (!m.Code || n.Code)
}

// All are the combinations, the smaller ones first.
var All = []Means{
	{},
	{Key: true},
	{Password: true},
	{Code: true},
	{Key: true, Password: true},
	{Key: true, Code: true},
	{Password: true, Code: true},
	{true, true, true},
}

// Logins is what decides.
type Logins struct {
	Sshd *sshd.Config
	Sim  *pam.Sim
	DB   *accounts.DB
}

// Read reads sshd's and PAM's configuration of h, and its accounts.
// ErrAbsent: there is no sshd_config.
func Read(ctx context.Context, h *host.Host) (*Logins, error) {
	s, err := sshd.Read(ctx, h)
	if err != nil {
		return nil, err
	}
	if s.Unread != nil {
		return nil, s.Unread
	}
	c, err := pam.Read(ctx, h, Service)
	if err != nil {
		return nil, err
	}
	db, err := accounts.Read(ctx, h)
	if err != nil {
		return nil, err
	}
	return New(ctx, h, s, c, db), nil
}

// New is Read of configurations that are not (yet) in the host's files.
func New(ctx context.Context, h *host.Host, s *sshd.Config, c *pam.Config, db *accounts.DB) *Logins {
	l := &Logins{Sshd: s, Sim: pam.NewSim(ctx, h, c), DB: db}
	seen := map[string]pam.FileState{}
	l.Sim.File = func(r *pam.Rule, u *pam.User) pam.FileState {
		key := u.Name + "\x00" + r.File + "\x00" + strconv.Itoa(r.Line)
		state, ok := seen[key]
		if !ok {
			f := pam.LookFile(ctx, h, db, r, u)
			if state = f.State; f.Frozen != "" {
				state = pam.FileUnknown // it depends on whether the file has options that must be written
			}
			seen[key] = state
		}
		return state
	}
	return l
}

// Access is what one user gets in with.
type Access struct {
	User *pam.User
	// From is the origin that a Match block asks for, as it says it ("10.0.0.0/8,!10.9.9.9", "*.lan"), or an
	// example where several do; "" for others.
	From string
	// Denied says why the user is refused whatever he brings.
	Denied string
	// Ways is the verdict for each combination of All.
	Ways map[Means]pam.Verdict
	// Depends names what nobody can foresee, where a verdict is Depends.
	Depends []string
	// Other are methods that let in without key, password and code.
	Other []string
	// Why names the line that refuses password and code together.
	Why string
	// Asked: PAM asks for a one-time code in a way that sshd offers.
	Asked bool
	// Wanted: the auth stack asks this user for a code, on some way through it,
	// whether or not sshd lets it ask.
	Wanted bool
}

// Least are the smallest combinations with a verdict of v or better.
func (a *Access) Least(v pam.Verdict) []Means {
	var out []Means
	for _, m := range All {
		if a.Ways[m] >= v && !slices.ContainsFunc(out, func(o Means) bool { return o.within(m) }) {
			out = append(out, m)
		}
	}
	return out
}

// NoPassword takes away what a password is part of: none fits.
func (a *Access) NoPassword() {
	for _, m := range All {
		if m.Password {
			a.Ways[m] = pam.No
		}
	}
}

// WithoutCode is the best verdict of the combinations without a code, and the
// least of them that has it.
func (a *Access) WithoutCode() (pam.Verdict, Means) {
	best, by := pam.No, Means{}
	for _, m := range All {
		if !m.Code && a.Ways[m] > best {
			best, by = a.Ways[m], m
		}
	}
	return best, by
}

// GetsIn is the verdict for somebody who brings everything.
func (a *Access) GetsIn() pam.Verdict { return a.Ways[Means{true, true, true}] }

// Words is what suffices, in words: "key, or password+code".
func (a *Access) Words() string {
	if a.Denied != "" {
		return "never: " + a.Denied
	}
	var s []string
	for _, m := range a.Least(pam.Yes) {
		s = append(s, m.String())
	}
	for _, m := range a.Least(pam.Depends) {
		if a.Ways[m] == pam.Depends && !slices.ContainsFunc(a.Least(pam.Yes), func(o Means) bool { return o.within(m) }) {
			s = append(s, "perhaps "+m.String())
		}
	}
	s = append(s, a.Other...)
	if len(s) == 0 {
		return "nothing lets in"
	}
	return strings.Join(s, ", or ")
}

// For tells what u gets in with: from anywhere first, then from each origin
// that Match blocks name and that changes the answer.
func (l *Logins) For(u *pam.User) []Access {
	first := l.from(u, sshd.Conn{User: u.Name, Groups: u.Groups})
	out := []Access{first}
	for _, o := range l.origins(u) {
		a := l.from(u, o.Conn)
		if a.Words() == first.Words() && a.Wanted == first.Wanted {
			continue
		}
		a.From = o.patterns
		out = append(out, a)
	}
	return out
}

func (l *Logins) from(u *pam.User, conn sshd.Conn) Access {
	e := l.Sshd.For(conn)
	a := Access{User: u, Ways: map[Means]pam.Verdict{}, Denied: l.denied(u, e)}
	t := l.terms(u, e)
	q := asker{sim: l.Sim, user: u, memo: map[question]pam.Answer{}}
	wanted := q.ask(pam.Give{Password: true, Code: true}, pam.Dialog)
	a.Wanted = l.wanted(u)
	a.Asked = t.pam && wanted.AsksCode && t.methods["keyboard-interactive"] != pam.No
	if a.Denied != "" {
		return a
	}
	acct := pam.Answer{Codes: []pam.Code{pam.Success}}
	if t.pam {
		acct = l.Sim.Ask(pam.Account, u, pam.Give{}, pam.OneText)
		a.add(acct)
	}
	for _, m := range All {
		best := pam.No
		for _, chain := range t.chains {
			v := acct.Verdict()
			for _, name := range chain {
				v = min(v, method(base(name), &q, m, t, &a))
			}
			best = max(best, v)
		}
		a.Ways[m] = best
	}
	for _, chain := range t.chains {
		if o := strings.Join(chain, "+"); len(chain) > 0 &&
			!slices.ContainsFunc(chain, func(m string) bool { return !elsewhere(m) || t.methods[base(m)] == pam.No }) {
			a.Other = append(a.Other, o)
		}
	}
	if t.unsure != "" {
		a.Depends = append(a.Depends, t.unsure)
	}
	slices.Sort(a.Depends)
	a.Depends = slices.Compact(a.Depends)
	if wanted.Verdict() != pam.Yes {
		a.Why = wanted.Why
	} else if acct.Verdict() != pam.Yes {
		a.Why = acct.Why
	}
	return a
}

// wanted: the module would ask, with a file that it takes, at least somebody
// who has not got the password.
func (l *Logins) wanted(u *pam.User) bool {
	s := *l.Sim
	s.File = func(*pam.Rule, *pam.User) pam.FileState { return pam.FileUsable }
	return s.Ask(pam.Auth, u, pam.Give{Password: true, Code: true}, pam.Dialog).AsksCode ||
		s.Ask(pam.Auth, u, pam.Give{}, pam.Dialog).AsksCode
}

func (a *Access) add(ans pam.Answer) { a.Depends = append(a.Depends, ans.Depends...) }

// asker remembers answers: the same question comes with many combinations.
type asker struct {
	sim  *pam.Sim
	user *pam.User
	memo map[question]pam.Answer
}

type question struct {
	give pam.Give
	talk pam.Talk
}

func (q *asker) ask(g pam.Give, t pam.Talk) pam.Answer {
	k := question{g, t}
	a, ok := q.memo[k]
	if !ok {
		a = q.sim.Ask(pam.Auth, q.user, g, t)
		q.memo[k] = a
	}
	return a
}

// method is whether one method lets in somebody with m.
func method(name string, q *asker, m Means, t *terms, a *Access) pam.Verdict {
	on := t.methods[name]
	if on == pam.No {
		return pam.No
	}
	v, talk := pam.No, pam.Dialog
	switch {
	case name == "publickey":
		if m.Key {
			v = pam.Yes
		}
		return min(v, on)
	case name == "password" && !t.pam:
		if m.Password && q.user.Local {
			v = pam.Yes
		}
		return min(v, on)
	case name == "password":
		talk = pam.OneText
	case name != "keyboard-interactive":
		return pam.No
	}
	ans := q.ask(pam.Give{Password: m.Password, Code: m.Code}, talk)
	a.add(ans)
	return min(ans.Verdict(), on)
}

// base is a method without its submethod: "keyboard-interactive:pam".
func base(method string) string {
	b, _, _ := strings.Cut(method, ":")
	return b
}

func elsewhere(method string) bool {
	return base(method) == "hostbased" || base(method) == "gssapi-with-mic"
}

// place tells where a setting comes from.
func place(s sshd.Setting) string { return fmt.Sprintf("%s (%s %s)", s.Place, s.Keyword, s.Value()) }
