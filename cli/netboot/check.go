package netboot

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"fettle/cli/app"
	"fettle/host"
	"fettle/internal/files"
	"fettle/internal/httpget"
	"fettle/internal/ui"
	"fettle/tools/netboot/mirror"
	"fettle/tools/netboot/stale"
	"fettle/tools/netboot/tree"
)

type checkOptions struct {
	mirror  string
	network bool
}

func checkCmd(a *app.App) *cobra.Command {
	var o checkOptions
	c := &cobra.Command{
		Use:   "check FOLDER",
		Short: "Check whether installers still find their modules on a mirror",
		Long: `Reads the kernels and initrds below a folder (bzImage, arm64 Image; initrds
compressed with gzip, xz or zstd, or uncompressed) and compares them with the
udebs on a Debian mirror: fettle explain netboot-stale.

--mirror is the URL of a mirror, a folder with a mirror, or a Packages file.
--network uses the mirror named in the tree's preseed file or menus, else the
first one in this host's apt sources, else deb.debian.org.

Exit status:
  0  all modules found
  1  modules are missing or newer ones exist
  2  usage error, or a kernel or initrd cannot be read
  4  the mirror could not be reached`,
		Example: `  fettle netboot check /srv/tftp --network
  fettle netboot check /srv/tftp --mirror http://deb.debian.org/debian
  fettle netboot check tree --mirror /srv/mirror/debian`,
		Args:    cobra.ExactArgs(1),
		PreRunE: app.NoEmptyFlags,
		RunE:    func(cmd *cobra.Command, args []string) error { return checkFolder(cmd.Context(), a, args[0], o) },
	}
	f := c.Flags()
	f.StringVar(&o.mirror, "mirror", "", "compare with this mirror: a `URL`, a folder, or a Packages file")
	f.BoolVar(&o.network, "network", false, "use the mirror named in the tree or on this host")
	c.MarkFlagsMutuallyExclusive("mirror", "network")
	return c
}

// valid refuses a mirror that is none.
func (o *checkOptions) valid() error {
	if o.mirror == "" {
		return nil
	}
	if strings.Contains(o.mirror, "://") {
		if _, err := httpget.Parse(o.mirror); err != nil {
			return fmt.Errorf("--mirror: %w", err)
		}
		return nil
	}
	if _, err := os.Stat(o.mirror); err != nil {
		return fmt.Errorf("--mirror: %w; expected a URL, a folder or a Packages file", err)
	}
	return nil
}

func checkFolder(ctx context.Context, a *app.App, folder string, o checkOptions) error {
	root, err := filepath.Abs(folder)
	if err != nil {
		return err
	}
	if err := expectFolder(root, "that holds kernels and initrds"); err != nil {
		return err
	}
	src, err := a.OpenLive()
	if err != nil {
		return err
	}
	defer src.Close()
	h := host.New(src)
	pairs, err := tree.Find(ctx, h, root)
	if err != nil {
		return app.Failf("looking for installers: %w", err)
	}
	if len(pairs) == 0 {
		return app.Usagef("%s contains no kernel with an initrd beside it", ui.Quote(folder))
	}
	if err := o.valid(); err != nil {
		return app.Usagef("%w", err)
	}
	found, unknown, unread := 0, 0, 0
	for i := range pairs {
		v := stale.Judge(&pairs[i], func(p *tree.Pair) (mirror.Index, error) { return o.offered(ctx, h, p) })
		switch v.Kind {
		case stale.Gone, stale.Mixed, stale.Older:
			found++
		case stale.Unknown:
			unknown++
			if p := &pairs[i]; p.Err != nil || p.KernelErr != nil && p.Release() == "" {
				unread++
			}
		}
		fmt.Fprint(a.Stdout, verdictText(pairs[i].Folder, v))
	}
	switch {
	case found > 0:
		return app.Exit(app.ExitFound, nil)
	case unread > 0:
		return app.Exit(app.ExitUsage, nil)
	case unknown > 0:
		return app.Exit(app.ExitUnknown, nil)
	}
	return nil
}

// verdictText is what is said of one pair.
func verdictText(folder string, v stale.Verdict) string {
	word := map[stale.Kind]string{stale.Unknown: "unknown", stale.Foreign: "not judged", stale.Fine: "clear", stale.Older: "warning",
		stale.Mixed: "critical", stale.Gone: "critical"}[v.Kind]
	said := v.Summary
	if v.Err != nil {
		said = host.Reason(v.Err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s: %s\n", ui.Visible(folder), word, ui.Visible(said))
	if v.Detail != "" {
		fmt.Fprintf(&b, "  %s\n", ui.Visible(v.Detail))
	}
	for _, f := range v.Facts {
		fmt.Fprintf(&b, "  - %s: %s\n", ui.Visible(f.Source), ui.Visible(f.Value))
	}
	return b.String()
}

var errNoMirror = errors.New("what a mirror has now is not known without one: use --mirror or --network")

// offered asks the mirror that the flags name.
func (o checkOptions) offered(ctx context.Context, h *host.Host, p *tree.Pair) (mirror.Index, error) {
	switch {
	case o.network:
		s, err := p.Mirror(ctx, h)
		if err != nil {
			return mirror.Index{}, err
		}
		return mirror.Ask(ctx, h, s.Base, p.Suite(), p.Arch())
	case o.mirror == "":
		return mirror.Index{}, errNoMirror
	case strings.HasPrefix(o.mirror, "http://") || strings.HasPrefix(o.mirror, "https://"):
		return mirror.Ask(ctx, h, o.mirror, p.Suite(), p.Arch())
	}
	return fromFiles(o.mirror, p)
}

const packagesLimit = 64 << 20 // bytes

// fromFiles reads a Packages file, or the one of a mirror's folder.
func fromFiles(name string, p *tree.Pair) (mirror.Index, error) {
	tried := []string{name}
	if st, err := os.Stat(name); err == nil && st.IsDir() {
		base := strings.TrimSuffix(path.Join(name, mirror.Path(p.Suite(), p.Arch())), ".xz")
		tried = []string{base + ".xz", base + ".gz", base}
	}
	var b []byte
	err := fs.ErrNotExist
	for _, t := range tried {
		if b, err = files.ReadAtMost(t, packagesLimit); err == nil {
			name = t
			break
		}
	}
	if err != nil {
		return mirror.Index{}, fmt.Errorf("the mirror: %w", err)
	}
	ix, err := mirror.Parse(b)
	if err != nil {
		return ix, fmt.Errorf("%s: %w", name, err)
	}
	ix.From = name
	return ix, nil
}
