package serve

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"fettle/host"
	"fettle/internal/files"
	"fettle/tools/netboot/hooks"
	"fettle/tools/netboot/menu"
	"fettle/tools/netboot/tree"
)

// Stage is a folder that is served: links to the tree's files, and in place of
// its menus those that were rewritten. The tree itself is not changed.
type Stage struct {
	Root    string // that dnsmasq serves
	Loaders Loaders
	dir     string // its folder, and the one in which that is, held open
	in      *os.Root
	root    *os.Root // Root
	lock    *os.File
}

// stagePrefix begins the names of stages in their folder.
const stagePrefix = "fettle-netboot-"

// Sweep removes the stages in a folder that nobody holds any more: their
// fettle was killed.
func Sweep(dir string) error {
	in, err := files.Folder(dir)
	if err != nil {
		return err
	}
	defer in.Close()
	es, err := fs.ReadDir(in.FS(), ".")
	if err != nil {
		return err
	}
	for _, e := range es {
		if !strings.HasPrefix(e.Name(), stagePrefix) || !e.IsDir() {
			continue
		}
		lock, err := in.OpenFile(path.Join(e.Name(), "lock"), os.O_RDWR|unix.O_NONBLOCK, 0)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			continue // another user's
		}
		if err == nil {
			held := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil
			lock.Close()
			if held {
				continue
			}
		}
		if err := in.RemoveAll(e.Name()); err != nil {
			return fmt.Errorf("removing what an earlier fettle left: %w", err)
		}
	}
	return nil
}

