package netboot

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fettle/cli/app"
	"fettle/internal/means"
)

// sshServer is the distribution's own sshd, on the loopback, for root with a key
// made for it; the console's ssh gets a configuration of its own.
func sshServer(t *testing.T) (port int) {
	t.Helper()
	means.Root(t)
	sshd, client, keygen := means.Tool(t, "sshd"), means.Tool(t, "ssh"), means.Tool(t, "ssh-keygen")
	dir := t.TempDir()
	for _, name := range []string{"host", "user"} {
		if out, err := exec.Command(keygen, "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(dir, name)).CombinedOutput(); err != nil {
			t.Fatal(err, string(out))
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port = l.Addr().(*net.TCPAddr).Port
	l.Close()
	write := func(name, text string, mode os.FileMode) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return name
	}
	os.MkdirAll("/run/sshd", 0o755) // where sshd separates its rights; it belongs to the package
	conf := write(
		"sshd_config",
		fmt.Sprintf(
			"ListenAddress 127.0.0.1\nPort %d\nHostKey %s/host\nAuthorizedKeysFile %s/user.pub\nStrictModes no\nUsePAM no\nPidFile "+
				"none\nPermitRootLogin prohibit-password\n",
			port,
			dir,
			dir,
		),
		0o600,
	)
	server := exec.Command(sshd, "-D", "-e", "-f", conf)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Process.Kill(); server.Wait() })
	config := write(
		"ssh_config",
		fmt.Sprintf(
			"Host *\n  IdentityFile %s/user\n  IdentitiesOnly yes\n  BatchMode yes\n  StrictHostKeyChecking no\n  UserKnownHostsFile "+
				"/dev/null\n  LogLevel ERROR\n",
			dir,
		),
		0o600,
	)
	was := ssh
	t.Cleanup(func() { ssh = was })
	ssh = write("ssh", fmt.Sprintf("#!/bin/sh\nexec %s -F %s \"$@\"\n", client, config), 0o700)
	means.Dial(t, "tcp", fmt.Sprintf("127.0.0.1:%d", port)).Close()
	return port
}

// TestConsoleSSH is against a real sshd: the command that starts the console runs
// on a terminal there, keys arrive, and what breaks is connected again.
func TestConsoleSSH(t *testing.T) {
	port := sshServer(t)
	in, keys := io.Pipe()
	defer keys.Close()
	var out, warn lockedBuffer
	log := filepath.Join(t.TempDir(), "log")
	o := consoleOptions{port: port, log: log, start: `tty; printf 'hello from com2\r\n'; read -r x; echo "was typed: $x"; exit 3`}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- runConsole(ctx, &app.App{Program: "fettle", Stdin: in, Stdout: &out, Stderr: &warn}, way{"ssh", "root@127.0.0.1"}, o)
	}()
	out.has(t, "/dev/pts/")
	out.has(t, "hello from com2")
	fmt.Fprint(keys, "radish\r")
	out.has(t, "was typed: radish")
	warn.has(t, "trying again in 1s")
	out.hasTimes(t, "hello from com2", 2)
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if b, err := os.ReadFile(log); err != nil || !strings.Contains(string(b), "was typed: radish") {
		t.Errorf("the log: %q, %v", b, err)
	}
	o = consoleOptions{port: port, once: true, start: "echo bye"}
	if err := console(t, way{"ssh", "root@127.0.0.1"}, o, "", nil); err != nil {
		t.Errorf("an end without trouble: %v", err)
	}
	ssh = means.Tool(t, "false")
	if err := console(t, way{"ssh", "root@127.0.0.1"}, o, "", nil); err == nil || !strings.Contains(err.Error(), "broke off") {
		t.Errorf("an ssh that fails: %v", err)
	}
}

