// Package netbootstale finds installers that are served over the network and
// whose kernel modules are no longer on any mirror.
package netbootstale

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/format/tftpd"
	"fettle/tools/netboot/mirror"
	"fettle/tools/netboot/stale"
	"fettle/tools/netboot/tree"
)

//go:embed lore.md
var lore trap.Lore

// Trap is netboot-stale. Reading an initrd takes a second or two where there is
// a tree, and nothing where there is none.
var Trap = trap.Trap{
	Lore: lore, Cost: trap.Instant, Talks: true, Limit: time.Minute, Check: check, Plan: plan,
	Choices: []trap.Choice{
		{Name: "mirror", About: "the URL of the mirror for the new tree (default: the one that the tree uses)"},
		{Name: "deb", About: "a package debian-installer-NUMBER-netboot-ARCH to take it from instead"},
		{Name: "keyring", About: "whose keys sign it (default: Debian's archive)"},
	},
}

func check(ctx context.Context, h *host.Host, r *trap.Report) error {
	roots, unread := tftpd.Roots(ctx, h)
	for _, err := range unread {
		r.Unknown("", fmt.Errorf("a TFTP server's configuration: %w", err))
	}
	heldFolders(ctx, h, r, roots)
	if len(roots) == 0 && len(unread) == 0 {
		r.NotApplicable("", "no TFTP server is configured here")
	}
	for _, root := range roots {
		from := trap.Ev(root.From, "%s serves %s", root.Server, root.Path)
		pairs, err := tree.Find(ctx, h, root.Path)
		switch {
		case host.IsAbsent(err):
			r.NotApplicable(root.Path, "is not there")
			continue
		case err != nil:
			r.Unknown(root.Path, err, from)
		case len(pairs) == 0:
			r.NotApplicable(root.Path, "serves no kernel with an initrd")
		}
		for i := range pairs {
			v := stale.Judge(&pairs[i], func(p *tree.Pair) (mirror.Index, error) { return offered(ctx, h, p) })
			tell(r, pairs[i].Folder, v, from)
		}
	}
	return nil
}

// tell reports a verdict on the folder of a kernel.
func tell(r *trap.Report, folder string, v stale.Verdict, from trap.Evidence) {
	ev := []trap.Evidence{from}
	for _, f := range v.Facts {
		ev = append(ev, trap.Ev(f.Source, "%s", f.Value))
	}
	severity := trap.Critical
	switch v.Kind {
	case stale.Unknown:
		r.Unknown(folder, v.Err, ev...)
		return
	case stale.Foreign:
		r.NotApplicable(folder, v.Summary)
		return
	case stale.Fine:
		r.Clear(folder, v.Summary, ev...)
		return
	case stale.Older:
		severity = trap.Warning
	}
	r.Found(trap.Finding{Subject: folder, Severity: severity, Summary: v.Summary, Detail: trap.Lines(v.Detail), Evidence: ev})
}

// errNoMirror: nobody may be asked.
var errNoMirror = errors.New("what the mirror has now is not known without asking it: use --network, or fettle netboot check with --mirror")

// offered asks the mirror that the installer would ask.
func offered(ctx context.Context, h *host.Host, p *tree.Pair) (mirror.Index, error) {
	if !trap.MayTalk(ctx) {
		return mirror.Index{}, errNoMirror
	}
	s, err := p.Mirror(ctx, h)
	if err != nil {
		return mirror.Index{}, err
	}
	return mirror.Ask(ctx, h, s.Base, p.Suite(), p.Arch())
}
