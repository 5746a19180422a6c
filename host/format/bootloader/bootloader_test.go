package bootloader

import (
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
