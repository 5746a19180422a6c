package cli_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fettle/internal/means"
)

// TestFixOverSSH mends hosts over real sshds: namespaces with a network, /etc, /var/lib
// and /root of their own. The trap is bridge-mtu, on the bridge that the login comes over.
func TestFixOverSSH(t *testing.T) {
	means.Short(t, "takes seconds")
	if dir := os.Getenv("FIX_SSH_TEST"); dir != "" {
		fixOverSSH(t, dir)
		return
	}
	means.Root(t)
	for _, tool := range []string{"ssh", "sshd", "ssh-keygen", "ip", "unshare", "gzip", "sha256sum"} {
		means.Tool(t, tool)
	}
	// The process namespace ends sshds, control masters and guards with the child.
	means.Elsewhere(
		t,
		syscall.CLONE_NEWNS|syscall.CLONE_NEWNET|syscall.CLONE_NEWPID|syscall.CLONE_NEWUTS,
		300*time.Second,
		"FIX_SSH_TEST="+means.Programs(t, "fettle"),
	)
}

// sshHost is one host: its bridge has MTU 600 and is configured to have another.
type sshHost struct {
	name string
	mtu  int // that is configured
	path int // what the network to it carries
	odd  string
}

var sshHosts = []sshHost{
	{name: "one", mtu: 1500, path: 1500},
	{name: "two", mtu: 1400, path: 1500},
	{name: "three", mtu: 1500, path: 1500},
	{name: "fails", mtu: 1500, path: 1500, odd: "mount -t tmpfs -o ro,mode=755 tmpfs /var/lib/fettle"},
	{name: "shut", mtu: 1500, path: 600}, // what its configuration asks for, nobody carries
}

// hostStart is the first process of a host: NAME DIR ADDRESS MTU.
const hostStart = `set -e
mount --make-rprivate /
hostname "$1"
for d in etc var/lib; do
	mkdir -p "$2/$1/$d/upper" "$2/$1/$d/work"
	mount -t overlay overlay -o "lowerdir=/$d,upperdir=$2/$1/$d/upper,workdir=$2/$1/$d/work" "/$d"
done
rm -rf /var/lib/fettle
mkdir -p /var/lib/fettle /etc/network
mount -t tmpfs -o mode=700 tmpfs /root
mount -t tmpfs tmpfs /run
mkdir -p /run/sshd
printf '%s\n' root:*:0:0:root:/root:/bin/sh sshd:x:100:65534::/run/sshd:/usr/sbin/nologin > /etc/passwd
rm -rf /etc/network/interfaces.d
printf 'auto br0\niface br0 inet static\n\taddress %s/24\n\tbridge_ports up0\n\tmtu %s\n' "$3" "$4" > /etc/network/interfaces
ip link set lo up
ip link add br0 type bridge
ip link set up0 mtu 600 gso_max_segs 1 master br0
ip link set br0 mtu 600 gso_max_segs 1 up
ip link set up0 up
ip addr add "$3/24" dev br0
eval "$5"
exec /usr/sbin/sshd -D -e -f "$2/sshd_config"
`

// sshFleet runs fettle here over these hosts.
type sshFleet struct {
	t   *testing.T
	dir string
}

func fixOverSSH(t *testing.T, dir string) {
	f := &sshFleet{t, dir}
	f.start()
	all := "--host=one,two,three,fails,shut"
	mtus := func(want string) {
		t.Helper()
		var got []string
		for _, h := range sshHosts {
			got = append(got, h.name+" "+f.mtu(h.name))
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("MTUs %s\nwant %s", strings.Join(got, ", "), want)
		}
	}

	// The plans are shown, hosts with the same together, and nothing is changed.
	out := f.run(0, "fix", "bridge-mtu", all, "--plan")
	wants(t, out, "== one, three, fails, shut\n", "== two\n", "give br0 and its ports the MTU 1400")
	mtus("one 600, two 600, three 600, fails 600, shut 600")

	// Two at once, each confirmed over a connection that was made after the change.
	before := f.logins("one")
	out = f.run(0, "fix", "bridge-mtu", "--host=one,two", "--yes", "--batch=2", "--confirm-within=15s")
	confirmed := time.Now()
	wants(
		t,
		out,
		"one: fixed and confirmed over a new connection, change 0001\n",
		"two: fixed and confirmed over a new connection, change 0001\n",
	)
	mtus("one 1500, two 1400, three 600, fails 600, shut 600")
	if n := f.logins("one") - before; n != 1 {
		t.Errorf("%d logins on one; want 1, of confirm: the others share a connection", n)
	}

	// What one host cannot do keeps the next from being begun.
	out = f.run(3, "fix", "bridge-mtu", "--host=fails,three", "--yes", "--confirm-within=15s")
	wants(t, out, "fails: ", "ead-only file system", "stopped: 0 hosts are fixed, 1 host not started: three\n")
	mtus("one 1500, two 1400, three 600, fails 600, shut 600")

	// A change after which nobody gets in is taken back by the host itself: later than
	// ssh gives the connection up.
	out = f.run(4, "fix", "bridge-mtu", "--host=shut,three", "--yes", "--confirm-within=30s", "--host-limit=60s")
	wants(t, out, "shut: no result was received; the host rolls back what is not confirmed", "1 host not started: three\n")
	if strings.Contains(out, "shut: mended") {
		t.Errorf("shut is called mended:\n%s", out)
	}
	for end := time.Now().Add(40 * time.Second); f.mtu("shut") != "600"; time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("shut does not take its change back")
		}
	}
	wants(t, f.run(0, "changes", "--host=shut"), "== shut\n0001 ", "rolled back: it was not confirmed by ")
	f.run(1, "check", "bridge-mtu", "--host=shut")

	// What was confirmed stays, and is undone when asked.
	time.Sleep(time.Until(confirmed.Add(17 * time.Second)))
	mtus("one 1500, two 1400, three 600, fails 600, shut 600")
	f.run(0, "check", "bridge-mtu", "--host=one,two")
	f.run(0, "undo", "0001", "--host=one,two", "--yes")
	mtus("one 600, two 600, three 600, fails 600, shut 600")
	f.run(1, "check", "bridge-mtu", "--host=one,two")
}

