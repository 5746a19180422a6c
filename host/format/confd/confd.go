// Package confd lists configuration fragments the way systemd's programs do:
// several folders of different precedence, where a file hides those of the
// same name in folders after its own, and where a link to /dev/null masks
// (systemd, src/basic/conf-files.c; tmpfiles.d(5), sysctl.d(5), systemd.unit(5)).
package confd

import (
	"context"
	"errors"
	"path"
	"slices"
	"strings"

	"fettle/host"
)

// File is one fragment that counts.
type File struct {
	Path string
	// Null: the file is a link to /dev/null, or empty: there only to hide others.
	Null bool
	// Hides are files of the same name in folders of lower precedence.
	Hides []string
}

// Dirs are the folders of a kind of configuration ("tmpfiles.d",
// "systemd/journald.conf.d"), the one that counts most first.
func Dirs(kind string) []string {
	var out []string
	for _, top := range []string{"/etc", "/run", "/usr/local/lib", "/usr/lib"} {
		out = append(out, path.Join(top, kind))
	}
	return out
}

// Files lists the fragments of folders, the folder that counts most first, in
// the order in which they are read: by name, whatever their folder. Folders
// that are absent, or that only a running system has, have none. The error
// joins all folders and files that nobody could look at; what could be looked
// at is listed nevertheless.
func Files(ctx context.Context, h *host.Host, dirs []string, suffix string) ([]File, error) {
	byName := map[string]*File{}
	var names []string
	var errs []error
	for _, dir := range dirs {
		es, err := h.ReadDir(ctx, dir)
		if err != nil && !host.IsAbsent(err) && !errors.Is(err, host.ErrNotRunning) {
			errs = append(errs, err)
		}
		for _, e := range es {
			// dirent_is_file_with_suffix: neither folders nor hidden files count.
			if !strings.HasSuffix(e.Name, suffix) || e.Type.IsDir() || e.Name[0] == '.' {
				continue
			}
			name := path.Join(dir, e.Name)
			if f, ok := byName[e.Name]; ok {
				f.Hides = append(f.Hides, name)
				continue
			}
			null, err := isNull(ctx, h, name)
			if err != nil {
				errs = append(errs, err)
			}
			byName[e.Name] = &File{Path: name, Null: null}
			names = append(names, e.Name)
		}
	}
	slices.Sort(names)
	out := make([]File, len(names))
	for i, n := range names {
		out[i] = *byName[n]
	}
	return out, errors.Join(errs...)
}

// Settings hands what counts of a program's configuration ("systemd/journald.conf") to take, in
// the order in which it is read: the first main file of Dirs, then the fragments, which count more
// (systemd, src/shared/conf-parser.c, config_parse_standard_file_with_dropins).
func Settings(ctx context.Context, h *host.Host, kind string, take func(file string, text []byte)) error {
	for _, main := range Dirs(kind) {
		b, err := h.ReadFile(ctx, main)
		if host.IsAbsent(err) || errors.Is(err, host.ErrNotRunning) { // a root folder has no /run
			continue
		}
		if err != nil {
			return err
		}
		take(main, b)
		break
	}
	files, err := Files(ctx, h, Dirs(kind+".d"), ".conf")
	if err != nil {
		return err
	}
	for _, f := range files {
		if f.Null {
			continue
		}
		b, err := h.ReadFile(ctx, f.Path)
		if host.IsAbsent(err) {
			continue // a link that leads nowhere
		}
		if err != nil {
			return err
		}
		take(f.Path, b)
	}
	return nil
}

// isNull looks at the link itself: below --root, /dev is not followed.
func isNull(ctx context.Context, h *host.Host, name string) (bool, error) {
	for range 8 {
		i, err := h.Lstat(ctx, name)
		if host.IsAbsent(err) {
			return false, nil // a link that leads nowhere
		}
		if err != nil {
			return false, err
		}
		if i.Mode.IsRegular() {
			return i.Size == 0, nil
		}
		to, err := h.Readlink(ctx, name)
		if err != nil {
			return false, nil // neither link nor file: reading it will say what it is
		}
		if !path.IsAbs(to) {
			to = path.Join(path.Dir(name), to)
		}
		if name = path.Clean(to); name == "/dev/null" {
			return true, nil
		}
	}
	return false, nil
}