// hasTimes waits until something came so often.
func (l *lockedBuffer) hasTimes(t *testing.T, want string, n int) {
	t.Helper()
	for range 300 {
		if strings.Count(l.String(), want) >= n {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Errorf("%q did not come %d times:\n%s", want, n, l)
}

// domain is a virtual machine without a disk: its firmware writes to the serial port.
const domain = `<domain type='qemu'><name>web1</name><memory unit='MiB'>64</memory>
<os><type arch='x86_64' machine='pc'>hvm</type><bios useserial='yes'/></os>
<devices><emulator>/usr/bin/qemu-system-x86_64</emulator><serial type='pty'><target port='0'/></serial><console type='pty'/></devices></domain>
`

// TestConsoleLibvirt is against a real libvirtd and qemu, in namespaces of its own
// with a /run and a /var/lib/libvirt that go with them.
func TestConsoleLibvirt(t *testing.T) {
	means.Long(t, "starts libvirtd and a virtual machine")
	means.Root(t)
	libvirtd, virsh, unshare := means.Tool(t, "libvirtd"), means.Tool(t, "virsh"), means.Tool(t, "unshare")
	means.Tool(t, "qemu-system-x86_64")
	if os.Getenv("FETTLE_TEST_NETNS") != t.Name() {
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		c := exec.Command(unshare, "--net", "--mount", "--pid", "--fork", "--mount-proc", self, "-test.run", "^"+t.Name()+"$", "-test.v")
		c.Env = append(os.Environ(), "FETTLE_TEST_NETNS="+t.Name())
		if out, err := c.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS") {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	for _, dir := range []string{"/run", "/var/lib/libvirt", "/var/cache/libvirt", "/var/log/libvirt", "/etc/libvirt"} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command(means.Tool(t, "mount"), "-t", "tmpfs", "tmpfs", dir).CombinedOutput(); err != nil {
			t.Fatal(err, string(out))
		}
	}
	os.MkdirAll("/etc/libvirt/qemu", 0o755)
	os.MkdirAll("/run/lock", 0o755)
	// The user and group that package libvirt-daemon-system would make.
	for name, line := range map[string]string{"/etc/passwd": "libvirt-qemu:x:64055:64055:" +
		":/nonexistent:/bin/false\n", "/etc/group": "libvirt-qemu:x:64055:\n"} {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		copied := filepath.Join(t.TempDir(), filepath.Base(name))
		os.WriteFile(copied, append(b, line...), 0o644)
		if out, err := exec.Command(means.Tool(t, "mount"), "--bind", copied, name).CombinedOutput(); err != nil {
			t.Fatal(err, string(out))
		}
	}
	os.WriteFile(
		"/etc/libvirt/qemu.conf",
		[]byte(
			"user = \"root\"\ngroup = \"root\"\nsecurity_driver = \"none\"\ncgroup_controllers = [ ]\nnamespaces = [ ]\nstdio_handler = \"file\"\n",
		),
		0o600,
	)
	os.WriteFile("/etc/libvirt/libvirtd.conf", []byte("auth_unix_rw = \"none\"\nlog_outputs = \"3:stderr\"\n"), 0o600)
	file := filepath.Join(t.TempDir(), "web1.xml")
	os.WriteFile(file, []byte(domain), 0o600)
	var said lockedBuffer
	server := exec.Command(libvirtd)
	server.Stderr = &said
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { server.Process.Kill(); server.Wait() }()
	do := func(args ...string) error {
		c := exec.Command(virsh, append([]string{"-c", "qemu:///system"}, args...)...)
		out, err := c.CombinedOutput()
		if err != nil {
			return fmt.Errorf("virsh %s: %w: %s", strings.Join(args, " "), err, out)
		}
		return nil
	}
	var err error
	for range 100 {
		if err = do("list"); err == nil {
			break
		}
		time.Sleep(200 * time.Millisecond)
	}
	if err == nil {
		err = do("create", file)
	}
	if err != nil {
		t.Fatal(err, &said)
	}
	in, keys := io.Pipe()
	defer keys.Close()
	var out, warn lockedBuffer
	done := make(chan error, 1)
	go func() {
		done <- runConsole(t.Context(), &app.App{Program: "fettle", Stdin: in, Stdout: &out, Stderr: &warn}, way{"libvirt", "web1"},
			consoleOptions{})
	}()
	out.has(t, "Connected to domain 'web1'")
	if err := do("reset", "web1"); err != nil {
		t.Fatal(err)
	}
	out.has(t, "SeaBIOS")
	if err := do("destroy", "web1"); err != nil { // the machine is switched off, and on again
		t.Fatal(err)
	}
	warn.has(t, "trying again in 1s")
	if err := do("create", file); err != nil {
		t.Fatal(err)
	}
	out.hasTimes(t, "Connected to domain 'web1'", 2)
	fmt.Fprintf(keys, "%c", endKey)
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(means.Patience):
		t.Errorf("Ctrl-] does not end it:\n%s\n%s", &out, &warn)
	}
}
