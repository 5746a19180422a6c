package netboot

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"fettle/cli/app"
	"fettle/internal/files"
	"fettle/internal/ui"
	"fettle/internal/units"
	"fettle/tools/netboot/hooks"
)

// initrdLimit bounds what is read as an initrd, in bytes.
const initrdLimit = 1 << 30

type hooksOptions struct {
	out, appendTo, removeFrom, look string
	only                            string
	show                            bool
}

func hooksCmd(a *app.App) *cobra.Command {
	var o hooksOptions
	c := &cobra.Command{
		Use:   "hooks",
		Short: "Make Debian's installer faster, arrays without bad blocks lists",
		Long: `Creates a cpio archive to append to the initrd of Debian's installer.

sync: just before packages are selected, dpkg, apt-get, aptitude and tasksel of
the new system are diverted through eatmydata, so that nothing waits for the
disk. The first step of finish-install removes the diversion, even if the
selection failed, and writes everything to disk. A diversion that a power cut
leaves behind has no effect after the next boot; fettle check installer-sync
finds it.

bbl: MD arrays that the installer, and later the installed system, creates have
no bad blocks list (fettle explain mdadm-bad-blocks).

Without flags it lists the archive's files, with --show their text. The archive
is reproducible. Boot loaders that load several initrds (pxelinux:
initrd=initrd.gz,hooks.cpio; GRUB: initrd A B) need no change of the initrd.

Exit status:
  0  done
  2  usage error or bad input
  3  it could not be written`,
		Example: `  fettle netboot hooks --show
  fettle netboot hooks --out hooks.cpio
  fettle netboot hooks --append /srv/tftp/debian-installer/amd64/initrd.gz
  fettle netboot hooks --remove /srv/tftp/debian-installer/amd64/initrd.gz`,
		Args:    cobra.NoArgs,
		PreRunE: app.NoEmptyFlags,
		RunE:    func(*cobra.Command, []string) error { return runHooks(a, o) },
	}
	f := c.Flags()
	f.StringVar(&o.out, "out", "", "write the archive to this `FILE`")
	f.StringVar(&o.appendTo, "append", "", "append it to this `INITRD`, replacing one appended before")
	f.StringVar(&o.removeFrom, "remove", "", "remove it from this `INITRD`, which restores the original")
	f.StringVar(&o.look, "look", "", "list what was appended to this `INITRD`")
	app.WordFlag(c, &o.only, "only", "only this `PART`: sync or bbl", string(hooks.Sync), string(hooks.BBL))
	f.BoolVar(&o.show, "show", false, "print the files' text")
	c.MarkFlagsMutuallyExclusive("out", "append", "remove", "look")
	return c
}

func runHooks(a *app.App, o hooksOptions) error {
	parts := hooks.Parts
	if o.only != "" {
		parts = []hooks.Part{hooks.Part(o.only)}
	}
	switch {
	case o.show && o.out+o.appendTo+o.removeFrom != "":
		return app.Usagef("--show prints; it goes alone or with --look")
	case o.only != "" && o.removeFrom+o.look != "":
		return app.Usagef("--only selects what is written; it cannot be used with --remove and --look")
	case o.out != "":
		if err := files.Replace(o.out, func(w io.Writer) error { return hooks.Write(w, parts) }); err != nil {
			return app.Failf("writing %s: %w", ui.Quote(o.out), files.WithoutPath(err))
		}
		return nil
	case o.appendTo != "":
		return rewrite(a, o.appendTo, "has the hooks", func(b []byte) ([]byte, error) { return hooks.Append(b, parts) })
	case o.removeFrom != "":
		return rewrite(a, o.removeFrom, "is as it was before the hooks", hooks.Remove)
	case o.look != "":
		f, b, err := readInitrd(o.look)
		if err != nil {
			return err
		}
		f.Close()
		found, err := hooks.Find(b)
		if err != nil {
			return app.Usagef("%s %w", ui.Quote(o.look), err)
		}
		return list(a, found.Files, o.show)
	}
	return list(a, hooks.Files(parts), o.show)
}

// rewrite replaces an initrd by what change makes of it, in one step, with its
// mode and owner; the same content is not written again.
func rewrite(a *app.App, name, done string, change func([]byte) ([]byte, error)) error {
	f, b, err := readInitrd(name)
	if err != nil {
		return err
	}
	defer f.Close()
	now, err := change(b)
	if err != nil {
		return app.Usagef("%s %w; nothing was changed", ui.Quote(name), err)
	}
	if bytes.Equal(b, now) {
		fmt.Fprintf(a.Stdout, "%s %s already\n", ui.Visible(name), done)
		return nil
	}
	if err := f.Replace(now); err != nil {
		return app.Failf("writing %s: %w; it is unchanged", ui.Quote(name), files.WithoutPath(err))
	}
	fmt.Fprintf(a.Stdout, "%s %s (%s, was %s)\n", ui.Visible(name), done, units.Size(len(now)), units.Size(len(b)))
	return nil
}

// readInitrd holds the initrd open: what is replaced is what was read.
func readInitrd(name string) (*files.Held, []byte, error) {
	f, err := files.Hold(name)
	if errors.Is(err, files.ErrSpecial) {
		return nil, nil, app.Usagef("%s is not a regular file: expected the initrd of an installer", ui.Quote(name))
	}
	if err != nil {
		return nil, nil, app.Usagef("reading the initrd: %w", err)
	}
	b, err := files.AtMost(f, name, initrdLimit)
	if err != nil {
		f.Close()
		return nil, nil, app.Usagef("reading the initrd: %w", err)
	}
	return f, b, nil
}

func list(a *app.App, fs []hooks.File, show bool) error {
	var b strings.Builder
	for i, f := range fs {
		switch {
		case show:
			if i > 0 {
				b.WriteByte('\n')
			}
			fmt.Fprintf(&b, "==> /%s (mode %04o)\n%s", ui.Visible(f.Name), f.Mode, text(f.Content))
		case f.About == "":
			fmt.Fprintf(&b, "/%s (%s)\n", ui.Visible(f.Name), units.Size(len(f.Content)))
		default:
			fmt.Fprintf(&b, "/%s\n    %s\n", f.Name, f.About)
		}
	}
	_, err := fmt.Fprint(a.Stdout, b.String())
	return err
}

// text is a script for a terminal, line by line.
func text(content []byte) string {
	var b strings.Builder
	for line := range strings.Lines(string(content)) {
		b.WriteString(ui.Visible(strings.ReplaceAll(strings.TrimSuffix(line, "\n"), "\t", "        ")) + "\n")
	}
	return b.String()
}
