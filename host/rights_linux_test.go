package host

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"fettle/internal/means"
)

// reachable is a new folder that every user can walk to.
func reachable(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for d := dir; d != os.TempDir() && d != "/"; d = filepath.Dir(d) {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// build makes a tree from lines "owner mode name content"; content that begins
// with "->" is a symlink, "/" a folder.
func build(t *testing.T, dir, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		var uid, gid int
		var mode os.FileMode
		var name, content string
		if n, _ := fmt.Sscanf(line, "%d:%d %o %s %s", &uid, &gid, &mode, &name, &content); n != 5 {
			t.Fatalf("bad line %q", line)
		}
		at := filepath.Join(dir, name)
		var err error
		switch {
		case content == "/":
			err = os.Mkdir(at, 0o700)
		case strings.HasPrefix(content, "->"):
			err = os.Symlink(strings.ReplaceAll(content[2:], "DIR", dir), at)
		default:
			err = os.WriteFile(at, []byte(content), 0o600)
		}
		if err == nil {
			err = os.Lchown(at, uid, gid)
		}
		if err == nil && !strings.HasPrefix(content, "->") {
			err = os.Chmod(at, mode)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

const family = `0:0 755 home /
0:0 700 secret /
0:0 644 secret/x secret
0:0 600 hash hash
0:0 755 etc /
0:0 644 etc/passwd ana:x:1201:1201::/home/ana:/bin/sh
0:0 644 etc/group team:x:1300:bo,ana
0:1300 640 team team
1201:1201 755 home/ana /
1201:1201 600 home/ana/own own
0:0 600 home/ana/roots roots
1201:1201 777 home/ana/tosecret ->DIR/secret/x
1201:1201 777 home/ana/tohash ->DIR/hash
1201:1201 777 home/ana/toteam ->DIR/team
1201:1201 777 home/ana/tobo ->DIR/home/bo/own
1201:1201 777 home/ana/tomine ->own
1201:1201 777 home/ana/todir ->DIR/secret
1202:1202 700 home/bo /
1202:1202 600 home/bo/own bos
0:0 755 sys /
0:0 777 sys/home ->../home
0:0 777 sys/tohash ->../hash
0:0 1777 tmp /
1201:1201 777 tmp/tohash ->DIR/hash
0:0 777 tmp/rootslink ->DIR/hash
1201:1201 600 tmp/anas anas
1201:1201 000 tmp/closed closed
`

// TestRightsOfOwners: from the first folder or link on that is a user's, files
// are opened with that user's rights. The kernel is the judge of what that is.
func TestRightsOfOwners(t *testing.T) {
	means.Root(t)
	dir := reachable(t)
	build(t, dir, family)
	l, err := NewLive()
	if err != nil {
		t.Fatal(err)
	}
	l.members.Do(func() {
		l.whose = parseMembers([]byte("ana:x:1201:1201::/home/ana:/bin/sh\n"), []byte("team:x:1300:bo,ana\n"))
	})
	r, err := NewRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	ana := func(ctx context.Context) context.Context { return As(ctx, 1201) }
	for _, c := range []struct {
		name string
		as   func(context.Context) context.Context
		want string // content; empty: denied
	}{
		{"hash", nil, "hash"}, {"sys/tohash", nil, "hash"}, {"tmp/rootslink", nil, "hash"}, {"tmp/anas", nil, "anas"}, {"tmp/closed", nil,
			"closed"},
		{"home/ana/own", nil, "own"}, {"home/ana/tomine", nil, "own"}, {"sys/home/ana/own", nil, "own"}, {"home/bo/own", nil, "bos"},
		{"home/ana/roots", nil, ""}, {"home/ana/tosecret", nil, ""}, {"home/ana/tohash", nil, ""}, {"home/ana/todir/x", nil, ""},
		{"sys/home/ana/tohash", nil, ""}, {"tmp/tohash", nil, ""}, {"home/ana/tobo", nil, ""}, {"home/ana/../ana/tohash", nil, ""},
		{"home/ana/toteam", nil, "team"}, {"team", ana, "team"}, {"hash", ana, ""}, {"secret/x", ana, ""}, {"home/bo/own", ana, ""},
		{"home/ana/own", ana, "own"},
	} {
		for which, src := range map[string]struct {
			Source
			base string
		}{"live": {l, dir}, "root": {r, ""}} {
			name := src.base + "/" + c.name
			if which == "root" && strings.Contains(c.name, "to") && c.name != "home/ana/tomine" && c.name != "sys/tohash" {
				continue // absolute links lead elsewhere there; see below
			}
			if which == "root" && (strings.HasPrefix(c.name, "sys/") || c.name == "tmp/rootslink") {
				continue // running state
			}
			ctx := t.Context()
			if c.as != nil {
				ctx = c.as(ctx)
			}
			b, err := src.ReadFile(ctx, name, 100)
			if string(b) != c.want || c.want == "" && !errors.Is(err, ErrDenied) {
				t.Errorf("%s %s: %q %v, want %q", which, c.name, b, err, c.want)
			}
			if _, err := src.Stat(ctx, name, true); c.want != "" && err != nil {
				t.Errorf("%s stat %s: %v", which, c.name, err)
			}
		}
	}
	if _, err := l.ReadDir(t.Context(), dir+"/home/ana/todir"); !errors.Is(err, ErrDenied) {
		t.Errorf("listing through a user's link: %v", err)
	}
	if _, err := l.Stat(t.Context(), dir+"/home/ana/tosecret", true); !errors.Is(err, ErrDenied) {
		t.Errorf("stat through a user's link: %v", err)
	}
	if to, err := l.Readlink(t.Context(), dir+"/home/ana/tohash"); err != nil || to != dir+"/hash" {
		t.Errorf("a user's link as such: %q %v", to, err)
	}
	if es, err := l.ReadDir(t.Context(), dir+"/home/bo"); err != nil || len(es) != 1 {
		t.Errorf("a user's folder: %v %v", es, err)
	}
}

// In a root folder absolute links stay inside; whose they are counts as on a
// live host. A folder of another owner has that owner for root, and a
// container's users are numbered from there.
func TestRightsBelowARoot(t *testing.T) {
	means.Root(t)
	for _, c := range []struct{ base, ana int }{{0, 1201}, {100000, 101201}} {
		dir := reachable(t)
		if err := os.Chown(dir, c.base, c.base); err != nil {
			t.Fatal(err)
		}
		build(t, dir, fmt.Sprintf("%[1]d:0 755 etc /\n%[1]d:0 600 etc/hash hash\n%[1]d:0 777 etc/link ->/etc/hash\n%[1]d:0 755 home /\n"+
			"%[2]d:0 700 home/ana /\n%[2]d:0 600 home/ana/own own\n%[2]d:0 777 home/ana/link ->/etc/hash\n", c.base, c.ana))
		r, err := NewRoot(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		for name, want := range map[string]string{"/etc/hash": "hash", "/etc/link": "hash", "/home/ana/own": "own", "/home/ana/link": ""} {
			if b, err := r.ReadFile(t.Context(), name, 100); string(b) != want || want == "" && !errors.Is(err, ErrDenied) {
				t.Errorf("owner %d: %s: %q %v", c.base, name, b, err)
			}
		}
		if b, err := r.ReadFile(As(t.Context(), 1201), "/home/ana/own", 100); string(b) != "own" {
			t.Errorf("owner %d: as the user: %v", c.base, err)
		}
		if _, err := r.ReadFile(As(t.Context(), 1201), "/etc/hash", 100); !errors.Is(err, ErrDenied) {
			t.Errorf("owner %d: as the user: %v", c.base, err)
		}
	}
}

// A thread gets its own rights back, whatever happened, and others never lose theirs.
func TestRightsAreGivenBack(t *testing.T) {
	means.Root(t)
	dir := reachable(t)
	build(t, dir, family)
	l, _ := NewLive()
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			name, want := dir+"/hash", "hash"
			if i%2 == 0 {
				name, want = dir+"/home/ana/tohash", ""
			}
			for range 20 {
				if b, err := l.ReadFile(t.Context(), name, 100); string(b) != want {
					t.Errorf("%s: %q %v", name, b, err)
				}
			}
		})
	}
	wg.Wait()
	tasks, err := filepath.Glob("/proc/self/task/*/status")
	if err != nil || len(tasks) == 0 {
		t.Fatal(tasks, err)
	}
	own, _ := unix.Getgroups()
	for _, task := range tasks {
		b, err := os.ReadFile(task)
		if err != nil {
			continue // ended
		}
		for line := range strings.Lines(string(b)) {
			f := strings.Fields(line)
			if f[0] == "Uid:" && !slices.Equal(f[1:], []string{"0", "0", "0", "0"}) || f[0] == "Groups:" && len(f)-1 != len(own) {
				t.Errorf("%s: %s", task, line)
			}
		}
	}
}

// TestSecretBehindNames: a secret is told by what was opened, also where
// fettle's own rights would do.
func TestSecretBehindNames(t *testing.T) {
	dir := reachable(t)
	for _, d := range []string{"etc/ssh", "home/ana/.ssh"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{"a": "home/ana/.google_authenticator", "b": "etc/shadow", "c": "etc/ssh/ssh_host_rsa_key",
		"d": "home/ana/.ssh/id_rsa",
		"e": "etc/krb5.keytab", "fine": "home/ana/.ssh/id_rsa.pub"} {
		os.WriteFile(filepath.Join(dir, to), []byte("x"), 0o600)
		os.Symlink(to, filepath.Join(dir, name))
	}
	r, err := NewRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for _, name := range []string{"/a", "/b", "/c", "/d", "/e", "/home/ana/.google_authenticator"} {
		if _, err := r.ReadFile(t.Context(), name, 10); !errors.Is(err, ErrSecret) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"/fine", "/etc/shadow"} { // by its own name, by whoever has a use for it
		if _, err := r.ReadFile(t.Context(), name, 10); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestMembers: what the account files say badly gives nobody any rights, and the first line of a number counts.
func TestMembers(t *testing.T) {
	const passwd = "ana:x:1201:1201::/:/bin/sh\nbo:x:1202:50::/:/bin/sh\nalso:x:1201:0::/:/bin/sh\nbad:x:one:0::/:/bin/sh\n" +
		"worse:x:1204:one::/\n" +
		"short:x:1205\nfar:x:4294967296:0::/\nlast:x:1206:1206"
	const group = "team:x:1300:bo,ana\nagain:x:1300:ana\nbad:x:one:ana\nother:x:1301:ana,also,nobody\nshort:x:1302\n" +
		"root:x:0:worse,bad\nnone:x:1303:\n"
	m := parseMembers([]byte(passwd), []byte(group))
	if want := map[uint32]uint32{1201: 1201, 1202: 50, 1206: 1206}; !maps.Equal(m.gid, want) {
		t.Errorf("primary groups %v, want %v", m.gid, want)
	}
	want := map[uint32][]uint32{1201: {1300, 1301}, 1202: {1300}}
	if !maps.EqualFunc(m.groups, want, slices.Equal) {
		t.Errorf("further groups %v, want %v", m.groups, want)
	}
}
