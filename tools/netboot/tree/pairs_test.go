package tree

import (
	"io/fs"
	"strings"
	"testing"

	"fettle/host"
	"fettle/host/bootimage"
	"fettle/host/hosttest"
)

// TestPaired: which initrd goes with which kernel of a folder.
func TestPaired(t *testing.T) {
	for files, want := range map[string]string{
		"linux initrd.gz":            "linux+initrd.gz",
		"vmlinuz-6.1 initrd.img-6.1": "vmlinuz-6.1+initrd.img-6.1",
		"vmlinuz-6.1 initrd.gz":      "vmlinuz-6.1+initrd.gz",
		"linux initrd-6.1.gz":        "linux+initrd-6.1.gz",
		"vmlinuz-6.1 vmlinuz-6.2 initrd.img-6.2 initrd.img-6.3": "vmlinuz-6.2+initrd.img-6.2",
		"vmlinuz-6.1 vmlinuz-6.2 initrd.gz":                     "",
		"linux vmlinuz-6.1 initrd.gz initrd.img-6.1":            "linux+initrd.gz vmlinuz-6.1+initrd.img-6.1",
		"linux linux.old initrd.gz":                             "linux+initrd.gz",
		"linux linux.cfg initrd.gz initrd.gz.sig":               "linux+initrd.gz",
		"linux initrd.gz initramfs":                             "linux+initrd.gz",
		"linux initrd-a initrd.gz":                              "linux+initrd.gz",
		"linux vmlinuz initrd-a":                                "",
		"linux@ initrd.gz":                                      "",
		"linux initrd.gz@":                                      "",
		"linuxrc initrd.gz":                                     "",
		"bzImage netboot.initrd.gz":                             "bzImage+netboot.initrd.gz",
		"linux-amd64 linux-arm64 initrd-arm64.gz":               "linux-arm64+initrd-arm64.gz",
	} {
		var es []host.Entry
		for name := range strings.FieldsSeq(files) {
			e := host.Entry{Name: strings.TrimSuffix(name, "@")}
			if e.Name != name {
				e.Type = fs.ModeSymlink
			}
			es = append(es, e)
		}
		var got []string
		for _, p := range paired("/d", es) {
			got = append(got, strings.TrimPrefix(p.Linux, "/d/")+"+"+strings.TrimPrefix(p.Initrd, "/d/"))
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%s: %s, want %s", files, s, want)
		}
	}
}

// TestArch: by the folder, or by the kernel's release.
func TestArch(t *testing.T) {
	for in, want := range map[string]string{
		"/srv/debian-installer/arm64 6.1.0-1-amd64":   "arm64",
		"/srv/debian-installer/arm64/x 6.1.0-1-amd64": "arm64",
		"/srv/debian-installer/none 6.1.0-1-amd64":    "amd64",
		"/srv/debian-installer 6.1.0-1-amd64":         "amd64",
		"debian-installer/i386 ":                      "i386",
		"/srv/arm64 6.1.0-1-686-pae":                  "i386",
		"/srv/x 6.1.0-1-686":                          "i386",
		"/srv/x 6.1.0":                                "",
		"/srv/x ":                                     "",
	} {
		folder, release, _ := strings.Cut(in, " ")
		p := Pair{Folder: folder, Kernel: bootimage.Kernel{Release: release}}
		if got := p.Arch(); got != want {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
}

// TestRelease: of the kernel, else of the only modules that the initrd has.
func TestRelease(t *testing.T) {
	for in, want := range map[string]string{"6.1 6.2": "6.1", " 6.2": "6.2", " 6.2,6.3": "", " ": ""} {
		kernel, modules, _ := strings.Cut(in, " ")
		p := Pair{Kernel: bootimage.Kernel{Release: kernel}}
		p.Ramdisk.Modules = map[string]int{}
		for _, m := range strings.FieldsFunc(modules, func(r rune) bool { return r == ',' }) {
			p.Ramdisk.Modules[m] = 1
		}
		if got := p.Release(); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// TestMirror: the preseed file's, else a boot menu's, else that of the host's own apt, else Debian's.
func TestMirror(t *testing.T) {
	const menu, grub, apt = "-- root/t/boot-screens/a.cfg --\nappend mirror/http/hostname=menu.example.org mirror/http/directory=/d\n",
		"-- root/t/grub/a.cfg --\nlinux /linux mirror/http/hostname=grub.example.org\n",
		"-- root/etc/apt/sources.list --\ndeb ftp://old.example.org/debian x main\ndeb https://sec.example.org/security x main\n" +
			"deb https://apt.example.org/debian x main\n"
	for name, c := range map[string]struct{ preseed, files, want string }{
		"preseed": {"d-i mirror/http/hostname string pre.example.org", menu + apt,
			"http://pre.example.org/debian of /t/initrd, preseed.cfg"},
		"menu":         {"", menu + grub + apt, "http://menu.example.org/d of /t/boot-screens/a.cfg"},
		"grub's":       {"", grub + apt, "http://grub.example.org/debian of /t/grub/a.cfg"},
		"a later menu": {"", "-- root/t/boot-screens/0.cfg --\n" + menu, "http://menu.example.org/d of /t/boot-screens/a.cfg"},
		"one unread": {"", "-- root/t/boot-screens/0.cfg --\n-- denied/t/boot-screens/0.cfg --\n" + menu,
			"http://menu.example.org/d of /t/boot-screens/a.cfg"},
		"apt":             {"", apt, "https://apt.example.org/debian of /etc/apt/sources.list"},
		"none":            {"", "", "http://deb.debian.org/debian of the installer's default"},
		"a bad preseed":   {"d-i mirror/http/hostname string a?b", menu, "/t/initrd, preseed.cfg names an unusable mirror"},
		"a bad menu":      {"", "-- root/t/grub/a.cfg --\nx mirror/http/hostname=a?b\n" + apt, "/t/grub/a.cfg names an unusable mirror"},
		"apt cannot tell": {"", apt + "-- denied/etc/apt/sources.list --\n", "denied"},
	} {
		p := Pair{Folder: "/t", Initrd: "/t/initrd"}
		if c.preseed != "" {
			p.Ramdisk.Preseed = []string{c.preseed}
		}
		s, err := p.Mirror(t.Context(), hosttest.New(t, c.files))
		got := s.Base + " of " + s.From
		if err != nil {
			got = err.Error()
		}
		if !strings.HasPrefix(got, c.want) && !(c.want == "denied" && err != nil) {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// TestNoInfo: a version.info of more than a thousand bytes is none of Debian's.
func TestNoInfo(t *testing.T) {
	const field = "Debian version: 12\n"
	for size, want := range map[int]string{1000: "12", 1001: ""} {
		text := field + strings.Repeat("x", size-len(field)) + "\n" // the last end of a line does not count
		if got := readInfo(t.Context(), hosttest.New(t, "-- root/v --\n"+text), "/v"); got.Release != want {
			t.Errorf("%d bytes: %+v", size, got)
		}
	}
	if got := readInfo(t.Context(), hosttest.New(t, ""), "/v"); got != (Info{}) {
		t.Errorf("%+v", got)
	}
}

// TestLocateUnread: a folder that cannot be read hides pairs, so it is an error.
func TestLocateUnread(t *testing.T) {
	h := hosttest.New(t, "-- root/srv/a/linux --\n-- root/srv/a/initrd.gz --\n-- root/srv/b/x --\n-- denied/srv/b --\n")
	if pairs, err := Locate(t.Context(), h, "/srv"); err == nil {
		t.Errorf("%+v", pairs)
	}
}
