package menu

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"fettle/host/hosttest"
)

// TestParsePort: the four ports that boot loaders can use, as Linux calls them.
func TestParsePort(t *testing.T) {
	for port, want := range map[string]int{"ttyS0": 0, "/dev/ttyS3": 3, "ttyS4": -1, "ttyS-1": -1, "ttyS01": -1, "ttyS+1": -1,
		"tty1": -1, "1": -1, "ttyS": -1} {
		c, err := Parse(port, 9600)
		if (err == nil) != (want >= 0) || err == nil && c != (Console{want, 9600}) {
			t.Errorf("%s: %v, %v", port, c, err)
		}
	}
	if _, err := Parse("ttyS0", 1200); err == nil || !strings.Contains(err.Error(), "9600, 19200, 38400, 57600, 115200") {
		t.Error(err)
	}
}

// TestWords: quotes keep blanks together; one without an end is a character like any other.
func TestWords(t *testing.T) {
	for in, want := range map[string]string{"": "", " a\tb ": "a|b", `a="b c" d`: `a="b c"|d`, `'a b' c`: `'a b'|c`,
		`"a'b c" d`: `"a'b c"|d`,
		`a "b c`:    `a|"b|c`, "it's\ta b": "it's|a|b", `""`: `""`, `x""y z`: `x""y|z`} {
		if got := strings.Join(words(in), "|"); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	for in, want := range map[string]bool{`a 'b`: true, `'a'`: false, `"a'b"`: false, `'a"b`: true, "": false, `'a' "`: true} {
		if got := openQuote(in); got != want {
			t.Errorf("%q has an open quote: %t", in, got)
		}
	}
}

// TestConsoleParameters: the serial console is last on both sides of the separator; what is right already stays.
func TestConsoleParameters(t *testing.T) {
	c := Console{1, 115200}
	const own = "console=ttyS1,115200n8"
	for in, want := range map[string]string{
		"":                        own,
		"quiet":                   "quiet " + own,
		"vga=788 quiet --- quiet": "quiet " + own + " --- quiet " + own,
		"a -- b":                  "a " + own + " -- b " + own,
		own + "  ---  " + own:     own + "  ---  " + own,
		own + " ---":              own + " --- " + own,
		"--- " + own:              own + " --- " + own,
		"console=tty0 " + own:     "console=tty0 " + own,
		own + " console=tty0":     "console=tty0 " + own,
		"console=ttyS0 " + own:    own,
		"console=ttyS1,9600":      own,
		own + " --- " + own + " --- " + own + " ": own + " --- " + own + " --- " + own + " ",
		own + " --- console=tty0":                 own + " --- console=tty0 " + own,
	} {
		if got := c.rewrite(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// TestCommandEnd: GRUB's command ends at ; } or a comment as a word of its own, outside of quotes.
func TestCommandEnd(t *testing.T) {
	for in, want := range map[string]string{" a; b": " a", " a }": " a ", " a}": " a}", " a # b": " a ", " a#b": " a#b",
		` "a;b" c; d`:  ` "a;b" c`,
		` 'a;"b' c; d`: ` 'a;"b' c`, " a \\\n": " a ", " a\\b\n": " a\\b", " a\r\n": " a", "}": "", "#": "", " a": " a", "\t}": "\t",
		" a\\\r\n": " a"} {
		if got := in[:commandEnd(in)]; got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// served is a host with menus below /srv.
func served(t *testing.T, files string) (*Menus, error) {
	t.Helper()
	return Read(t.Context(), hosttest.New(t, files), "/srv")
}

// TestLinesOfMenus: where a kernel's parameters are, and under which label.
func TestLinesOfMenus(t *testing.T) {
	m, err := served(t, `-- root/srv/pxelinux.cfg/default --
default linux
label linux
  kernel linux
  append initrd=i quiet
LABEL two
	linux k2
label three
  kernel chain.c32
  append x
-- root/srv/grub/grub.cfg --
# linux /commented out
menuentry 'One' {
  linux /k1 a b
  linux /k2 'a
  echo '; linux /k3 x
}
function f { linux /k4 y; linux16 /k5 z; }
`)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, l := range m.Lines() {
		got = append(got, fmt.Sprintf("%s:%d %s %s", l.File, l.Number, l.Label, strings.Join(l.Words, ",")))
	}
	want := []string{"/srv/grub/grub.cfg:3 One a,b", "/srv/grub/grub.cfg:5 One x", "/srv/grub/grub.cfg:7 One y",
		"/srv/grub/grub.cfg:7 One z",
		"/srv/pxelinux.cfg/default:4 linux initrd=i,quiet"}
	for _, w := range want {
		if !slices.Contains(got, w) {
			t.Errorf("%s is not among %q", w, got)
		}
	}
	if slices.ContainsFunc(got, func(s string) bool {
		return strings.Contains(s, "commented") || strings.HasSuffix(s, " x") && strings.Contains(s, "three")
	}) {
		t.Errorf("%q", got)
	}
}

// TestMost: the console of most kernels; of as many, the first port, and its highest speed.
func TestMost(t *testing.T) {
	for consoles, want := range map[string]string{
		"":                                  "false",
		"tty0":                              "false",
		"ttyS1,9600 ttyS0,9600 ttyS1,9600":  "ttyS1 at 9600 true",
		"ttyS1,9600 ttyS0,9600":             "ttyS0 at 9600 true",
		"ttyS1,9600 ttyS1,115200":           "ttyS1 at 115200 true",
		"ttyS0,9600 ttyS1,115200 tty0 tty0": "ttyS0 at 9600 true",
	} {
		text := "-- root/srv/pxelinux.cfg/default --\n"
		for i, c := range strings.Fields(consoles) {
			text += fmt.Sprintf("label l%d\nkernel k\nappend console=%s ---\n", i, c)
		}
		m, err := served(t, text+"timeout 1\n")
		if err != nil {
			t.Fatal(err)
		}
		for range 20 { // whatever the order of a map
			c, ok := m.Most()
			if got := fmt.Sprint(c, " ", ok); strings.TrimPrefix(got, "ttyS0 at 0 ") != want {
				t.Fatalf("%s: %s, want %s", consoles, got, want)
			}
		}
	}
}

// TestOnSerial: GRUB's terminal, not a word in a syslinux menu.
func TestOnSerial(t *testing.T) {
	for text, want := range map[string]bool{
		"-- root/srv/grub.cfg --\nterminal_output serial console\n":       true,
		"-- root/srv/grub.cfg --\nterminal_output console\n":              false,
		"-- root/srv/grub.cfg --\necho serial\n":                          false,
		"-- root/srv/pxelinux.cfg/default --\nterminal_output serial x\n": false,
	} {
		m, err := served(t, text)
		if err != nil {
			t.Fatal(err)
		}
		if got := m.OnSerial(); got != want {
			t.Errorf("%s: %t", text, got)
		}
	}
}

// TestFound: which files are menus, and what they lead to, within the served folder.
func TestFound(t *testing.T) {
	for text, want := range map[string]string{
		"-- root/srv/grub.cfg --\nsource more.cfg\n-- root/srv/more.cfg " +
			"--\n": "/srv/grub.cfg! /srv/more.cfg",
		"-- root/srv/grub.cfg --\n. \"more.cfg\"\n-- root/srv/more.cfg " +
			"--\n": "/srv/grub.cfg! /srv/more.cfg",
		"-- root/srv/a/grub.cfg --\nsource more.cfg\n-- root/srv/a/more.cfg " +
			"--\n": "/srv/a/grub.cfg! /srv/a/more.cfg",
		"-- root/srv/grub.cfg --\nsource gone.cfg\nsource here.cfg\n-- root/srv/here.cfg " +
			"--\n": "/srv/grub.cfg! /srv/here.cfg",
		"-- root/srv/grub.cfg --\nsource $x.cfg\n-- root/srv/$x.cfg " +
			"--\n": "/srv/grub.cfg!",
		"-- root/srv/grub.cfg --\nsource (tftp)/x.cfg\n-- root/srv/(tftp)/x.cfg " +
			"--\n": "/srv/grub.cfg!",
		"-- root/srv/pxelinux.cfg/default --\ninclude ::x.cfg\n-- root/srv/::x.cfg " +
			"--\n": "/srv/pxelinux.cfg/default!",
		"-- root/srv/pxelinux.cfg/default --\ninclude http://x.cfg\n-- root/srv/http:/x.cfg " +
			"--\n": "/srv/pxelinux.cfg/default!",
		"-- root/srv/pxelinux.cfg/default --\ninclude x.cfg\n-- root/srv/x.cfg " +
			"--\n": "/srv/pxelinux.cfg/default! /srv/x.cfg",
		"-- root/srv/s/pxelinux.cfg/default --\ninclude x.cfg\n-- root/srv/s/x.cfg " +
			"--\n": "/srv/s/pxelinux.cfg/default! /srv/s/x.cfg",
		"-- root/srv/grub.cfg --\nsource ../out.cfg\n-- root/out.cfg " +
			"--\n": "/srv/grub.cfg!",
		"-- root/srv/grub.cfg --\nconfigfile " +
			"grub.cfg\n": "/srv/grub.cfg!",
		"-- root/srv/grub.cfg --\nsource grub.cfg\n": "circle",
		"-- root/srv/grub.cfg~ --\n":                 "none",
		"-- root/srv/.git/grub.cfg --\n":             "none",
		"-- root/srv/1/2/3/4/5/6/grub.cfg " +
			"--\n": "/srv/1/2/3/4/5/6/grub.cfg!",
		"-- root/srv/1/2/3/4/5/6/7/grub.cfg --\n": "none",
		"-- root/srv/pxelinux.cfg/default~ --\n-- root/srv/pxelinux.cfg/01-x " +
			"--\n": "/srv/pxelinux.cfg/01-x!",
		"-- link/srv/grub.cfg --\nreal/g.cfg\n-- root/srv/real/g.cfg " +
			"--\n": "/srv/real/g.cfg!",
		"-- link/srv/grub.cfg --\n/etc/g.cfg\n-- root/etc/g.cfg --\n":                "error",
		"-- link/srv/grub.cfg --\ngrub.cfg-2\n-- link/srv/grub.cfg-2 --\ngrub.cfg\n": "error",
		"-- link/srv/in --\nreal\n-- root/srv/grub.cfg --\nsource in/x.cfg\n-- root/srv/real/x.cfg " +
			"--\n": "/srv/grub.cfg! /srv/real/x.cfg",
		"-- link/srv/in --\n/srv/real/deep\n-- root/srv/grub.cfg --\nsource in/y/x.cfg\n-- " +
			"root/srv/real/deep/y/x.cfg --\n": "/srv/grub.cfg! /srv/real/deep/y/x.cfg",
		"-- raw/srv/grub.cfg --\n\"a\\x00b\"\n":                                         "error",
		"-- root/srv/grub.cfg --\n-- denied/srv/grub.cfg --\n":                          "error",
		"-- root/srv/grub.cfg --\nsource x\n-- root/srv/x --\n-- denied/srv/x --\n":     "error",
		"-- root/srv/grub.cfg --\nconfigfile x\n-- root/srv/x --\n-- denied/srv/x --\n": "error",
		"-- root/srv/a/grub.cfg --\n-- denied/srv/a --\n":                               "error",
		"-- root/srv/grub.cfg --\nconfigfile isolinux.cfg\n-- root/srv/isolinux.cfg --\n-- " +
			"root/srv/extlinux.conf --\n": "/srv/extlinux.conf! /srv/grub.cfg! /srv/isolinux.cfg! /srv/isolinux.cfg!",
		"-- root/srv/grub.cfg --\nsource b/grub.cfg\n-- root/srv/b/grub.cfg " +
			"--\n": "/srv/b/grub.cfg! /srv/grub.cfg!",
	} {
		m, err := served(t, text)
		got := ""
		var loop *Loop
		switch {
		case errors.Is(err, ErrNone):
			got = "none"
		case errors.As(err, &loop):
			got = "circle"
		case err != nil:
			got = "error"
		default:
			for _, f := range m.Files {
				if got += " " + f.Path; f.Entry {
					got += "!"
				}
			}
		}
		if strings.TrimSpace(got) != want {
			t.Errorf("%s: %s, want %s (%v)", text, got, want, err)
		}
	}
}

// TestGRUBHead: the file that GRUB begins with sets the port up, where it starts anything; graphics give way.
func TestGRUBHead(t *testing.T) {
	const head = "serial --unit=0 --speed=9600 --word=8 --parity=no --stop=1\nterminal_input serial console\nterminal_output serial " +
		"console\n"
	for in, want := range map[string]string{
		"menuentry x {\n}\n":        head + "menuentry x {\n}\n",
		head + "menuentry x {\n}\n": "",
		"linux /k\n":                head + "linux /k console=ttyS0,9600n8\n",
		"set a=b\n":                 "",
		"  terminal_output gfxterm\nterminal x\n":   "  terminal_output serial console\nterminal x\n",
		"insmod gfxterm\n":                          "",
		" serial --unit=1\n":                        " " + strings.SplitAfter(head, "\n")[0],
		"menuentry x {\r\n}\r\n":                    strings.ReplaceAll(head, "\n", "\r\n") + "menuentry x {\r\n}\r\n",
		"linux /k a; linux /l b }\n":                head + "linux /k a console=ttyS0,9600n8 ; linux /l b console=ttyS0,9600n8 }\n",
		"serial_thing\nterminal_input gfxterm\n":    "serial_thing\nterminal_input serial console\n",
		"linux /k console=ttyS0,9600n8 # comment\n": head + "linux /k console=ttyS0,9600n8 # comment\n",
		"linux /k a # comment\n":                    head + "linux /k a console=ttyS0,9600n8 # comment\n",
	} {
		m := &Menus{Files: []File{{Path: "/grub.cfg", Dialect: GRUB, Entry: true, Text: in}}}
		got := ""
		for _, e := range m.Rewrite(Console{0, 9600}) {
			got += e.New
		}
		if got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
