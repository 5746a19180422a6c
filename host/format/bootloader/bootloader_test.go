package bootloader

import (
	"errors"
	"strings"
	"testing"

	"fettle/host/hosttest"
	"fettle/internal/means"
)

func TestWords(t *testing.T) {
	for line, want := range map[string]string{
		`menuentry 'Debian GNU/Linux' --class debian {`: "menuentry|Debian GNU/Linux|--class|debian|{",
		`	linux	/boot/vmlinuz root="a b" quiet # x`:     "linux|/boot/vmlinuz|root=a b|quiet",
		`# comment`:                         "",
		`set default="${saved_entry}"`:      "set|default=${saved_entry}",
		`if [ x$a = x ]; then insmod b; fi`: "if|[|x$a|=|x|]|then|insmod|b|fi",
		`menuentry It\'s\ one {`:            "menuentry|It's one|{",
	} {
		if got := strings.Join(words(line), "|"); got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

const menu = `set default="X"
menuentry 'first' --id one {
	linux /vmlinuz-1 root=/dev/sda1
}
submenu 'more' --id=sub {
	menuentry 'second' $menuentry_id_option 'two' {
		if true; then
			linux /vmlinuz-2 root=/dev/sda2
		fi
		initrd /initrd-2
	}
	menuentry 'third' {
		linuxefi /vmlinuz-3
		initrdefi /ucode /initrd-3
	}
}
menuentry 'other' {
	chainloader +1
}
`

func TestDefault(t *testing.T) {
	for choice, want := range map[string]string{
		"0": "/boot/vmlinuz-1", "1": "/boot/vmlinuz-2", "1>1": "/boot/vmlinuz-3", "more>third": "/boot/vmlinuz-3", "sub>two": "/boot/vmlinuz-2",
		"one": "/boot/vmlinuz-1", "first": "/boot/vmlinuz-1", "2": "", "nosuch": "/boot/vmlinuz-1", "": "/boot/vmlinuz-1", "9": "/boot/vmlinuz-1",
		"1>9": "/boot/vmlinuz-1",
	} {
		h := hosttest.New(t, "-- root/boot/grub/grub.cfg --\n"+strings.Replace(menu, `"X"`, `"`+choice+`"`, 1))
		e, err := Default(t.Context(), h)
		if err != nil {
			t.Errorf("%q: %v", choice, err)
			continue
		}
		if e.Kernel != want || e.Linux() != (want != "") {
			t.Errorf("default %q: %q, want %q", choice, e.Kernel, want)
		}
	}
}

// TestNextEntry: what grub-reboot(8) asks for comes before the default, be that a number or the saved one.
func TestNextEntry(t *testing.T) {
	for _, c := range []struct{ def, env, want string }{
		{"${saved_entry}", "saved_entry=one\n", "/boot/vmlinuz-1"},
		{"${saved_entry}", "saved_entry=one\nnext_entry=sub>two\n", "/boot/vmlinuz-2"},
		{"0", "next_entry=sub>two\n", "/boot/vmlinuz-2"}, {"sub>two", "saved_entry=one\nnext_entry=\n", "/boot/vmlinuz-2"},
	} {
		h := hosttest.New(t, "-- root/boot/grub/grub.cfg --\n"+strings.Replace(menu, `"X"`, `"`+c.def+`"`, 1)+
			"-- root/boot/grub/grubenv --\n# GRUB Environment Block\n"+c.env+"####\n")
		if e, err := Default(t.Context(), h); err != nil || e.Kernel != c.want {
			t.Errorf("default %s, %q: %+v, %v; want %s", c.def, c.env, e, err, c.want)
		}
	}
}

// TestOnHost: a path of the loader's is found with /boot on its own, on the root file system, in
// a Btrfs subvolume, and with a device before it.
func TestOnHost(t *testing.T) {
	h := hosttest.New(t, "-- root/boot/vmlinuz-a --\nx\n-- root/efi/vmlinuz-b --\nx\n")
	for name, want := range map[string]string{
		"/vmlinuz-a": "/boot/vmlinuz-a", "/boot/vmlinuz-a": "/boot/vmlinuz-a", "/@/boot/vmlinuz-a": "/boot/vmlinuz-a",
		"(hd0,gpt2)/vmlinuz-a": "/boot/vmlinuz-a", "/vmlinuz-c": "/boot/vmlinuz-c", "/boot/vmlinuz-c": "/boot/vmlinuz-c",
		"/../boot/vmlinuz-a": "/boot/vmlinuz-a",
	} {
		if got, err := onHost(t.Context(), h, name); err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", name, got, err, want)
		}
	}
	if got, _ := onHost(t.Context(), h, "/vmlinuz-b", "/efi"); got != "/efi/vmlinuz-b" {
		t.Errorf("below the ESP: %q", got)
	}
}

func TestBLS(t *testing.T) {
	e := parseBLS("/boot/loader/entries/x.conf", "title A\nlinux\t/v\ninitrd /a $tuned_initrd\ninitrd /b\noptions $kernelopts quiet\n",
		map[string]string{"kernelopts": "root=/dev/sda1 ro"})
	if e.ID != "x" || e.Kernel != "/v" || strings.Join(e.Initrds, " ") != "/a /b" || e.Option("root") != "/dev/sda1" {
		t.Errorf("%+v", e)
	}
}

func TestFuzz(t *testing.T) { means.Fuzz(t) }

// FuzzGrub: no text makes the reader fail but with an error, and an entry's kernel is a path.
func FuzzGrub(f *testing.F) {
	f.Add(menu)
	f.Add("menuentry {\n}\n}\nsubmenu a {\nset default=a>b>c\n")
	f.Fuzz(func(t *testing.T, text string) {
		c := parseGrub("x", text)
		for _, choice := range []string{c.def, "0", "1>0>0", ">"} {
			choose(c.entries, choice)
		}
		first(c.entries)
	})
}

// TestUnread: what may not be read is an error, and never another default entry.
func TestUnread(t *testing.T) {
	const grub = "-- root/boot/grub/grub.cfg --\nset default=0\nmenuentry a {\nlinux /v\n}\n"
	const bls = "-- root/boot/grub2/grub.cfg --\nblscfg\n-- root/boot/loader/entries/a.conf --\ntitle a\nlinux /v\n"
	const boot = "-- root/efi/loader/loader.conf --\ntimeout 1\n-- root/efi/loader/entries/a.conf --\ntitle a\nlinux /v\n"
	for _, c := range []struct{ files, denied string }{
		{grub, "/boot/grub/grub.cfg"}, {grub, "/boot/grub/grubenv"}, {grub, "/boot/v"}, {bls, "/boot/grub2/grub.cfg"},
		{bls, "/boot/loader/entries"}, {bls, "/boot/loader/entries/a.conf"}, {boot, "/efi/loader/loader.conf"}, {boot, "/efi/loader/entries"},
	} {
		if e, err := Default(t.Context(), hosttest.New(t, c.files)); err != nil || e.Title != "a" {
			t.Errorf("%s: as it is: %+v, %v", c.denied, e, err)
		}
		if e, err := Default(t.Context(), hosttest.New(t, c.files+"-- denied"+c.denied+" --\n")); err == nil {
			t.Errorf("%s may not be read: %+v", c.denied, e)
		}
	}
	if _, err := Default(t.Context(), hosttest.New(t, "")); !errors.Is(err, ErrNone) {
		t.Error(err)
	}
}

// TestSystemdBoot: the default is a pattern, and without one the newest entry.
func TestSystemdBoot(t *testing.T) {
	const entries = "-- root/efi/loader/entries/linux-6.1.conf --\nlinux /a\n-- root/efi/loader/entries/linux-6.12.conf --\nlinux /b\n"
	for def, want := range map[string]string{"": "/efi/b", "default linux-6.1.conf": "/efi/a", "default linux-6.1*": "/efi/b",
		"default nosuch": "/efi/b", "default *.1": "/efi/a"} {
		h := hosttest.New(t, "-- root/efi/loader/loader.conf --\n"+def+"\n"+entries)
		if e, err := Default(t.Context(), h); err != nil || e.Kernel != want {
			t.Errorf("%q: %+v, %v; want %s", def, e, err, want)
		}
	}
	if _, err := Default(t.Context(), hosttest.New(t, "-- root/efi/loader/loader.conf --\ndefault @saved\n"+entries)); err == nil {
		t.Error("an EFI variable that is not read was taken for a name")
	}
	if _, err := Default(t.Context(), hosttest.New(t, "-- root/efi/loader/loader.conf --\ntimeout 1\n")); !errors.Is(err, ErrNone) {
		t.Error(err)
	}
}

// TestBlocks: other blocks part entries, a brace too much ends nothing, and an option may lack its value.
func TestBlocks(t *testing.T) {
	c := parseGrub("x", `}
function load_video {
	insmod all_video
}
menuentry 'one' {
	linux /a
}
menuentry 'two' { linux /lost }
menuentry 'three' --id x {
	linux /c
}
`)
	var got []string
	for _, e := range c.entries {
		got = append(got, e.Title+" "+e.ID+" "+e.Kernel)
	}
	if want := "one  /a|two  |three x /c"; strings.Join(got, "|") != want {
		t.Errorf("%q, want %q", strings.Join(got, "|"), want)
	}
}

// TestUnified: unified kernel images are entries of systemd-boot without a file of their own.
func TestUnified(t *testing.T) {
	image := func(name, release string) string {
		return "-- root/efi/EFI/Linux/" + name + " --\nMZ\n-- table/unified /efi/EFI/Linux/" + name + " --\n" +
			`{"title": "Debian", "release": "` + release + `", "options": "root=/dev/sda1", "kernel": true, "initrd": true}` + "\n"
	}
	const conf, entry = "-- root/efi/loader/loader.conf --\n", "-- root/efi/loader/entries/linux-6.1.conf --\nlinux /a\n"
	two := image("debian-6.1.0-9.efi", "6.1.0-9") + image("debian-6.1.0-50+3-0.efi", "6.1.0-50")
	for name, c := range map[string]struct{ files, release, err string }{
		"the newest":                 {conf + "timeout 1\n" + two, "6.1.0-50", ""},
		"no try left":                {conf + "timeout 1\n" + two + image("debian-6.1.0-70+0-3.efi", "6.1.0-70"), "6.1.0-50", ""},
		"by name":                    {conf + "default debian-6.1.0-9.efi\n" + two + entry, "6.1.0-9", ""},
		"an entry in a file by name": {conf + "default linux-*\n" + two + entry, "", ""},
		"both, and no default":       {conf + "timeout 1\n" + two + entry, "", "names no default"},
		"the firmware starts it":     {image("debian.efi", "6.1.0-9"), "6.1.0-9", ""},
		"the firmware chooses":       {two, "", "EFI variable"},
	} {
		e, err := Default(t.Context(), hosttest.New(t, c.files))
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: %+v, %v", name, e, err)
			}
			continue
		}
		if err != nil || e.Release != c.release || e.Unified != (c.release != "") || e.Option("root") != "" != e.Unified {
			t.Errorf("%s: %+v, %v", name, e, err)
		}
	}
}
