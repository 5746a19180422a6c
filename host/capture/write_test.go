package capture_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fettle/host"
	"fettle/host/capture"
	"fettle/host/hosttest"
)

// recorded records what a host of txtar text answers to some questions, asked in this order.
func recorded(t *testing.T, text string, questions ...string) *capture.Capture {
	t.Helper()
	src, _, err := hosttest.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	rec := capture.NewRecorder(src)
	for _, q := range questions {
		op, name, _ := strings.Cut(q, " ")
		switch op {
		case "read":
			rec.ReadFile(t.Context(), name, 1<<30)
		case "dir":
			rec.ReadDir(t.Context(), name)
		case "stat":
			rec.Stat(t.Context(), name, true)
		case "link":
			rec.Readlink(t.Context(), name)
		case "xattr":
			rec.Xattr(t.Context(), name, "user.x")
		case "command":
			f := strings.Fields(name)
			rec.Command(t.Context(), host.Command{Name: f[0], Args: f[1:]})
		case "table":
			rec.Table(t.Context(), host.Table(name))
		default:
			t.Fatal(q)
		}
	}
	return rec.Capture()
}

// disk is one that has room for so many bytes.
type disk struct{ room int }

var errFull = errors.New("no room")

func (d *disk) Write(b []byte) (int, error) {
	n := min(len(b), d.room)
	if d.room -= n; n < len(b) {
		return n, errFull
	}
	return n, nil
}

// TestFullDisk: a capture that could not be written whole was not written.
func TestFullDisk(t *testing.T) {
	noise := make([]byte, 3<<20) // nothing packs it
	r := rand.NewChaCha8([32]byte{})
	r.Read(noise)
	var b strings.Builder
	for i := range 3 {
		fmt.Fprintf(&b, "-- root/etc/%d --\n%x\n", i, noise[i<<20:][:1<<20])
	}
	c := recorded(t, b.String(), "read /etc/0", "read /etc/1", "read /etc/2")
	var whole bytes.Buffer
	if err := c.Write(&whole); err != nil {
		t.Fatal(err)
	}
	n := whole.Len()
	for _, room := range []int{0, n / 4, n / 2, n - 1} {
		if err := c.Write(&disk{room}); !errors.Is(err, errFull) {
			t.Errorf("room for %d bytes of %d: %v", room, n, err)
		}
	}
	if err := c.Write(&disk{n}); err != nil {
		t.Errorf("room for all: %v", err)
	}
}

const house = `
-- root/etc/hosts --
127.0.0.1 localhost
-- root/etc/a --
one
-- denied/etc/shadow --
-- link/etc/link --
hosts
-- xattr/user.x/etc/hosts --
61
-- command/systemctl show ssh.service --
exit 3
NRestarts=7
-- denied/table/links --
-- table/routes6 --
[{"dst":"default"}]
-- uncollected/etc/nobody --
-- denied/command/nft list ruleset --
`

var asked = []string{"read /etc/hosts", "read /etc/a", "read /etc/none", "read /etc/shadow", "dir /etc", "stat /etc/hosts",
	"link /etc/link",
	"link /etc/hosts", "xattr /etc/hosts", "command systemctl show ssh.service", "command nft list ruleset", "table links", "table routes6",
	"read /etc/nobody"}

// TestSameBytes: in whatever order a host is asked, the capture is the same.
func TestSameBytes(t *testing.T) {
	var first, second bytes.Buffer
	if err := errors.Join(recorded(t, house, asked...).Write(&first), recorded(t, house,
		sortedBackwards(asked)...).Write(&second)); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Error("another order, another capture")
	}
}

func sortedBackwards(s []string) []string {
	s = slices.Sorted(slices.Values(s))
	slices.Reverse(s)
	return s
}

