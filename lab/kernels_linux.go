package lab

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// FindKernel turns what the user named into a kernel for qemu: "" (the newest
// in /boot, else Debian's for virtual machines), a bzImage, a Debian
// linux-image .deb, or the name of such a package, which apt fetches. Packages
// are unpacked once, into a cache. tell hears what takes time.
func FindKernel(ctx context.Context, name, modules string, tell func(string)) (Kernel, error) {
	if modules != "" {
		k, err := QEMU(name)
		k.Modules = modules
		return k, err
	}
	switch {
	case strings.HasSuffix(name, ".deb"):
		return kernelOfDeb(ctx, name)
	case Packaged(name):
		return kernelOfPackage(ctx, name, tell)
	}
	if name == "" {
		k, err := QEMU("")
		if _, noApt := FindTool("apt-get"); err == nil || noApt != nil || runtime.GOARCH != "amd64" {
			return k, err
		}
		return kernelOfPackage(ctx, defaultPackage, tell)
	}
	return QEMU(name)
}

// Named is the kernel that a scenario needs by name: a package's, or one that
// make has built here.
func Named(ctx context.Context, name string, tell func(string)) (Kernel, error) {
	if Packaged(name) {
		return kernelOfPackage(ctx, name, tell)
	}
	return Built(name)
}

// Packaged tells whether a kernel's name is that of a package, which is fetched.
func Packaged(name string) bool { return strings.HasPrefix(name, "linux-image-") }

// defaultPackage is fetched where no kernel is installed and none is named.
const defaultPackage = "linux-image-cloud-amd64"

// cacheDir is where unpacked kernels stay.
func cacheDir() (string, error) {
	base, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("finding a cache folder for kernels: %w", err)
	}
	dir := filepath.Join(base, "fettle", "kernels")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	// Packages are unpacked here, by root where root asks: under sudo -E the
	// folder may be the caller's.
	return dir, othersMayWrite(dir)
}

// kernelOfPackage fetches a linux-image package with apt and unpacks it. A
// metapackage (linux-image-cloud-amd64) leads to the package it depends on.
func kernelOfPackage(ctx context.Context, name string, tell func(string)) (Kernel, error) {
	cache, err := cacheDir()
	if err != nil {
		return Kernel{}, err
	}
	real := name
	out, err := command(ctx, time.Minute, "/", "apt-cache", "depends", name)
	if err != nil {
		return Kernel{}, fmt.Errorf("asking apt what %s depends on: %w; is the name right, and has apt-get update been run?", name, err)
	}
	for line := range strings.Lines(out) {
		if dep, ok := strings.CutPrefix(strings.TrimSpace(line), "Depends: linux-image-"); ok {
			real = "linux-image-" + dep
			break
		}
	}
	if have, _ := filepath.Glob(filepath.Join(cache, "*", "package-"+real)); len(have) > 0 {
		return kernelIn(filepath.Dir(have[0]))
	}
	tell("fetching " + real + " with apt-get, into " + cache)
	tmp, err := os.MkdirTemp(cache, "fetch-")
	if err != nil {
		return Kernel{}, err
	}
	defer os.RemoveAll(tmp)
	if _, err := command(ctx, 10*time.Minute, tmp, "apt-get", "download", "-q", real); err != nil {
		return Kernel{}, fmt.Errorf("fetching %s: %w; is the name right, and has apt-get update been run?", real, err)
	}
	debs, _ := filepath.Glob(filepath.Join(tmp, "*.deb"))
	if len(debs) != 1 {
		return Kernel{}, fmt.Errorf("fetching %s: apt-get download left %d files, expected 1", real, len(debs))
	}
	k, err := kernelOfDeb(ctx, debs[0])
	if err == nil {
		err = os.WriteFile(filepath.Join(filepath.Dir(filepath.Dir(k.File)), "package-"+real), nil, 0o600)
	}
	return k, err
}

