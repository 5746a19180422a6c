// Package mirror reads what a mirror of Debian offers to its installer: the
// udebs of debian-installer, by the kernel that they are for.
package mirror

import (
	"bufio"
	"bytes"
	"compress/bzip2"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/klauspost/compress/gzip"
	debversion "github.com/knqyf263/go-deb-version"

	"fettle/host"
	"fettle/host/archive"
	"fettle/internal/sorted"
)

// Index is the list of udebs of one suite and architecture.
type Index struct {
	From  string // where it was read
	Udebs int
	// Kernels are the releases that have modules, the newest first.
	Kernels []Kernel
}

// Kernel is one release of Linux with the udebs for it.
type Kernel struct {
	Release string // "6.1.0-50-amd64"
	Version string // of the package: "6.1.176-1"
	Udebs   int
	Ext4    bool // ext4-modules-RELEASE-di is among them
}

const (
	maxIndex  = 64 << 20 // bytes, unpacked; Debian 12's has 400 KiB
	maxPacked = 16 << 20
	window    = 64 << 20
)

// ErrNoUdebs is a list that is none of an installer's.
var ErrNoUdebs = errors.New("it lists no kernel modules for an installer")

// Parse reads a Packages file, plain or packed with xz, gzip or bzip2.
func Parse(b []byte) (Index, error) {
	r, err := unpack(b)
	if err != nil {
		return Index{}, err
	}
	limited := &io.LimitedReader{R: r, N: maxIndex + 1}
	var ix Index
	byRelease := map[string]*Kernel{}
	s := bufio.NewScanner(limited)
	s.Buffer(make([]byte, 64<<10), 1<<20)
	fields := map[string]string{}
	end := func() {
		ix.add(fields, byRelease)
		clear(fields)
	}
	for s.Scan() {
		line := s.Text()
		if strings.TrimSpace(line) == "" {
			end()
			continue
		}
		if name, value, ok := strings.Cut(line, ":"); ok && line[0] != ' ' && line[0] != '\t' {
			fields[name] = strings.TrimSpace(value)
		}
	}
	end()
	switch {
	case s.Err() != nil:
		return Index{}, s.Err()
	case limited.N == 0:
		return Index{}, fmt.Errorf("unpacks to more than %d MiB: refused", maxIndex>>20)
	case len(byRelease) == 0:
		return Index{}, ErrNoUdebs
	}
	for _, k := range byRelease {
		ix.Kernels = append(ix.Kernels, *k)
	}
	sorted.By(ix.Kernels, func(a, b Kernel) int {
		if c := -Compare(a.Version, b.Version); c != 0 {
			return c
		}
		return -Compare(a.Release, b.Release)
	})
	return ix, nil
}

// add takes one stanza.
func (ix *Index) add(f map[string]string, byRelease map[string]*Kernel) {
	if f["Package"] == "" {
		return
	}
	ix.Udebs++
	release := f["Kernel-Version"]
	if release == "" || len(byRelease) > 1000 {
		return
	}
	k := byRelease[release]
	if k == nil {
		k = &Kernel{Release: release}
		byRelease[release] = k
	}
	k.Udebs++
	if f["Package"] == "ext4-modules-"+release+"-di" {
		k.Ext4 = true
	}
	if Compare(f["Version"], k.Version) > 0 {
		k.Version = f["Version"]
	}
}

// Find is the kernel of a release.
func (ix *Index) Find(release string) (Kernel, bool) {
	for _, k := range ix.Kernels {
		if k.Release == release {
			return k, true
		}
	}
	return Kernel{}, false
}

// Newest is the newest kernel of a release's own flavour (amd64, rt-amd64).
func (ix *Index) Newest(release string) (Kernel, bool) {
	for _, k := range ix.Kernels {
		if Flavour(k.Release) == Flavour(release) {
			return k, true
		}
	}
	return Kernel{}, false
}

// Flavour is what follows the ABI's number: "amd64" of "6.1.0-50-amd64",
// "amd64" of "6.12.57+deb13-amd64".
func Flavour(release string) string {
	parts := strings.Split(release, "-")
	for i := 1; i < len(parts); i++ {
		if p := parts[i]; strings.Trim(p, "0123456789") != "" && !strings.HasPrefix(p, "bpo") && !strings.HasPrefix(p, "0.") {
			return strings.Join(parts[i:], "-")
		}
	}
	return ""
}

// Compare compares versions as dpkg does; one that is none is older than any.
func Compare(a, b string) int {
	va, erra := debversion.NewVersion(a)
	vb, errb := debversion.NewVersion(b)
	switch {
	case erra != nil && errb != nil:
		return 0
	case erra != nil:
		return -1
	case errb != nil:
		return 1
	}
	return va.Compare(vb)
}

func unpack(b []byte) (io.Reader, error) {
	r := bytes.NewReader(b)
	switch {
	case bytes.HasPrefix(b, []byte("\xfd7zXZ\x00")):
		return archive.XZStream(bufio.NewReaderSize(r, 64<<10), window)
	case bytes.HasPrefix(b, []byte("\x1f\x8b")):
		return gzip.NewReader(r)
	case bytes.HasPrefix(b, []byte("BZh")):
		return bzip2.NewReader(r), nil
	}
	return r, nil
}

// Path is where a mirror keeps the list, packed with xz.
func Path(suite, arch string) string {
	return path.Join("dists", suite, "main/debian-installer/binary-"+arch, "Packages.xz")
}

// URL is the list below the URL of a mirror, as http://deb.debian.org/debian.
func URL(base, suite, arch string) string {
	return strings.TrimRight(base, "/") + "/" + Path(suite, arch)
}

// Ask asks a mirror for the list.
func Ask(ctx context.Context, h *host.Host, base, suite, arch string) (Index, error) {
	url := URL(base, suite, arch)
	p, err := h.Page(ctx, url)
	switch {
	case err != nil:
		return Index{}, err
	case p.Status == 404:
		return Index{}, fmt.Errorf("%s: the mirror has no such list: is the release archived, or the mirror a partial one?", url)
	case p.Status != 200:
		return Index{}, fmt.Errorf("%s: the mirror answers %d", url, p.Status)
	}
	ix, err := Parse(p.Body)
	if err != nil {
		return Index{}, fmt.Errorf("%s: %w", url, err)
	}
	ix.From = url
	return ix, nil
}
