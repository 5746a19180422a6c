// Package conffile finds out which configuration files of packages an admin has changed: what
// dpkg knows of them, and what ucf does.
package conffile

import (
	"context"
	"crypto/md5" //nolint:gosec // dpkg's own
	"encoding/hex"
	"strings"

	"fettle/host"
)

// File is a configuration file that dpkg or ucf looks after.
type File struct {
	Path, Package string
	UCF           bool
	Obsolete      bool // the package does not bring it any more
	Gone          bool // somebody deleted it
	Changed       bool
	Err           error // it could not be read: whether it was changed is unknown
}

// All are the configuration files of dpkg's installed packages (dpkg-query(1), Conffiles)
// and of ucf (ucf(1), /var/lib/ucf/hashfile) that only accepts, each compared with what its
// package brought. ucf's files have no package where its registry has none.
func All(ctx context.Context, h *host.Host, only func(File) bool) ([]File, error) {
	b, err := h.ReadFile(ctx, host.DpkgStatus)
	if err != nil {
		return nil, err
	}
	var out []File
	add := func(f File, sum string) {
		if only(f) {
			f.compare(ctx, h, sum)
			out = append(out, f)
		}
	}
	pkg, in := "", false
	for line := range strings.Lines(string(b)) {
		switch {
		case strings.HasPrefix(line, "Package: "):
			pkg = strings.TrimSpace(line[9:])
		case strings.HasPrefix(line, "Conffiles:"):
			in = true
		case in && line[0] == ' ':
			if f := strings.Fields(line); len(f) >= 2 && f[1] != "newconffile" {
				add(File{Path: f[0], Package: pkg, Obsolete: strings.Contains(line, " obsolete")}, f[1])
			}
		default:
			in = false
		}
	}
	return out, ucf(ctx, h, add)
}

func ucf(ctx context.Context, h *host.Host, add func(File, string)) error {
	hashes, err := h.ReadString(ctx, "/var/lib/ucf/hashfile")
	if host.IsAbsent(err) {
		return nil
	}
	if err != nil {
		return err
	}
	registry, err := h.ReadString(ctx, "/var/lib/ucf/registry")
	if err != nil && !host.IsAbsent(err) {
		return err
	}
	of := map[string]string{}
	for line := range strings.Lines(registry) {
		if f := strings.Fields(line); len(f) == 2 {
			of[f[1]] = f[0]
		}
	}
	for line := range strings.Lines(hashes) {
		if f := strings.Fields(line); len(f) == 2 {
			add(File{Path: f[1], Package: of[f[1]], UCF: true}, f[0])
		}
	}
	return nil
}

func (f *File) compare(ctx context.Context, h *host.Host, sum string) {
	// Several traps ask about one package.
	got, err := host.Memo(ctx, h, "md5:"+f.Path, func() (string, error) {
		b, err := h.ReadFile(ctx, f.Path)
		sum := md5.Sum(b) //nolint:gosec // dpkg's own
		return hex.EncodeToString(sum[:]), err
	})
	switch {
	case host.IsAbsent(err):
		f.Gone = true
	case err != nil:
		f.Err = err
	default:
		f.Changed = got != sum
	}
}
