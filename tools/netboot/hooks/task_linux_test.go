package hooks

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"fettle/internal/means"
)

// tasks are whole ones of Debian's, of some hundred packages with daemons, databases and
// caches that are built at the end.
var tasks = []string{"task-web-server", "task-ssh-server", "cups", "task-laptop", "postgresql", "mariadb-server"}

// differsAnyway is what two installations differ in whatever fsync does.
var differsAnyway = regexp.MustCompile(`^/(` + strings.Join([]string{
	`var/log/.*`, `var/cache/(apt|ldconfig)/.*`, `var/cache/debconf/.*`, // times
	`etc/ssh/ssh_host_.*`, `etc/ssl/(private|certs)/ssl-cert-snakeoil\..*`, // keys
	`etc/ssl/certs/[0-9a-f]{8}\.[0-9]`, `var/lib/systemd/random-seed`,
	`etc/machine-id`, `var/lib/dbus/machine-id`, `etc/(shadow|gshadow|passwd|group)-?`, // identities, days
	`var/lib/(postgresql|mysql|mecab)/.*`, // a cluster has an identity and clocks; what it is made of is compared by name
	`etc/mysql/debian\.cnf`, `var/lib/snmp/.*`, `usr/bin/(dpkg|apt-get)(\.distrib)?`, `var/lib/dpkg/(diversions|triggers/Lock|lock.*)(-old)?`,
	`var/lib/apt/.*`, `var/lib/dpkg/info/format-new`, `boot/.*`, `var/lib/ucf/cache/.*`, `var/lib/dpkg/status-old`,
	`var/lib/command-not-found/.*`,
}, "|") + `)$`)

// TestTasksWithoutSync: is there a package that depends on fsync having an effect? Whole
// tasks are installed twice from the archive, with fsync and through eatmydata as the hooks
// have it, and all files compared.
func TestTasksWithoutSync(t *testing.T) {
	means.Long(t, "installs several hundred packages twice")
	means.Root(t)
	base := t.TempDir() + "/base"
	run := func(name string, args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C", "SOURCE_DATE_EPOCH=1700000000")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %v: %v\n%.4000s", name, args, err, out[max(0, len(out)-4000):])
		}
		return string(out)
	}
	run(means.Tool(t, "mmdebstrap"), "--variant=apt", "--include=eatmydata", "bookworm", base)
	run("chroot", base, "/usr/bin/apt-get", "update", "-q")
	files := map[string]map[string]string{}
	for _, how := range []string{"fsync", "eatmydata"} {
		root := filepath.Join(filepath.Dir(base), how)
		run("cp", "-a", "--reflink=auto", base, root)
		for _, m := range [][3]string{{"proc", "/proc", "proc"}, {"/dev", "/dev", ""}, {"tmpfs", "/run", "tmpfs"}} {
			flags := uintptr(0)
			if m[2] == "" {
				flags = syscall.MS_BIND | syscall.MS_REC
			}
			if err := syscall.Mount(m[0], root+m[1], m[2], flags, ""); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { syscall.Unmount(root+m[1], syscall.MNT_DETACH) })
		}
		if err := os.WriteFile(root+"/usr/sbin/policy-rc.d", []byte("#!/bin/sh\nexit 101\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		argv := []string{root, "/usr/bin/apt-get", "install", "-y", "-q", "--no-install-recommends"}
		if how == "eatmydata" {
			argv = slices.Insert(argv, 1, "/usr/bin/eatmydata", "--")
		}
		run("chroot", append(argv, tasks...)...)
		files[how] = described(t, root)
	}
	n := 0
	for _, name := range slices.Sorted(maps.Keys(files["fsync"])) {
		if differsAnyway.MatchString(name) {
			continue
		}
		n++
		if with, without := files["fsync"][name], files["eatmydata"][name]; with != without {
			t.Errorf("%s: %s with fsync, %s without", name, with, without)
		}
	}
	for name := range files["eatmydata"] {
		if _, ok := files["fsync"][name]; !ok && !differsAnyway.MatchString(name) {
			t.Errorf("%s is there only without fsync", name)
		}
	}
	if n < 10_000 {
		t.Errorf("only %d files were compared", n)
	}
	t.Logf("%d files and folders are the same", n)
}

// described is what each file of a tree is, and a sum of what it holds.
func described(t *testing.T, root string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(p, root)
		if slices.Contains([]string{"/proc", "/dev", "/run", "/sys"}, name) {
			return filepath.SkipDir
		}
		st, err := os.Lstat(p)
		if err != nil {
			return err
		}
		sys := st.Sys().(*syscall.Stat_t)
		s := fmt.Sprintf("%s %d:%d", st.Mode(), sys.Uid, sys.Gid)
		switch {
		case st.Mode()&fs.ModeSymlink != 0:
			to, err := os.Readlink(p)
			if err != nil {
				return err
			}
			s += " -> " + to
		case st.Mode().IsRegular():
			b, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			s += fmt.Sprintf(" %d %x", len(b), sha256.Sum256(b))
		}
		out[name] = s
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
