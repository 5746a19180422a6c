// Package menu reads and rewrites the boot menus of a served folder: those of
// syslinux and pxelinux, and GRUB's, with every file that they include. It
// tells which entries talk to a serial console, and makes all of them do so.
package menu

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"fettle/host"
	"fettle/internal/lazy"
	"fettle/internal/sorted"
)

// Dialect is whose language a file is written in.
type Dialect string

const (
	Syslinux Dialect = "syslinux" // pxelinux, isolinux, extlinux too
	GRUB     Dialect = "grub"
)

// File is one configuration file.
type File struct {
	Path    string // real, no symlink
	Dialect Dialect
	Entry   bool // a boot loader begins with it; others are included
	Text    string
	// Text menus are beside this file's graphical ones (menu.c32 beside vesamenu.c32).
	plainMenu bool
}

// Menus are all files of one served folder.
type Menus struct {
	Root  string
	Files []File
}

const (
	maxFiles   = 400
	maxDepth   = 6
	maxFolders = 2000
	maxText    = 1 << 20
)

// ErrNone: the folder has no boot menu.
var ErrNone = errors.New("contains no boot menu of syslinux or GRUB")

// Loop is an include that leads back to where it is.
type Loop struct{ Files []string }

func (e *Loop) Error() string {
	return "the menus include each other in a circle: " + strings.Join(e.Files, " → ")
}

