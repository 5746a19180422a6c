package bootloader

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"strings"

	rpm "github.com/knqyf263/go-rpm-version"

	"fettle/host"
	"fettle/internal/fnmatch"
	"fettle/internal/sorted"
)

// blsEntries reads entries of the Boot Loader Specification (UAPI.1), the newest first, as
// GRUB's blscfg sorts them (Fedora's grub2, grub-core/commands/blscfg.c).
func blsEntries(ctx context.Context, h *host.Host, dir string, env map[string]string) ([]Entry, error) {
	files, err := h.Glob(ctx, dir, "*.conf")
	if err != nil {
		return nil, err
	}
	var out []Entry
	for _, f := range files {
		b, err := h.ReadFile(ctx, f)
		if err != nil {
			return nil, err
		}
		out = append(out, parseBLS(f, string(b), env))
	}
	sorted.By(out, func(a, b Entry) int {
		return cmp.Compare(0, rpm.NewVersion(a.ID).Compare(rpm.NewVersion(b.ID)))
	})
	return out, nil
}

func parseBLS(file, text string, env map[string]string) Entry {
	e := Entry{ID: strings.TrimSuffix(path.Base(file), ".conf"), Source: file}
	for line := range strings.Lines(text) {
		k, v, _ := strings.Cut(strings.TrimSpace(strings.ReplaceAll(line, "\t", " ")), " ")
		v = strings.TrimSpace(v)
		switch k {
		case "title":
			e.Title = v
		case "linux":
			e.Kernel = v
		case "initrd":
			for _, f := range strings.Fields(v) {
				if !strings.HasPrefix(f, "$") {
					e.Initrds = append(e.Initrds, f)
				}
			}
		case "options":
			e.Options = strings.TrimSpace(e.Options + " " + expand(v, env))
		case "efi", "uki":
			e.other = true
		}
	}
	return e
}

// expand puts the variables of GRUB's environment block into a command line ($kernelopts of RHEL 8).
func expand(s string, env map[string]string) string {
	f := strings.Fields(s)
	for i, w := range f {
		if name, ok := strings.CutPrefix(w, "$"); ok {
			f[i] = env[strings.Trim(name, "{}")]
		}
	}
	return strings.Join(f, " ")
}

// systemdBoot reads loader.conf(5): the default is a pattern for entries' names, and without one
// the newest, of unified kernel images if there are any.
func systemdBoot(ctx context.Context, h *host.Host, top, text string) (*Entry, error) {
	entries, err := blsEntries(ctx, h, top+"/loader/entries", nil)
	if err != nil {
		return nil, err
	}
	images, err := unified(ctx, h, top)
	if err != nil {
		return nil, err
	}
	want := ""
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == "default" {
			want = strings.TrimSuffix(strings.TrimSuffix(f[1], ".conf"), ".efi")
		}
	}
	mixed := len(entries) > 0 && len(images) > 0
	entries = append(images, entries...)
	for i := range entries {
		if want == "" && !mixed || want != "" && fnmatch.Match(want, entries[i].ID) {
			return &entries[i], entries[i].locate(ctx, h, top)
		}
	}
	switch {
	case strings.HasPrefix(want, "@"):
		return nil, fmt.Errorf("loader.conf: default %s is an EFI variable", want)
	case mixed: // sort-keys and versions of both forms decide
		return nil, fmt.Errorf("%s has entries in files and unified kernel images, and loader.conf names no default", top)
	case len(entries) > 0:
		return &entries[0], entries[0].locate(ctx, h, top)
	}
	return nil, ErrNone
}
