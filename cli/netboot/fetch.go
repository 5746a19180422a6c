package netboot

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fettle/cli/app"
	"fettle/engine/remedy/machine"
	"fettle/host"
	"fettle/host/archive"
	"fettle/internal/files"
	"fettle/internal/httpget"
	"fettle/internal/lazy"
	"fettle/internal/ui"
	"fettle/tools/netboot/renew"
	"fettle/tools/netboot/tree"
)

type fetchOptions struct {
	mirror, suite, arch, keyring string
	deb, like, sum               string
	gtk                          bool
	stage, remove                bool // of the plan of netboot-stale
}

func fetchCmd(a *app.App) *cobra.Command {
	var o fetchOptions
	c := &cobra.Command{
		Use:   "fetch FOLDER (--suite SUITE | --deb FILE)",
		Short: "Fetch Debian's installer, verified up to Debian's keys",
		Long: `Fetches netboot.tar.gz of a suite from a mirror. gpgv verifies the suite's
InRelease with the keys of Debian's archive; InRelease contains the hash of
SHA256SUMS, and that file the hash of the tarball. Nothing is unpacked that does
not match. Or the tree comes from a package debian-installer-NUMBER-netboot-ARCH
in apt's sources, whose hash must match apt's own verified lists.

--like ROOT keeps what was added to the tree in ROOT: files that the new one
lacks, and the serial console of its menus.

The folder appears when it is complete. To fetch a tree and replace the old one,
use fettle fix netboot-stale.

Exit status:
  0  done
  2  usage error, or the files are not what Debian signed
  3  not fetched`,
		Example: `  fettle netboot fetch new --suite bookworm
  fettle netboot fetch new --suite trixie --arch arm64 \
      --mirror http://mirror.example.org/debian
  fettle netboot fetch new \
      --deb debian-installer-12-netboot-amd64_20230607+deb12u15_all.deb`,
		Args:    cobra.ExactArgs(1),
		PreRunE: app.NoEmptyFlags,
		RunE:    func(cmd *cobra.Command, args []string) error { return fetch(cmd.Context(), a, args[0], o) },
	}
	f := c.Flags()
	f.StringVar(&o.suite, "suite", "", "fetch the installer of this `SUITE`: bookworm, stable, …")
	f.StringVar(&o.arch, "arch", "amd64", "for this `ARCHITECTURE`")
	f.StringVar(&o.mirror, "mirror", tree.DefaultBase, "from the mirror at this `URL`")
	f.StringVar(&o.keyring, "keyring", renew.Keyring, "trust the keys in this `FILE`")
	f.BoolVar(&o.gtk, "gtk", false, "the graphical installer")
	f.StringVar(&o.deb, "deb", "", "take the tree from this package `FILE`")
	f.StringVar(&o.like, "like", "", "keep what was added to the tree in this `ROOT`")
	f.StringVar(&o.sum, "sum", "", "refuse a tarball whose SHA-256 is not this `HASH`")
	f.BoolVar(&o.stage, "stage", false, "wait for another at work on the folder, and accept it if it is complete")
	f.BoolVar(&o.remove, "remove", false, "remove what --stage made")
	f.MarkHidden("stage")
	f.MarkHidden("remove")
	c.MarkFlagsMutuallyExclusive("suite", "deb", "remove")
	return c
}

var word = lazy.Regexp(`^[a-z0-9][a-z0-9-]{0,40}$`)

// valid refuses what no mirror needs to be asked for.
func (o *fetchOptions) valid() error {
	if o.suite == "" && o.deb == "" && !o.remove {
		return errors.New("which installer? name a suite (--suite bookworm), or a package (--deb FILE)")
	}
	for name, v := range map[string]string{"--suite": o.suite, "--arch": o.arch} {
		if v != "" && !word().MatchString(v) {
			return fmt.Errorf("%s %s: expected a name as bookworm or amd64", name, ui.Quote(v))
		}
	}
	if _, err := httpget.Parse(o.mirror); err != nil {
		return fmt.Errorf("--mirror: %w", err)
	}
	if b, err := hex.DecodeString(o.sum); o.sum != "" && (err != nil || len(b) != sha256.Size) {
		return fmt.Errorf("--sum %s: expected the 64 hexadecimal digits of a SHA-256", ui.Quote(o.sum))
	}
	if o.like != "" {
		if err := expectFolder(o.like, "from which a tree is served"); err != nil {
			return fmt.Errorf("--like: %w", err)
		}
	}
	file, flag := o.keyring, "--keyring"
	switch {
	case o.remove:
		return nil
	case o.deb != "":
		file, flag = o.deb, "--deb"
	}
	if f, err := files.Hold(file); err == nil {
		f.Close()
	} else if o.keyring == renew.Keyring && o.deb == "" {
		return fmt.Errorf("the keys of Debian's archive: %w; install debian-archive-keyring, or name another file with --keyring", err)
	} else {
		return fmt.Errorf("%s: %w", flag, err)
	}
	return nil
}

