// Package bootentrybroken finds boot loaders whose default entry will not bring the host up: its
// kernel, initramfs, root file system or modules are not there.
package bootentrybroken

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/bootimage"
	"fettle/host/fact/container"
	"fettle/host/format/bootloader"
	"fettle/host/format/fstab"
)

//go:embed lore.md
var lore trap.Lore

// Trap is boot-entry-broken.
var Trap = trap.Trap{Lore: lore, Cost: trap.Instant, Limit: 30 * time.Second, Check: check}

func check(ctx context.Context, h *host.Host, r *trap.Report) error {
	if c := container.Of(ctx, h); c != "" {
		r.NotApplicable("", "a container has no boot loader")
		return nil
	}
	e, err := bootloader.Default(ctx, h)
	switch {
	case errors.Is(err, bootloader.ErrNone):
		return fmt.Errorf("%w: what starts this host is not in its files (direct kernel boot, U-Boot, another loader)", err)
	case err != nil:
		return err
	case !e.Linux():
		return fmt.Errorf("the default entry of %s (%s) starts no Linux kernel that fettle can look at", e.Source, e.Title)
	}
	j := judge{h: h, r: r, e: e}
	for _, look := range []func(context.Context) error{j.kernel, j.initrd, j.root, j.modules} {
		if err := look(ctx); err != nil {
			r.Unknown(j.e.Title, err)
		}
	}
	if !j.found {
		r.Clear(e.Title, "the default entry's kernel, initramfs and root file system are there", trap.Ev(e.Source, "%s", e.Kernel))
	}
	return nil
}

// judge looks at one entry.
type judge struct {
	h     *host.Host
	r     *trap.Report
	e     *bootloader.Entry
	found bool
}

// fails reports what keeps the host from coming back.
func (j *judge) fails(summary, byHand string, ev ...trap.Evidence) {
	j.found = true
	j.r.Found(trap.Finding{Subject: j.e.Title, Severity: trap.Critical, Start: trap.StartFails, Summary: summary, ByHand: byHand,
		Evidence: append([]trap.Evidence{trap.Ev(j.e.Source, "linux %s %s", j.e.Kernel, j.e.Options)}, ev...)})
}

const rebuild = "update-grub (Debian, Ubuntu) or grub2-mkconfig -o /boot/grub2/grub.cfg regenerates the entries"

// whole tells whether a file is there and has a content; why says what is wrong.
func (j *judge) whole(ctx context.Context, name string) (why string, err error) {
	st, err := j.h.Stat(ctx, name)
	switch {
	case host.IsAbsent(err):
		return "does not exist", nil
	case err != nil:
		return "", err
	case st.Size == 0:
		return "is empty", nil
	}
	return "", nil
}

func (j *judge) kernel(ctx context.Context) error {
	why, err := j.whole(ctx, j.e.Kernel)
	if why != "" {
		j.fails("the kernel of the default entry "+why+": the boot loader stops at its prompt", rebuild, trap.Ev(j.e.Kernel, "%s", why))
	}
	return err
}

// named tells whether only an initramfs can find a root file system: the kernel itself knows
// device names, PARTUUID= and PARTLABEL= (Linux 6.1, block/early-lookup.c, init/do_mounts.c).
func named(root string) bool {
	return strings.HasPrefix(root, "UUID=") || strings.HasPrefix(root, "LABEL=") || strings.HasPrefix(root, "/dev/mapper/") ||
		strings.HasPrefix(root, "/dev/disk/") || strings.HasPrefix(root, "ZFS=")
}

