package bootloader

import (
	"cmp"
	"context"
	"path"
	"strings"

	rpm "github.com/knqyf263/go-rpm-version"

	"fettle/host"
	"fettle/host/bootimage"
	"fettle/internal/lazy"
	"fettle/internal/sorted"
)

// unifiedDir is where a boot loader looks for unified kernel images (UAPI.1, "Type #2 EFI Unified Kernel Images").
const unifiedDir = "/EFI/Linux"

// tries is what boot counting adds to a name: +LEFT or +LEFT-DONE (UAPI.1, "Boot counting").
var tries = lazy.Regexp(`\+([0-9]+)(?:-[0-9]+)?$`)

// unified reads the unified kernel images of a file system, the newest first; those with no try left last.
func unified(ctx context.Context, h *host.Host, top string) ([]Entry, error) {
	files, err := h.Glob(ctx, top+unifiedDir, "*.efi")
	if err != nil {
		return nil, err
	}
	var out []Entry
	bad := map[string]bool{}
	for _, f := range files {
		u, err := bootimage.ReadUnified(ctx, h, f)
		id := strings.TrimSuffix(path.Base(f), ".efi")
		if m := tries().FindStringSubmatch(id); m != nil {
			id = strings.TrimSuffix(id, m[0])
			bad[id] = strings.Trim(m[1], "0") == ""
		}
		e := Entry{ID: id, Title: cmp.Or(u.Title, id), Source: f, Kernel: f, Options: u.Options, Release: u.Release, Unified: true}
		switch { // from a capture an error comes as text
		case u.Initrd:
			e.Initrds = []string{f}
		case err != nil && strings.Contains(err.Error(), bootimage.ErrNotUnified.Error()):
			continue
		case err != nil && strings.Contains(err.Error(), bootimage.ErrCut.Error()): // who reads its initrd finds that out
			e.Initrds = []string{f}
		default:
			e.err = err
		}
		out = append(out, e)
	}
	sorted.By(out, func(a, b Entry) int {
		if bad[a.ID] != bad[b.ID] {
			return map[bool]int{true: 1, false: -1}[bad[a.ID]]
		}
		return cmp.Compare(0, rpm.NewVersion(a.ID).Compare(rpm.NewVersion(b.ID)))
	})
	return out, nil
}
