package bootentrybroken

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/bootimage"
	"fettle/host/format/fstab"
	"fettle/host/format/mdadmconf"
	"fettle/host/mdraid"
)

// unlocks reports volumes below the root file system that the initramfs' own crypttab does not unlock.
func (j *judge) unlocks(ctx context.Context, name string, image bootimage.Initrd, volumes []string) error {
	if image.Builder != "initramfs-tools" || !slices.Contains(image.Tools, "cryptsetup") || j.e.Option("cryptopts") != "" {
		return nil
	}
	const file = "cryptroot/crypttab"
	for _, v := range volumes {
		source, named := image.Volumes[v]
		if !named {
			j.fails("the root file system lies on the encrypted volume "+v+
				", which the initramfs of the default entry does not unlock: the start "+
				"ends in its shell", "name "+v+" in /etc/crypttab, then update-initramfs -u -k "+j.version(),
				trap.Ev(name, "%s does not name %s", file, v))
			return nil
		}
		dev, there, err := fstab.There(ctx, j.h, source)
		if err != nil {
			return err
		}
		if !there {
			j.fails("the initramfs of the default entry unlocks "+v+" from "+source+", which does not exist: the start ends in its shell",
				"correct /etc/crypttab if it names that as well, then update-initramfs -u -k "+j.version(),
				trap.Ev(name, "%s: %s %s", file, v, source), trap.Ev(dev, "does not exist"))
			return nil
		}
	}
	return nil
}

// user is what the start looks for by the kernel's name of an array.
type user struct {
	device string
	says   string // the file that says so
	what   string
	fails  bool // the start ends without it
}

// users are root= and the lines of fstab that name an array as /dev/md0.
func (j *judge) users(ctx context.Context) ([]user, error) {
	var out []user
	if root := j.e.Option("root"); mdadmconf.Number(root) != "" {
		out = append(out, user{root, j.e.Source, "the root file system", true})
	}
	entries, err := fstab.Read(ctx, j.h)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if mdadmconf.Number(e.Device) == "" || e.Mount == "/" || slices.Contains(e.Options, "noauto") {
			continue
		}
		u := user{e.Device, fmt.Sprintf("%s:%d", fstab.File, e.Line), e.Mount, !slices.Contains(e.Options, "nofail")}
		if e.Type == "swap" {
			u.what, u.fails = "swap", false
		}
		out = append(out, u)
	}
	return out, nil
}

// arrays reports arrays that the initramfs will assemble under another name than the one that something
// waits for: mdadm gives /dev/md127 to an array that its mdadm.conf does not name by its UUID, and that another
// host made; in the initramfs the host has no name yet.
func (j *judge) arrays(ctx context.Context, name string, image bootimage.Initrd) error {
	a := image.Arrays
	if image.Builder != "initramfs-tools" || a == nil || !slices.Contains(image.Tools, "mdadm") ||
		a.HomeHost != "" && a.HomeHost != "<system>" {
		return nil
	}
	users, err := j.users(ctx)
	if err != nil || len(users) == 0 {
		return err
	}
	members, err := j.h.MDMembers(ctx)
	if err != nil {
		return err
	}
	for _, u := range users {
		array := mdadmconf.Number(u.device)
		i := slices.IndexFunc(members, func(m host.MDMember) bool { return m.Array == array && len(m.Superblock) > 0 })
		if i < 0 {
			continue // does not run, or by metadata of another kind
		}
		sb, err := mdraid.Parse(members[i].Superblock)
		if err != nil {
			return fmt.Errorf("the superblock of %s: %w", members[i].Device, err)
		}
		if maker, _, foreign := strings.Cut(sb.SetName, ":"); !foreign || maker == "any" {
			continue // goes by that name everywhere
		}
		if err := j.array(ctx, name, u, a.Lines, sb); err != nil {
			return err
		}
	}
	return nil
}

// array judges one array by what the initramfs calls it.
func (j *judge) array(ctx context.Context, name string, u user, lines []mdadmconf.Array, sb *mdraid.Superblock) error {
	array, uuid := mdadmconf.Number(u.device), mdadmconf.UUID(sb.SetUUID)
	becomes, says := "md127", "mdadm.conf has no line with UUID="+sb.SetUUID
	for _, l := range lines {
		if l.UUID != uuid {
			continue
		}
		if n := mdadmconf.Number(l.Device); n == array || l.Device == "" {
			return nil
		}
		becomes, says = l.Device, "mdadm.conf calls it "+l.Device
	}
	byHand, err := j.named(ctx, array, uuid)
	if err != nil {
		return err
	}
	f := trap.Finding{Subject: u.device, Severity: trap.Critical, Start: trap.StartFails, ByHand: byHand,
		Summary: fmt.Sprintf("will be called %s at the next start, and %s is looked for as %s", becomes, u.what, u.device),
		Evidence: []trap.Evidence{trap.Ev(u.says, "%s", u.device), trap.Ev(name, "%s", says),
			trap.Ev(array, "%s, UUID=%s", sb.SetName, sb.SetUUID)}}
	if !u.fails {
		f.Severity, f.Start, f.Lost = trap.Warning, trap.StartWithout, u.what+" from "+u.device
	}
	j.found = true
	j.r.Found(f)
	return nil
}

// named tells what to do so that the initramfs knows an array: the file on the disk may name it by now.
func (j *judge) named(ctx context.Context, array, uuid string) (byHand string, err error) {
	main, files, err := mdadmconf.Files(ctx, j.h)
	if err != nil {
		return "", err
	}
	for _, f := range files {
		text, err := j.h.ReadString(ctx, f)
		if host.IsAbsent(err) {
			continue
		}
		if err != nil {
			return "", err
		}
		lines, _ := mdadmconf.Arrays(text)
		for _, l := range lines {
			if l.UUID == uuid && mdadmconf.Number(l.Device) == array {
				return "update-initramfs -u -k all: " + f + " names it by now", nil
			}
		}
	}
	return "name it in " + main + " (mdadm --detail --scan), then update-initramfs -u -k " + cmp.Or(j.version(), "all"), nil
}
