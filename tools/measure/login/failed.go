package login

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// failed says why there was no login, and where it ended.
func (p *parser) failed(ctx context.Context, o *Options, at time.Duration, err error, stderr string) error {
	said := strings.Join(p.said, "; ")
	if said == "" {
		for line := range strings.Lines(stderr) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "debug") {
				said = clip(line)
			}
		}
	}
	switch {
	case errors.Is(context.Cause(ctx), errLimit):
		return fmt.Errorf("%s: no answer in the phase %q, %.1f s after it began and %.1f s after the login began (--limit %s waits longer)",
			o.Host, p.phase, (at - p.since).Seconds(), at.Seconds(), (2 * o.Limit).Round(time.Second))
	case ctx.Err() != nil:
		return fmt.Errorf("%s: interrupted in the phase %q", o.Host, p.phase)
	case p.why == keyChanged:
		return fmt.Errorf(
			"%s: its host key is not the one in known_hosts. Nothing was accepted and nothing was changed. If the host was really reinstalled: "+
				"ssh-keygen -R removes the old key, and a login by hand shows the new one",
			o.Host,
		)
	case p.why == keyUnknown:
		return fmt.Errorf("%s: its host key is not in known_hosts, and fettle accepts none: log in once by hand first", o.Host)
	case p.why == notAccepted:
		return fmt.Errorf(
			"%s refused the login of %s (%s). fettle asks for no password: a key, an agent or a Kerberos ticket is needed",
			o.Host,
			p.user(),
			said,
		)
	case p.phase == Start && said != "":
		return fmt.Errorf("%s: ssh did not begin: %s", o.Host, said)
	case said != "":
		return fmt.Errorf("%s: the login ended in the phase %q: %s", o.Host, p.phase, said)
	}
	return fmt.Errorf("%s: the login ended in the phase %q after %.1f s: %w", o.Host, p.phase, at.Seconds(), err)
}

func (p *parser) user() string {
	if p.l.User == "" {
		return "the user"
	}
	return p.l.User
}
