package deletedopenfiles

import (
	"strings"

	"fettle/host"
)

// filesystemOf finds the file system that a file takes room on: by its device
// number; where stat(2) answers with a device of its own, by the longest mount
// point above the path. Never by figures: two tmpfs of one size are usual.
func filesystemOf(f host.OpenFile, fss []host.Filesystem) (best host.Filesystem, ok bool) {
	for _, v := range fss {
		if v.Dev == f.Dev && v.Dev != 0 && v.Size > 0 && (!ok || len(v.Mount) < len(best.Mount)) {
			best, ok = v, true
		}
	}
	if !ok && !f.Elsewhere {
		best, ok = above(f.Path, fss)
		// A file of another device lies below a mount that hides its own, or on one
		// that was unmounted lazily: that file system is not the one at its path.
		ok = ok && (best.Dev == 0 || ownDevices(best.Type))
	}
	if ok && best.Type == "overlay" && (f.Dev == best.Dev || best.Dev == 0) {
		best = upper(best, fss)
	}
	return best, ok && best.Size > 0
}

// roomFor is the file system that a new file in a folder takes room on.
func roomFor(folder string, fss []host.Filesystem) (host.Filesystem, bool) {
	v, ok := above(folder+"/x", fss)
	if ok && v.Type == "overlay" {
		v = upper(v, fss)
	}
	return v, ok && v.Size > 0
}

// above is the file system with the longest mount point above a path.
func above(path string, fss []host.Filesystem) (best host.Filesystem, ok bool) {
	for _, v := range fss {
		if (v.Mount == "/" || strings.HasPrefix(path, v.Mount+"/")) && (!ok || len(v.Mount) > len(best.Mount)) {
			best, ok = v, true
		}
	}
	return best, ok
}

// ownDevices tells the file systems whose files have other device numbers than
// their mount: subvolumes of btrfs and bcachefs, and an overlay over several file
// systems, whose files have that of the layer they are on
// (Documentation/filesystems/overlayfs.rst, "Inode properties").
func ownDevices(fstype string) bool {
	return fstype == "btrfs" || fstype == "bcachefs" || fstype == "overlay"
}

// upper is the file system that an overlay takes its room from: where its upper
// folder is mounted. The option is as the path was when the overlay was mounted: in
// an initramfs, or in a container, something else may be there. Then statfs(2),
// which an overlay passes on (fs/overlayfs/super.c, ovl_statfs), has other figures,
// and the overlay speaks for itself. A file with the overlay's own device number
// says that all of its layers are on one file system; one with another number was
// looked for by that.
func upper(overlay host.Filesystem, fss []host.Filesystem) host.Filesystem {
	for o := range strings.SplitSeq(overlay.Options, ",") {
		dir, ok := strings.CutPrefix(o, "upperdir=/")
		if !ok {
			continue
		}
		if v, ok := above("/"+dir, fss); ok && v.Type != "overlay" && v.Size == overlay.Size && v.Files == overlay.Files {
			return v
		}
	}
	return overlay
}