// kernelOfDeb unpacks a linux-image package into the cache, under its hash.
func kernelOfDeb(ctx context.Context, file string) (Kernel, error) {
	f, err := os.Open(file)
	if err != nil {
		return Kernel{}, fmt.Errorf("opening the kernel package: %w", err)
	}
	defer f.Close()
	magic := make([]byte, 8)
	if _, err := io.ReadFull(f, magic); err != nil || !bytes.Equal(magic, []byte("!<arch>\n")) {
		return Kernel{}, fmt.Errorf("%s is not a Debian package: it does not begin with !<arch>", file)
	}
	sum := sha256.New()
	sum.Write(magic)
	if _, err := io.Copy(sum, f); err != nil {
		return Kernel{}, fmt.Errorf("reading %s: %w", file, err)
	}
	cache, err := cacheDir()
	if err != nil {
		return Kernel{}, err
	}
	dir := filepath.Join(cache, hex.EncodeToString(sum.Sum(nil))[:24])
	if _, err := os.Stat(dir); err == nil {
		return kernelIn(dir)
	}
	tmp, err := os.MkdirTemp(cache, "unpack-")
	if err != nil {
		return Kernel{}, err
	}
	defer os.RemoveAll(tmp)
	abs, err := filepath.Abs(file)
	if err != nil {
		return Kernel{}, err
	}
	if _, err := command(ctx, 5*time.Minute, tmp, "dpkg-deb", "-x", abs, tmp); err != nil {
		return Kernel{}, fmt.Errorf("unpacking %s: %w", file, err)
	}
	releases, _ := os.ReadDir(modulesBase(tmp))
	if vm, _ := filepath.Glob(filepath.Join(tmp, "boot", "vmlinuz-*")); len(vm) != 1 || len(releases) != 1 {
		return Kernel{}, fmt.Errorf(
			"%s is not a kernel package: it holds %d boot/vmlinuz-* and %d folders of modules, expected one of each",
			file,
			len(vm),
			len(releases),
		)
	}
	// depmod's lists are made when a package is installed, not when it is built.
	base := tmp
	if strings.HasSuffix(modulesBase(tmp), "/usr/lib/modules") {
		base = filepath.Join(tmp, "usr")
	}
	if _, err := command(ctx, time.Minute, tmp, "depmod", "-b", base, releases[0].Name()); err != nil {
		return Kernel{}, fmt.Errorf("listing the modules of %s: %w", file, err)
	}
	if err := os.Rename(tmp, dir); err != nil && !errors.Is(err, fs.ErrExist) {
		return Kernel{}, err
	}
	return kernelIn(dir)
}

// modulesBase is lib/modules, or usr/lib/modules of packages since Debian 13.
func modulesBase(dir string) string {
	if p := filepath.Join(dir, "usr", "lib", "modules"); isDir(p) {
		return p
	}
	return filepath.Join(dir, "lib", "modules")
}

func isDir(p string) bool {
	st, err := os.Stat(p)
	return err == nil && st.IsDir()
}

func kernelIn(dir string) (Kernel, error) {
	vm, _ := filepath.Glob(filepath.Join(dir, "boot", "vmlinuz-*"))
	deps, _ := filepath.Glob(filepath.Join(modulesBase(dir), "*", "modules.dep"))
	if len(vm) != 1 || len(deps) != 1 {
		return Kernel{}, fmt.Errorf("the cached kernel in %s is not whole: remove that folder and try again", dir)
	}
	if err := checkBzImage(vm[0]); err != nil {
		return Kernel{}, err
	}
	return Kernel{Engine: "qemu", File: vm[0], Modules: filepath.Dir(deps[0])}, nil
}

// command runs a program of the host and returns what it printed; its own
// last line of complaint is in the error.
func command(ctx context.Context, limit time.Duration, dir, name string, args ...string) (string, error) {
	bin, err := FindTool(name)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, bin, args...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C", "HOME=/"}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		lines := strings.Split(strings.TrimSpace(errs.String()), "\n")
		said := lines[len(lines)-1]
		if strings.Contains(errs.String(), "No space left on device") {
			said = "no space left on the device that holds " + dir // dpkg's last line speaks of its subprocess
		}
		return out.String(), fmt.Errorf("%s: %w: %s", name, err, said)
	}
	return out.String(), nil
}