// Read finds the menus below a served folder and follows what they include.
func Read(ctx context.Context, h *host.Host, root string) (*Menus, error) {
	r := &reader{ctx: ctx, h: h, m: &Menus{Root: path.Clean(root)}, at: map[string]int{}}
	if err := r.walk(r.m.Root, 0); err != nil {
		return nil, err
	}
	if len(r.m.Files) == 0 {
		return nil, ErrNone
	}
	sorted.By(r.m.Files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return r.m, nil
}

type reader struct {
	ctx     context.Context
	h       *host.Host
	m       *Menus
	at      map[string]int // of a file's real path in m.Files, by path and dialect
	folders int
}

var syslinuxEntry = lazy.Regexp(`^(syslinux|isolinux)\.cfg$|^extlinux\.conf$`)

// walk looks for the files that boot loaders begin with.
func (r *reader) walk(dir string, depth int) error {
	if r.folders++; r.folders > maxFolders {
		return fmt.Errorf("%s holds more than %d folders", r.m.Root, maxFolders)
	}
	es, err := r.h.ReadDir(r.ctx, dir)
	if err != nil {
		return err
	}
	for _, e := range es {
		name := path.Join(dir, e.Name)
		switch {
		case e.Type.IsDir() && depth < maxDepth && !strings.HasPrefix(e.Name, "."):
			if err := r.walk(name, depth+1); err != nil {
				return err
			}
		case e.Type&^fs.ModeSymlink != 0 || strings.HasSuffix(e.Name, "~"):
		case path.Base(dir) == "pxelinux.cfg" || syslinuxEntry().MatchString(e.Name):
			if err := r.add(name, Syslinux, nil); err != nil {
				return err
			}
		case e.Name == "grub.cfg" || strings.HasPrefix(e.Name, "grub.cfg-"):
			if err := r.add(name, GRUB, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// resolve follows symlinks within the served folder. A name that leads out of
// it is none that a TFTP server would hand out.
func (r *reader) resolve(name string) (string, error) {
	for range 40 {
		i, err := r.h.Lstat(r.ctx, name)
		if err != nil {
			return "", err
		}
		if i.Mode&fs.ModeSymlink == 0 {
			real, err := r.folderOf(name)
			if err == nil && !strings.HasPrefix(real, r.m.Root+"/") {
				err = fmt.Errorf("%s leads out of %s", name, r.m.Root)
			}
			return real, err
		}
		to, err := r.h.Readlink(r.ctx, name)
		if err != nil {
			return "", err
		}
		if !path.IsAbs(to) {
			to = path.Join(path.Dir(name), to)
		}
		name = path.Clean(to)
	}
	return "", fmt.Errorf("%s: too many symlinks", name)
}

// folderOf resolves the folders of a name below the root, which may be
// symlinks as pxelinux.cfg is in Debian's tree.
func (r *reader) folderOf(name string) (string, error) {
	rel, ok := strings.CutPrefix(name, r.m.Root+"/")
	if !ok {
		return name, nil
	}
	at := r.m.Root
	parts := strings.Split(rel, "/")
	for n, p := range parts[:len(parts)-1] {
		at = path.Join(at, p)
		to, err := r.h.Readlink(r.ctx, at)
		if err != nil {
			continue // no link
		}
		if !path.IsAbs(to) {
			to = path.Join(path.Dir(at), to)
		}
		return r.folderOf(path.Join(append([]string{path.Clean(to)}, parts[n+1:]...)...))
	}
	return name, nil
}

// add reads a file and what it includes. above are the files that led here.
func (r *reader) add(name string, d Dialect, above []string) error {
	real, err := r.resolve(name)
	if host.IsAbsent(err) {
		return nil // Debian's menu.cfg includes files that only other images have
	}
	if err != nil {
		return err
	}
	if slices.Contains(above, real) {
		return &Loop{append(slices.Clone(above), real)}
	}
	above = append(slices.Clone(above), real)
	key := string(d) + " " + real
	if i, known := r.at[key]; known {
		if len(above) == 1 {
			r.m.Files[i].Entry = true
		}
		return nil
	}
	if len(r.m.Files) >= maxFiles {
		return fmt.Errorf("%s: more than %d menu files", r.m.Root, maxFiles)
	}
	b, err := r.h.ReadFile(r.ctx, real)
	if err != nil {
		return err
	}
	if len(b) > maxText || strings.ContainsRune(string(b), 0) {
		return fmt.Errorf("%s is no boot menu: it is no text, or too long", real)
	}
	f := File{Path: real, Dialect: d, Entry: len(above) == 1, Text: string(b)}
	f.plainMenu, _ = r.h.Exists(r.ctx, path.Join(path.Dir(real), "menu.c32"))
	r.m.Files = append(r.m.Files, f)
	r.at[key] = len(r.m.Files) - 1
	includes, jumps := f.leads()
	for _, inc := range includes {
		if err := r.follow(inc, real, d, above); err != nil {
			return err
		}
	}
	for _, jump := range jumps { // another menu takes over: no circle, however often
		if err := r.follow(jump, real, d, nil); err != nil {
			return err
		}
	}
	return nil
}

// follow finds an included file: below the served folder, which is where
// pxelinux and GRUB look; beside the file that includes it; or beside the
// folder of pxelinux.0, two above pxelinux.cfg/default.
func (r *reader) follow(name, from string, d Dialect, above []string) error {
	if strings.ContainsAny(name, "$") || strings.HasPrefix(name, "(") || strings.Contains(name, "://") || strings.Contains(name, "::") {
		return nil // of another server or device, or known only when it runs
	}
	for _, at := range []string{path.Join(r.m.Root, name), path.Join(path.Dir(from), name), path.Join(path.Dir(path.Dir(from)), name)} {
		if !strings.HasPrefix(at, r.m.Root+"/") {
			continue
		}
		if _, err := r.h.Lstat(r.ctx, at); err == nil {
			return r.add(at, d, above)
		} else if !host.IsAbsent(err) {
			return err
		}
	}
	return nil
}

var (
	syslinuxInclude = lazy.Regexp(`(?i)^[ \t]*(?:menu[ \t]+)?include[ \t]+(\S+)`)
	syslinuxConfig  = lazy.Regexp(`(?i)^[ \t]*config[ \t]+(\S+)`)
	grubSource      = lazy.Regexp(`^[ \t]*(?:source|\.)[ \t]+(\S+)`)
	grubConfig      = lazy.Regexp(`^[ \t]*configfile[ \t]+(\S+)`)
)

// leads are the files that a file includes, and those that it hands over to.
func (f *File) leads() (includes, jumps []string) {
	inc, jump := syslinuxInclude, syslinuxConfig
	if f.Dialect == GRUB {
		inc, jump = grubSource, grubConfig
	}
	for line := range strings.Lines(f.Text) {
		if m := inc().FindStringSubmatch(line); m != nil {
			includes = append(includes, strings.Trim(m[1], `"'`))
		}
		if m := jump().FindStringSubmatch(line); m != nil {
			jumps = append(jumps, strings.Trim(m[1], `"'`))
		}
	}
	return includes, jumps
}