// TestUnread: what could not be read is listed with the reason; that a thing is absent, or no symlink, is an answer.
func TestUnread(t *testing.T) {
	var got []string
	for _, u := range recorded(t, house, asked...).Unread() {
		got = append(got, u.What+": "+host.Reason(u.Err))
	}
	want := []string{"nft list ruleset: needs root: permission denied", "/etc/nobody: not collected in this capture",
		"/etc/shadow: needs root: permission denied",
		"table links: needs root: permission denied"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestDiffer: each answer that is another one is told, in words, by question.
func TestDiffer(t *testing.T) {
	changed := strings.NewReplacer("exit 3\n", "", "one\n", "two\n", "-- denied/etc/shadow --\n", "", "-- link/etc/link --\nhosts",
		"-- link/etc/link --\na",
		"61", "62", `"default"`, `"::/0"`, "-- uncollected/etc/nobody --\n", "-- root/etc/nobody --\nnow\n").Replace(house) + "-- root/etc/z --\n"
	a := through(t, recorded(t, house, asked...))
	b := through(t, recorded(t, changed, append(slices.DeleteFunc(slices.Clone(asked),
		func(q string) bool { return q == "stat /etc/hosts" }), "read /etc/z")...))
	var got []string
	for _, d := range capture.Differ(a, b) {
		got = append(got, fmt.Sprintf("%s %s: %q -> %q", d.Op, d.What, d.Was, d.Is))
	}
	want := []string{
		`command systemctl show ssh.service: "NRestarts=7\n(exit status 3)\n" -> "NRestarts=7\n"`,
		`dir /etc: "a\nhosts\nlink" -> "a\nhosts\nlink\nnobody\nz"`,
		`link /etc/link: "hosts" -> "a"`,
		`read /etc/a: "one\n" -> "two\n"`,
		`read /etc/nobody: "(not collected in this capture)" -> "now\n"`,
		`read /etc/shadow: "(needs root: permission denied)" -> "(absent)"`,
		`read /etc/z: "(not asked)" -> ""`,
		`stat /etc/hosts: "-rw-r--r--, owner 0:0" -> "(not asked)"`,
		`table routes6: "[\n {\n  \"dst\": \"default\"\n }\n]\n" -> "[\n {\n  \"dst\": \"::/0\"\n }\n]\n"`,
		`xattr /etc/hosts user.x: "\"a\"" -> "\"b\""`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if d := capture.Differ(a, a); len(d) > 0 {
		t.Errorf("a capture differs from itself: %v", d)
	}
}

// TestExtract: of a file that is large what was made of it is kept, and its content is not.
func TestExtract(t *testing.T) {
	src, _, err := hosttest.Parse([]byte(house))
	if err != nil {
		t.Fatal(err)
	}
	rec := capture.NewRecorder(made{src})
	of := func(r io.Reader) ([]byte, error) { return nil, errors.New("nobody reads the file again") }
	if b, err := rec.Extract(t.Context(), "kernel", "/boot/vmlinuz", of); err != nil || string(b) != `"kernel of /boot/vmlinuz"` {
		t.Errorf("%s, %v", b, err)
	}
	s := through(t, rec.Capture())
	if b, err := host.ExtractOf(t.Context(), s, "kernel", "/boot/vmlinuz", of); err != nil || string(b) != `"kernel of /boot/vmlinuz"` {
		t.Errorf("out of the capture: %s, %v", b, err)
	}
	if _, err := host.ExtractOf(t.Context(), s, "kernel", "/boot/other", of); !errors.Is(err, host.ErrNotCollected) {
		t.Errorf("of another file: %v", err)
	}
}

// made is a host that says what is made of a file.
type made struct{ host.Source }

func (made) Table(_ context.Context, t host.Table) ([]byte, error) {
	kind, name, _ := strings.Cut(string(t), " ")
	return []byte(fmt.Sprintf("%q", kind+" of "+name)), nil
}

// TestFound: a capture in a folder is found, if that is all there is.
func TestFound(t *testing.T) {
	dir := t.TempDir()
	for _, sub := range []string{"one/c", "two/c", "empty"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	manifest := []byte(`{"format":"fettle-capture","version":1,"name":"web1"}`)
	for _, name := range []string{"one/c/manifest.json", "two/c/manifest.json", "two/more"} {
		if err := os.WriteFile(filepath.Join(dir, name), manifest, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, ok := range map[string]bool{"one": true, "one/c": true, "two": false, "two/c": true, "empty": false} {
		s, err := capture.Open(t.Context(), filepath.Join(dir, name))
		if (err == nil) != ok {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			if s.Name() != "web1" {
				t.Errorf("%s: of the host %q", name, s.Name())
			}
			s.Close()
		}
	}
}

// TestMembersApart: names that a file system without letter case, or a tar program, would take for one are told apart.
func TestMembersApart(t *testing.T) {
	c := recorded(t, "-- root/etc/Motd --\nA\n-- root/etc/motd --\nb\n-- root/etc/MOTD --\nc\n",
		"read /etc/Motd", "read /etc/motd", "read /etc/MOTD")
	var b bytes.Buffer
	if err := c.Write(&b); err != nil {
		t.Fatal(err)
	}
	folded := map[string]string{}
	for _, a := range c.Answers {
		low := strings.ToLower(a.Member)
		if other := folded[low]; a.Member == "" || other != "" {
			t.Errorf("%s is kept as %q, %s as %q", a.Path, a.Member, other, low)
		}
		folded[low] = string(a.Path)
	}
}
