package tmpfiles

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"fettle/host"
	"fettle/host/acl"
	"fettle/host/hosttest"
	"fettle/internal/means"
)

func TestRead(t *testing.T) {
	h := hosttest.New(t, `machine: x86_64
-- root/etc/machine-id --
0123456789abcdef0123456789abcdef
-- root/etc/os-release --
ID=debian
VERSION_ID="12"
-- root/usr/lib/tmpfiles.d/a.conf --
# comment
  # another
z /var/log/journal 2755 root systemd-journal - -
Z /run/log/journal/%m ~2750 root :systemd-journal
a+ /var/log/journal/%m - - - - d:group:adm:r-x,group:adm:r-x
d!- "/with space/%o%w" :0755 "ro\x6ft" 0 10d -
f+$ /plain 0644 - - - 100%% sure, 5%.
y /unknown
d
d relative
d /mode 0999
d "/open
a+ /nothing
d+!+ /twice
z /bad/%y
z /boot/%b
z /es\cape
-- root/etc/tmpfiles.d/b.conf --
d /b
-- root/usr/lib/tmpfiles.d/b.conf --
d /hidden
`)
	c := Read(t.Context(), h)
	if c.Unread != nil {
		t.Fatal(c.Unread)
	}
	var got strings.Builder
	for _, l := range c.Lines {
		fmt.Fprintf(
			&got,
			"%d %c %s mode=%v %o user=%v group=%v age=%s arg=%s\n",
			l.Num,
			l.Type,
			l.Path,
			l.Mode.Set,
			l.Mode.Bits,
			l.User,
			l.Group,
			l.Age,
			l.Argument,
		)
	}
	for _, e := range c.Errors {
		fmt.Fprintln(&got, e)
	}
	for _, e := range c.Skipped {
		fmt.Fprintln(&got, "skipped", e)
	}
	want := `3 z /var/log/journal mode=true 2755 user={root false} group={systemd-journal false} age= arg=
4 Z /run/log/journal/0123456789abcdef0123456789abcdef mode=true 2750 user={root false} group={systemd-journal true} age= arg=
5 a /var/log/journal/0123456789abcdef0123456789abcdef mode=false 0 user={ false} group={ false} age= arg=d:group:adm:r-x,group:adm:r-x
6 d /with space/debian12 mode=true 755 user={root false} group={0 false} age=10d arg=
7 f /plain mode=true 644 user={ false} group={ false} age= arg=100% sure, 5%.
1 d /b mode=false 0 user={ false} group={ false} age= arg=
/usr/lib/tmpfiles.d/a.conf:8: unknown type
/usr/lib/tmpfiles.d/a.conf:9: a line needs a type and a path
/usr/lib/tmpfiles.d/a.conf:10: the path is not absolute
/usr/lib/tmpfiles.d/a.conf:11: the mode is not an octal number up to 7777
/usr/lib/tmpfiles.d/a.conf:12: a quote is not closed
/usr/lib/tmpfiles.d/a.conf:13: a line of type a needs an argument
/usr/lib/tmpfiles.d/a.conf:14: the type has an unknown or repeated modifier
/usr/lib/tmpfiles.d/a.conf:15: path: unknown specifier %y
/usr/lib/tmpfiles.d/a.conf:17: \c is no escape sequence
skipped /usr/lib/tmpfiles.d/a.conf:16: path: specifier %b has no value here: the boot ID is not known
`
	if got.String() != want {
		t.Errorf("got\n%s\nwant\n%s", got.String(), want)
	}
}

func TestUnread(t *testing.T) {
	c := Read(
		t.Context(),
		hosttest.New(
			t,
			"-- root/etc/tmpfiles.d/a.conf --\nd /a\n-- denied/etc/tmpfiles.d/b.conf --\n-- stat/etc/tmpfiles.d/b.conf --\nmode 600 size 3\n",
		),
	)
	if len(c.Lines) != 1 || c.Unread == nil {
		t.Errorf("%+v", c)
	}
}

func TestFor(t *testing.T) {
	c := &Config{}
	c.parse("t", `z /v/j 2755
z /v/* 0700
a+ /v/j - - - - g:4:rx
d /v/j 0750
d /v/j 0711
Z /v 0700
z /v/j/other 0700
R /v
`, func(s string) (string, error) { return s, nil })
	var got []string
	for _, l := range c.For("/v/j") {
		got = append(got, fmt.Sprint(l.Num))
	}
	if strings.Join(got, " ") != "8 6 4 3 1 2" {
		t.Errorf("lines %v", got)
	}
}

