// Package tree finds what a TFTP server hands out to boot from: kernels with
// their initrds, and of which release they are.
package tree

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"fettle/host"
	"fettle/host/bootimage"
	"fettle/internal/lazy"
)

// Pair is a kernel with the initrd beside it.
type Pair struct {
	Folder         string // of both
	Linux, Initrd  string // paths
	Kernel         bootimage.Kernel
	Ramdisk        bootimage.Initrd
	KernelErr, Err error // why either could not be read; Err is the initrd's
	Info           Info
}

// Info is the tree's own version.info: which installer was unpacked there last,
// whatever has been put in the place of its files since.
type Info struct{ Path, Release, Build string }

const (
	maxDepth   = 6
	maxFolders = 2000
	maxPairs   = 500 // each is unpacked
)

var (
	kernelName = lazy.Regexp(`^(linux|vmlinu[xz]|bzImage|Image)([.-].*)?$`)
	initrdName = lazy.Regexp(`^(initrd|initramfs|netboot\.initrd)([.-].*)?$`)
	notKernel  = lazy.Regexp(`\.(mod|c32|cfg|txt|png|sig|asc|efi|old|new)$`)
)

// Find walks a served folder and reads each kernel that has an initrd beside
// it. Symlinks are not followed but for the folder itself: what they lead to
// lies in the folder, or is not served by every server.
func Find(ctx context.Context, h *host.Host, root string) ([]Pair, error) {
	pairs, err := Locate(ctx, h, root)
	for i := range pairs {
		pairs[i].Read(ctx, h)
	}
	return pairs, err
}

// Locate is Find that reads none of them.
func Locate(ctx context.Context, h *host.Host, root string) ([]Pair, error) {
	var pairs []Pair
	folders := 0
	var walk func(dir string, depth int) error
	walk = func(dir string, depth int) error {
		if folders++; folders > maxFolders {
			return fmt.Errorf("%s holds more than %d folders", root, maxFolders)
		}
		es, err := h.ReadDir(ctx, dir)
		if err != nil {
			return err
		}
		if pairs = append(pairs, paired(dir, es)...); len(pairs) > maxPairs {
			pairs = nil
			return fmt.Errorf("%s holds more than %d kernels with an initrd", root, maxPairs)
		}
		for _, e := range es {
			if e.Type.IsDir() && depth < maxDepth && !strings.HasPrefix(e.Name, ".") {
				if err := walk(path.Join(dir, e.Name), depth+1); err != nil {
					return err
				}
			}
		}
		return nil
	}
	err := walk(path.Clean(root), 0)
	return pairs, err
}

// paired takes the kernels of one folder with their initrds: the only one, or
// the one whose name ends alike ("vmlinuz-6.1" and "initrd-6.1.img").
func paired(dir string, es []host.Entry) []Pair {
	var kernels, initrds []string
	for _, e := range es {
		switch {
		case e.Type&fs.ModeType != 0 || notKernel().MatchString(e.Name):
		case kernelName().MatchString(e.Name):
			kernels = append(kernels, e.Name)
		case initrdName().MatchString(e.Name):
			initrds = append(initrds, e.Name)
		}
	}
	var out []Pair
	for _, k := range kernels {
		i := ""
		_, version, _ := strings.Cut(k, "-")
		for _, name := range initrds {
			if version != "" && strings.Contains(name, version) || len(initrds) == 1 && len(kernels) == 1 ||
				version == "" && !strings.Contains(name, "-") && i == "" {
				i = name
			}
		}
		if i != "" {
			out = append(out, Pair{Folder: dir, Linux: path.Join(dir, k), Initrd: path.Join(dir, i)})
		}
	}
	return out
}

// Read reads both.
func (p *Pair) Read(ctx context.Context, h *host.Host) {
	p.Kernel, p.KernelErr = bootimage.ReadKernel(ctx, h, p.Linux)
	p.Ramdisk, p.Err = bootimage.ReadInitrd(ctx, h, p.Initrd)
	p.Info = readInfo(ctx, h, path.Join(p.Folder, "../../version.info"))
}

// readInfo reads version.info, which other trees than Debian's have not.
func readInfo(ctx context.Context, h *host.Host, name string) Info {
	text, err := h.ReadString(ctx, name)
	if err != nil || len(text) > 1000 {
		return Info{}
	}
	i := Info{Path: name}
	for line := range strings.Lines(text) {
		field, value, _ := strings.Cut(line, ":")
		switch value = strings.TrimSpace(value); field {
		case "Debian version":
			i.Release = value
		case "Installer build":
			i.Build = value
		}
	}
	return i
}

// Release is what uname -r says when the pair has booted: of the kernel, or
// where the kernel's form hides it, of the initrd's only modules.
func (p *Pair) Release() string {
	if p.Kernel.Release != "" {
		return p.Kernel.Release
	}
	if rs := p.Modules(); len(rs) == 1 {
		return rs[0]
	}
	return ""
}

// Modules are the releases that the initrd has modules for, sorted.
func (p *Pair) Modules() []string {
	var out []string
	for r := range p.Ramdisk.Modules {
		out = append(out, r)
	}
	slices.Sort(out)
	return out
}

// Distribution is whose installer it is: "Debian", "Ubuntu"; empty where the initrd
// does not tell, and then it is no installer of either.
func (p *Pair) Distribution() string { return p.Ramdisk.Distribution }

var build = lazy.Regexp(`installer build (\S+)`)

// Build is the version of debian-installer, by its initrd or else by version.info:
// "20230607+deb12u15".
func (p *Pair) Build() string {
	if m := build().FindStringSubmatch(p.Ramdisk.Description); m != nil {
		return m[1]
	}
	return p.Info.Build
}

// architectures by the ends of Debian's releases of Linux.
var architectures = []struct{ suffix, arch string }{
	{
		"-amd64",
		"amd64",
	}, {"-arm64", "arm64"}, {"-686", "i386"}, {"-686-pae", "i386"}, {"-586", "i386"}, {"-486", "i386"}, {"-armmp", "armhf"},
	{"-marvell", "armel"}, {"-powerpc64le", "ppc64el"}, {"-s390x", "s390x"}, {"-riscv64", "riscv64"},
	{"-loongson-3", "mips64el"}, {"-5kc-malta", "mips64el"}, {"-octeon", "mips64el"}, {"-4kc-malta", "mipsel"},
}

// Arch is Debian's name of the architecture: of a folder debian-installer/ARCH,
// or by the kernel's release.
func (p *Pair) Arch() string {
	parts := strings.Split(p.Folder, "/")
	if i := slices.Index(parts, "debian-installer"); i >= 0 && i+1 < len(parts) {
		for _, a := range architectures {
			if a.arch == parts[i+1] {
				return a.arch
			}
		}
	}
	for _, a := range architectures {
		if strings.HasSuffix(p.Release(), a.suffix) {
			return a.arch
		}
	}
	return ""
}
