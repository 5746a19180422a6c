package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
)

// Package is one package that the host's package manager knows.
type Package struct {
	Name    string
	Version string // with epoch, as the package manager compares it: "1:2.3-4"
	Arch    string
	// Status is what dpkg says in its third word ("installed",
	// "config-files", "half-configured", …); "installed" for rpm.
	Status string
}

// Installed reports whether the package's files are on the host.
func (p Package) Installed() bool {
	return p.Status != "config-files" && p.Status != "not-installed"
}

// DpkgStatus is what dpkg knows of packages (dpkg(1), FILES).
const DpkgStatus = "/var/lib/dpkg/status"

const (
	dpkgFolder = "/var/lib/dpkg/status.d" // one file a package: distroless images
	rpmFormat  = `%{NAME}\t%|EPOCH?{%{EPOCH}:}:{}|%{VERSION}-%{RELEASE}\t%{ARCH}\n`
)

// Packages lists the host's packages, as dpkg's status file or rpm tell them.
// ErrAbsent: no package database that fettle knows is there. The caller must
// not change the slice.
func (h *Host) Packages(ctx context.Context) ([]Package, error) {
	return remember(ctx, &h.cache, "packages", func() ([]Package, error) { return h.readPackages(ctx) })
}

// Package finds an installed package by name (and, after a colon,
// architecture: "libc6:amd64"). ErrAbsent: the database is there and the
// package is not installed, or there is no database: see Packages.
func (h *Host) Package(ctx context.Context, name string) (Package, error) {
	all, err := h.Packages(ctx)
	if err != nil {
		return Package{}, err
	}
	name, arch, _ := strings.Cut(name, ":")
	for _, p := range all {
		if p.Name == name && (arch == "" || p.Arch == arch) && p.Installed() {
			return p, nil
		}
	}
	return Package{}, wrap("looking for package", name, ErrAbsent)
}

func (h *Host) readPackages(ctx context.Context) ([]Package, error) {
	b, err := h.ReadFile(ctx, DpkgStatus)
	if err == nil {
		ps, err := parseDpkg(DpkgStatus, b)
		if err != nil {
			return nil, err
		}
		// An rpm host may carry an empty dpkg, for building foreign packages.
		if len(ps) > 0 {
			return ps, nil
		}
	} else if !IsAbsent(err) {
		return nil, err
	}
	ps, err := h.dpkgFolder(ctx)
	if len(ps) > 0 || err != nil {
		return ps, err
	}
	return h.rpmPackages(ctx)
}

func (h *Host) dpkgFolder(ctx context.Context) ([]Package, error) {
	es, err := h.ReadDir(ctx, dpkgFolder)
	if err != nil {
		// Where nobody collected this folder, the rpm database may still be there.
		if IsAbsent(err) || errors.Is(err, ErrNotCollected) {
			return nil, nil
		}
		return nil, err
	}
	var out []Package
	for _, e := range es {
		if e.Type.IsDir() || strings.HasSuffix(e.Name, ".md5sums") {
			continue
		}
		name := path.Join(dpkgFolder, e.Name)
		b, err := h.ReadFile(ctx, name)
		if err != nil {
			return nil, err
		}
		ps, err := parseDpkg(name, b)
		if err != nil {
			return nil, err
		}
		out = append(out, ps...)
	}
	return out, nil
}

func (h *Host) rpmPackages(ctx context.Context) ([]Package, error) {
	found := false
	for _, dir := range []string{"/usr/lib/sysimage/rpm", "/var/lib/rpm"} {
		ok, err := h.Exists(ctx, dir)
		if err != nil && !errors.Is(err, ErrNotCollected) {
			return nil, err
		}
		found = found || ok || err != nil
	}
	if !found {
		return nil, wrap("reading", DpkgStatus+" or the rpm database", ErrAbsent)
	}
	out, err := h.Run(ctx, "rpm", "-qa", "--qf", rpmFormat)
	if errors.Is(err, ErrNotRunning) {
		// The database is there all the same: nobody may take this for "does not apply".
		return nil, errors.New("the rpm database of a root folder is not read: only rpm on the running host can")
	}
	if err != nil {
		return nil, err
	}
	if out.Exit != 0 {
		return nil, fmt.Errorf("rpm -qa: exit status %d: %s", out.Exit, bytes.TrimSpace(out.Stderr))
	}
	return parseRPM(out.Stdout)
}

// parseRPM reads lines of rpmFormat.
func parseRPM(b []byte) ([]Package, error) {
	var ps []Package
	n := 0
	for line := range bytes.Lines(b) {
		n++
		f := strings.Split(strings.TrimSuffix(string(line), "\n"), "\t")
		if len(f) != 3 || f[0] == "" {
			return nil, &SyntaxError{Path: "rpm -qa", Line: n, Msg: "not of the form name, version, architecture"}
		}
		if f[0] == "gpg-pubkey" {
			continue // a key that rpm files under packages
		}
		ps = append(ps, Package{Name: f[0], Version: f[1], Arch: f[2], Status: "installed"})
	}
	return ps, nil
}

// parseDpkg reads a file of dpkg's status form: paragraphs of "Field: value",
// continued by lines that begin with white space (deb822(5)). One pass,
// copying only the four fields that are kept. A paragraph without a Status is
// installed: that is how status.d writes it.
func parseDpkg(file string, b []byte) ([]Package, error) {
	ps := make([]Package, 0, len(b)/1200) // a paragraph takes about 1.2 kB
	var p Package
	n, begun := 0, 0
	flush := func() error {
		if begun == 0 {
			return nil
		}
		if p.Name == "" {
			return &SyntaxError{Path: file, Line: begun, Msg: "a paragraph without a Package field"}
		}
		if p.Status == "" {
			p.Status = "installed"
		}
		ps, p, begun = append(ps, p), Package{}, 0
		return nil
	}
	for len(b) > 0 {
		n++
		line := b
		if i := bytes.IndexByte(b, '\n'); i >= 0 {
			line, b = b[:i], b[i+1:]
		} else {
			b = nil
		}
		if len(line) == 0 || len(bytes.TrimRight(line, " \t\r")) == 0 {
			if err := flush(); err != nil {
				return nil, err
			}
			continue
		}
		if begun == 0 {
			begun = n
		}
		switch line[0] {
		case ' ', '\t', '#':
			continue
		case 'P', 'V', 'A', 'S', 'p', 'v', 'a', 's':
		default:
			if !bytes.ContainsRune(line, ':') {
				return nil, &SyntaxError{Path: file, Line: n, Msg: "neither a field nor its continuation"}
			}
			continue
		}
		field, value, ok := bytes.Cut(line, []byte{':'})
		if !ok {
			return nil, &SyntaxError{Path: file, Line: n, Msg: "neither a field nor its continuation"}
		}
		value = bytes.TrimSpace(value)
		switch {
		case bytes.EqualFold(field, []byte("Package")):
			p.Name = string(value)
		case bytes.EqualFold(field, []byte("Version")):
			p.Version = string(value)
		case bytes.EqualFold(field, []byte("Architecture")):
			p.Arch = string(value)
		case bytes.EqualFold(field, []byte("Status")):
			// "install ok installed": what is wanted, a flag, what is.
			p.Status = string(value[bytes.LastIndexByte(value, ' ')+1:])
		}
	}
	return ps, flush()
}
