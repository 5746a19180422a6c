package login

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"

	"fettle/internal/sorted"
	"fettle/tools/measure/login/cause"
)

// Explanation is what of a slow login is explained, by experiment.
type Explanation struct {
	// Delay is what the login takes beyond what it would if its slow phases
	// were quick; Explained is how much of that the causes account for. Seconds.
	Delay     float64       `json:"delay_s"`
	Explained float64       `json:"explained_s"`
	Causes    []cause.Cause `json:"causes"`
	// Server holds the experiments made there; nil without access to it, and
	// where the client's own causes explain the delay.
	Server *cause.Report `json:"server,omitempty"`
	// Unknown says what could not be looked at, and why.
	Unknown []string `json:"unknown,omitempty"`
}

// Share is how much of the delay is explained, from 0 to 1.
func (e *Explanation) Share() float64 {
	if e.Delay <= 0 {
		return 0
	}
	return e.Explained / e.Delay
}

// OnServer makes the experiments on the server: cause.Run there, as root. l
// tells who logs in, and from where.
type OnServer func(ctx context.Context, l *Login) (*cause.Report, error)

// ordinary is what a phase takes, in seconds, besides its round trips, when
// nothing is wrong with it.
const ordinary = 0.05

// Explain finds the causes of what is slow in r. server may be nil: then only
// what shows on the client is found.
func Explain(ctx context.Context, o Options, r *Result, server OnServer) (*Explanation, error) {
	if err := o.check(ctx); err != nil {
		return nil, err
	}
	e := &Explanation{Causes: []cause.Cause{}}
	rtt := r.RTT().Seconds()
	for _, s := range r.Slow {
		e.Delay += s.Median - trips(s.Phase)*rtt - ordinary
	}
	if len(r.Slow) == 0 {
		return e, nil
	}
	for _, s := range r.Slow {
		var err error
		switch s.Phase {
		case Resolve:
			e.resolve(ctx, &o, s)
		case Auth("gssapi-with-mic"):
			err = e.off(ctx, o, r, s, cause.GSSAPI, "GSSAPIAuthentication=no")
		case Auth("hostbased"):
			err = e.off(ctx, o, r, s, cause.Hostbased, "HostbasedAuthentication=no")
		}
		if err != nil {
			return nil, err
		}
	}
	for _, c := range e.Causes {
		e.Explained += c.Seconds
	}
	if server != nil && !e.allOnClient() {
		rep, err := server(ctx, r.First())
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			e.Unknown = append(e.Unknown, "causes on the server: "+err.Error())
		} else {
			e.take(rep, r)
		}
	}
	e.Explained = min(e.Explained, e.Delay)
	sorted.By(e.Causes, func(a, b cause.Cause) int {
		if a.Seconds == b.Seconds {
			return 0
		}
		if a.Seconds > b.Seconds {
			return -1
		}
		return 1
	})
	return e, nil
}

// allOnClient tells that the server need not be asked.
func (e *Explanation) allOnClient() bool {
	return e.Delay-e.Explained < cause.Slow && !slices.ContainsFunc(e.Causes, func(c cause.Cause) bool { return c.On != "client" })
}

// take adds what the server found.
func (e *Explanation) take(rep *cause.Report, r *Result) {
	e.Server = rep
	explained := rep.Explained()
	if s, ok := slow(r, Auth("none")); ok {
		explained += stretch(rep.Causes, s.Median-trips(s.Phase)*r.RTT().Seconds()-ordinary)
	}
	e.Explained += explained
	e.Causes = append(e.Causes, rep.Causes...)
	e.Unknown = append(e.Unknown, rep.Unknown...)
	for _, c := range rep.IfTried {
		for i := range e.Causes {
			if e.Causes[i].Name == c.Name {
				e.Causes[i].Evidence = append(e.Causes[i].Evidence, c.Evidence...)
			}
		}
	}
}

