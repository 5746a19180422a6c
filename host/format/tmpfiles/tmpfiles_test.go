package tmpfiles

import (
	"fmt"
	"strings"
	"testing"

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
