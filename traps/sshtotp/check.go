package sshtotp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/fact/container"
	"fettle/host/fact/sshlogin"
	"fettle/host/format/pam"
	"fettle/host/format/sshd"
)

func check(ctx context.Context, h *host.Host, r *trap.Report) error {
	v, err := take(ctx, h, nil)
	if host.IsAbsent(err) {
		r.NotApplicable("", "there is no "+sshd.Main+": this host accepts no SSH logins")
		return nil
	}
	if err != nil {
		r.Unknown(whole, err)
		return nil
	}
	c := v.logins.Sim.Config
	pamOn := v.logins.Sshd.For(sshd.Conn{}).Get("UsePAM").Is("yes")
	switch {
	case c.Fatal != nil && pamOn:
		r.Found(
			trap.Finding{
				Subject:  whole,
				Severity: trap.Critical,
				Facts:    trap.FactsOf(facts{}),
				Summary:  "PAM refuses every login over SSH: " + c.Fatal.Msg,
				Evidence: []trap.Evidence{trap.Ev(c.Fatal.Path+fmt.Sprintf(":%d", c.Fatal.Line), "%s", c.Fatal.Msg)},
				ByHand:   "mend " + c.Fatal.Error(),
			},
		)
		return nil
	case len(v.lines) == 0 && otherFactor(c) != "":
		r.NotApplicable(whole, "PAM asks for a second factor by "+otherFactor(c)+", which this check does not know")
		return nil
	case len(v.lines) == 0:
		r.NotApplicable(whole, "PAM asks for no code at SSH logins: no line of "+sshlogin.Service+" has "+module+" (fettle totp setup adds it)")
		return nil
	}
	if v.judge(r) {
		v.judgeFiles(r)
		v.judgeOutside(r)
		v.judgeClock(ctx, h, r)
	}
	if n := v.logins.DB.UsersElsewhere; len(n) > 0 {
		r.Unknown(others, fmt.Errorf("only users in /etc/passwd are checked; %s may have others", strings.Join(n, ", ")))
	}
	return nil
}

// otherFactor is a module in sshd's stack that asks for another second factor.
func otherFactor(c *pam.Config) string {
	rules, _ := c.Stack(pam.Auth)
	for _, r := range rules {
		if slices.Contains([]string{"pam_oath", "pam_duo", "pam_yubico", "pam_u2f", "pam_radius_auth", "pam_otpw"}, r.Name()) {
			return r.Name()
		}
	}
	return ""
}

