package tmpfiles

import (
	"bytes"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"fettle/host"
	"fettle/host/acl"
	"fettle/internal/means"
)

// TestAgainstCatConfig compares this machine's fragments, their order and
// which of them hide others, with what systemd-tmpfiles itself reads.
func TestAgainstCatConfig(t *testing.T) {
	bin := means.Tool(t, "systemd-tmpfiles")
	out, err := exec.Command(bin, "--cat-config", "--no-pager").Output()
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for line := range bytes.Lines(out) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(string(line)), "# /"); ok && strings.HasSuffix(name, ".conf") &&
			strings.Contains(name, "tmpfiles.d/") {
			want = append(want, "/"+name)
		}
	}
	src, err := host.NewLive()
	if err != nil {
		t.Fatal(err)
	}
	c := Read(t.Context(), host.New(src))
	if c.Unread != nil {
		t.Fatal(c.Unread)
	}
	var got []string
	for _, f := range c.Files {
		got = append(got, f.Path)
	}
	if len(want) == 0 || strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("files read:\n%s\nsystemd-tmpfiles reads:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, e := range c.Errors {
		t.Errorf("a file of this machine has an error that systemd-tmpfiles should know too: %v", e)
	}
}

// TestSettleAsTheRealOne gives random files and folders to systemd-tmpfiles
// --create --root with random lines, and compares what it makes of them.
func TestSettleAsTheRealOne(t *testing.T) {
	means.Root(t)
	bin := means.Tool(t, "systemd-tmpfiles")
	rnd := rand.New(rand.NewPCG(7, 8))
	agreed := 0
	for round := range 60 {
		root := t.TempDir()
		conf := filepath.Join(root, "etc/tmpfiles.d/t.conf")
		for dir, mode := range map[string]fs.FileMode{"etc/tmpfiles.d": 0o755, "v": 0o755, "v/j": 0o755} {
			if err := os.MkdirAll(filepath.Join(root, dir), mode); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(root, "v/j/f"), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		var lines strings.Builder
		for range 1 + rnd.IntN(5) {
			lines.WriteString(randomLine(rnd) + "\n")
		}
		if err := os.WriteFile(conf, []byte(lines.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		names := []string{"/v/j", "/v/j/f"}
		before := map[string]State{}
		for _, n := range names {
			p := filepath.Join(root, n)
			st := read(t, p)
			if err := os.Chown(p, 0, rnd.IntN(3)); err != nil {
				t.Fatal(err)
			}
			if err := syscall.Chmod(p, uint32([]int{0o755, 0o700, 0o640, 0o2750, 0o444}[rnd.IntN(5)])); err != nil {
				t.Fatal(err)
			}
			if rnd.IntN(2) == 0 {
				list := read(t, p).Access.Merge(acl.Entry{Tag: acl.Group, ID: uint32(rnd.IntN(6)), Perm: acl.Perm(rnd.IntN(8))})
				set(t, p, acl.XattrAccess, list)
				if st.Dir && rnd.IntN(2) == 0 {
					set(t, p, acl.XattrDefault, list)
				}
			}
			before[n] = read(t, p)
		}
		c := &Config{}
		c.parse("t.conf", lines.String(), func(s string) (string, error) { return s, nil })
		if len(c.Errors) > 0 {
			t.Fatal(c.Errors)
		}
		out, err := exec.Command(bin, "--create", "--root="+root).CombinedOutput()
		if err != nil {
			t.Logf("systemd-tmpfiles: %v\n%s", err, out)
		}
		for _, n := range names {
			want, errs := Settle(c.For(n), before[n], acl.Names{}, false)
			if len(errs) > 0 {
				t.Fatal(errs)
			}
			got := read(t, filepath.Join(root, n))
			if show(got) != show(want) {
				t.Fatalf("round %d, %s was %s, lines:\n%s%ssystemd-tmpfiles makes %s\nSettle says          %s",
					round, n, show(before[n]), lines.String(), out, show(got), show(want))
			}
			agreed++
		}
	}
	t.Logf("agreed with systemd-tmpfiles on %d files and folders", agreed)
}

func randomLine(rnd *rand.Rand) string {
	p := []string{"/v", "/v/j", "/v/j", "/v/j/f", "/v/j/*", "/v/*"}[rnd.IntN(6)]
	uid := 0
	if p == "/v/j/f" {
		uid = rnd.IntN(2) // a folder of another owner would make systemd-tmpfiles refuse what is below it
	}
	perm := func() string { return acl.Perm(rnd.IntN(8)).String() }
	switch rnd.IntN(6) {
	case 0:
		return fmt.Sprintf("z %s %s %d %d", p, []string{"-", "2755", "0640", "~2750", "0700"}[rnd.IntN(5)], uid, rnd.IntN(5))
	case 1:
		return fmt.Sprintf("Z %s %s - %d", p, []string{"-", "~2750", "~0555"}[rnd.IntN(3)], rnd.IntN(5))
	case 2:
		return fmt.Sprintf("a+ %s - - - - group:%d:%s", p, rnd.IntN(6), perm())
	case 3:
		return fmt.Sprintf("a+ %s - - - - d:group:%d:%s,d:group::%s,group::%s,g:4:%s", p, rnd.IntN(6), perm(), perm(), perm(), perm())
	case 4:
		return fmt.Sprintf("a %s - - - - user:%d:%s,default:user:1:%s", p, rnd.IntN(6), perm(), perm())
	}
	return fmt.Sprintf("d /v/j %s %d -", []string{"-", "0755", ":0700", "2750"}[rnd.IntN(4)], 0)
}

func show(s State) string {
	return fmt.Sprintf("%o %d:%d [%s] [%s]", s.Mode, s.UID, s.GID, s.Access, s.Default)
}

func read(t *testing.T, p string) State {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Stat(p, &st); err != nil {
		t.Fatal(err)
	}
	s := State{Dir: st.Mode&unix.S_IFMT == unix.S_IFDIR, Mode: st.Mode & 0o7777, UID: st.Uid, GID: st.Gid,
		Access: acl.FromMode(fs.FileMode(st.Mode & 0o777))}
	for attr, to := range map[string]*acl.ACL{acl.XattrAccess: &s.Access, acl.XattrDefault: &s.Default} {
		buf := make([]byte, 4096)
		n, err := unix.Getxattr(p, attr, buf)
		if err == unix.ENODATA || err == unix.EOPNOTSUPP {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if *to, err = acl.ParseXattr(buf[:n]); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func set(t *testing.T, p, attr string, list acl.ACL) {
	t.Helper()
	if err := unix.Setxattr(p, attr, list.Xattr(), 0); err != nil {
		t.Fatal(err)
	}
}