func slow(r *Result, p Phase) (Stat, bool) {
	i := slices.IndexFunc(r.Slow, func(s Stat) bool { return s.Phase == p })
	if i < 0 {
		return Stat{}, false
	}
	return r.Slow[i], true
}

// stretch fits the seconds of lookups of the client's name to those that the
// client waited. sshd makes the time of a failed attempt, and the first one
// ("none") always fails, a power of two of a small time that is another each
// time sshd starts (auth2.c, ensure_minimum_time_since; 9.2 does, newer ones
// exempt "none"): one to two times what the lookup takes, and not the same for
// the daemon and for the private sshd of the experiments. It returns what was
// added.
func stretch(causes []cause.Cause, waited float64) float64 {
	sum := 0.0
	lookup := func(c *cause.Cause) bool {
		return c.Name == cause.ReverseDNS || strings.HasPrefix(c.Name, "nss:")
	}
	for i := range causes {
		if lookup(&causes[i]) {
			sum += causes[i].Seconds
		}
	}
	if sum == 0 || waited > 2.2*sum || waited < sum/2.2 {
		return 0
	}
	for i := range causes {
		if c := &causes[i]; lookup(c) {
			c.Seconds *= waited / sum
			c.Evidence = append(
				c.Evidence,
				"many versions of sshd answer the first attempt, which always fails, after one to two times what the lookup takes",
			)
		}
	}
	return waited - sum
}

// off logs in with one method switched off: what is gained is what it costs.
func (e *Explanation) off(ctx context.Context, o Options, r *Result, s Stat, name, option string) error {
	c := cause.Cause{Name: name, On: "client", Seconds: s.Median}
	if s.Waited() {
		c.On = "server"
	}
	c.Evidence = []string{fmt.Sprintf("%s takes %.2f s, %.2f s of it waiting for the server", s.Phase, s.Median, s.Server)}
	if Auth(r.First().Method) == s.Phase {
		c.Evidence = append(c.Evidence, "it is the method that succeeds: it cannot be left out to compare")
		e.Causes = append(e.Causes, c)
		return nil
	}
	o.N, o.extra, o.Tell = min(o.N, 2), append(slices.Clone(o.extra), option), nil
	less, err := Measure(ctx, o)
	if err != nil {
		return fmt.Errorf("a login with -o %s, to compare: %w", option, err)
	}
	gain := r.Total.Median - less.Total.Min
	if gain < cause.Slow {
		return nil
	}
	// The phase is gone then; what else the two logins differ by is chance.
	if gain < s.Median/2 {
		c.Seconds = gain
	}
	c.Evidence = append(
		c.Evidence,
		fmt.Sprintf("with -o %s the login takes %.2f s instead of %.2f s", option, less.Total.Min, r.Total.Median),
	)
	e.Causes = append(e.Causes, c)
	return nil
}

// resolve finds the client's source of names that is slow. ssh asks the sources
// of nsswitch.conf in their order until one knows the name.
func (e *Explanation) resolve(ctx context.Context, o *Options, s Stat) {
	name := o.means["hostname"]
	if _, err := netip.ParseAddr(name); err == nil || name == "" || strings.HasPrefix(name, "-") {
		return
	}
	b, err := os.ReadFile("/etc/nsswitch.conf")
	if err != nil && !os.IsNotExist(err) {
		e.Unknown = append(e.Unknown, "the client's sources of names: "+err.Error())
		return
	}
	if _, err := os.Stat(cause.Getent); err != nil {
		e.Unknown = append(e.Unknown, "the client's sources of names: "+err.Error())
		return
	}
	left := s.Median
	for _, src := range cause.AskSources(ctx, cause.HostSources(string(b)), "ahosts", name, o.Limit) {
		took := src.Took.Seconds()
		if took >= cause.Slow && left >= cause.Slow/2 {
			c := cause.Cause{Name: "nss:" + src.Name, On: "client", Seconds: min(took, left), Evidence: []string{src.String()}}
			e.Causes = append(e.Causes, c)
			left -= c.Seconds
		}
		if src.Found {
			break
		}
	}
}