// judge tells whether the code is asked for of those who shall give it. It
// returns false where nothing else matters.
func (v *survey) judge(r *trap.Report) bool {
	ev := v.evidence()
	for _, e := range v.logins.Sshd.Errors {
		r.Unknown(whole, fmt.Errorf("sshd refuses its configuration, and runs with an older one if it runs: %w", e))
	}
	if errs := v.logins.Sim.Unread; len(errs) > 0 {
		r.Unknown(whole, fmt.Errorf("not everything that PAM's modules read could be read: %w", errors.Join(errs...)))
	}
	found := func(sev trap.Severity, summary string, detail trap.Prose, byHand, why string) {
		r.Found(
			trap.Finding{
				Subject:  whole,
				Severity: sev,
				Summary:  summary,
				Detail:   detail,
				ByHand:   byHand,
				Evidence: ev,
				Facts:    trap.FactsOf(facts{Why: why}),
			},
		)
	}
	for i := range v.lines {
		l := &v.lines[i]
		if arg, bad := pam.BadTOTPArg(l); bad {
			found(
				trap.Critical,
				fmt.Sprintf("%s refuses all users: it does not support the option %q", module, arg),
				"",
				fmt.Sprintf("correct %s:%d", l.File, l.Line),
				"",
			)
			return false
		}
		if v.logins.Sim.Missing[l.Module] {
			found(
				trap.Critical,
				module+" is not installed, so its line refuses everybody",
				"",
				"install it (Debian: libpam-google-authenticator; Fedora and EPEL: google-authenticator), or remove the line "+fmt.Sprintf(
					"%s:%d",
					l.File,
					l.Line,
				),
				"",
			)
			return false
		}
	}
	for _, p := range v.logins.Sim.Config.Problems {
		ev = append(ev, trap.Ev(fmt.Sprintf("%s:%d", p.Path, p.Line), "%s", p.Msg))
	}
	asked := v.wanted()
	if len(asked) == 0 {
		r.NotApplicable(whole, "no user in /etc/passwd with a shell is asked for the code", ev...)
		return true
	}
	var never, round, unsure, byKey []*person
	for _, p := range asked {
		by, _ := p.held.WithoutCode()
		stack := v.held.Ask(pam.Auth, p.user, pam.Give{Password: true}, pam.Dialog).Verdict()
		pw := p.held.Ways[sshlogin.Means{Password: true}]
		switch {
		case pw == pam.Yes && stack == pam.Yes:
			round = append(round, p)
		case pw == pam.Depends:
			unsure = append(unsure, p)
		case !usesCode(&p.held):
			never = append(never, p)
		}
		if usesCode(&p.held) && (p.held.Ways[sshlogin.Means{Key: true}] == pam.Yes || len(p.held.Other) > 0) {
			byKey = append(byKey, p)
		} else if by == pam.Depends && pw != pam.Depends {
			unsure = append(unsure, p)
		}
	}
	if len(never) < len(asked) {
		// For some sshd asks, and for these it wants a key instead: a Match
		// block for a service's account, PermitRootLogin prohibit-password.
		never = slices.DeleteFunc(never, func(p *person) bool {
			key := p.held.Ways[sshlogin.Means{Key: true}]
			if keyless(&p.held) != pam.No || key == pam.No {
				return false
			}
			if key == pam.Yes {
				byKey = append(byKey, p)
			}
			return true
		})
	}
	switch {
	case len(never) > 0:
		found(trap.Critical, "PAM requires a code, and sshd never lets it ask: "+v.whyNever(never),
			trap.Lines("These users, and what they log in with:").Also(table(never)...), "", "never")
	case len(round) > 0:
		found(
			trap.Critical,
			"users whom PAM should ask for a code get in with their password alone",
			trap.Lines("A line before "+module+" ends the stack with success, or skips it.").
				Also(table(round)...),
			"move the line of "+module+" before the one that succeeds, or make that one required",
			"",
		)
	case len(unsure) > 0:
		r.Unknown(whole, fmt.Errorf("whether the code is asked for depends on %s", strings.Join(unsure[0].held.Depends, ", ")), ev...)
	default:
		r.Clear(
			whole,
			"every user who needs a code is asked for it",
			append(ev, trap.Ev("simulated", "%s", strings.Join(table(asked), "; ")))...)
	}
	if len(never) == 0 && len(byKey) > 0 {
		r.Found(
			trap.Finding{
				Subject:  keys,
				Severity: trap.Notice,
				Facts:    trap.FactsOf(facts{}),
				Summary:  roundTheCode(byKey) + " lets in users whom PAM would ask for a code",
				Evidence: ev,
				Detail: trap.Lines("sshd decides this alone, without PAM. That may be intended: a key with a passphrase is two factors.",
					"If not, AuthenticationMethods must require both.", "Affected: "+names(byKey)),
			},
		)
	} else if i := slices.IndexFunc(asked,
		func(p *person) bool { return p.held.Ways[sshlogin.Means{Key: true}] == pam.Depends }); len(never) == 0 && i >= 0 {
		r.Unknown(keys, fmt.Errorf("whether a key alone lets in depends on %s", strings.Join(asked[i].held.Depends, ", ")), ev...)
	} else if len(never) == 0 {
		r.Clear(keys, "no user who needs a code can log in with a key alone")
	}
	return true
}

// roundTheCode names what lets these users in without a code.
func roundTheCode(ps []*person) string {
	var ways []string
	if slices.ContainsFunc(ps, func(p *person) bool { return p.held.Ways[sshlogin.Means{Key: true}] == pam.Yes }) {
		ways = []string{"a key alone"}
	}
	for _, p := range ps {
		for _, o := range p.held.Other {
			if !slices.Contains(ways, o) {
				ways = append(ways, o)
			}
		}
	}
	return strings.Join(ways, " or ")
}

