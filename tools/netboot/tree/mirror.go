package tree

import (
	"context"
	"fmt"
	"net/url"
	"path"
	"strings"

	"fettle/host"
	"fettle/host/bootimage"
	"fettle/host/format/aptsources"
	"fettle/host/format/tftpd"
	"fettle/internal/lazy"
	"fettle/tools/netboot/mirror"
)

// Source is the mirror that an installer will fetch its modules from.
type Source struct {
	Base string // "http://deb.debian.org/debian"
	From string // what names it
}

// DefaultBase is what Debian's installer offers first.
const DefaultBase = "http://deb.debian.org/debian"

// Names tells whether a URL is the list of udebs for one of the trees that the
// host serves, at the mirror that the tree or the host's own apt names.
func Names(ctx context.Context, h *host.Host, address string) bool {
	roots, _ := tftpd.Roots(ctx, h)
	for _, r := range roots {
		pairs, _ := Locate(ctx, h, r.Path)
		for i := range pairs {
			p := &pairs[i]
			p.Read(ctx, h)
			s, err := p.Mirror(ctx, h)
			if err == nil && p.Arch() != "" && mirror.URL(s.Base, p.Suite(), p.Arch()) == address {
				return true
			}
		}
	}
	return false
}

// Suite is what the installer asks its mirror for: of its preseed file, or its codename.
func (p *Pair) Suite() string {
	for _, name := range []string{"mirror/udeb/suite", "mirror/suite", "mirror/codename"} {
		if v := preseeded(p.Ramdisk.Preseed, name); suiteName().MatchString(v) {
			return v
		}
	}
	if suiteName().MatchString(p.Ramdisk.Codename) {
		return p.Ramdisk.Codename
	}
	return ""
}

var suiteName = lazy.Regexp(`^[a-z][a-z0-9-]{0,40}$`)

// Mirror is the mirror that the pair's preseed file names, else a boot menu's
// line for it, else the one in the host's own sources of apt, else Debian's.
func (p *Pair) Mirror(ctx context.Context, h *host.Host) (Source, error) {
	if s, ok, err := fromPreseed(p.Ramdisk.Preseed, p.Initrd+", preseed.cfg"); ok || err != nil {
		return s, err
	}
	if s, ok, err := p.fromMenus(ctx, h); ok || err != nil {
		return s, err
	}
	list, err := aptsources.Read(ctx, h)
	for _, s := range list {
		if u, uerr := url.Parse(s.URI); uerr == nil && (u.Scheme == "http" || u.Scheme == "https") && path.Base(u.Path) == "debian" {
			return Source{s.URI, s.From}, nil
		}
	}
	if err != nil {
		return Source{}, err
	}
	return Source{DefaultBase, "the installer's default"}, nil
}

// preseeded is the value of a question in lines as "d-i mirror/suite string bookworm".
func preseeded(lines []string, question string) string {
	v := ""
	for _, l := range lines {
		if f := strings.Fields(l); len(f) >= 4 && f[1] == question {
			v = f[3]
		}
	}
	return v
}

// fromPreseed puts a mirror together (debian-installer manual, B.4.4).
func fromPreseed(lines []string, from string) (Source, bool, error) {
	scheme := preseeded(lines, "mirror/protocol")
	if scheme == "" {
		scheme = "http"
	}
	hostname, dir := preseeded(lines, "mirror/"+scheme+"/hostname"), preseeded(lines, "mirror/"+scheme+"/directory")
	if hostname == "" {
		return Source{}, false, nil
	}
	if dir == "" {
		dir = "/debian"
	}
	base := scheme + "://" + hostname + path.Clean("/"+dir)
	if u, err := url.Parse(base); err != nil || scheme != "http" && scheme != "https" || u.Host != hostname {
		return Source{}, false, fmt.Errorf("%s names an unusable mirror: %.80q", from, base)
	}
	return Source{base, from}, true, nil
}

var menuMirror = lazy.Regexp(`(?:^|\s)(mirror/[a-z/]+)=(\S+)`)

// fromMenus reads the parameters mirror/… of boot menus and preseed files that
// are served beside the pair.
func (p *Pair) fromMenus(ctx context.Context, h *host.Host) (Source, bool, error) {
	files, _ := h.Glob(ctx, path.Join(p.Folder, "boot-screens"), "*.cfg")
	grub, _ := h.Glob(ctx, path.Join(p.Folder, "grub"), "*.cfg")
	for _, f := range append(files, grub...) {
		b, err := h.ReadFile(ctx, f)
		if err != nil {
			continue // what cannot be read names no mirror; the menus' own trap tells of it
		}
		lines := bootimage.MirrorLines(string(b))
		for _, m := range menuMirror().FindAllStringSubmatch(string(b), 64) {
			lines = append(lines, "d-i "+m[1]+" string "+m[2])
		}
		if s, ok, err := fromPreseed(lines, f); ok || err != nil {
			return s, ok, err
		}
	}
	return Source{}, false, nil
}
