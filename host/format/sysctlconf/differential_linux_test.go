package sysctlconf

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
	"golang.org/x/tools/txtar"

	"fettle/host/hosttest"
	"fettle/internal/means"
)

// The real programs are the measure. Each case is a tree of configuration
// files and the keys that the kernel is to have. The program runs in a mount
// namespace where the tree stands at /etc, /run and below /usr, and where
// /proc/sys is a folder of plain files: so any key may be written, and
// nothing of the machine changes. Afterwards each key's file must hold what
// Lookup says.

func init() {
	child = func(root string) error {
		if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
			return fmt.Errorf("making mounts private: %w", err)
		}
		binds := []string{"/usr/local/lib", "/usr/lib/sysctl.d", "/run", "/etc"}
		if os.Getenv("SYSCTLCONF_REALPROC") == "" {
			binds = append(binds, "/proc/sys")
		}
		for _, dir := range binds {
			if err := unix.Mount(filepath.Join(root, dir), dir, "", unix.MS_BIND, ""); err != nil {
				return fmt.Errorf("bind mount on %s: %w", dir, err)
			}
		}
		args := os.Args[1:]
		return syscall.Exec(args[0], args, []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8", "SYSTEMD_LOG_TARGET=console"})
	}
}

// plant writes the archive's root/, raw/ and link/ sections, and the keys, below dir.
func plant(t *testing.T, dir, archive string, keys []string) {
	t.Helper()
	write := func(name string, b []byte) {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, d := range []string{"etc", "run", "usr/local/lib", "usr/lib/sysctl.d", "proc/sys"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	planted := hosttest.New(t, archive)
	for _, f := range txtar.Parse([]byte(archive)).Files {
		section, rest, _ := strings.Cut(f.Name, "/")
		switch section {
		case "root", "raw":
			b, err := planted.ReadFile(t.Context(), "/"+rest)
			if err != nil {
				t.Fatal(err)
			}
			write(rest, b)
		case "link":
			p := filepath.Join(dir, rest)
			if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(strings.TrimSpace(string(f.Data)), p); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, k := range keys {
		write("proc/sys/"+k, nil)
	}
}

// run runs a reader over the planted tree and returns what it printed. Its
// exit status says whether all lines could be applied, which is no matter here.
func run(t *testing.T, dir string, env []string, argv ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), means.Patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/proc/self/exe", argv...)
	cmd.Env = append([]string{"SYSCTLCONF_CHILD=" + dir}, env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWNET}
	out, err := cmd.CombinedOutput()
	var ee *exec.ExitError
	if err != nil && !errors.As(err, &ee) || ee != nil && ee.ExitCode() == 70 {
		t.Fatalf("running %v: %v\n%s", argv, err, out)
	}
	return string(out)
}

func reader(t *testing.T, r Reader) []string {
	t.Helper()
	if r == Procps {
		return []string{means.Tool(t, "sysctl"), "--system"}
	}
	for _, p := range []string{"/usr/lib/systemd/systemd-sysctl", "/lib/systemd/systemd-sysctl"} {
		if _, err := os.Stat(p); err == nil {
			return []string{p}
		}
	}
	means.Tool(t, "systemd-sysctl") // says that it is missing
	return nil
}

func read(t *testing.T, archive string, r Reader) *Config {
	t.Helper()
	c, err := Read(t.Context(), hosttest.New(t, archive), r)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Unread) > 0 {
		t.Fatalf("could not look at %v", c.Unread)
	}
	return c
}

func TestAgainstTheRealPrograms(t *testing.T) {
	means.Short(t, "takes seconds")
	means.Root(t)
	for _, tc := range differential {
		for _, r := range []Reader{Systemd, Procps} {
			t.Run(tc.name+"/"+strings.Fields(string(r))[0], func(t *testing.T) {
				argv := reader(t, r)
				dir := t.TempDir()
				keys := strings.Fields(tc.keys)
				plant(t, dir, tc.files, keys)
				printed := run(t, dir, nil, argv...)
				c := read(t, tc.files, r)
				for _, k := range keys {
					b, err := os.ReadFile(filepath.Join(dir, "proc/sys", k))
					if err != nil {
						t.Fatal(err)
					}
					real := strings.TrimSuffix(string(b), "\n")
					got, _ := c.Lookup(k).Value()
					if got != real {
						t.Errorf("%s: we say %q, %s wrote %q\nfiles %v\nit printed:\n%s", k, got, r, real, c.Files, printed)
					}
				}
			})
		}
	}
}

// TestOrderOnTheRealKernel checks what an order of writes does to the IPv6
// parameters of interfaces, in a network namespace of its own.
func TestOrderOnTheRealKernel(t *testing.T) {
	means.Root(t)
	ip, sh := means.Tool(t, "ip"), means.Tool(t, "sh")
	for name, conf := range map[string]string{
		"all after own":     "net.ipv6.conf.va.forwarding=0\nnet.ipv6.conf.all.forwarding=1\n",
		"own after all":     "net.ipv6.conf.all.forwarding=1\nnet.ipv6.conf.va.forwarding=0\n",
		"own repeated":      "net.ipv6.conf.va.forwarding=0\nnet.ipv6.conf.all.forwarding=1\nnet.ipv6.conf.va.forwarding=0\n",
		"own changed":       "net.ipv6.conf.va.forwarding=1\nnet.ipv6.conf.all.forwarding=1\nnet.ipv6.conf.va.forwarding=0\n",
		"glob":              "net.ipv6.conf.*.accept_ra=2\nnet.ipv6.conf.vb.accept_ra=0\n",
		"all accept_ra":     "net.ipv6.conf.all.accept_ra=2\n",
		"default accept_ra": "net.ipv6.conf.default.accept_ra=2\n",
		"default, then all": "net.ipv6.conf.default.forwarding=1\nnet.ipv6.conf.all.forwarding=0\n",
		"own, then all 0":   "net.ipv6.conf.va.forwarding=1\nnet.ipv6.conf.all.forwarding=0\n",
		"all 1, then all 0": "net.ipv6.conf.all.forwarding=1\nnet.ipv6.conf.va.forwarding=1\nnet/ipv6/conf/all/forwarding=0\n",
		"glob, all 0":       "net.ipv6.conf.*.forwarding=1\nnet.ipv6.conf.all.forwarding=0\n",
		"disable_ipv6":      "net.ipv6.conf.all.disable_ipv6=1\nnet.ipv6.conf.vb.disable_ipv6=0\n",
		"dots in the name":  "net.ipv6.conf.va/7.accept_ra=2\nnet/ipv6/conf/va.7/autoconf=0\n",
	} {
		for _, r := range []Reader{Systemd, Procps} {
			t.Run(name+"/"+strings.Fields(string(r))[0], func(t *testing.T) {
				archive := "-- root/etc/sysctl.d/50-test.conf --\n" + conf
				dir := t.TempDir()
				plant(t, dir, archive, nil)
				// The script is fixed; the reader's words are its arguments. Afterwards
				// an interface "late" appears, as after boot, without udev.
				script := ip + " link add va type veth peer name vb\n" + ip + " link add va.7 type veth peer name vc\n" + `
"$@" >/dev/null 2>&1
` + ip + ` link add late type veth peer name late2
for i in va vb va.7 late; do for p in forwarding accept_ra disable_ipv6 autoconf; do
v=; read -r v </proc/sys/net/ipv6/conf/$i/$p; echo $i $p $v; done; done`
				out := run(t, dir, []string{"SYSCTLCONF_REALPROC=1"}, append([]string{sh, "-c", script, "sh"}, reader(t, r)...)...)
				c := read(t, archive, r)
				seen := 0
				for line := range strings.Lines(out) {
					f := strings.Fields(line)
					if len(f) != 3 || !strings.Contains("va vb va.7 late", f[0]) {
						continue
					}
					seen++
					want := map[string]string{"forwarding": "0", "accept_ra": "1", "disable_ipv6": "0", "autoconf": "1"}[f[1]]
					e := c.ForInterface("ipv6", f[0], f[1])
					s := e.Present
					if f[0] == "late" {
						s = e.Later
					}
					if s != nil {
						want = s.Value
					}
					if f[2] != want {
						t.Errorf("%s %s: we say %s, the kernel %s", f[0], f[1], want, f[2])
					}
				}
				if seen != 16 {
					t.Errorf("saw %d values of 16:\n%s", seen, out)
				}
			})
		}
	}
}