// Make builds a stage below dir from a tree. console nil: menus stay as they are.
// address is where clients find this server. parts of fettle's hooks are appended to
// the initrds that the stage serves.
func Make(
	ctx context.Context, h *host.Host, dir, source, address string, hosts []Host, console *menu.Console, parts ...hooks.Part,
) (*Stage, error) {
	in, err := files.Folder(dir)
	if err != nil {
		return nil, fmt.Errorf("making a folder to serve: %w", err)
	}
	name := files.Unguessable(stagePrefix)
	s := &Stage{dir: name, in: in, Root: filepath.Join(dir, name, "root")}
	if err := s.fill(ctx, h, source, address, hosts, console, parts); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Close removes the stage. Closed again it does nothing.
func (s *Stage) Close() error {
	if s.in == nil {
		return nil
	}
	err := s.in.RemoveAll(s.dir)
	s.lock.Close()
	if s.root != nil {
		s.root.Close()
	}
	s.in.Close()
	s.in = nil
	return err
}

// make makes the folders, locked, of mode 0755: dnsmasq is another user.
func (s *Stage) make() error {
	root := path.Join(s.dir, "root")
	err := s.in.Mkdir(s.dir, 0o700)
	if err == nil {
		if s.lock, err = s.in.OpenFile(path.Join(s.dir, "lock"), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600); err == nil {
			err = unix.Flock(int(s.lock.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		}
	}
	if err == nil {
		err = errors.Join(s.in.Mkdir(root, 0o755), s.in.Chmod(s.dir, 0o755))
	}
	if err == nil {
		s.root, err = s.in.OpenRoot(root)
	}
	if err != nil {
		return fmt.Errorf("making a folder to serve: %w", err)
	}
	return nil
}

func (s *Stage) fill(
	ctx context.Context, h *host.Host, source, address string, hosts []Host, console *menu.Console, parts []hooks.Part,
) (err error) {
	if err := s.make(); err != nil {
		return err
	}
	replaced := map[string]string{}
	if console != nil {
		m, err := menu.Read(ctx, h, source)
		if err != nil {
			return err
		}
		for _, e := range m.Rewrite(*console) {
			replaced[e.Path] = e.New
		}
	}
	pairs, err := tree.Locate(ctx, h, source)
	if err != nil {
		return err
	}
	if len(pairs) == 0 {
		return fmt.Errorf("%s contains no kernel with an initrd beside it", source)
	}
	if err := hooked(pairs, parts, replaced); err != nil {
		return err
	}
	if err := s.copy(source, "", replaced, 0); err != nil {
		return err
	}
	for _, h := range hosts {
		if err := s.preseed(h); err != nil {
			return err
		}
		if err := s.host(h, source, address, pairs, console); err != nil {
			return err
		}
	}
	return s.grubHosts(source, address, hosts, pairs, console)
}

// initrdLimit bounds an initrd that is read into memory, in bytes.
const initrdLimit = 512 << 20

// hooked puts the initrds of pairs with hooks in place of their own.
func hooked(pairs []tree.Pair, parts []hooks.Part, replaced map[string]string) error {
	if len(parts) == 0 {
		return nil
	}
	for _, p := range pairs {
		b, err := within(p.Initrd)
		if err != nil {
			return fmt.Errorf("reading the initrd: %w", err)
		}
		with, err := hooks.Append(b, parts)
		if err != nil {
			return fmt.Errorf("appending the hooks: %s %w", p.Initrd, err)
		}
		replaced[p.Initrd] = string(with)
	}
	return nil
}

// within reads a file of the served tree: a link in its place leads no further than
// its folder.
func within(name string) ([]byte, error) {
	dir, err := files.Folder(filepath.Dir(name))
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	f, err := dir.Open(filepath.Base(name))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return files.AtMost(f, name, initrdLimit)
}

const maxStaged = 8 // folders deep

// copy makes folders, links files, and writes what is replaced.
func (s *Stage) copy(source, rel string, replaced map[string]string, depth int) error {
	if depth > maxStaged {
		return fmt.Errorf("%s: folders deeper than %d", source, maxStaged)
	}
	if rel != "" {
		if err := s.root.Mkdir(rel, 0o755); err != nil {
			return err
		}
	}
	es, err := os.ReadDir(filepath.Join(source, rel))
	if err != nil {
		return err
	}
	for _, e := range es {
		name := path.Join(rel, e.Name())
		from := filepath.Join(source, name)
		text, change := replaced[from]
		switch {
		case change:
			err = s.root.WriteFile(name, []byte(text), 0o644)
		case e.IsDir():
			err = s.copy(source, name, replaced, depth+1)
		case e.Type()&fs.ModeSymlink != 0:
			var target string
			if target, err = leads(source, name); err == nil && target != "" {
				s.loader(e.Name(), name, from)
				err = s.root.Symlink(target, name)
			}
		case e.Type().IsRegular():
			s.loader(e.Name(), name, from)
			if err = readable(from); err == nil {
				err = s.root.Symlink(from, name)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// leads is where a link of the tree leads, relative to its folder; "" is nowhere. One
// that leads out of the tree is an error: a tree that somebody else made could have
// one to /, and clients would read what everybody may read on this host.
func leads(source, name string) (string, error) {
	top, err := filepath.EvalSymlinks(source)
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(filepath.Join(source, name))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	in, err := filepath.Rel(top, real)
	if err != nil || !filepath.IsLocal(in) {
		return "", fmt.Errorf("%s is a link that leads out of the tree, to %s: what is there would be served to everybody; "+
			"put a copy in its place, or remove it", filepath.Join(source, name), real)
	}
	return filepath.Rel(filepath.Dir(name), in)
}

// loader notes the boot loaders that a tree has; shim before GRUB. pxelinux takes
// all names as relative to its own folder, and those in Debian's menus begin at the
// top, where a link stands: the nearest one counts.
func (s *Stage) loader(base, name, from string) {
	l := &s.Loaders
	switch {
	case base == "pxelinux.0" && (l.BIOS == "" || strings.Count(name, "/") < strings.Count(l.BIOS, "/")):
		l.BIOS = name
	case base == "bootnetx64.efi", base == "grubx64.efi" && l.EFI64 == "":
		l.EFI64 = name
	case base == "bootnetaa64.efi", base == "grubaa64.efi" && l.EFIArm64 == "":
		l.EFIArm64 = name
	}
	switch base {
	case "bootnetx64.efi", "grubx64.efi":
		l.HTTP64 = l.HTTP64 || fetchesByHTTP(from)
	case "bootnetaa64.efi", "grubaa64.efi":
		l.HTTPArm64 = l.HTTPArm64 || fetchesByHTTP(from)
	}
}

// maxLoader is more than boot loaders have: GRUB with all modules is 4 MB.
const maxLoader = 64 << 20

// fetchesByHTTP tells whether a GRUB has its module http inside, by what that sends
// (grub-core/net/http.c). Debian 12's signed one has not: booted by HTTP it finds no
// menu, stops at its prompt, and cannot load the module from where it has to fetch it.
func fetchesByHTTP(name string) bool {
	b, err := files.ReadAtMost(name, maxLoader)
	return err == nil && bytes.Contains(b, []byte("User-Agent: GRUB"))
}

// readable: dnsmasq reads what it serves as a user that owns nothing.
func readable(name string) error {
	for p := name; p != "/"; p = filepath.Dir(p) {
		st, err := os.Stat(p)
		if err != nil {
			return err
		}
		if st.IsDir() && st.Mode().Perm()&0o001 == 0 || p == name && st.Mode().Perm()&0o004 == 0 {
			return fmt.Errorf("dnsmasq runs as another user, who cannot read %s: chmod o+rX it, or move the tree", p)
		}
	}
	return nil
}

// kernelOf is the pair that a host boots, below the root: the first for an
// architecture; "" is any.
func kernelOf(source string, pairs []tree.Pair, arch string) (linux, initrd string, ok bool) {
	for _, p := range pairs {
		if arch == "" || p.Arch() == arch || p.Arch() == "" {
			l, err1 := filepath.Rel(source, p.Linux)
			i, err2 := filepath.Rel(source, p.Initrd)
			return l, i, err1 == nil && err2 == nil
		}
	}
	return "", "", false
}

// parameters are the installer's for one host.
func parameters(h Host, address string, console *menu.Console) string {
	words := []string{"hostname=" + h.Name, "interface=auto"}
	if url := h.Preseed; url != "" {
		if !isURL(url) {
			url = "tftp://" + address + "/" + preseedFolder + "/" + h.Name + ".cfg"
		}
		words = append(words, "auto=true", "priority=critical", "preseed/url="+url)
	}
	if console != nil {
		c := fmt.Sprintf("console=%s,%dn8", console.Device(), console.Speed)
		words = append(words, c, "---", c)
	}
	return strings.Join(words, " ")
}

const preseedFolder = "preseed"

// preseed links a host's preseed file into the stage.
func (s *Stage) preseed(h Host) error {
	if h.Preseed == "" || isURL(h.Preseed) {
		return nil
	}
	abs, err := filepath.Abs(h.Preseed)
	if err == nil {
		err = readable(abs)
	}
	if err != nil {
		return fmt.Errorf("host %s, its preseed file: %w", h.Name, err)
	}
	if err := s.root.MkdirAll(preseedFolder, 0o755); err != nil {
		return err
	}
	return s.root.Symlink(abs, path.Join(preseedFolder, h.Name+".cfg"))
}

// host writes the menu that pxelinux asks for first: 01-MAC (syslinux's
// doc/pxelinux.txt).
func (s *Stage) host(h Host, source, address string, pairs []tree.Pair, console *menu.Console) error {
	linux, initrd, ok := kernelOf(source, pairs, "amd64")
	if !ok || s.Loaders.BIOS == "" {
		return nil
	}
	words := parameters(h, address, console)
	serial := ""
	if console != nil {
		serial = fmt.Sprintf("serial %d %d\n", console.Port, console.Speed)
	}
	// pxelinux looks beside itself, and Debian's link at the top leads elsewhere.
	dirs := map[string]bool{"pxelinux.cfg": true, path.Join(path.Dir(s.Loaders.BIOS), "pxelinux.cfg"): true}
	text := fmt.Sprintf("%spath %s\ndefault install\nprompt 0\ntimeout 10\nlabel install\n\tkernel %s\n\tappend initrd=%s %s\n",
		serial, "debian-installer/amd64/boot-screens/", linux, initrd, words)
	for dir := range dirs {
		real, err := filepath.EvalSymlinks(filepath.Join(s.Root, dir))
		if err != nil || !strings.HasPrefix(real, s.Root+"/") {
			continue
		}
		name := path.Join(strings.TrimPrefix(real, s.Root+"/"), "01-"+strings.ReplaceAll(h.MAC, ":", "-"))
		s.root.Remove(name)
		if err := s.root.WriteFile(name, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// grubHosts puts entries by MAC address before the menus of GRUB, whose variable
// net_default_mac is the card that booted (grub info, Network).
func (s *Stage) grubHosts(source, address string, hosts []Host, pairs []tree.Pair, console *menu.Console) error {
	if len(hosts) == 0 {
		return nil
	}
	tree, err := files.Folder(source)
	if err != nil {
		return err
	}
	defer tree.Close()
	return fs.WalkDir(s.root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() != "grub.cfg" || path.Base(path.Dir(name)) != "grub" {
			return err
		}
		// As rewritten, or else from the tree: whoever may write there could have
		// made a link to what only root may read.
		old, err := s.root.ReadFile(name)
		if err != nil {
			old, err = menuOf(tree, name)
		}
		if err != nil {
			return fmt.Errorf("the menu %s: %w", filepath.Join(source, name), err)
		}
		arch := ""
		if strings.Contains(name, "arm64") {
			arch = "arm64"
		}
		linux, initrd, ok := kernelOf(source, pairs, arch)
		if !ok {
			return nil
		}
		var b strings.Builder
		for _, h := range hosts {
			words := parameters(h, address, console)
			fmt.Fprintf(
				&b,
				"if [ \"$net_default_mac\" = \"%s\" ]; then\n  set timeout=1\n  set default=0\n  menuentry 'Install %s' {\n    linux /%s %s\n    "+
					"initrd /%s\n  }\nfi\n",
				h.MAC,
				h.Name,
				linux,
				words,
				initrd,
			)
		}
		if err := s.root.Remove(name); err != nil {
			return err
		}
		return s.root.WriteFile(name, append([]byte(b.String()), old...), 0o644)
	})
}

// maxMenu is more than boot menus have, in bytes.
const maxMenu = 1 << 20

// menuOf reads a file of the tree that everybody may read.
func menuOf(tree *os.Root, name string) ([]byte, error) {
	f, err := tree.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() || st.Mode().Perm()&0o004 == 0 {
		return nil, errors.New("is served, and must be a regular file that everybody may read")
	}
	return files.AtMost(f, name, maxMenu)
}
