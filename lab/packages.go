package lab

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"fettle/internal/uml"
)

// packageOf names Debian's package of each program that the lab or a scenario
// may need, where it is not the program's own name.
var packageOf = map[string]string{
	"linux.uml": "user-mode-linux", "cc": "gcc", "qemu-system-x86_64": "qemu-system-x86",
	"ip": "iproute2", "bridge": "iproute2", "sysctl": "procps", "ps": "procps",
	"setfacl": "acl", "getfacl": "acl", "setfattr": "attr",
	"losetup": "mount", "mount": "mount", "umount": "mount",
	"setpriv": "util-linux", "dmesg": "util-linux", "unshare": "util-linux", "blockdev": "util-linux",
	"mkfs.ext4": "e2fsprogs", "mkfs.xfs": "xfsprogs", "mkfs.btrfs": "btrfs-progs", "sfdisk": "fdisk",
	"journalctl": "systemd", "systemd-journald": "systemd", "systemd-cat": "systemd",
	"sshd": "openssh-server", "ssh": "openssh-client", "ssh-keygen": "openssh-client",
	"security/pam_unix.so": "libpam-modules", "security/pam_google_authenticator.so": "libpam-google-authenticator",
	"libnss_mdns4.so.2": "libnss-mdns", "kill": "procps", "run-parts": "debianutils", "sh": "dash",
	ovmf: "ovmf", "/usr/lib/ipxe/qemu/pxe-virtio.rom": "ipxe-qemu",
	"/usr/lib/debian-installer/images/12/amd64/text": "debian-installer-12-netboot-amd64",
	"dnsmasq": "dnsmasq-base", "busybox": "busybox-static", "xz": "xz-utils",
	"grep": "grep", "find": "findutils", "depmod": "kmod", "modprobe": "kmod", "dpkg-deb": "dpkg",
}

// coreutils and their like are on every machine; a missing one is told by its name.
func packageFor(tool string) string {
	if p, ok := packageOf[tool]; ok {
		return p
	}
	return tool
}

// MissingError is what the machine lacks for what was asked.
type MissingError struct {
	Tools    []string
	Packages []string // Debian's, sorted
}

func (e *MissingError) Error() string {
	s := "the program " + e.Tools[0] + " is not installed"
	switch libs := slices.ContainsFunc(e.Tools, isLibrary); {
	case slices.ContainsFunc(e.Tools, func(name string) bool { return strings.HasPrefix(name, "/") }):
		s = "these are missing: " + strings.Join(e.Tools, ", ")
	case libs && len(e.Tools) == 1:
		s = "the library " + e.Tools[0] + " is not installed"
	case libs:
		s = "these programs and libraries are not installed: " + strings.Join(e.Tools, ", ")
	case len(e.Tools) > 1:
		s = "these programs are not installed: " + strings.Join(e.Tools, ", ")
	}
	if _, err := FindTool("apt-get"); err == nil {
		return fmt.Sprintf("%s; install with: apt-get install %s", s, strings.Join(e.Packages, " "))
	}
	return fmt.Sprintf("%s; Debian has them in: %s", s, strings.Join(e.Packages, " "))
}

func isLibrary(name string) bool { return strings.Contains(name, ".so") }

// Missing says which programs and libraries of this machine the jobs need and do not have:
// all of them at once. Nil when there are none.
func Missing(jobs []Job) error {
	var e MissingError
	lacks := func(what string) {
		if slices.Contains(e.Tools, what) {
			return
		}
		e.Tools = append(e.Tools, what)
		if p := packageFor(what); !slices.Contains(e.Packages, p) {
			e.Packages = append(e.Packages, p)
		}
	}
	want := func(tool string) {
		if _, err := FindTool(tool); err != nil {
			lacks(tool)
		}
	}
	for i := range jobs {
		switch jobs[i].Options.Kernel.Engine {
		case "uml":
			want("linux.uml")
			if uml.NeedsCompiler() {
				want("cc")
			}
		case "qemu":
			want("qemu-system-x86_64")
		}
		for _, t := range slices.Concat([]string{"ip", "sleep"}, jobs[i].Needs().allTools()) {
			want(t)
		}
		for _, f := range jobs[i].Needs().allFiles() {
			if _, err := os.Stat(f); err != nil {
				lacks(f)
			}
		}
		for _, l := range jobs[i].Needs().Libs {
			if _, err := findLibrary(l); err != nil {
				lacks(l)
			}
		}
	}
	if len(e.Tools) == 0 {
		return nil
	}
	slices.Sort(e.Packages)
	return &e
}
