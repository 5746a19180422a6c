package menu

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"fettle/host"
	"fettle/host/hosttest"
	"fettle/internal/means"
)

// tree is made as Debian's is: links, includes that are absent, a help screen
// that leads back, a graphical menu without its sister in text.
const tree = `
-- link/srv/tftp/pxelinux.cfg --
di/pxelinux.cfg
-- link/srv/tftp/di/pxelinux.cfg/default --
../screens/syslinux.cfg
-- root/srv/tftp/di/screens/syslinux.cfg --
# D-I config version 2.0
path di/screens/
prompt 0
timeout 0
include di/screens/menu.cfg
default di/screens/vesamenu.c32
-- root/srv/tftp/di/screens/menu.cfg --
menu title installer
include di/screens/absent.cfg
include di/screens/txt.cfg
label help
	kernel di/screens/vesamenu.c32
	config di/screens/syslinux.cfg
	append vga=nothing-of-a-kernel
-- root/srv/tftp/di/screens/txt.cfg --
label install
	menu label ^Install
	kernel di/linux
	append vga=788 initrd=di/initrd.gz --- quiet 
label expert
	kernel di/linux
	append priority=low console=ttyS0,9600 console=tty0 initrd=di/initrd.gz ---
label bare
	linux di/linux
label local
	localboot 0
-- root/srv/tftp/di/grub/grub.cfg --
if loadfont $font ; then
  terminal_output gfxterm
fi
menuentry 'Install' {
    linux    /di/linux vga=788 --- quiet # as the others
    initrd   /di/initrd.gz
}
menuentry "One line" { linux /di/linux "a b" ; initrd /di/initrd.gz ; }
# linux /di/linux commented
source /di/grub/more.cfg
-- root/srv/tftp/di/grub/more.cfg --
  linuxefi /di/linux console=ttyS1,115200n8
`

func rewritten(t *testing.T, text string, c Console) (map[string]string, *Menus) {
	t.Helper()
	m, err := Read(t.Context(), hosttest.New(t, text), "/srv/tftp")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, e := range m.Rewrite(c) {
		out[strings.TrimPrefix(e.Path, "/srv/tftp/di/")] = e.New
	}
	return out, m
}

