package host

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fettle/internal/means"
)

func TestPathsAmongArguments(t *testing.T) {
	many := "x" + strings.Repeat("\x00/a", heldMost+1)
	for line, want := range map[string][]string{
		"/usr/sbin/in.tftpd\x00--secure\x00/srv/tftp\x00": {"/srv/tftp"}, "dnsmasq\x00--tftp-root=/srv/a\x00-k=v\x00root=/x": {"/srv/a"},
		"nginx: master process /usr/sbin/nginx": nil, "": nil, many: slices.Repeat([]string{"/a"}, heldMost),
	} {
		if got := pathsIn([]byte(line)); !slices.Equal(got, want) {
			t.Errorf("%.60q: %q, want %q", line, got, want)
		}
	}
}

// TestHeld: what a server of files has for its folder, root, open and mounted, by the names of now; other programs are not looked at.
func TestHeld(t *testing.T) {
	means.Root(t)
	sh, unshare := means.Tool(t, "sh"), means.Tool(t, "unshare")
	dir := t.TempDir()
	nginx, other := dir+"/nginx", dir+"/other"
	for _, name := range []string{nginx, other} { // a process is called as it was started
		if err := os.Symlink(os.Args[0], name); err != nil {
			t.Fatal(err)
		}
	}
	write(t, dir+"/gone", "1")
	write(t, dir+"/stays", "1")
	for _, d := range []string{"cwd", "www", "served", "point"} {
		if err := os.Mkdir(dir+"/"+d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	const held = `mount --bind "$1/www" "$1/point" && mount --bind "$1/stays" "$1/file" &&
		cd "$1/cwd" && rmdir "$1/cwd" && exec "$2" -c /etc/nginx.conf`
	write(t, dir+"/file", "")
	shown := func(fs ...HeldFile) string {
		var out []string
		for _, f := range fs {
			s := strings.TrimPrefix(f.Path, dir+"/")
			if f.Deleted {
				s += " deleted"
			}
			if f.Ino == 0 || f.Dev == 0 {
				s += " unknown"
			}
			out = append(out, s)
		}
		return strings.Join(out, ", ")
	}
	pid := startArgs(t, []string{unshare, "-m", sh, "-c", held, "sh", dir, nginx},
		"ro="+dir+"/gone", "rm="+dir+"/gone", "ro="+dir+"/stays", "memfd")
	beside := startArgs(t, []string{other}, "ro="+dir+"/stays")
	plain := startArgs(t, []string{nginx}, "ro="+dir+"/stays")
	src, err := NewLive()
	if err != nil {
		t.Fatal(err)
	}
	all, err := New(src).Held(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	here, _ := os.Getwd()
	for pid, want := range map[int]string{
		pid: "nginx [/etc/nginx.conf]: cwd deleted; /; gone deleted; point", plain: fmt.Sprintf("nginx []: %s; /; ; ", here), beside: "",
	} {
		got := ""
		for _, h := range all {
			if h.PID == pid {
				got = fmt.Sprintf("%s %s: %s; %s; %s; %s", h.Comm, h.Paths, shown(h.Cwd), shown(h.Root), shown(h.Files...), shown(h.Mounts...))
			}
		}
		if got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	if st, err := os.Stat(filepath.Join(dir, "www")); err != nil || !st.IsDir() {
		t.Error(err)
	}
}
