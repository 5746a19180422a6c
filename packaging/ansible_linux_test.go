package packaging

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestAnsible runs the collection's modules and roles, and a playbook that fettle
// writes, on booted Debian hosts over SSH, and one host that is not there.
func TestAnsible(t *testing.T) {
	long(t, "boots Debian 12 and 13, and runs playbooks on them", "mmdebstrap", "systemd-nspawn", "ansible-playbook", "ssh", "ssh-keygen")
	dir := t.TempDir()
	key := filepath.Join(dir, "key")
	run(t, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key)
	inventory := "gone ansible_port=1\n"
	for i, release := range releases {
		inventory += fmt.Sprintf("%s ansible_port=%d\n", release, sshHost(t, release, fmt.Sprintf("h%d", i+1), key+".pub"))
	}
	inventory += "[all:vars]\nansible_host=127.0.0.1\nansible_user=root\nansible_p" +
		"ython_interpreter=/usr/bin/python3\nansible_ssh_private_key_file=" + key +
		"\nansible_ssh_common_args=-o StrictHostKeyChecking=no -o UserKnownHostsFile=" + dir + "/known\n"
	collection, err := filepath.Abs("ansible")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir+"/ansible_collections/fettle", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(collection, dir+"/ansible_collections/fettle/fettle"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir+"/hosts", []byte(inventory), 0o600); err != nil {
		t.Fatal(err)
	}
	// play runs a playbook; status 4 is that a host could not be reached.
	play := func(file string, more ...string) string {
		t.Helper()
		cmd := exec.Command("ansible-playbook", append([]string{"-i", dir + "/hosts", "--diff", "-e", "out=" + dir, file}, more...)...)
		cmd.Env = append(os.Environ(), "ANSIBLE_COLLECTIONS_PATH="+dir, "ANSIBLE_NOCOLOR=1", "ANSIBLE_PIPELINING=1", "LC_ALL=C.UTF-8")
		out, _ := cmd.CombinedOutput()
		t.Logf("%s", out)
		if s := cmd.ProcessState.ExitCode(); s != 0 && s != 4 || strings.Contains(string(out), "failed=1") {
			t.Errorf("%s: exit status %d", file, s)
		}
		return string(out)
	}
	play("testdata/ansible/fleet.yml", "-e", "package="+built(t, "fettle_*_amd64.deb"))
	page, err := os.ReadFile(dir + "/fettle.html")
	for _, want := range append([]string{"own-name-not-in-hosts", "No report", "<li>gone: "}, releases...) {
		if err != nil || !strings.Contains(string(page), want) {
			t.Errorf("the page: %v: no %q", err, want)
		}
	}
	play("testdata/ansible/exported.yml")
	for _, release := range releases {
		file := filepath.Join(dir, release+".yml")
		if out := play(file, "--limit", release); !strings.Contains(out, "changed=1 ") {
			t.Errorf("the exported playbook changed nothing")
		}
		if out := play(file, "--limit", release); !strings.Contains(out, "changed=0 ") {
			t.Errorf("the exported playbook is not idempotent")
		}
	}
}

// sshHost boots a Debian host with sshd on a port of the loopback.
func sshHost(t *testing.T, release, name, pub string) (port int) {
	t.Helper()
	root := debianWith(t, "ssh-"+release, release, "systemd-sysv,dbus,openssh-server,python3-apt,ca-certificates")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port = l.Addr().(*net.TCPAddr).Port
	l.Close()
	keys, err := os.ReadFile(pub)
	if err != nil {
		t.Fatal(err)
	}
	for file, text := range map[string]string{
		"etc/ssh/sshd_config.d/00-test.conf": fmt.Sprintf("Port %d\nListenAddress 127.0.0.1\n", port),
		"root/.ssh/authorized_keys":          string(keys),
		"etc/hostname":                       name + "\n",
	} {
		file = filepath.Join(root, file)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	os.Chmod(filepath.Join(root, "etc/hostname"), 0o644)
	boot := exec.Command(
		"systemd-nspawn",
		"-q",
		"--register=no",
		"--keep-unit",
		"--boot",
		"--link-journal=no",
		"--hostname="+name,
		"-D",
		root,
	)
	boot.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	var console bytes.Buffer
	boot.Stdout, boot.Stderr = &console, &console
	if err := boot.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		boot.Process.Signal(syscall.SIGTERM) // an orderly shutdown
		ended := time.AfterFunc(time.Minute, func() { boot.Process.Kill() })
		boot.Wait()
		ended.Stop()
	})
	for end := time.Now().Add(3 * time.Minute); ; time.Sleep(500 * time.Millisecond) {
		if c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			c.Close()
			return port
		}
		if time.Now().After(end) {
			t.Fatalf("%s has no sshd:\n%s", release, console.Bytes())
		}
	}
}
