package bootentrybroken

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/bootimage"
	"fettle/host/format/fstab"
	"fettle/internal/lazy"
)

// layer is a kind of block device that the initramfs has to make before there is a root file system.
type layer struct {
	name   string
	tools  []string // one of them is enough
	debian string   // Debian's: the package whose hook puts the tool there
}

var (
	lvm  = layer{"LVM", []string{"lvm"}, "lvm2"}
	luks = layer{"an encrypted volume", []string{"cryptsetup", "systemd-cryptsetup"}, "cryptsetup-initramfs"}
	md   = layer{"an MD array", []string{"mdadm"}, "mdadm"}
)

// volumes reports layers below the root file system that the initramfs cannot make, for lack of the program.
func (j *judge) volumes(ctx context.Context, name string, image bootimage.Initrd) error {
	root := j.e.Option("root")
	if !j.h.Running() || strings.Contains(root, "/PARTNROFF=") {
		return nil // nobody can see devices; or it is counted from another partition
	}
	dev, there, err := fstab.There(ctx, j.h, root)
	if err != nil || !there || dev == "" {
		return err // that it is not there, root says
	}
	device, err := fstab.Linked(ctx, j.h, dev)
	if err != nil {
		return err
	}
	var st stack
	if err := st.below(ctx, j.h, path.Base(device), 0); err != nil {
		return fmt.Errorf("what %s lies on: %w", device, err)
	}
	layers := slices.DeleteFunc(st.layers, func(l layer) bool {
		return slices.ContainsFunc(l.tools, func(t string) bool { return slices.Contains(image.Tools, t) })
	})
	if len(layers) == 0 {
		return j.unlocks(ctx, name, image, st.encrypted)
	}
	var on, tools, packages []string
	for _, l := range layers {
		on, tools, packages = append(on, l.name), append(tools, l.tools[0]), append(packages, l.debian)
	}
	lies := "the root file system lies on " + strings.Join(on, " on ")
	if image.Builder == "" {
		return fmt.Errorf("%s, and whether %s can set that up is unknown: neither initramfs-tools nor dracut made it", lies, name)
	}
	byHand := "install " + strings.Join(packages, " and ") + ", then update-initramfs -u -k " + j.version()
	if image.Builder == "dracut" {
		byHand = "rebuild it on the running host, where dracut sees the volume: dracut --force --kver " + j.version()
	}
	j.fails(fmt.Sprintf("%s, and the initramfs of the default entry has no %s: the start ends in its shell", lies,
		strings.Join(tools, " and no ")), byHand, trap.Ev(device, "root=%s", root),
		trap.Ev(name, "made by %s, without %s", image.Builder, strings.Join(tools, ", ")))
	return nil
}

// maxDepth bounds the walk: an LV on LUKS on an array has three layers.
const maxDepth = 8

// partitionOfArray is a partition of an MD array: md0p1.
var partitionOfArray = lazy.Regexp(`^(md.*[0-9])p[0-9]+$`)

// stack is what a device lies on: kinds of layers, and the names of encrypted volumes among them.
type stack struct {
	layers    []layer
	encrypted []string
}

// below adds the layers of a device and of what it lies on (Linux, Documentation/ABI/testing/sysfs-block-dm, "slaves").
func (st *stack) below(ctx context.Context, h *host.Host, device string, depth int) error {
	if depth == maxDepth {
		return nil
	}
	if m := partitionOfArray().FindStringSubmatch(device); m != nil {
		device = m[1]
	}
	dir := "/sys/class/block/" + device
	uuid, err := h.ReadString(ctx, dir+"/dm/uuid")
	if err != nil && !host.IsAbsent(err) {
		return err
	}
	array, err := h.Exists(ctx, dir+"/md")
	if err != nil {
		return err
	}
	var l layer
	switch {
	case strings.HasPrefix(uuid, "LVM-"):
		l = lvm
	case strings.HasPrefix(uuid, "CRYPT-"):
		l = luks
		switch name, err := h.ReadString(ctx, dir+"/dm/name"); {
		case err == nil:
			st.encrypted = append(st.encrypted, name)
		case !host.IsAbsent(err):
			return err
		}
	case array:
		l = md
	}
	if l.name != "" && !slices.ContainsFunc(st.layers, func(o layer) bool { return o.name == l.name }) {
		st.layers = append(st.layers, l)
	}
	slaves, err := h.ReadDir(ctx, dir+"/slaves")
	if err != nil && !host.IsAbsent(err) {
		return err
	}
	for _, s := range slaves {
		if err := st.below(ctx, h, s.Name, depth+1); err != nil {
			return err
		}
	}
	return nil
}
