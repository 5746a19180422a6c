package stale

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"fettle/host/bootimage"
	"fettle/tools/netboot/mirror"
	"fettle/tools/netboot/tree"
)

const (
	boots  = "6.1.0-50-amd64"
	latest = "6.1.0-60-amd64"
)

// TestJudge: what is said of each kind of pair, and which facts are named for it.
func TestJudge(t *testing.T) {
	release := func(name, version string, ext4 bool) mirror.Kernel {
		return mirror.Kernel{Release: name, Version: version, Ext4: ext4}
	}
	var (
		own    = release(boots, "6.1.176-1", true)
		newer  = release(latest, "6.1.200-1", true)
		read   = "initrd.gz: Debian 12, modules for " + boots + "; linux: bzImage, " + boots + "; "
		booted = "It boots Linux " + boots + "."
	)
	for name, c := range map[string]struct {
		change func(*tree.Pair)
		offers []mirror.Kernel // none: the mirror is not to be asked
		want   string
	}{
		"fine": {offers: []mirror.Kernel{own}, want: "2: the mirror has the modules for its kernel: : " + read + "mirror: modules for " + boots},
		"older": {offers: []mirror.Kernel{newer, own},
			want: "3: the mirror has a newer installer: with its next point release this one will find " +
				"no modules: It boots Linux " + boots + "; the mirror has modules for " + latest + " too.: " + read + "mirror: modules for " + latest +
				", " + boots},
		"another release of one version": {offers: []mirror.Kernel{release(latest, own.Version, true), own},
			want: "2: the mirror has the modules for its kernel: : " + read + "mirror: modules for " + latest + ", " + boots},
		"gone": {offers: []mirror.Kernel{newer},
			want: "5: the mirror has no modules any more for the kernel of this installer: it will find no disks, " +
				"or not offer ext4: " + booted + " The mirror has modules for " + latest + ".: " + read + "mirror: modules for " + latest},
		"gone, of six": {offers: []mirror.Kernel{{Release: "1-arm64"}, {Release: "2-arm64"}, {Release: "3-arm64"}, {Release: "4-arm64"},
			{Release: "5-arm64"}, {Release: "6-arm64"}, {Release: "7-arm64"}},
			want: "5: the mirror has no modules any more for the kernel of this installer: " +
				"it will find no disks, or not offer ext4: " + booted + ": " + read +
				"mirror: modules for 1-arm64, 2-arm64, 3-arm64, 4-arm64, 5-arm64, 6-arm64"},
		"no ext4": {offers: []mirror.Kernel{release(boots, own.Version, false)},
			want: "5: the mirror has no ext4 modules for the kernel of this " +
				"installer: its partitioner will not offer ext4: " + booted + ": " + read + "mirror: modules for " + boots},
		"no ext4, its build": {change: func(p *tree.Pair) { p.Info = tree.Info{Path: "version.info", Release: "Debian 12", Build: "b1"} },
			offers: []mirror.Kernel{release(boots, own.Version, false)}, want: "5: the mirror has no ext4 modules for the kernel of this " +
				"installer: its partitioner will not offer ext4: " + booted + " It was built as b1.: " + read +
				"version.info: Debian 12, build b1; mirror: modules for " + boots},
		"no mirror": {offers: []mirror.Kernel{{}}, want: "error: no answer: " + strings.TrimSuffix(read, "; ")},
		"no initrd": {change: func(p *tree.Pair) { p.Err = errors.New("cut off") }, want: "error: the initrd: cut off: "},
		"Ubuntu's": {change: func(p *tree.Pair) { p.Ramdisk.Distribution = "Ubuntu" },
			want: "1: is Ubuntu's: fettle compares trees of Debian's installer alone: : initrd.gz: Ubuntu 12, modules for " + boots},
		"nobody's": {change: func(p *tree.Pair) { p.Ramdisk = bootimage.Initrd{} },
			want: "1: its initrd is not of Debian's installer, the only one that fettle compares with mirrors: : initrd.gz: no modules"},
		"an unknown kernel": {change: func(p *tree.Pair) { p.Kernel, p.KernelErr = bootimage.Kernel{}, errors.New("no image") },
			offers: []mirror.Kernel{own}, want: "2: the mirror has the modules for its kernel: : initrd.gz: Debian 12, modules for " + boots +
				"; linux: no image; mirror: modules for " + boots},
		"an unknown kernel, modules of two": {change: func(p *tree.Pair) {
			p.Kernel, p.KernelErr, p.Ramdisk.Modules = bootimage.Kernel{}, errors.New("no image"), map[string]int{boots: 1, latest: 1}
		}, want: "error: the kernel: no image: initrd.gz: Debian 12, modules for " + boots + ", " + latest},
		"mixed": {change: func(p *tree.Pair) { p.Ramdisk.Modules = map[string]int{latest: 1} },
			want: "4: the kernel and its initrd do not belong together: the installer finds no network card: The kernel is " + boots +
				", the initrd has modules for " + latest + ". Take both from one tree.: initrd.gz: Debian 12, modules for " + latest +
				"; linux: bzImage, " + boots},
		"no release": {change: func(p *tree.Pair) { p.Kernel.Release, p.Ramdisk.Modules = "", nil },
			want: "error: neither the kernel nor its initrd tells of which release it is: initrd.gz: Debian 12, no modules; linux: bzImage, "},
		"no suite": {change: func(p *tree.Pair) { p.Ramdisk.Codename = "" },
			want: "error: the tree does not tell which suite and architecture it installs: " + strings.TrimSuffix(read, "; ")},
		"no architecture": {change: func(p *tree.Pair) { p.Kernel.Release, p.Ramdisk.Modules = "6.1", map[string]int{"6.1": 1} },
			want: "error: the tree does not tell which suite and architecture it installs: initrd.gz: Debian 12, modules for 6.1; linux: " +
				"bzImage, 6.1"},
	} {
		p := tree.Pair{Linux: "linux", Initrd: "initrd.gz", Kernel: bootimage.Kernel{Form: "bzImage", Release: boots}, Ramdisk: bootimage.Initrd{
			Distribution: "Debian", Description: "12", Codename: "bookworm", Modules: map[string]int{boots: 1}}}
		if c.change != nil {
			c.change(&p)
		}
		v := Judge(&p, func(*tree.Pair) (mirror.Index, error) {
			switch {
			case c.offers == nil:
				t.Errorf("%s: the mirror is asked", name)
			case c.offers[0].Release == "":
				return mirror.Index{}, errors.New("no answer")
			}
			return mirror.Index{From: "mirror", Kernels: c.offers}, nil
		})
		got := fmt.Sprintf("%d: %s: %s: ", v.Kind, v.Summary, v.Detail)
		if v.Err != nil {
			got = fmt.Sprintf("error: %v: ", v.Err)
		}
		var facts []string
		for _, f := range v.Facts {
			facts = append(facts, f.Source+": "+f.Value)
		}
		if got += strings.Join(facts, "; "); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, c.want)
		}
	}
}
