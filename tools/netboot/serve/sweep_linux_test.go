package serve

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"fettle/host"
	"fettle/tools/netboot/menu"
)

// TestSweep: of all that is in a folder the stages go that nobody holds, and nothing else.
func TestSweep(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a/x", stagePrefix + "0", stagePrefix + "1/lock/x", stagePrefix + "2/lock", stagePrefix + "3/lock",
		stagePrefix + "4/root/x", "z/lock"} {
		name = filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	held, err := os.Open(filepath.Join(dir, stagePrefix+"2/lock"))
	if err == nil {
		err = unix.Flock(int(held.Fd()), unix.LOCK_EX)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	if err := Sweep(dir); err != nil {
		t.Error(err)
	}
	var left []string
	for _, e := range names(t, dir) {
		left = append(left, strings.TrimPrefix(e.Name(), stagePrefix))
	}
	if !slices.Equal(left, []string{"a", "0", "1", "2", "z"}) { // a file, and one whose lock cannot be opened
		t.Errorf("left: %q", left)
	}
	if err := Sweep(dir + "/none"); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// planted is a tree of files and links ("-> " and where they lead), which others may read.
func planted(t *testing.T, of map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for p := dir; p != "/"; p = filepath.Dir(p) { // the tests' own folder may be closed to others
		if st, err := os.Stat(p); err == nil && st.Mode().Perm()&1 == 0 {
			os.Chmod(p, st.Mode().Perm()|1)
		}
	}
	for name, text := range of {
		name = filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(name), 0o755)
		if to, ok := strings.CutPrefix(text, "-> "); ok {
			err = errors.Join(err, os.Symlink(to, name))
		} else {
			err = errors.Join(err, os.WriteFile(name, []byte(text), 0o644))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestTrees: which loaders and menus are served of trees of all kinds, and which trees are not.
func TestTrees(t *testing.T) {
	src, err := host.NewLive()
	if err != nil {
		t.Fatal(err)
	}
	deep := func(n int) string { return strings.Repeat("d/", n) }
	amd, arm := "debian-installer/amd64/", "debian-installer/arm64/"
	hosts := []Host{{Name: "web1", MAC: "52:54:00:12:34:56"}, {Name: "web2", MAC: "52:54:00:12:34:57", Preseed: "http://x/y.cfg"}}
	for _, c := range []struct {
		name    string
		tree    map[string]string
		hosts   []Host
		console *menu.Console
		loaders Loaders
		has     map[string]string // words of what is served; "" where it is not
		fails   string
	}{
		{"no kernel", map[string]string{"a": "x"}, nil, nil, Loaders{}, nil, " contains no kernel with an initrd beside it"},
		{"BIOS alone", map[string]string{amd + "linux": "k", amd + "initrd.gz": "i", amd + "pxelinux.0": "p",
			amd + "pxelinux.cfg/default": "menu"},
			hosts, nil, Loaders{BIOS: amd + "pxelinux.0"},
			map[string]string{amd + "pxelinux.cfg/01-52-54-00-12-34-56": "path debian-installer/amd64/boot-" +
				"screens/\ndefault install\nprompt 0\ntimeout 10\nlabel install\n\tkernel debian-installer/amd64/linux\n\tappend initrd=" +
				"debian-installer/amd64/initrd.gz hostname=web1 interface=auto\n",
				amd + "pxelinux.cfg/01-52-54-00-12-34-57": "preseed/url=http://x/y.cfg\n",
				amd + "pxelinux.cfg/default":              "menu", "preseed/web2.cfg": "", "pxelinux.cfg/01-52-54-00-12-34-56": ""}, ""},
		{"the nearest pxelinux", map[string]string{amd + "linux": "k", amd + "initrd.gz": "i", amd + "pxelinux.0": "p",
			"pxelinux.0": "-> " + amd +
				"pxelinux.0", "nowhere": "-> none", "z/pxelinux.0": "x"}, nil, nil, Loaders{BIOS: "pxelinux.0"},
			map[string]string{"pxelinux.0": "p", "nowhere": ""}, ""},
		{"no BIOS", map[string]string{amd + "linux": "k", amd + "initrd.gz": "i", amd + "grubx64.efi": "User-Agent: GRUB",
			amd + "pxelinux.cfg/default": "m"},
			hosts, nil, Loaders{EFI64: amd + "grubx64.efi", HTTP64: true}, map[string]string{amd + "pxelinux.cfg/01-52-54-00-12-34-56": ""}, ""},
		{"shim before GRUB, of both kinds", map[string]string{amd + "linux": "k", amd + "initrd.gz": "i",
			amd + "bootnetx64.efi": "s", amd + "grubx64.efi": "g",
			arm + "linux": "k", arm + "initrd.gz": "i", arm + "bootnetaa64.efi": "s", arm + "grubaa64.efi": "User-Agent: GRUB"}, nil, nil,
			Loaders{EFI64: amd + "bootnetx64.efi", EFIArm64: arm + "bootnetaa64.efi", HTTPArm64: true}, nil, ""},
		{"menus of GRUB", map[string]string{amd + "linux": "k", amd + "initrd.gz": "i", amd + "grub/grub.cfg": "menu of amd64",
			arm + "linux":     "k",
			arm + "initrd.gz": "i", arm + "grub/grub.cfg": "menu of arm64", amd + "other/grub.cfg": "no menu"}, hosts[:1],
			&menu.Console{Port: 1, Speed: 9600}, Loaders{}, map[string]string{
				amd + "grub/grub.cfg": "menuentry 'Install web1' {\n    linux /debian-installer/amd64/linux hostname=web1 interface=auto " +
					"console=ttyS1,9600n8 --- console=ttyS1,9600n8\n    initrd /debian-installer/amd64/initrd.gz\n  }\nfi\n",
				arm + "grub/grub.cfg": "linux /debian-installer/arm64/linux hostname=web1", amd + "other/grub.cfg": "no menu"}, ""},
		{"as deep as can be", map[string]string{amd + "linux": "k", amd + "initrd.gz": "i", deep(8) + "x": "x"}, nil, nil, Loaders{},
			map[string]string{deep(8) + "x": "x"}, ""},
		{"too deep", map[string]string{amd + "linux": "k", amd + "initrd.gz": "i", deep(9) + "x": "x"}, nil, nil, Loaders{}, nil,
			": folders deeper than 8"},
		{"out of the tree", map[string]string{amd + "linux": "k", amd + "initrd.gz": "i", "x": "-> /etc/passwd"}, nil, nil, Loaders{}, nil,
			"/x is a link that leads out of the tree, to /etc/passwd"},
		{"a preseed file that is not there", map[string]string{amd + "linux": "k", amd + "initrd.gz": "i"},
			[]Host{{Name: "web1", MAC: "52:54:00:12:34:56", Preseed: "/none.cfg"}}, nil, Loaders{}, nil,
			"host web1, its preseed file: stat /none.cfg"},
	} {
		dir, stages := planted(t, c.tree), t.TempDir()
		s, err := Make(t.Context(), host.New(src), stages, dir, "192.0.2.1", c.hosts, c.console)
		if c.fails != "" {
			if err == nil || !strings.Contains(err.Error(), c.fails) || strings.HasPrefix(c.fails, ":") && !strings.HasPrefix(err.Error(), dir) {
				t.Errorf("%s: %v, want %s", c.name, err, c.fails)
			}
			if left := names(t, stages); len(left) > 0 {
				t.Errorf("%s: %v stays", c.name, left)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if s.Loaders != c.loaders {
			t.Errorf("%s: %+v, want %+v", c.name, s.Loaders, c.loaders)
		}
		for name, want := range c.has {
			b, err := os.ReadFile(filepath.Join(s.Root, name))
			if want == "" && err == nil || want != "" && !strings.Contains(string(b), want) {
				t.Errorf("%s: %s holds %s (%v), want %q", c.name, name, b, err, want)
			}
		}
		if err := errors.Join(s.Close(), s.Close()); err != nil || len(names(t, stages)) > 0 {
			t.Errorf("%s: closed, %v stays: %v", c.name, fmt.Sprint(names(t, stages)), err)
		}
	}
}
