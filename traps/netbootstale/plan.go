package netbootstale

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"fettle/engine/remedy"
	"fettle/engine/remedy/step"
	"fettle/engine/trap"
	"fettle/host"
	"fettle/internal/files"
	"fettle/tools/netboot/renew"
	"fettle/tools/netboot/tree"
)

// plan fetches a tree beside the old one, and exchanges the two below the served
// folder. Both acts are fettle's own commands: they tell by themselves how far
// an earlier try came.
func plan(ctx context.Context, h *host.Host, f trap.Finding) (remedy.Plan, error) {
	if len(f.Facts) > 0 {
		return restart(f)
	}
	root, rel, ok := renew.Root(f.Subject)
	if !ok {
		return remedy.Plan{}, remedy.Refuse(
			"%s is not laid out as Debian's netboot.tar.gz (…/debian-installer/ARCH): fetch a tree with fettle netboot fetch and put it in "+
				"place by hand",
			f.Subject,
		)
	}
	st, err := h.Lstat(ctx, f.Subject)
	if err != nil {
		return remedy.Plan{}, err
	}
	if !st.Mode.IsDir() {
		return remedy.Plan{}, remedy.Refuse("%s is a link: replace its target", f.Subject)
	}
	fettle, err := renew.Program()
	if err != nil {
		return remedy.Plan{}, err
	}
	get, build, err := source(ctx, h, f, root)
	if err != nil {
		return remedy.Plan{}, err
	}
	// Nobody can have put anything there before.
	stage := filepath.Join(root, files.Unguessable(".fettle-netboot-"+h.Now().UTC().Format("20060102-150405")+"-"))
	fetch := append([]string{fettle, "netboot", "fetch", stage, "--stage", "--like", root}, get...)
	return remedy.Plan{
		Title: "put a new installer in place of " + f.Subject,
		Notes: []string{
			"The new tree is verified up to the keys of Debian's archive before it is unpacked.",
			"Files that you added, a serial console in the menus and fettle's hooks in the initrd are carried over; other changes of the old " +
				"menus, and archives that others appended to its initrd, are not.",
			"Clients that load files at that very moment may get parts of both; TFTP servers need no restart.",
			"The old tree" + build + " stays in " + filepath.Join(stage, rel) + ".",
		},
		Steps: []step.Step{
			step.Command{
				Do:    fetch,
				Undo:  []string{fettle, "netboot", "fetch", stage, "--remove"},
				Probe: []string{"/usr/bin/test", "-d", stage},
				Limit: 30 * time.Minute,
			},
			step.Command{Do: []string{fettle, "netboot", "swap", root, stage}, Undo: []string{fettle, "netboot", "swap", "--back", root, stage},
				Probe: []string{fettle, "netboot", "swap", "--check", root, stage}},
		},
		Settle: 0,
	}, nil
}

// source are the flags of fettle netboot fetch: the admin's choice, else the
// mirror that the tree asks.
func source(ctx context.Context, h *host.Host, f trap.Finding, root string) (flags []string, build string, err error) {
	pairs, err := tree.Locate(ctx, h, f.Subject)
	if err != nil {
		return nil, "", err
	}
	if len(pairs) != 1 {
		return nil, "", remedy.Refuse(
			"%s holds %s kernels with initrds: choose the one to replace (fettle netboot fetch)",
			f.Subject,
			fmt.Sprint(len(pairs)),
		)
	}
	p := &pairs[0]
	p.Read(ctx, h)
	if p.Err != nil {
		return nil, "", fmt.Errorf("the initrd: %w", p.Err)
	}
	if p.Build() != "" {
		build = " (" + p.Build() + ")"
	}
	if deb := f.Chosen("deb"); deb != "" {
		return []string{"--deb", deb}, build, nil
	}
	if p.Suite() == "" || p.Arch() == "" {
		return nil, "", remedy.Refuse(
			"%s does not tell which suite and architecture it installs: fetch a tree with fettle netboot fetch",
			f.Subject,
		)
	}
	base := f.Chosen("mirror")
	if base == "" {
		s, err := p.Mirror(ctx, h)
		if err != nil {
			return nil, "", remedy.Refuse("%s", err.Error())
		}
		base = s.Base
	}
	flags = []string{"--suite", p.Suite(), "--arch", p.Arch(), "--mirror", base}
	if k := f.Chosen("keyring"); k != "" {
		flags = append(flags, "--keyring", k)
	}
	return flags, build, nil
}
