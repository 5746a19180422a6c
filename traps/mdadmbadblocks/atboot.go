package mdadmbadblocks

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"io/fs"
	"path"
	"time"

	"fettle/engine/remedy"
	"fettle/engine/remedy/step"
	"fettle/engine/trap"
	"fettle/host"
)

// bootSubject is the subject of what becomes of lists when arrays are
// assembled at boot.
const bootSubject = "initramfs"

// BootScript takes empty lists away in the initramfs, where nothing uses the
// arrays yet. mdadm has no way to do it while it assembles incrementally
// ("option --update not valid in incremental mode", mdadm 4.2), so it
// assembles again.
//
//go:embed atboot/fettle-md-no-bbl
var BootScript []byte

// bootScripts are where initramfs-tools(7) runs it: before anything uses an
// array, and, where a hibernated system may have to be resumed first, after that.
var bootScripts = []string{
	"/etc/initramfs-tools/scripts/local-top/fettle-md-no-bbl",
	"/etc/initramfs-tools/scripts/local-premount/fettle-md-no-bbl",
}

const updateInitramfs = "/usr/sbin/update-initramfs"

// checkBoot tells whether empty lists go at the next boot, on hosts that have
// any and whose initramfs is made by initramfs-tools.
func checkBoot(ctx context.Context, h *host.Host, r *trap.Report, arrays []array) {
	lists := 0
	var dark error // why it is not known whether there are more
	for i := range arrays {
		dark = cmp.Or(dark, arrays[i].err)
		for _, m := range arrays[i].members {
			dark = cmp.Or(dark, m.err)
			if m.hasList && m.err == nil && len(m.bad) == 0 && !m.unlisted {
				lists++
			}
		}
	}
	there, err := h.Exists(ctx, updateInitramfs)
	switch {
	case err == nil && !there:
		return
	case lists == 0 && dark != nil:
		r.Unknown(bootSubject, fmt.Errorf("whether an array has an empty list: %w", dark))
		return
	case lists == 0 && there:
		r.NotApplicable(bootSubject, "no array has an empty list that could be removed at boot")
		return
	case err != nil && lists > 0:
		r.Unknown(bootSubject, err)
		return
	case err != nil:
		return
	}
	for _, name := range bootScripts {
		b, err := h.ReadFile(ctx, name)
		switch {
		case host.IsAbsent(err):
		case err != nil:
			r.Unknown(bootSubject, err)
			return
		case bytes.Equal(b, BootScript):
			continue
		}
		r.Found(trap.Finding{Subject: bootSubject, Severity: trap.Notice,
			Summary: "empty bad blocks lists stay when arrays are assembled at boot",
			Detail: "An alternative to removing them while the arrays run, and the only way for an array without redundancy: a script in the " +
				"initramfs that assembles an array again without lists before anything uses it.",
			Evidence: []trap.Evidence{trap.Ev(name, "is not fettle's script")}})
		return
	}
	r.Clear(
		bootSubject,
		"empty lists are removed when arrays are assembled at boot",
		trap.Ev(path.Dir(path.Dir(bootScripts[0])), "fettle-md-no-bbl"),
	)
}

// planBoot installs the script and makes the initramfs again.
func planBoot(ctx context.Context, h *host.Host) (remedy.Plan, error) {
	p := remedy.Plan{Title: "remove empty bad blocks lists when arrays are assembled at boot", Notes: []string{
		"It acts at the next boot, before anything uses the arrays: one that has an empty list, is whole and not being rebuilt is stopped " +
			"and assembled again without it. Lists with entries stay.",
		"If the second assembly is refused, the array is assembled as it was. fettle.keep_bbl on the kernel's command line turns the script off.",
		"update-initramfs -u rebuilds the newest kernel's initramfs; those of older kernels are not changed.",
		"Once the lists are gone, it does nothing; fettle undo removes it.",
	}}
	for _, name := range bootScripts {
		was, err := h.ReadFile(ctx, name)
		if err != nil && !host.IsAbsent(err) {
			return p, err
		}
		p.Steps = append(p.Steps, step.File{Path: name, Content: BootScript, Was: was, Mode: fs.FileMode(0o755)})
		if was != nil {
			p.Steps = append(p.Steps, step.Perm{Path: name, Mode: 0o755, UID: -1, GID: -1})
		}
	}
	p.Steps = append(p.Steps, step.Command{Do: []string{updateInitramfs, "-u"}, Again: true, Limit: 10 * time.Minute})
	return p, nil
}
