// Package stale judges whether a served installer still finds its modules: the
// udebs on a mirror must be for the very kernel that was booted.
package stale

import (
	"errors"
	"fmt"
	"strings"

	"fettle/tools/netboot/mirror"
	"fettle/tools/netboot/tree"
)

// Kind is what is said of a pair.
type Kind int

const (
	Unknown Kind = iota // Err says why
	Foreign             // no installer of Debian's: Summary says whose
	Fine
	Older // modules are there, and those for a newer kernel too
	Mixed // the kernel and its initrd do not belong together
	Gone  // no modules on the mirror
)

// Verdict is what is said of one pair.
type Verdict struct {
	Kind    Kind
	Summary string // holds nothing that changes by itself
	Detail  string
	Err     error
	Facts   []Fact
	// Build is of the installer that is served, "20230607+deb12u15".
	Build string
}

// Fact is one thing that was read.
type Fact struct{ Source, Value string }

// Judge judges one pair. offered asks its mirror; it is asked last, and only
// about installers of Debian's.
func Judge(p *tree.Pair, offered func(*tree.Pair) (mirror.Index, error)) Verdict {
	v := Verdict{Build: p.Build()}
	if p.Err != nil {
		v.Err = fmt.Errorf("the initrd: %w", p.Err)
		return v
	}
	v.fact(p.Initrd, describe(p))
	if d := p.Distribution(); d != "Debian" {
		v.Kind, v.Summary = Foreign, "its initrd is not of Debian's installer, the only one that fettle compares with mirrors"
		if d != "" {
			v.Summary = "is " + d + "'s: fettle compares trees of Debian's installer alone"
		}
		return v
	}
	if p.KernelErr != nil && len(p.Modules()) != 1 {
		v.Err = fmt.Errorf("the kernel: %w", p.KernelErr)
		return v
	}
	if p.KernelErr == nil {
		v.fact(p.Linux, p.Kernel.Form+", "+p.Kernel.Release)
	} else {
		v.fact(p.Linux, p.KernelErr.Error())
	}
	if p.Info.Build != "" {
		v.fact(p.Info.Path, strings.TrimSpace(p.Info.Release+", build "+p.Info.Build))
	}
	if v.mixed(p) {
		return v
	}
	switch {
	case p.Release() == "":
		v.Err = errors.New("neither the kernel nor its initrd tells of which release it is")
	case p.Suite() == "" || p.Arch() == "":
		v.Err = errors.New("the tree does not tell which suite and architecture it installs")
	default:
		v.compare(p, offered)
	}
	return v
}

func (v *Verdict) fact(source, value string) { v.Facts = append(v.Facts, Fact{source, value}) }

// describe is an initrd in one line.
func describe(p *tree.Pair) string {
	words := []string{}
	if p.Distribution() != "" {
		words = append(words, p.Distribution()+" "+p.Ramdisk.Description)
	}
	if ms := p.Modules(); len(ms) > 0 {
		words = append(words, "modules for "+strings.Join(ms, ", "))
	} else {
		words = append(words, "no modules")
	}
	return strings.Join(words, ", ")
}

// mixed: an initrd without modules for its kernel cannot even find a network card.
func (v *Verdict) mixed(p *tree.Pair) bool {
	if p.KernelErr != nil || len(p.Modules()) == 0 || p.Ramdisk.Modules[p.Release()] > 0 {
		return false
	}
	v.Kind, v.Summary = Mixed, "the kernel and its initrd do not belong together: the installer finds no network card"
	v.Detail = fmt.Sprintf(
		"The kernel is %s, the initrd has modules for %s. Take both from one tree.",
		p.Release(),
		strings.Join(p.Modules(), ", "),
	)
	return true
}

func (v *Verdict) compare(p *tree.Pair, offered func(*tree.Pair) (mirror.Index, error)) {
	ix, err := offered(p)
	if err != nil {
		v.Err = err
		return
	}
	var has []string
	for _, k := range ix.Kernels {
		has = append(has, k.Release)
	}
	v.fact(ix.From, "modules for "+strings.Join(has[:min(len(has), 6)], ", "))
	k, listed := ix.Find(p.Release())
	newest, any := ix.Newest(p.Release())
	built := ""
	if v.Build != "" {
		built = fmt.Sprintf(" It was built as %s.", v.Build)
	}
	switch {
	case !listed:
		v.Kind, v.Summary = Gone, "the mirror has no modules any more for the kernel of this installer: it will find no disks, or not offer ext4"
		v.Detail = fmt.Sprintf("It boots Linux %s.%s", p.Release(), built)
		if any {
			v.Detail += fmt.Sprintf(" The mirror has modules for %s.", newest.Release)
		}
	case !k.Ext4:
		v.Kind, v.Summary = Gone, "the mirror has no ext4 modules for the kernel of this installer: its partitioner will not offer ext4"
		v.Detail = fmt.Sprintf("It boots Linux %s.%s", p.Release(), built)
	case any && newest.Release != k.Release && mirror.Compare(newest.Version, k.Version) > 0:
		v.Kind, v.Summary = Older, "the mirror has a newer installer: with its next point release this one will find no modules"
		v.Detail = fmt.Sprintf("It boots Linux %s; the mirror has modules for %s too.%s", p.Release(), newest.Release, built)
	default:
		v.Kind, v.Summary = Fine, "the mirror has the modules for its kernel"
	}
	if v.Build != "" && p.Info.Build != "" && p.Info.Build != v.Build {
		v.Detail += fmt.Sprintf(" version.info is of another build, %s: the tree was renewed in parts.", p.Info.Build)
	}
}
