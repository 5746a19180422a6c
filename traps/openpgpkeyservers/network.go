package openpgpkeyservers

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/format/keyservers"
)

const (
	// maxAsked is how many servers or addresses of one file are asked for.
	maxAsked = 8
	// askLimit is for all questions of a check together: what is found without
	// them is told nevertheless.
	askLimit = 30 * time.Second
)

// asker asks DNS and servers, until DNS is silent once, or time is up.
type asker struct {
	h    *host.Host
	ctx  context.Context // until askLimit
	over error           // why nobody is asked any more
	told []string        // keyservers of which that was said
}

// tell reports a keyserver of which nothing is known, once.
func (a *asker) tell(r *trap.Report, u unasked) {
	if !slices.Contains(a.told, u.host) {
		a.told = append(a.told, u.host)
		r.Unknown("keyserver "+u.host, u.why)
	}
}

func (a *asker) look(question func(context.Context, string) (host.Names, error), name string) (n host.Names, err error) {
	if a.over != nil {
		return n, a.over
	}
	n, err = question(a.ctx, name)
	if errors.Is(err, host.ErrTimeout) || a.ctx.Err() != nil {
		a.over = bare(err)
	}
	return n, bare(err)
}

func (a *asker) page(url string) (p host.Page, err error) {
	if a.over != nil {
		return p, a.over
	}
	p, err = a.h.Page(a.ctx, url)
	if a.ctx.Err() != nil {
		a.over = bare(err)
	}
	return p, bare(err)
}

// bare leaves out of an error what was asked, where that is beside it.
func bare(err error) error {
	if pe := (*fs.PathError)(nil); errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// answers is what became of asking the keyservers of a file.
type answers struct {
	gone     []string // DNS has no such name
	unknown  []unasked
	evidence []trap.Evidence
}

// unasked is a keyserver that does not answer, or could not be asked, and why.
type unasked struct {
	host string
	why  error
}

func (a *answers) missed(host string, err error) {
	a.evidence = append(a.evidence, trap.Ev("keyserver "+host, "%s", err))
	a.unknown = append(a.unknown, unasked{host, err})
}

// keyservers looks each keyserver's name up, and asks it for a page.
func (a *asker) keyservers(mentions []keyservers.Mention) (out answers) {
	var done []string
	for _, m := range mentions {
		if slices.Contains(done, m.Name) {
			continue
		}
		if len(done) == maxAsked {
			out.missed(m.Host, fmt.Errorf("one file names more than %d keyservers to ask: %w", maxAsked, host.ErrTooBig))
			break
		}
		done = append(done, m.Name)
		a.keyserver(m, &out)
	}
	return out
}

func (a *asker) keyserver(m keyservers.Mention, out *answers) {
	where := "DNS of " + m.Host
	n, err := a.look(a.h.Addresses, m.Host)
	switch {
	case err != nil:
		out.missed(m.Host, fmt.Errorf("asking DNS: %w", err))
		return
	case n.Absent:
		out.evidence = append(out.evidence, trap.Ev(where, "no such name"))
		if !slices.Contains(out.gone, m.Host) {
			out.gone = append(out.gone, m.Host)
		}
		return
	}
	out.evidence = append(out.evidence, trap.Ev(where, "%s", strings.Join(n.Addresses[:min(len(n.Addresses), 4)], ", ")))
	var silent error
	for _, q := range m.Questions() {
		p, err := a.page(q)
		if err == nil {
			out.evidence = append(out.evidence, trap.Ev(q, "status %d", p.Status))
			return
		}
		// It may be the network that does not let this host through.
		silent = fmt.Errorf("does not answer: %w", err)
	}
	if silent != nil { // LDAP is not asked
		out.missed(m.Host, silent)
	}
}

// published is where the owners of keys publish them, as far as DNS and their
// domains tell.
func (a *asker) published(keys []aptKey) (detail []string, evidence []trap.Evidence) {
	asked := 0
	for _, k := range keys {
		address := keyservers.Address(k.name)
		if address == "" || asked == maxAsked {
			continue
		}
		asked++
		for _, f := range []func(aptKey, string) (string, []trap.Evidence){a.services, a.webKey} {
			said, ev := f(k, address)
			evidence = append(evidence, ev...)
			if said != "" && !slices.Contains(detail, said) {
				detail = append(detail, said)
			}
		}
	}
	return detail, evidence
}

// services are keyservers that an address's domain names in DNS.
func (a *asker) services(k aptKey, address string) (said string, evidence []trap.Evidence) {
	names, err := keyservers.ServiceNames(address)
	if err != nil {
		return "", nil
	}
	for i, name := range names {
		n, err := a.look(a.h.Services, name)
		if err != nil {
			evidence = append(evidence, trap.Ev("DNS of "+name, "%s", host.Reason(err)))
			continue
		}
		for _, s := range n.Services[:min(len(n.Services), 4)] {
			evidence = append(evidence, trap.Ev("DNS of "+name, "%s:%d", s.Target, s.Port))
			if said == "" && s.Target != "" {
				said = fmt.Sprintf(
					"Its domain names a keyserver in DNS: gpg --keyserver %s://%s:%d --recv-keys %s",
					[]string{"hkps", "hkp"}[i],
					s.Target,
					s.Port,
					k.Fingerprint,
				)
			}
		}
	}
	return said, evidence
}

// webKey is the key that an address's domain publishes (WKD).
func (a *asker) webKey(k aptKey, address string) (said string, evidence []trap.Evidence) {
	urls, err := keyservers.WebKeyURLs(address)
	if err != nil {
		return "", nil
	}
	for _, u := range urls {
		p, err := a.page(u)
		if err != nil {
			evidence = append(evidence, trap.Ev(u, "%s", host.Reason(err)))
			continue
		}
		if p.Status != 200 {
			evidence = append(evidence, trap.Ev(u, "status %d", p.Status))
			continue
		}
		theirs, err := keysIn(p.Body, formOf(p.Body))
		if err == nil && len(theirs) == 0 {
			err = errors.New("no key")
		}
		if err != nil {
			evidence = append(evidence, trap.Ev(u, "%s", err))
			continue
		}
		for _, t := range theirs[:min(len(theirs), maxAsked)] {
			text := fmt.Sprintf("%s, made %s", t.Fingerprint, t.Created.UTC().Format(time.DateOnly))
			if _, why := t.against(a.h.Now(), verifier{named: true}); why != "" {
				text += ": " + why
			} else if said == "" {
				said = fmt.Sprintf("The domain of %s publishes %s, which is good: gpg --auto-key-locate clear,nodefault,wkd --locate-external-keys "+
					"%s. Compare its fingerprint.", address, sameOrOther(t, k), address)
			}
			evidence = append(evidence, trap.Ev(u, "%s", text))
		}
		return said, evidence
	}
	return "", evidence
}

func sameOrOther(theirs, ours aptKey) string {
	if theirs.Fingerprint == ours.Fingerprint {
		return "this key, renewed"
	}
	return "another key, " + theirs.Fingerprint.String()
}
