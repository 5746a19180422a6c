package fstab

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"fettle/host"
)

// tags are those that udev makes links of.
var tags = []string{"uuid", "label", "partuuid", "partlabel", "id"}

// Device is the path of the local device that a specification names, as in fstab(5), crypttab(5)
// and root= of the kernel's command line: a path below /dev, or TAG=VALUE. It is empty for what
// has none: network shares, file systems of the kernel's own.
func Device(spec string) string {
	if strings.HasPrefix(spec, "/dev/") {
		return spec
	}
	tag, v, tagged := strings.Cut(spec, "=")
	tag = strings.ToLower(tag)
	if !tagged || !slices.Contains(tags, tag) {
		return ""
	}
	return "/dev/disk/by-" + tag + "/" + linkName(strings.Trim(v, `"'`))
}

// linkName is how udev writes a value: what is no plain character is escaped
// (blkid_encode_string(3); systemd 252, src/shared/device-nodes.c).
func linkName(v string) string {
	var b strings.Builder
	for _, c := range []byte(v) {
		if c >= 0x80 || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || strings.IndexByte("#+-.:=@_", c) >= 0 {
			b.WriteByte(c)
			continue
		}
		fmt.Fprintf(&b, `\x%02x`, c)
	}
	return b.String()
}

// There reports whether the device of a specification exists; dev is empty for what has none, and
// that is there. Where udev has made no links at all, it is an error: nobody knows.
func There(ctx context.Context, h *host.Host, spec string) (dev string, there bool, err error) {
	if dev = Device(spec); dev == "" {
		return "", true, nil
	}
	if there, err = h.Exists(ctx, dev); err != nil || there {
		return dev, there, err
	}
	if !strings.HasPrefix(dev, "/dev/disk/") {
		return dev, false, nil
	}
	if other := otherCase(dev); other != dev {
		if there, err = h.Exists(ctx, other); err != nil || there {
			return other, there, err
		}
	}
	if _, err := h.ReadDir(ctx, path.Dir(dev)); err != nil {
		return dev, false, fmt.Errorf("no device has a link in %s: %w", path.Dir(dev), err)
	}
	return dev, false, nil
}

// maxLinks is how many of udev's links are followed, one to another.
const maxLinks = 8

// Linked is the device to which links such as /dev/disk/by-uuid/… lead; where one leads to nothing, that, and the error.
func Linked(ctx context.Context, h *host.Host, dev string) (string, error) {
	for range maxLinks {
		st, err := h.Lstat(ctx, dev)
		if err != nil {
			return dev, err
		}
		if st.Mode&fs.ModeSymlink == 0 {
			break
		}
		to, err := h.Readlink(ctx, dev)
		if err != nil {
			return dev, err
		}
		if !path.IsAbs(to) {
			to = path.Join(path.Dir(dev), to)
		}
		dev = to
	}
	return dev, nil
}

// otherCase is the link of a UUID as udev writes it: blkid(8) takes either case. Those of FAT
// (1A2B-3C4D) and NTFS (16 digits) have capitals, all others small letters.
func otherCase(dev string) string {
	dir, v := path.Split(dev)
	switch {
	case dir == "/dev/disk/by-uuid/" && (len(v) == 9 || len(v) == 16):
		return dir + strings.ToUpper(v)
	case dir == "/dev/disk/by-uuid/" || dir == "/dev/disk/by-partuuid/":
		return dir + strings.ToLower(v)
	}
	return dev
}