func TestFuzz(t *testing.T) { means.Fuzz(t) }

func FuzzParse(f *testing.F) {
	f.Add("z /var/log/journal 2755 root systemd-journal - -\na+! \"/a b\\x20\" - - - - d:group:adm:r-x\n")
	f.Add("d /%m/%% ~:0755 'a b' :g 10d \\u00e4")
	f.Add("f /x\\\n\\")
	spec := &specifiers{ctx: f.Context(), h: hosttest.New(f, "-- root/etc/machine-id --\n0123456789abcdef0123456789abcdef\n")}
	f.Fuzz(func(t *testing.T, s string) {
		c := &Config{}
		c.parse("f", s, spec.expand)
		for _, l := range c.Lines {
			if l.Path == "" || l.Path[0] != '/' || l.Mode.Bits > 0o7777 {
				t.Fatalf("%+v", l)
			}
			c.For(l.Path)
		}
	})
}

// TestSecondOwner: a second line that makes the same path is a duplicate and
// ignored, unless it appends (parse_line of tmpfiles.c, item_compatible).
func TestSecondOwner(t *testing.T) {
	for text, want := range map[string]string{"f /p 0600\nf /p 0640\n": "1", "f /p 0600\nf+ /p 0640\n": "1 2",
		"f+ /p 0600\nf /p 0640\n": "1"} {
		c := &Config{}
		c.parse("t", text, func(s string) (string, error) { return s, nil })
		var got []string
		for _, l := range c.For("/p") {
			got = append(got, fmt.Sprint(l.Num))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: lines %v, want %s", text, got, want)
		}
	}
}