func fetch(ctx context.Context, a *app.App, folder string, o fetchOptions) error {
	if err := o.valid(); err != nil {
		return app.Usagef("%w", err)
	}
	to, err := filepath.Abs(folder)
	if err != nil {
		return err
	}
	if err := rootsAlone(to, o.like); err != nil {
		return app.Failf("%w", err)
	}
	if o.stage || o.remove {
		unlock, err := renew.Lock(ctx, filepath.Dir(to))
		if err != nil {
			return app.Failf("%w", err)
		}
		defer unlock()
	}
	if o.remove {
		if err := renew.Remove(to); err != nil {
			return app.Failf("%w", err)
		}
		return nil
	}
	if _, err := os.Lstat(to); o.stage && err == nil {
		if err := renew.Verify(to); err != nil {
			return app.Failf("a tree fetched earlier: %w", err)
		}
		return nil
	}
	part, err := renew.Prepare(to)
	if err != nil {
		return app.Usagef("%w", err)
	}
	defer part.Drop()
	if o.deb != "" {
		err = fromPackage(ctx, &o, part)
	} else {
		err = fromMirror(ctx, a, o, part)
	}
	if bad := new(renew.Untrusted); errors.As(err, &bad) {
		return app.Usagef("%w; %s was not made", err, ui.Quote(folder))
	}
	if err != nil {
		return app.Failf("%w; %s was not made", err, ui.Quote(folder))
	}
	rel := path.Join("debian-installer", o.arch)
	if o.like != "" {
		if err := carry(ctx, a, o.like, part, rel); err != nil {
			return app.Failf("copying what was added to the old tree: %w", err)
		}
	}
	if err := renew.Note(part.Root, rel); err != nil {
		return app.Usagef("the tree is not laid out as Debian's: %w", err)
	}
	if err := part.Finish(o.stage); err != nil {
		return app.Failf("%w", err)
	}
	fmt.Fprintf(a.Stdout, "%s holds the installer\n", ui.Visible(to))
	return nil
}