func (j *judge) initrd(ctx context.Context) error {
	root := j.e.Option("root")
	if len(j.e.Initrds) == 0 {
		if named(root) {
			byHand := "create it (update-initramfs -c -k VERSION, or dracut), then: " + rebuild
			if j.e.Unified {
				byHand = j.again()
			}
			j.fails("the default entry has no initramfs, and without one the kernel cannot find root="+root, byHand)
		}
		return nil
	}
	for i, name := range j.e.Initrds {
		why, err := j.whole(ctx, name)
		if err != nil {
			return err
		}
		if why == "" && i == len(j.e.Initrds)-1 {
			image, err := bootimage.ReadInitrd(ctx, j.h, name)
			if why, err = j.readable(image, err); err != nil {
				return err
			}
			if why == "" {
				if err := errors.Join(j.volumes(ctx, name, image), j.arrays(ctx, name, image)); err != nil {
					return err
				}
			}
		}
		if why != "" {
			j.fails("the initramfs of the default entry "+why, j.again(), trap.Ev(name, "%s", why))
			return nil
		}
	}
	return nil
}

// again is how an initramfs is made once more.
func (j *judge) again() string {
	if j.e.Unified {
		return "build the image again, with its initramfs: kernel-install add VERSION VMLINUZ, ukify build, or dracut --uefi --force"
	}
	return "create it again: update-initramfs -u -k VERSION, or dracut --force"
}

// readable tells what is wrong with an initramfs: it is cut off, or has modules, and none of its kernel.
func (j *judge) readable(image bootimage.Initrd, err error) (string, error) {
	if err != nil {
		return unpacked(err)
	}
	v := j.version()
	if len(image.Modules) > 0 && v != "" && image.Modules[v] == 0 {
		return "has no modules of the kernel " + v, nil
	}
	return "", nil
}

// unpacked parts an initramfs that is cut off from one that fettle cannot unpack (lz4, lzma, its
// bounds): of that nobody knows whether it is whole. From a capture an error comes as text.
func unpacked(err error) (why string, unknown error) {
	if strings.Contains(err.Error(), bootimage.ErrCut.Error()) {
		return "cannot be unpacked: " + err.Error(), nil
	}
	return "", err
}

// version is the kernel's, as its file is named: vmlinuz-6.1.0-50-amd64.
func (j *judge) version() string {
	if j.e.Unified {
		return j.e.Release
	}
	base := path.Base(j.e.Kernel)
	for _, p := range []string{"vmlinuz-", "vmlinux-", "kernel-", "Image-"} {
		if v, ok := strings.CutPrefix(base, p); ok && strings.ContainsAny(v, "0123456789") {
			return strings.TrimSuffix(v, ".efi.signed")
		}
	}
	return ""
}

func (j *judge) root(ctx context.Context) error {
	root := j.e.Option("root")
	if !j.h.Running() || strings.Contains(root, "/PARTNROFF=") {
		return nil // nobody can see devices; or it is counted from another partition
	}
	dev, there, err := fstab.There(ctx, j.h, root) // what is no device, the initramfs makes: ZFS, NFS, a live system
	if err != nil || there {
		return err
	}
	j.fails("root="+root+" of the default entry is a device that does not exist: the start ends in the initramfs' shell",
		"correct root= ("+rebuild+")", trap.Ev(dev, "does not exist"))
	return nil
}

// moduleFolders are where modules are, on systems with and without a merged /usr.
var moduleFolders = []string{"/lib/modules/", "/usr/lib/modules/"}

func (j *judge) modules(ctx context.Context) error {
	v := j.version()
	if v == "" || j.found {
		return nil
	}
	for _, dir := range moduleFolders {
		if there, err := j.h.Exists(ctx, dir+v); err != nil || there {
			return err
		}
	}
	j.found = true
	j.r.Found(trap.Finding{Subject: j.e.Title, Severity: trap.Critical, Start: trap.StartWithout, Lost: "the modules of its kernel " + v,
		Summary:  "the modules of the kernel that will start are gone: drivers of network cards and file systems are missing then",
		ByHand:   "install the package of that kernel again (linux-image-" + v + ", kernel-core)",
		Evidence: []trap.Evidence{trap.Ev(j.e.Source, "linux %s", j.e.Kernel), trap.Ev(moduleFolders[0]+v, "does not exist")}})
	return nil
}
