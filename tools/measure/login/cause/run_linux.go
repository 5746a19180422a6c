package cause

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"fettle/host"
	"fettle/host/format/pam"
	"fettle/internal/sorted"
)

// Run makes the experiments. It needs root, and opens some twenty sessions of
// the user.
func Run(ctx context.Context, o Options) (*Report, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	b, err := newBench(ctx, o)
	if err != nil {
		return nil, err
	}
	defer b.close()
	x := &experiments{bench: b, r: &Report{User: o.User, Client: o.Client.String(), Causes: []Cause{}}}
	if err := x.run(ctx); err != nil {
		return nil, err
	}
	return x.r, nil
}

type experiments struct {
	*bench
	r       *Report
	quick   variant // the client's address has a name
	service string
	stack   *pam.Config // nil without PAM
	// noise is how far apart the two fastest of three equal logins were: on a
	// busy host more than a cause may take.
	noise time.Duration
}

// least is what counts as a cause on this host, in seconds.
func (x *experiments) least() float64 { return max(Slow, x.noise.Seconds()) }

// run takes away one thing after the other: the lookups of the client's name,
// then PAM's modules, then the shell. What each step gains is shared among what
// was taken away with it.
func (x *experiments) run(ctx context.Context) error {
	if err := x.prepare(ctx); err != nil {
		return err
	}
	full, err := x.steady(ctx, "as the server is", variant{})
	if err != nil {
		return err
	}
	named, err := x.steady(ctx, "the client's address has a name", x.quick)
	if err != nil {
		return err
	}
	bare, bareV := named, x.quick
	if x.stack != nil {
		bareV = x.plus(x.quick, map[string][]byte{x.stack.Files[0]: []byte(permits)})
		if bare, err = x.steady(ctx, "and no PAM module is asked", bareV); err != nil {
			return err
		}
	}
	noShell := bareV
	noShell.sftp = true
	floor, err := x.steady(ctx, "and no shell is started", noShell)
	if err != nil {
		return err
	}
	names, mods, shell := gain(full, named), gain(named, bare), gain(bare, floor)
	x.r.Total, x.r.Floor = full.output.Seconds(), floor.output.Seconds()
	for _, g := range []float64{names, mods, shell} {
		if g < x.least() {
			x.r.Floor += g // what any login takes
		}
	}
	x.r.Floor = min(x.r.Floor, x.r.Total)

	less := variant{}
	if names >= x.least() {
		x.names(ctx, names)
		less = x.quick
	}
	var slow []module
	if mods >= x.least() {
		if slow, err = x.modules(ctx, mods, named, bare); err != nil {
			return err
		}
		files, err := without(os.ReadFile, slow)
		if err != nil {
			return err
		}
		less = x.plus(less, files)
	}
	if shell >= x.least() {
		x.r.Causes = append(x.r.Causes, Cause{Name: Shell, On: "server", Seconds: shell,
			Evidence: []string{
				fmt.Sprintf(
					"a command through the shell of %s answers after %.2f s, sftp without a shell after %.2f s",
					x.o.User,
					bare.output.Seconds(),
					floor.output.Seconds(),
				),
			}})
		less.sftp = true
	}
	x.r.Without = x.r.Total
	if len(x.r.Causes) > 0 {
		t, err := x.steady(ctx, "as the server is, without the causes", less)
		if err != nil {
			return err
		}
		x.r.Without = t.output.Seconds()
	}
	if x.noise.Seconds() >= Slow {
		x.unknown(
			"what takes less than %.2f s: this host is busy, and one and the same login takes that much more or less; measure again when it is calm",
			x.noise.Seconds(),
		)
	}
	x.ifTried(ctx)
	sorted.By(x.r.Causes, func(a, b Cause) int {
		return int(math.Copysign(1, b.Seconds-a.Seconds))
	})
	return nil
}

// prepare reads what the variants are made from.
func (x *experiments) prepare(ctx context.Context) error {
	sw, ok1, err1 := readOr("/etc/nsswitch.conf")
	hosts, ok2, err2 := readOr("/etc/hosts")
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	if ok1 && ok2 {
		x.quick = variant{files: answered(sw, hosts, x.o.Client.WithZone("").String()), hide: []string{"/run/nscd"}}
	} else {
		x.unknown("lookups of the client's name: /etc/nsswitch.conf or /etc/hosts is not there to be replaced")
	}
	if x.set.get("usepam") != "yes" {
		return nil
	}
	x.service = "sshd"
	if s := x.set.get("pamservicename"); s != "" { // since 9.8
		x.service = s
	}
	live, err := host.NewLive()
	if err != nil {
		return err
	}
	defer live.Close()
	c, err := pam.Read(ctx, host.New(live), x.service)
	switch {
	case err != nil:
		return fmt.Errorf("reading the PAM configuration of %s: %w", x.service, err)
	case c.Fatal != nil:
		return fmt.Errorf("reading the PAM configuration of %s: %w", x.service, c.Fatal)
	case !strings.HasSuffix(c.Files[0], "/"+x.service):
		x.unknown("PAM modules: sshd's stack is in %s, not in a file of its own", c.Files[0])
	default:
		x.stack = c
	}
	return nil
}

func (x *experiments) unknown(format string, args ...any) {
	x.r.Unknown = append(x.r.Unknown, fmt.Sprintf(format, args...))
}