func TestRewrite(t *testing.T) {
	got, m := rewritten(t, tree, Console{1, 115200})
	if n := len(m.Lines()); n != 6 {
		t.Errorf("%d lines that start a kernel: %+v", n, m.Lines())
	}
	const c = "console=ttyS1,115200n8"
	want := map[string]string{
		"screens/syslinux.cfg": "serial 1 115200\n# D-I config version 2.0\npath di/screens/\nprompt 0\ntimeout 0\ninclude " +
			"di/screens/menu.cfg\ndefault di/screens/vesamenu.c32\n",
		"screens/txt.cfg": "label install\n\tmenu label " +
			"^Install\n\tkernel di/linux\n\tappend initrd=di/initrd.gz " + c + " --- quiet " + c + "\n" +
			"label expert\n\tkernel di/linux\n\tappend priority=low console=tty0 initrd=di/initrd.gz " + c + " --- " + c + "\n" +
			"label bare\n\tlinux di/linux\n\tappend " + c + "\nlabel local\n\tlocalboot 0\n",
		"grub/grub.cfg": "serial --unit=1 --speed=115200 --word=8 --parity=no --stop=1\nterminal_input serial console\nterminal_output " +
			"serial console\n" +
			"if loadfont $font ; then\n  terminal_output serial " +
			"console\nfi\nmenuentry 'Install' {\n    linux    /di/linux " + c + " --- quiet " + c + " # as the others\n    " +
			"initrd   /di/initrd.gz\n}\n" +
			"menuentry \"One line\" { linux /di/linux \"a b\" " + c + " ; initrd /di/initrd.gz ; }\n# linux /di/linux commented\nsource " +
			"/di/grub/more.cfg\n",
	}
	for name, text := range want {
		if got[name] != text {
			t.Errorf("%s became\n%s\nwant\n%s", name, got[name], text)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d files change, want %d", len(got), len(want))
	}
}

// TestAgain: what was rewritten is left alone, and can be sent to another port.
func TestAgain(t *testing.T) {
	first, _ := rewritten(t, tree, Console{1, 115200})
	text := tree
	m, _ := Read(t.Context(), hosttest.New(t, tree), "/srv/tftp")
	for _, f := range m.Files {
		if new, ok := first[strings.TrimPrefix(f.Path, "/srv/tftp/di/")]; ok {
			text = strings.Replace(text, f.Text, new, 1)
		}
	}
	if again, _ := rewritten(t, text, Console{1, 115200}); len(again) != 0 {
		t.Errorf("rewriting again changes %v", again)
	}
	other, _ := rewritten(t, text, Console{0, 9600})
	for name, text := range other {
		if strings.Contains(text, "ttyS1") || strings.Contains(text, "115200") {
			t.Errorf("%s keeps the old port:\n%s", name, text)
		}
	}
	if len(other) != 4 {
		t.Errorf("%d files change, want 4", len(other))
	}
}

func TestPlainMenuIsTaken(t *testing.T) {
	got, _ := rewritten(
		t,
		"-- root/srv/tftp/di/syslinux.cfg --\nui gfxboot bootlogo\nserial 0x3f8 9600\ndefault vesamenu.c32\n-- root/srv/tftp/di/menu.c32 --\n",
		Console{0, 115200},
	)
	if want := "serial 0 115200\ndefault menu.c32\n"; got["syslinux.cfg"] != want {
		t.Errorf("%q, want %q", got["syslinux.cfg"], want)
	}
}

func TestReadRefuses(t *testing.T) {
	for name, tt := range map[string]struct{ text, want string }{
		"a circle": {"-- root/srv/tftp/syslinux.cfg --\ninclude a.cfg\n-- root/srv/tftp/a.cfg --\nmenu include b.cfg\n-- " +
			"root/srv/tftp/b.cfg --\ninclude a.cfg\n", "in a circle: /srv/tftp/syslinux.cfg → " +
			"/srv/tftp/a.cfg → /srv/tftp/b.cfg → /srv/tftp/a.cfg"},
		"itself":       {"-- root/srv/tftp/grub.cfg --\nsource /grub.cfg\n", "in a circle"},
		"nothing":      {"-- root/srv/tftp/readme --\n", "no boot menu"},
		"no text":      {"-- raw/srv/tftp/grub.cfg --\n\"a\\x00b\"\n", "is no boot menu"},
		"a way out":    {"-- link/srv/tftp/syslinux.cfg --\n/etc/passwd\n-- root/etc/passwd --\nx\n", "leads out of /srv/tftp"},
		"links":        {"-- link/srv/tftp/syslinux.cfg --\nsyslinux.cfg\n", "symlinks"},
		"include ..":   {"-- root/srv/tftp/syslinux.cfg --\ninclude ../../etc/passwd\n-- root/etc/passwd --\nx\n", ""},
		"not readable": {"-- root/srv/tftp/syslinux.cfg --\n-- denied/srv/tftp/syslinux.cfg --\n", "permission denied"},
	} {
		m, err := Read(t.Context(), hosttest.New(t, tt.text), "/srv/tftp")
		switch {
		case tt.want == "" && (err != nil || len(m.Files) != 1):
			t.Errorf("%s: %v, %v", name, m, err)
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s: %v; want %q", name, err, tt.want)
		}
	}
	var loop *Loop
	if _, err := Read(t.Context(), hosttest.New(t, "-- root/srv/tftp/grub.cfg --\nsource /grub.cfg\n"), "/srv/tftp"); !errors.As(
		err,
		&loop,
	) {
		t.Errorf("%v", err)
	}
}

// TestDebian: the trees of Debian's package, whose every line is known.
func TestDebian(t *testing.T) {
	const images = "/usr/lib/debian-installer/images/12/amd64"
	src, err := host.NewRoot(images)
	if err != nil {
		means.Missing(t, "needs Debian's package debian-installer-12-netboot-amd64")
	}
	for kind, want := range map[string]int{"text": 34, "gtk": 40} {
		m, err := Read(t.Context(), host.New(src), "/"+kind)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(m.Lines()); n != want {
			t.Errorf("%s: %d lines start a kernel, want %d", kind, n, want)
		}
		for _, e := range m.Rewrite(Console{1, 115200}) {
			if strings.Contains(e.New, "vga=") || strings.Contains(e.New, "gfxterm\n") && strings.Contains(e.New, "terminal_output gfxterm") {
				t.Errorf("%s keeps graphics", e.Path)
			}
			if strings.Count(e.Old, "timeout") != strings.Count(e.New, "timeout") || strings.Count(e.Old, "\n") > strings.Count(e.New, "\n") {
				t.Errorf("%s lost lines", e.Path)
			}
		}
	}
}

func TestParse(t *testing.T) {
	for text, want := range map[string]string{"ttyS1 115200": "", "/dev/ttyS0 9600": "", "ttyS4 9600": "expected ttyS0",
		"ttyS01 9600": "expected ttyS0", "ttyUSB0 9600": "expected ttyS0", "ttyS0 1": "speed 1: expected 9600", "ttyS-1 9600": "expected ttyS0"} {
		var port string
		var speed int
		fmt.Sscan(text, &port, &speed)
		if _, err := Parse(port, speed); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestFuzz(t *testing.T) { means.Fuzz(t) }

// FuzzRewrite: rewriting is idempotent, and leaves no line that starts a kernel silent.
func FuzzRewrite(f *testing.F) {
	f.Add("label a\n kernel linux\n append vga=1 --- quiet\n", false)
	f.Add("serial 1 9600\nui gfxboot x\nlabel a\nlinux x\n", false)
	f.Add("menuentry 'a' { linux /x 'vga=1' \"b ; c\" ; }\nserial\nterminal_output gfxterm\n", true)
	f.Fuzz(func(t *testing.T, text string, grub bool) {
		d := Syslinux
		if grub {
			d = GRUB
		}
		m := &Menus{Files: []File{{Path: "/a", Dialect: d, Entry: true, Text: text}}}
		c := Console{1, 115200}
		if es := m.Rewrite(c); len(es) == 1 {
			m.Files[0].Text = es[0].New
		}
		for _, l := range m.Lines() {
			if before, _, _ := l.Sides(); before == nil || *before != c {
				t.Errorf("line %d is silent: %q in\n%q", l.Number, l.Words, m.Files[0].Text)
			}
		}
		if es := m.Rewrite(c); len(es) != 0 {
			t.Errorf("again:\n%q\n%q", es[0].Old, es[0].New)
		}
	})
}