// start makes the network and the hosts, and waits for their sshds.
func (f *sshFleet) start() {
	t := f.t
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	run := func(argv ...string) {
		t.Helper()
		if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", argv, err, out)
		}
	}
	put := func(name, text string) {
		t.Helper()
		must(os.WriteFile(filepath.Join(f.dir, name), []byte(text), 0o600))
	}
	must(unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
	must(unix.Mount("proc", "/proc", "proc", 0, ""))
	must(unix.Mount("tmpfs", "/run", "tmpfs", 0, "mode=755"))
	must(os.Mkdir("/run/me", 0o700))
	for _, key := range []string{"host", "user"} {
		run("/usr/bin/ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", f.dir+"/"+key)
	}
	pub, err := os.ReadFile(f.dir + "/host.pub")
	must(err)
	put("known", "192.0.2.* "+string(pub))
	put(
		"sshd_config",
		fmt.Sprintf(
			"HostKey %[1]s/host\nAuthorizedKeysFile %[1]s/user.pub\nStrictModes no\nUsePAM no\nPidFile none\nPermitRootLogin prohibit-password\n",
			f.dir,
		),
	)
	put("start", hostStart)
	config := ""
	run("ip", "link", "add", "lan", "type", "bridge")
	run("ip", "addr", "add", "192.0.2.1/24", "dev", "lan")
	run("ip", "link", "set", "lan", "up")
	for i, h := range sshHosts {
		addr := fmt.Sprintf("192.0.2.%d", 11+i)
		config += fmt.Sprintf("Host %s\n  HostName %s\n", h.name, addr)
		port := "to-" + h.name
		run("ip", "netns", "add", h.name)
		run("ip", "link", "add", port, "type", "veth", "peer", "name", "up0", "netns", h.name)
		// veth drops what is larger than the MTU of the other end.
		run("ip", "link", "set", port, "mtu", fmt.Sprint(h.path), "master", "lan", "up")
		run("ip", "link", "set", "lan", "mtu", "1500")
		log, err := os.Create(f.dir + "/log-" + h.name)
		must(err)
		cmd := exec.Command(
			"ip",
			"netns",
			"exec",
			h.name,
			"unshare",
			"--mount",
			"--uts",
			"sh",
			f.dir+"/start",
			h.name,
			f.dir,
			addr,
			fmt.Sprint(h.mtu),
			h.odd,
		)
		cmd.Stdout, cmd.Stderr = log, log
		must(cmd.Start())
	}
	put(
		"config",
		config+fmt.Sprintf(
			"Host *\n  User root\n  IdentityFile %[1]s/user\n  IdentitiesOnly yes\n  UserKnownHostsFile %[1]s/known\n  StrictHostKeyChecking yes\n",
			f.dir,
		),
	)
	for _, h := range sshHosts {
		for end := time.Now().Add(20 * time.Second); !strings.Contains(f.log(h.name), "Server listening"); time.Sleep(50 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("the sshd of %s does not listen: %s", h.name, f.log(h.name))
			}
		}
	}
}

func (f *sshFleet) log(host string) string {
	b, err := os.ReadFile(f.dir + "/log-" + host)
	if err != nil {
		f.t.Fatal(err)
	}
	return string(b)
}

// logins is how many connections sshd has let in.
func (f *sshFleet) logins(host string) int { return strings.Count(f.log(host), "Accepted publickey") }

func (f *sshFleet) mtu(host string) string {
	f.t.Helper()
	out, err := exec.Command("ip", "netns", "exec", host, "cat", "/sys/class/net/br0/mtu").Output()
	if err != nil {
		f.t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// run runs fettle and wants this exit status.
func (f *sshFleet) run(status int, args ...string) string {
	f.t.Helper()
	cmd := exec.Command(f.dir+"/fettle", append(args, "--ssh-config="+f.dir+"/config")...)
	cmd.Env = []string{"HOME=/run/me", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "COLUMNS=300"}
	start := time.Now()
	out, err := cmd.CombinedOutput()
	f.t.Logf("%s (%s):\n%s", strings.Join(args, " "), time.Since(start).Round(time.Millisecond), out)
	if got := cmd.ProcessState.ExitCode(); got != status {
		f.t.Fatalf("%v: exit status %d, want %d (%v)", args, got, status, err)
	}
	return string(out)
}