// whyNever says what keeps sshd from asking.
func (v *survey) whyNever(ps []*person) string {
	p := ps[0]
	if i := slices.IndexFunc(ps, func(p *person) bool { return p.user.UID != 0 }); i >= 0 {
		p = ps[i]
	}
	e := v.logins.Sshd.For(sshd.Conn{User: p.user.Name, Groups: p.user.Groups})
	for _, c := range []struct{ keyword, want string }{{"UsePAM", "yes"}, {"KbdInteractiveAuthentication", "yes"}} {
		if s := e.Get(c.keyword); !s.Is(c.want) {
			return c.keyword + " is " + s.Value()
		}
	}
	if p.user.UID == 0 {
		if s := e.Get("PermitRootLogin"); !s.Is("yes") {
			return "PermitRootLogin is " + s.Value()
		}
	}
	if s := e.Get("AuthenticationMethods"); !s.Is("any") {
		return "AuthenticationMethods is " + s.Value()
	}
	return "no method of sshd's passes the stack"
}

// judgeFiles tells who is locked out for his file.
func (v *survey) judgeFiles(r *trap.Report) {
	var without []*person
	var unseen, frozen []error
	for _, p := range v.wanted() {
		subject := perUser + p.user.Name
		switch {
		case p.file.State == pam.FileAbsent:
			without = append(without, p)
		case p.file.Err != nil:
			unseen = append(unseen, p.file.Err)
		case p.file.State == pam.FileRefused:
			sev := trap.Warning
			if p.now.GetsIn() == pam.No {
				sev = trap.Critical
			}
			f := trap.Finding{
				Subject:  subject,
				Severity: sev,
				Summary:  fmt.Sprintf("the module refuses %s's codes: the file %s", p.user.Name, p.file.Why),
				Detail:   trap.Lines("What still lets in: " + p.now.Words()),
				Evidence: []trap.Evidence{
					trap.Ev("stat "+p.file.Path, "mode %04o, owner %s, %d bytes", p.file.Info.Mode.Perm(), p.owner(), p.file.Info.Size),
				},
			}
			if !strings.Contains(p.file.Why, "has mode") {
				f.ByHand = "write it again: fettle totp enrol " + p.user.Name + " --replace"
			}
			r.Found(f)
		case p.file.FrozenErr != nil:
			frozen = append(frozen, p.file.FrozenErr)
		case p.file.Frozen != "":
			r.Found(
				trap.Finding{
					Subject:  subject,
					Severity: trap.Warning,
					Summary:  fmt.Sprintf("the module cannot record %s's used codes: %s", p.user.Name, p.file.Frozen),
					Detail:   "With the option RATE_LIMIT or DISALLOW_REUSE in the file, as is usual, every login with a code fails then.",
					Evidence: []trap.Evidence{trap.Ev("stat "+p.file.Path, "mode %04o, owner %s", p.file.Info.Mode.Perm(), p.owner())},
					ByHand:   "make the file system writable, or keep the files elsewhere: the module's option secret=/var/lib/…/${USER}",
				},
			)
		}
	}
	if len(frozen) > 0 {
		r.Unknown(writing, fmt.Errorf("whether the module can write to all files of users is not known: %w", frozen[0]))
	}
	if len(unseen) > 0 {
		r.Unknown(noFile, fmt.Errorf("not all files of users could be checked: %w", unseen[0]))
	}
	v.judgeWithout(r, without, len(unseen) == 0)
}

