package pam

import (
	"slices"
	"strings"
)

// User is who logs in, as far as modules ask.
type User struct {
	Name     string
	UID, GID uint32
	Home     string
	Shell    string
	Groups   []string // names of all groups, the primary one among them
	// Local: the user is in /etc/passwd; others come from a directory.
	Local bool
}

// Give is what somebody has to give when asked.
type Give struct{ Password, Code bool }

func (g Give) String() string {
	switch g {
	case Give{true, true}:
		return "password+code"
	case Give{Password: true}:
		return "password"
	case Give{Code: true}:
		return "code"
	}
	return "nothing"
}

// Talk is how the service hands a module's questions on.
type Talk int

const (
	// Dialog asks the user each question (sshd's keyboard-interactive, login).
	Dialog Talk = iota
	// OneText answers every hidden question with the same text that the user
	// typed once (sshd's method "password": auth-pam.c, sshpam_passwd_conv).
	OneText
)

// Answer is what a stack says: every code that it may return.
type Answer struct {
	Codes []Code
	// Depends names the lines whose answers nobody can foresee, if there are
	// several Codes: "/etc/pam.d/sshd:4 pam_duo".
	Depends []string
	// Why names the line that decided a refusal, where one did.
	Why string
	// AsksCode: on some way a line asked for a one-time code.
	AsksCode bool
}

// Verdict is whether somebody gets in.
type Verdict int

const (
	No Verdict = iota
	Depends
	Yes
)

func (v Verdict) String() string { return [...]string{"no", "depends", "yes"}[v] }

// Verdict reports whether the answer lets in.
func (a Answer) Verdict() Verdict {
	switch ok := slices.Contains(a.Codes, Success); {
	case ok && len(a.Codes) == 1:
		return Yes
	case ok:
		return Depends
	}
	return No
}

// Ask simulates one call of a stack: whether somebody who gives these things
// passes it. Of the texts that can be typed where there is only one, the best
// counts.
func (s *Sim) Ask(f Facility, u *User, g Give, t Talk) Answer {
	if s.Config.Fatal != nil {
		return Answer{Codes: []Code{Abort}, Why: s.Config.Fatal.Error()}
	}
	rules, _ := s.Config.Stack(f)
	if len(rules) == 0 {
		return Answer{Codes: []Code{mustFail}, Why: "no line of " + string(f) + " in " + s.Config.Service + " or other"}
	}
	var best Answer
	for i, text := range g.texts(t) {
		w := walker{sim: s, rules: rules, user: u, give: g, talk: t, text: text, facility: f}
		a := w.run()
		if i == 0 || a.Verdict() > best.Verdict() {
			a.AsksCode = a.AsksCode || best.AsksCode
			best = a
		}
	}
	return best
}

// BadJump is in Answer.Why where a line skips more lines than there are.
const BadJump = "skips more lines than follow"

// point is a state of a walk with what it has seen. Points that are equal go
// on in the same way.
type point struct {
	state
	tok  token  // PAM_AUTHTOK
	deps uint64 // lines, by number, that were guessed at
	why  int    // the line that turned the impression negative, from 1
	jump bool   // and did so by a jump too far
}

// maxPoints bounds what one question explores.
const maxPoints = 4096

type walker struct {
	sim      *Sim
	rules    []Rule
	user     *User
	give     Give
	talk     Talk
	text     token // of OneText
	facility Facility
	asked    bool
}

func (w *walker) run() Answer {
	todo := []point{{state: start()}}
	seen, branched := map[point]bool{}, false // what is on one way only need not be remembered
	var a Answer
	var deps uint64
	why, jump := 0, false
	for len(todo) > 0 {
		p := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if p.at >= len(w.rules) {
			if c := p.result(); !slices.Contains(a.Codes, c) {
				a.Codes = append(a.Codes, c)
			}
			deps |= p.deps
			if why == 0 {
				why, jump = p.why, p.jump
			}
			continue
		}
		next := w.next(p)
		branched = branched || len(next) > 1
		for _, q := range next {
			if branched {
				if seen[q] {
					continue
				}
				seen[q] = true
			}
			todo = append(todo, q)
		}
		if len(seen) > maxPoints {
			a.Codes = []Code{Success, mustFail}
			a.Depends = []string{"a stack with too many unknown modules"}
			return a
		}
	}
	slices.Sort(a.Codes)
	for i := range w.rules {
		if deps&bit(i) != 0 && len(a.Codes) > 1 {
			a.Depends = append(a.Depends, w.rules[i].place()+" "+w.rules[i].Name())
		}
	}
	if why > 0 && a.Verdict() != Yes {
		a.Why = w.rules[why-1].place() + " " + w.rules[why-1].Name()
		if jump {
			a.Why += " " + BadJump
		}
	}
	a.AsksCode = w.asked
	return a
}

func bit(i int) uint64 { return 1 << min(i, 63) }

// place is "FILE:LINE".
func (r *Rule) place() string {
	var b strings.Builder
	b.WriteString(r.File)
	b.WriteByte(':')
	b.WriteString(itoa(r.Line))
	return b.String()
}

// next is where a walk may be after line p.at.
func (w *walker) next(p point) []point {
	r := &w.rules[p.at]
	p.enter(r)
	if r.Kind == Substack {
		p.at++
		return []point{p}
	}
	outs := []outcome{{code: mustFail}}
	if r.Kind == Module {
		outs = w.module(r, p.tok)
	}
	if len(outs) > 1 {
		outs = distinct(r, outs)
	}
	var ps []point
	for _, o := range outs {
		q, line := p, p.at
		q.tok = o.tok
		was := q.now.imp
		q.take(w.rules, o.code)
		if was != negative && q.now.imp == negative {
			q.why, q.jump = line+1, o.code >= 0 && o.code < codes && r.Actions[o.code] > 0
		}
		if !slices.Contains(ps, q) {
			ps = append(ps, q)
		}
	}
	if len(ps) > 1 {
		for i := range ps {
			ps[i].deps |= bit(p.at)
		}
	}
	return ps
}

// distinct leaves of the outcomes one for each effect on the walk.
func distinct(r *Rule, outs []outcome) []outcome {
	type effect struct {
		act     Action
		success bool
		tok     token
	}
	var seen []effect
	return slices.DeleteFunc(outs, func(o outcome) bool {
		e := effect{r.Actions[o.code], o.code == Success, o.tok}
		if slices.Contains(seen, e) {
			return true
		}
		seen = append(seen, e)
		return false
	})
}

// outcome is one thing that a module may do.
type outcome struct {
	code Code
	tok  token // PAM_AUTHTOK after it
}
