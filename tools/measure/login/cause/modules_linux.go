package cause

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// modules finds the PAM modules that are slow: each is asked alone, in a stack
// in which nothing else happens. One that is slow alone may be jumped over in
// the real stack; where several are slow, each is therefore taken out of that.
func (x *experiments) modules(ctx context.Context, seconds float64, named, bare times) ([]module, error) {
	type found struct {
		module
		took float64
	}
	var slow []found
	for _, m := range modules(x.stack) {
		if x.inSession && x.cgroup == nil && m.rule.Name() == "pam_systemd" {
			x.unknown("pam_systemd: this process is in a user's session already; start fettle measure login --server-side by systemd-run --pipe")
		}
		name := fmt.Sprintf("PAM %s %s alone", m.rule.Facility, strings.Join(append([]string{m.rule.Name()}, m.rule.Args...), " "))
		v := x.plus(x.quick, map[string][]byte{x.stack.Files[0]: m.alone()})
		x.o.Tell(name)
		t, err := x.login(ctx, v)
		if err == nil && gain(t, bare) >= x.least() && t.output < 5*time.Second { // so slow by accident?
			var again times
			if again, err = x.login(ctx, v); err == nil && again.output < t.output {
				t = again
			}
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil { // an optional module that hangs or ends sshd; the others can be looked at
			x.unknown("%s: %v", name, err)
			continue
		}
		took := gain(t, bare)
		x.r.Steps = append(x.r.Steps, Step{name, t.output.Seconds()})
		if took >= x.least() {
			slow = append(slow, found{m, took})
		}
	}
	if len(slow) > 1 {
		kept := slow[:0]
		for _, f := range slow {
			files, err := without(os.ReadFile, []module{f.module})
			if err != nil {
				return nil, err
			}
			t, err := x.steady(ctx, "all but PAM "+string(f.rule.Facility)+" "+f.rule.Name(), x.plus(x.quick, files))
			if err != nil {
				return nil, err
			}
			if f.took = gain(named, t); f.took >= Slow/2 {
				kept = append(kept, f)
			}
		}
		slow = kept
	}
	left := seconds
	out := []module{}
	for _, f := range slow {
		c := Cause{Name: "pam:" + f.rule.Name(), On: "server", Seconds: min(f.took, left)}
		if len(slow) == 1 {
			c.Seconds = min(f.took, seconds)
		}
		for _, r := range f.rules {
			c.Evidence = append(
				c.Evidence,
				fmt.Sprintf("%s:%d: %s %s %s", r.File, r.Line, r.Facility, r.Control, strings.Join(append([]string{r.Module}, r.Args...), " ")),
			)
		}
		c.Evidence = append(c.Evidence, fmt.Sprintf("a login with this module alone takes %.2f s more than one with none", f.took))
		left -= c.Seconds
		switch f.rule.Name() {
		case "pam_systemd", "pam_elogind":
			x.logind(ctx, &c)
		case "pam_motd":
			c.Evidence = append(c.Evidence, x.motd(ctx)...)
		}
		x.add(c)
		out = append(out, f.module)
	}
	return out, nil
}

// add takes up a cause; one module may be in several facilities.
func (x *experiments) add(c Cause) {
	for i := range x.r.Causes {
		if old := &x.r.Causes[i]; old.Name == c.Name {
			old.Seconds += c.Seconds
			old.Evidence = append(old.Evidence, c.Evidence...)
			return
		}
	}
	x.r.Causes = append(x.r.Causes, c)
}

// logind tells whether pam_systemd is slow because logind is: all that the
// module does is to call it.
func (x *experiments) logind(ctx context.Context, c *Cause) {
	x.o.Tell("logind over D-Bus")
	took, err := PingLogind(ctx, SystemBus, x.o.Limit)
	x.r.Steps = append(x.r.Steps, Step{"logind over D-Bus", took.Seconds()})
	switch {
	case err != nil:
		c.Evidence = append(c.Evidence, err.Error())
	default:
		c.Evidence = append(c.Evidence, fmt.Sprintf("logind answers over D-Bus after %.2f s", took.Seconds()))
	}
	if err != nil && took.Seconds() >= Slow || took.Seconds() >= c.Seconds/2 {
		c.Name = Logind
	}
}

// motd times the scripts that pam_motd has run on Debian, each by itself.
func (x *experiments) motd(ctx context.Context) (out []string) {
	const dir = "/etc/update-motd.d"
	files, _ := os.ReadDir(dir) // ReadDir sorts
	for _, f := range files {
		path := filepath.Join(dir, f.Name())
		if st, err := os.Stat(path); err != nil || !st.Mode().IsRegular() || unix.Access(path, unix.X_OK) != nil ||
			strings.Contains(f.Name(), ".") { // run-parts(8) skips names with dots
			continue
		}
		x.o.Tell(path)
		start := time.Now()
		_, err := command(ctx, x.o.Limit, path)
		took := time.Since(start)
		x.r.Steps = append(x.r.Steps, Step{path, took.Seconds()})
		if took.Seconds() >= Slow/2 || err != nil && ctx.Err() == nil {
			out = append(out, fmt.Sprintf("%s takes %.2f s", path, took.Seconds()))
		}
	}
	return out
}

// tryGSSAPI makes a login that offers GSSAPI and ends there. What looking up
// the client's name takes is no part of it.
func (x *experiments) tryGSSAPI(ctx context.Context) (time.Duration, error) {
	v := x.quick
	v.set = map[string]string{"gssapiauthentication": "yes", "authenticationmethods": "any"}
	var took time.Duration
	_, err := x.connect(ctx, v, func(c *connection) error {
		var err error
		took, err = x.gssapi(c.near)
		if errors.Is(err, errAnswered) || took > 0 {
			return nil
		}
		return err
	})
	return took, err
}