// TestLine: what one line is taken for, or what is said of it.
func TestLine(t *testing.T) {
	for line, want := range map[string]string{
		`d /\a\v\\\"\'\sx`:                 "/\a\v\\\"' x",
		`d /\x41\xff\101\u00e4\U0010ffffx`: "/A\xffAä\U0010ffffx",
		`d /%%a%/%`:                        "/%a%/%",
		`d /%a%t%h`:                        "/x86-64/run/root",
		`d /x/../y 7777`:                   "/y",
		`d /x\x4`:                          "an escape sequence is cut off",
		`d /x\u004`:                        "an escape sequence is cut off",
		`d /\x00`:                          `\x00 is no escape sequence`,
		`d /\xgg`:                          `\xgg is no escape sequence`,
		`d /\U00110000`:                    `\U00110000 is no escape sequence`,
		`d /\000`:                          `\0 is no escape sequence`,
		`d /\400`:                          `\4 is no escape sequence`,
		`d /\81`:                           `\8 is no escape sequence`,
		`d /\12`:                           `\1 is no escape sequence`,
		`d /\`:                             "a backslash at the end of the line",
		"d /%z":                            "path: unknown specifier %z",
		"d /%Z":                            "path: unknown specifier %Z",
		"d /%0":                            "path: unknown specifier %0",
		"d /%9":                            "path: unknown specifier %9",
		"d /%A":                            "path: specifier %A has no value here: /etc/os-release",
		"d /x 0755 %z":                     "user: unknown specifier %z",
		"d /x 0755 :":                      "user: a name is missing",
		"d /x 0755 0 %z":                   "group: unknown specifier %z",
		"d /x 0755 0 0 - %z":               "argument: unknown specifier %z",
		"d /x 10000":                       "the mode is not an octal number up to 7777",
		"d /x ~":                           "the mode has no digits",
		"a /x":                             "a line of type a needs an argument",
	} {
		c := Parse(t.Context(), hosttest.New(t, "machine: x86_64\n"), "f", line+"\n")
		got := ""
		for _, l := range c.Lines {
			got = l.Path
		}
		for _, e := range append(c.Errors, c.Skipped...) {
			if got = e.Msg; e.Path != "f" || e.Line != 1 {
				t.Errorf("%s: of %s, line %d", line, e.Path, e.Line)
			}
		}
		if got != want && !(strings.Contains(want, "no value") && strings.HasPrefix(got, want[:len("path: specifier %A has no value")])) {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

// TestArchitecture: %a is systemd's name of the machine, not uname's.
func TestArchitecture(t *testing.T) {
	for machine, want := range map[string]string{"x86_64": "x86-64", "aarch64": "arm64", "i386": "x86", "i686": "x86", "armv7l": "arm",
		"ppc64le": "ppc64-le", "ppc64": "ppc64", "s390x": "s390x", "riscv64": "riscv64", "x686": "", "i6868": "", "i68x": "", "armv7b": "",
		"loongarchl": "", "": ""} {
		got, err := architecture(machine)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v; want %q", machine, got, err, want)
		}
	}
	for id, want := range map[string]bool{strings.Repeat("0a", 16): true, strings.Repeat("0", 32): false, strings.Repeat("0A", 16): false,
		strings.Repeat("0a", 17): false, "uninitialized": false, "": false} {
		if MachineID(id) != want {
			t.Errorf("%q: %v", id, !want)
		}
	}
}

// TestReadOn: what comes after a file that hides others, leads nowhere or cannot be read counts.
func TestReadOn(t *testing.T) {
	const d = "/etc/tmpfiles.d/"
	for text, unread := range map[string]error{
		"-- link" + d + "a.conf --\n/dev/null\n": nil, "-- link" + d + "a.conf --\n/none\n": nil,
		"-- link" + d + "a.conf --\n/etc\n": host.ErrNotRegular,
	} {
		c := Read(t.Context(), hosttest.New(t, text+"-- root"+d+"z.conf --\nd /z\n"))
		if len(c.Lines) != 1 || !errors.Is(c.Unread, unread) {
			t.Errorf("%q: %v, %v", text, c.Lines, c.Unread)
		}
	}
}

// TestSettle: what lines make of a file of root's with mode 640, and of a folder with mode 750.
func TestSettle(t *testing.T) {
	names := acl.Names{
		User:  func(name string) (uint32, error) { return map[string]uint32{"ana": 7}[name], nil },
		Group: func(name string) (uint32, error) { return 0, errors.New("no such group") },
	}
	for lines, want := range map[string]string{
		"z /x 0600 ana 9": "600 7:9 [user::rw-,group::---,other::---] []; 600 7:9 [user::rw-,group::---,other::---] []",
		"z /x 0600 - staff": `640 0:0 [user::rw-,group::r--,other::---] []; 750 0:0 [user::rwx,group::r-x,other::---] []; ` +
			`t:1: group: "staff": no such group`,
		"f /x 0600":                            "600 0:0 [user::rw-,group::---,other::---] []; 750 0:0 [user::rwx,group::r-x,other::---] []",
		"d /x 0700":                            "640 0:0 [user::rw-,group::r--,other::---] []; 700 0:0 [user::rwx,group::---,other::---] []",
		"L /x - - - - /y\nz! /x 0\nz /x ~0777": "666 0:0 [user::rw-,group::rw-,other::rw-] []; 777 0:0 [user::rwx,group::rwx,other::rwx] []",
		"a+ /x - - - - u:5:rX": "640 0:0 [user::rw-,user:5:r--,group::r--,mask::r--,other::---] []; " +
			"750 0:0 [user::rwx,user:5:r-x,group::r-x,mask::r-x,other::---] []",
		"a+ /x - - - - u:5:X,x": "640 0:0 [user::rw-,group::r--,other::---] []; 750 0:0 [user::rwx,group::r-x,other::---] []; " +
			`t:1: ACL entry "x": is not of the form tag:qualifier:permissions`,
		"a+ /x - - - - d:u:5:r": "640 0:0 [user::rw-,group::r--,other::---] []; 750 0:0 [user::rwx,group::r-x,other::---] " +
			"[user::rwx,user:5:r--,group::r-x,mask::r--,other::---]",
	} {
		c := Parse(t.Context(), hosttest.New(t, ""), "t", lines)
		got, errs := "", []error(nil)
		for _, s := range []State{{Mode: 0o640, Access: acl.FromMode(0o640)}, {Dir: true, Mode: 0o750, Access: acl.FromMode(0o750)}} {
			var after State
			after, errs = Settle(c.For("/x"), s, names, false)
			got += fmt.Sprintf("; %o %d:%d [%s] [%s]", after.Mode, after.UID, after.GID, after.Access, after.Default)
		}
		for _, err := range errs {
			got += "; " + err.Error()
		}
		if got != "; "+want {
			t.Errorf("%s:\n%s\nwant\n%s", lines, got[2:], want)
		}
	}
	line := Line{File: "t", Num: 1, Type: 'z', Supported: true, User: Owner{Name: "ana"}}
	if _, errs := Settle([]Line{line}, State{}, acl.Names{}, false); len(errs) != 1 ||
		errs[0].Error() != `t:1: user: "ana" is not a number` {
		t.Error(errs)
	}
}