// plus is a variant with further files replaced.
func (x *experiments) plus(v variant, files map[string][]byte) variant {
	all := map[string][]byte{}
	for k, t := range v.files {
		all[k] = t
	}
	for k, t := range files {
		all[k] = t
	}
	v.files = all
	return v
}

// steady makes a login again until two agree, and tells of it.
func (x *experiments) steady(ctx context.Context, name string, v variant) (times, error) {
	x.o.Tell(name)
	best, noise, err := fastest(func() (times, error) { return x.login(ctx, v) })
	if err != nil {
		return best, fmt.Errorf("%s: %w", name, err)
	}
	x.noise = max(x.noise, noise)
	x.r.Steps = append(x.r.Steps, Step{name, best.output.Seconds()})
	return best, nil
}

// fastest takes up to three logins until two agree, and the fastest of them:
// whatever else the machine does only makes a login slower. Noise is how much
// slower the next one was.
func fastest(login func() (times, error)) (best times, noise time.Duration, err error) {
	var second time.Duration
	for i := range 3 {
		t, err := login()
		if err != nil {
			return best, 0, err
		}
		old := best.output
		switch {
		case i == 0:
			best = t
		case t.output < old:
			best, second = t, old
		case second == 0 || t.output < second:
			second = t.output
		}
		if i == 0 && t.output > 5*time.Second || i > 0 && (t.output-old).Abs() < 60*time.Millisecond {
			break
		}
	}
	if second == 0 {
		return best, 0, nil
	}
	return best, second - best.output, nil
}

// gain is how much sooner b is than a, in seconds.
func gain(a, b times) float64 { return max(0, (a.output - b.output).Seconds()) }

// names finds which source of names is slow.
func (x *experiments) names(ctx context.Context, seconds float64) {
	sw, _, err := readOr("/etc/nsswitch.conf")
	if err != nil {
		x.unknown("sources of names: %v", err)
	}
	addr := x.o.Client.WithZone("").String()
	x.o.Tell("the sources of nsswitch.conf, each by itself")
	asked := AskSources(ctx, HostSources(string(sw)), "hosts", addr, x.o.Limit)
	evidence := []string{}
	switch dns := x.set.get("usedns"); dns {
	case "yes":
		evidence = append(evidence, "sshd has UseDNS yes: it asks for the name of "+addr+" at each login")
	default:
		evidence = append(evidence, "sshd has UseDNS "+dns+": a PAM module or hosts.allow asks for the name of "+addr)
	}
	for _, s := range asked {
		x.r.Steps = append(x.r.Steps, Step{"source " + s.Name, s.Took.Seconds()})
		if s.Err != nil {
			x.unknown("%v", s)
		}
	}
	shares := slowOnes(asked, seconds)
	if len(shares) == 0 { // it was slow and is not any more: a name server that comes and goes
		x.r.Causes = append(x.r.Causes, Cause{Name: ReverseDNS, On: "server", Seconds: seconds,
			Evidence: append(evidence, "asked by itself, each source now answers immediately")})
		return
	}
	for _, s := range asked {
		share, ok := shares[s.Name]
		if !ok {
			continue
		}
		c := Cause{Name: "nss:" + s.Name, On: "server", Seconds: share, Evidence: append(slices.Clone(evidence), s.String())}
		if s.Name == "dns" || s.Name == "resolve" {
			c.Name = ReverseDNS
			c.Evidence = append(c.Evidence, x.nameServers(ctx)...)
		}
		x.r.Causes = append(x.r.Causes, c)
	}
}

// nameServers asks each name server by itself.
func (x *experiments) nameServers(ctx context.Context) (out []string) {
	text, _, err := readOr("/etc/resolv.conf")
	if err != nil {
		return []string{err.Error()}
	}
	x.o.Tell("the name servers of resolv.conf, each by itself")
	r := ParseResolvers(string(text))
	silent := 0
	for _, a := range r.Ask(ctx, x.o.Client) {
		out = append(out, a.String())
		if a.Silent {
			silent++
		}
	}
	if silent == len(r.Servers) {
		out = append(
			out,
			fmt.Sprintf(
				"resolv.conf: timeout:%.0f attempts:%d, so a lookup gives up after %.0f s",
				r.Timeout.Seconds(),
				r.Attempts,
				r.Longest().Seconds(),
			),
		)
	}
	return out
}

// ifTried looks at what costs only those who try it.
func (x *experiments) ifTried(ctx context.Context) {
	set, err := effective(ctx, &x.o)
	if err != nil || set.get("gssapiauthentication") != "yes" {
		return
	}
	x.o.Tell("GSSAPI")
	took, err := x.tryGSSAPI(ctx)
	if err != nil {
		x.unknown("GSSAPI: %v", err)
		return
	}
	x.r.Steps = append(x.r.Steps, Step{"sshd's answer to GSSAPI", took.Seconds()})
	if s := took.Seconds(); s >= Slow {
		x.r.IfTried = append(x.r.IfTried, Cause{Name: GSSAPI, On: "server", Seconds: s,
			Evidence: []string{
				fmt.Sprintf("sshd takes %.2f s to answer a client that has a Kerberos ticket: the library looks up this host's own name then", s),
			}})
	}
}