// rootsAlone refuses to work as root on folders that others can change: what
// was verified might not be what is served, and a link in it would lead root's
// writes elsewhere. Another user risks only what is the user's.
func rootsAlone(folders ...string) error {
	for _, f := range folders {
		if f == "" || os.Geteuid() != 0 {
			continue
		}
		abs, err := filepath.Abs(f)
		if err != nil {
			return err
		}
		err = machine.RootsAlone(machine.New(), abs)
		if shared := new(machine.Shared); errors.As(err, &shared) && shared.Owner != 0 {
			return fmt.Errorf("%w; or run it as user ID %d: fetching a tree needs no root", err, shared.Owner)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func carry(ctx context.Context, a *app.App, old string, new *renew.Part, rel string) error {
	src, err := a.OpenLive()
	if err != nil {
		return err
	}
	defer src.Close()
	if old, err = filepath.Abs(old); err != nil {
		return err
	}
	return renew.Carry(ctx, host.New(src), old, new, rel)
}

func fromMirror(ctx context.Context, a *app.App, o fetchOptions, part *renew.Part) error {
	s := renew.Source{Mirror: o.mirror, Suite: o.suite, Arch: o.arch, Keyring: o.keyring, GTK: o.gtk, GPGV: gpgv, Now: time.Now}
	t, err := s.Find(ctx)
	if err != nil {
		return err
	}
	if o.sum != "" && o.sum != t.SHA {
		return fmt.Errorf("the mirror now has another installer (SHA-256 %s; expected %s)", t.SHA, o.sum)
	}
	file, err := archive.TempFile()
	if err != nil {
		return err
	}
	defer file.Close()
	fmt.Fprintf(a.Stderr, "fetching %s\n", ui.Visible(t.URL))
	if err := t.Fetch(ctx, file, nil); err != nil {
		return err
	}
	if _, err := file.Seek(0, 0); err != nil {
		return err
	}
	return renew.UnpackGzip(file, part.Root)
}

// gpgv runs gpgv, which trusts the keys of the keyring that it is given and no others.
func gpgv(ctx context.Context, args ...string) ([]byte, error) {
	return output(ctx, nil, "/usr/bin/gpgv", args...)
}

// handed is where a program finds the file that it is handed open.
const handed = "/proc/self/fd/3"

// output is what a program prints, or its own last word.
func output(ctx context.Context, file *os.File, name string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, name, args...)
	c.Env = []string{"LC_ALL=C", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/nonexistent"}
	if file != nil {
		c.ExtraFiles = []*os.File{file}
	}
	var said strings.Builder
	c.Stderr = &said
	out, err := c.Output()
	if err != nil {
		lines := strings.Split(strings.TrimSpace(said.String()), "\n")
		return nil, fmt.Errorf("%s: %w: %s", path.Base(name), err, ui.Visible(lines[len(lines)-1]))
	}
	return out, nil
}

var installerPackage = lazy.Regexp(`^debian-installer-([0-9]+)-netboot-([a-z0-9]+)$`)

// maxPackage is more than such packages have, in bytes.
const maxPackage = 1 << 30

// copied is a copy of a file that has no name: nobody changes it between its
// verification and its use.
func copied(name string) (*os.File, error) {
	in, err := files.Hold(name)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	out, err := archive.TempFile()
	if err != nil {
		return nil, err
	}
	n, err := io.Copy(out, io.LimitReader(in, maxPackage+1))
	if err == nil && n > maxPackage {
		err = fmt.Errorf("%s is larger than %d bytes", name, maxPackage)
	}
	if err != nil {
		out.Close()
		return nil, err
	}
	return out, nil
}

// fromPackage takes the tree out of a package whose hash apt's lists have.
func fromPackage(ctx context.Context, o *fetchOptions, part *renew.Part) error {
	deb, err := copied(o.deb)
	if err != nil {
		return err
	}
	defer deb.Close()
	fields, err := output(ctx, deb, "/usr/bin/dpkg-deb", "--field", handed, "Package", "Version")
	if err != nil {
		return err
	}
	name, version := field(fields, "Package"), field(fields, "Version")
	m := installerPackage().FindStringSubmatch(name)
	if m == nil || !regexp.MustCompile(`^[0-9][0-9A-Za-z.+:~-]*$`).MatchString(version) {
		return fmt.Errorf("%s is package %s: expected debian-installer-NUMBER-netboot-ARCH", o.deb, ui.Quote(name))
	}
	sum, err := output(ctx, deb, "/usr/bin/sha256sum", "--", handed)
	if err != nil {
		return err
	}
	known, err := output(ctx, nil, "/usr/bin/apt-cache", "show", "--no-all-versions", name+"="+version)
	if err != nil {
		return fmt.Errorf("asking apt for the hash of %s %s: %w", name, version, err)
	}
	if got := strings.Fields(string(sum)); len(got) == 0 || got[0] != field(known, "SHA256") {
		return &renew.Untrusted{Err: fmt.Errorf("%s is not the %s %s of apt's verified lists (its SHA-256 is another)", o.deb, name, version)}
	}
	o.arch = m[2]
	kind := "text"
	if o.gtk {
		kind = "gtk"
	}
	c := exec.CommandContext(ctx, "/usr/bin/dpkg-deb", "--fsys-tarfile", handed)
	c.ExtraFiles = []*os.File{deb}
	c.Env = []string{"LC_ALL=C", "PATH=/usr/bin:/bin"}
	r, err := c.StdoutPipe()
	if err != nil {
		return err
	}
	if err := c.Start(); err != nil {
		return err
	}
	err = renew.Unpack(r, path.Join("usr/lib/debian-installer/images", m[1], m[2], kind), part.Root)
	if werr := c.Wait(); err == nil && werr != nil {
		err = fmt.Errorf("dpkg-deb: %w", werr)
	}
	return err
}

func field(stanza []byte, name string) string {
	for line := range strings.Lines(string(stanza)) {
		if v, ok := strings.CutPrefix(line, name+": "); ok {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

// swapCmd is what the plan of netboot-stale runs. Its probe is --check.
func swapCmd() *cobra.Command {
	var back, check bool
	c := &cobra.Command{
		Use:    "swap ROOT STAGE",
		Short:  "Exchange the installer below a served folder with a fetched one",
		Hidden: true,
		Args:   cobra.ExactArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			if check {
				done, err := renew.Swapped(args[0], args[1])
				if err == nil && !done {
					err = app.Exit(app.ExitFound, nil)
				}
				return err
			}
			if err := rootsAlone(args...); err != nil {
				return app.Failf("%w", err)
			}
			if err := renew.Swap(args[0], args[1], !back); err != nil {
				return app.Failf("%w", err)
			}
			return nil
		},
	}
	c.Flags().BoolVar(&back, "back", false, "put the old one back")
	c.Flags().BoolVar(&check, "check", false, "tell by the exit status whether the new one is served")
	c.MarkFlagsMutuallyExclusive("back", "check")
	return c
}