// judgeWithout tells whether those without a file can log in.
func (v *survey) judgeWithout(r *trap.Report, without []*person, all bool) {
	nullok := slices.ContainsFunc(v.lines, func(l pam.Rule) bool { return l.Arg("nullok") })
	var out []*person
	sev := trap.Warning
	for _, p := range without {
		if keyless(&p.now) == pam.No && keyless(&p.held) != pam.No || p.now.GetsIn() == pam.No && p.held.GetsIn() != pam.No {
			out = append(out, p)
			if p.now.GetsIn() == pam.No {
				sev = trap.Critical
			}
		}
	}
	switch {
	case len(out) == 0 && all && len(without) > 0 && nullok:
		r.Clear(noFile, "users without a file log in without a code (nullok)", trap.Ev("simulated", "%s", strings.Join(table(without), "; ")))
	case len(out) == 0 && all:
		r.Clear(noFile, "no user is locked out because of a missing file")
	case len(out) > 0:
		f := trap.Finding{
			Subject:  noFile,
			Severity: sev,
			Evidence: v.evidence(),
			Summary:  "users who need a code but have no file are locked out",
			Detail:   trap.Lines("Without a file, what lets in is:").Also(table(out)...),
			Facts:    trap.FactsOf(facts{Why: "strict"}),
		}
		if nullok {
			f.Summary = "nullok does not let in users without a file: nothing else in the stack succeeds for them"
			f.Detail = "With nullok the module returns PAM_IGNORE, and a stack in which no module succeeds denies access.\n" + f.Detail
			f.Facts = trap.FactsOf(facts{Why: "nullok"})
		}
		if why := out[0].now.Why; why != "" {
			f.Detail = f.Detail.Also("It is refused at " + why + ".")
		}
		r.Found(f)
	}
}

// judgeOutside tells whether those who are not asked can pass the stack.
func (v *survey) judgeOutside(r *trap.Report) {
	var out []*person
	why := ""
	for i := range v.people {
		p := &v.people[i]
		if p.held.Wanted || p.now.Denied != "" {
			continue
		}
		a := v.logins.Sim.Ask(pam.Auth, p.user, pam.Give{Password: true, Code: true}, pam.Dialog)
		if a.Verdict() == pam.No && (a.Why == "" || strings.Contains(a.Why, pam.BadJump)) {
			out, why = append(out, p), a.Why
		}
	}
	if len(out) == 0 {
		return
	}
	f := trap.Finding{
		Subject:  outside,
		Severity: trap.Warning,
		Facts:    trap.FactsOf(facts{}),
		Summary:  "users who need no code cannot log in with a password: no module in the stack succeeds for them",
		Detail:   trap.Lines("A stack in which no module succeeds denies access. These users: " + names(out)),
		Evidence: v.evidence(),
		ByHand: "add the line `auth required pam_permit.so` after that of the code if no password is required, or the lines of the " +
			"password before it",
	}
	if why != "" {
		f.Summary = "users who need no code are refused: a line skips more lines than there are"
		f.Detail = trap.Lines(why + ". Affected: " + names(out))
		f.ByHand = "correct the number in that line"
	}
	r.Found(f)
}

// clocks are the programs that keep the clock right.
var clocks = []string{
	"chronyd",
	"ntpd",
	"systemd-timesyn",
	"systemd-timesyncd",
	"openntpd",
	"ntimed-client",
	"ptp4l",
	"phc2sys",
	"timemaster",
	"VBoxService",
	"clockspeed",
}

// judgeClock: codes are made of the time.
func (v *survey) judgeClock(ctx context.Context, h *host.Host, r *trap.Report) {
	if container.Of(ctx, h) != "" {
		r.NotApplicable(clock, "a container uses its host's clock")
		return
	}
	ps, err := h.Processes(ctx)
	if err != nil {
		r.Unknown(clock, err)
		return
	}
	for _, p := range ps {
		if p.Own() && slices.Contains(clocks, p.Comm) {
			r.Clear(clock, "a daemon synchronises the clock")
			return
		}
	}
	r.Found(
		trap.Finding{
			Subject:  clock,
			Severity: trap.Notice,
			Facts:    trap.FactsOf(facts{}),
			Summary:  "no daemon synchronises the clock, and codes depend on the time",
			Detail:   "A code is accepted up to 30 s before and after its time (WINDOW_SIZE 3).",
			ByHand:   "install chrony, or run timedatectl set-ntp true",
		},
	)
}
