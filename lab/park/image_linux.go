package park

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// installed leaves a base as Debian's installer leaves a host.
//
//go:embed installed.sh
var installed string

// Images are the bases and layers in a cache folder.
type Images struct{ Dir string }

// Layer returns the folders that make up a host's image, the uppermost
// first, building those that are missing.
func (im Images) Layer(ctx context.Context, r Recipe) ([]string, error) {
	base, err := im.base(ctx, r.Release)
	if err != nil {
		return nil, fmt.Errorf("building the base of %s: %w", r.Release, err)
	}
	if len(r.Packages) == 0 && r.Build == "" {
		return []string{base}, nil
	}
	dir := im.path(r.Name, base, strings.Join(r.Packages, " "), r.Build, fmt.Sprint(r.Bare))
	err = once(dir, func(tmp string) error { return install(ctx, tmp, base, r) })
	if err != nil {
		return nil, fmt.Errorf("building the layer of %s: %w", r.Name, err)
	}
	return []string{dir, base}, nil
}

// path names a folder after all that goes into it.
func (im Images) path(name string, of ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(of, "\x00")))
	return filepath.Join(im.Dir, name+"-"+hex.EncodeToString(sum[:6]))
}

func (im Images) base(ctx context.Context, release string) (string, error) {
	d := distributionOf(release)
	dir := im.path("base-"+release, d.packages, installed)
	return dir, once(dir, func(tmp string) error {
		args := []string{
			"--mode=root",
			"--variant=important",
			"--include=" + d.packages,
			"--dpkgopt=force-unsafe-io",
			`--aptopt=Acquire::Languages "none"`,
		}
		if d.keyring != "" {
			key, err := im.keyring(ctx, d)
			if err != nil {
				return err
			}
			args = append(args, "--keyring="+key)
		}
		args = append(args, release, tmp)
		for _, line := range d.sources {
			args = append(args, "deb "+fmt.Sprintf(line, release))
		}
		if err := run(ctx, "mmdebstrap", args...); err != nil {
			return err
		}
		return script(ctx, tmp, installed)
	})
}

// keyring takes the keys of a distribution that Debian has no package of from
// the distribution's own package, and believes them by their known sum alone.
func (im Images) keyring(ctx context.Context, d distribution) (string, error) {
	const file = "/usr/share/keyrings/ubuntu-archive-keyring.gpg"
	dir := im.path("keys", d.keyring, d.keyringSum)
	err := once(dir, func(tmp string) error {
		if err := run(ctx, "mmdebstrap", "--mode=root", "--variant=extract", "--include="+d.keyring, d.releases[0], filepath.Join(tmp, "root"),
			"deb [trusted=yes] "+fmt.Sprintf(d.sources[0], d.releases[0])); err != nil {
			return err
		}
		b, err := os.ReadFile(filepath.Join(tmp, "root", file))
		if err != nil {
			return err
		}
		if sum := sha256.Sum256(b); hex.EncodeToString(sum[:]) != d.keyringSum {
			return fmt.Errorf("%s has the sum %x, not %s", d.keyring, sum, d.keyringSum)
		}
		return errors.Join(os.WriteFile(filepath.Join(tmp, "keys.gpg"), b, 0o644), os.RemoveAll(filepath.Join(tmp, "root")))
	})
	return filepath.Join(dir, "keys.gpg"), err
}

// install makes a host's layer: what its packages and its script change.
func install(ctx context.Context, tmp, base string, r Recipe) error {
	root, unmount, err := overlay(tmp, base)
	if err != nil {
		return err
	}
	defer unmount()
	text := r.Build
	if len(r.Packages) > 0 {
		more := ""
		if r.Bare {
			more = "--no-install-recommends "
		}
		text = "apt-get update -q\napt-get install -y -q -o Dpkg::Options::=--force-unsafe-io " + more + strings.Join(
			r.Packages,
			" ",
		) + "\napt-get clean\n" + text
	}
	return script(ctx, root, text)
}

// script runs a shell script in an image that is not booted, with the network
// of this machine.
func script(ctx context.Context, root, text string, more ...string) error {
	args := append(more, "-q", "--register=no", "--keep-unit", "-D", root, "--resolv-conf=copy-host", "--pipe",
		"--setenv=DEBIAN_FRONTEND=noninteractive", "--setenv=LANG=C.UTF-8", "/bin/sh", "-exc", text)
	return run(ctx, "systemd-nspawn", args...)
}

// once fills a folder by build, if it is not there yet. What build leaves half
// done never gets the folder's name.
func once(dir string, build func(tmp string) error) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	tmp := dir + ".part"
	if err := errors.Join(os.RemoveAll(tmp), os.MkdirAll(tmp, 0o755)); err != nil {
		return err
	}
	if err := build(tmp); err != nil {
		return err
	}
	return os.Rename(tmp, dir)
}

// overlay mounts lower folders with upper above them, at a folder of its own
// until unmount is called.
func overlay(upper string, lower ...string) (root string, unmount func(), err error) {
	dir, err := os.MkdirTemp(filepath.Dir(upper), "mount-")
	if err != nil {
		return "", nil, err
	}
	root, work := filepath.Join(dir, "root"), filepath.Join(dir, "work")
	if err := errors.Join(os.Mkdir(root, 0o755), os.Mkdir(work, 0o755)); err != nil {
		return "", nil, err
	}
	opts := "lowerdir=" + strings.Join(lower, ":") + ",upperdir=" + upper + ",workdir=" + work
	if err := unix.Mount("overlay", root, "overlay", 0, opts); err != nil {
		return "", nil, fmt.Errorf("mounting an overlay of %s: %w", strings.Join(lower, ", "), err)
	}
	return root, func() {
		if unix.Unmount(root, 0) == nil {
			os.RemoveAll(dir)
		}
	}, nil
}

// run runs a program to its end; what it printed last is part of the error.
func run(ctx context.Context, name string, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", name, err, lastLines(string(out), 15))
	}
	return nil
}

func lastLines(s string, n int) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// readJSON reads a file that fettle wrote.
func readJSON(file string, into any) error {
	b, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the host left no %s", filepath.Base(file))
	}
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, into); err != nil {
		return fmt.Errorf("reading %s: %w", filepath.Base(file), err)
	}
	return nil
}
