package raforwarding

import (
	"context"
	"fmt"
	"path"
	"strings"
	"time"

	"fettle/engine/remedy"
	"fettle/engine/remedy/step"
	"fettle/engine/trap"
	"fettle/host"
)

// settle is how long a solicited advertisement may take to have its effect:
// a router answers within half a second (RFC 4861 §6.2.6,
// MAX_RA_DELAY_TIME), but not more often than every three.
const settle = 10 * time.Second

// plan makes the interface listen, now and after a boot.
//
// It is not armed against a cut connection: listening adds a default route
// where there is none, addresses and on-link prefixes, and takes nothing away.
// Reloading systemd-networkd configures the interface again, and is armed.
func plan(ctx context.Context, h *host.Host, f trap.Finding) (remedy.Plan, error) {
	name := f.Subject
	if name == "" || strings.ContainsAny(name, "/*?[]\\=#; \t\n") {
		return remedy.Plan{}, remedy.Refuse("the interface name %q cannot be written in sysctl.d: rename the interface first", name)
	}
	c, err := readConfig(ctx, h)
	if err != nil {
		return remedy.Plan{}, err
	}
	i := c.of(name)
	p := remedy.Plan{Title: "accept router advertisements on " + name, Settle: settle}
	p.Notes = append(
		p.Notes,
		"Any router on the link can then give "+name+" a default route, addresses and prefixes: do this only where you trust the link.",
	)
	e := editor{ctx: ctx, h: h}
	key := "net/ipv6/conf/" + name + "/"
	told, err := trap.FactsIn[facts](f)
	if err != nil {
		return p, err
	}
	switch told.Case {
	case caseNetworkd:
		err = planNetworkd(&p, e, i)
		return p, err
	case caseOld:
		p.Notes = append(
			p.Notes,
			fmt.Sprintf(
				"Linux %s is older than 2.6.37 and does not support accept_ra 2: %s is set not to be a router, while the host still forwards.",
				h.Identity().Release,
				name,
			),
		)
		p.Steps = append(p.Steps, step.Sysctl{Key: key + "forwarding", Value: "0"}, step.SolicitRouter{Link: name})
		dropIn, err := e.oldKernel(c, name)
		p.Steps = append(p.Steps, dropIn)
		return p, err
	case caseRunning:
		p.Steps = append(p.Steps, step.Sysctl{Key: key + "accept_ra", Value: "2"}, step.SolicitRouter{Link: name})
	case caseBoot:
		p.Title = "keep accepting router advertisements on " + name + " after a boot"
	default:
		return p, remedy.Refuse("this finding was made by another version of fettle: run fettle check again")
	}
	if i.keeps2() {
		return p, nil
	}
	dropIn, err := e.persist(c, i)
	if err != nil {
		return p, err
	}
	p.Steps = append(p.Steps, dropIn)
	for _, u := range c.unread {
		p.Notes = append(p.Notes, "Not read, and may have other settings: "+host.Reason(u))
	}
	return p, nil
}

// planNetworkd gives the .network file that is in force a drop-in.
func planNetworkd(p *remedy.Plan, e editor, i intent) error {
	unit := ""
	for _, s := range i.iface.All {
		if b := networkFile(s.Path); b != "" {
			unit = b
		}
	}
	if unit == "" {
		return remedy.Refuse(
			"no .network file of systemd-networkd applies to %s alone: add IPv6AcceptRA=yes to the one that networkctl status %s names",
			i.name,
			i.name,
		)
	}
	dropIn, err := e.whole("/etc/systemd/network/"+unit+".d/90-fettle-ra.conf",
		"# Made by fettle (ipv6-ra-forwarding): take router advertisements although\n# this host forwards IPv6.\n[Network]\nIPv6AcceptRA=yes\n")
	if err != nil {
		return err
	}
	p.Steps = append(p.Steps, dropIn)
	p.Notes = append(p.Notes, "The drop-in holds for every interface that "+unit+" matches.")
	if e.h.Running() {
		p.Steps = append(p.Steps, step.Unit{Name: "systemd-networkd.service", Act: "reload"})
		p.CutsConnection = true
	}
	return nil
}

// networkFile is the name of the .network file that a path is, or is a drop-in of.
func networkFile(p string) string {
	if strings.HasSuffix(p, ".network") {
		return path.Base(p)
	}
	if d := path.Base(path.Dir(p)); strings.HasSuffix(d, ".network.d") {
		return strings.TrimSuffix(d, ".d")
	}
	return ""
}
