package proof

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fettle/internal/means"
)

// TestInstalledSystem: Debian with GRUB on a disk, in a machine whose firmware names
// ttyS1 as the serial console. It is silent there as installed; after the fix a login
// comes at once, and with the next boot GRUB's menu, the kernel and the login; after
// the undo it is silent again. With FETTLE_LONG=1.
func TestInstalledSystem(t *testing.T) {
	means.Long(t, "installs Debian on a disk and boots it three times")
	m := &installed{disk: installDebian(t)}
	m.boot(t)
	if got := m.serial(t); got != "" {
		t.Errorf("as installed it is not silent:\n%s", got)
	}
	m.says(t, "fettle check netboot-serial --format json", `"status": "found"`)
	m.says(t, "fettle fix netboot-serial --on console --yes --format json", `"result": "mended"`)
	m.shows(t, "login:")
	m.reboot(t)
	m.shows(t, "GNU GRUB", "*Debian GNU/Linux", "Linux version 6.1", "login:")
	m.says(t, "fettle check netboot-serial --format json", `"found": 0`)
	m.says(t, "fettle undo --yes", "undone")
	m.reboot(t)
	if got := m.serial(t); got != "" {
		t.Errorf("after the undo it is not silent:\n%s", got)
	}
	m.says(t, "cat /proc/cmdline", "root=")
	m.quit(t)
}

// installed is a machine with a disk: its root shell is on a port of its own.
type installed struct {
	disk, dir string
	qemu      *exec.Cmd
	gone      chan error
	shell     net.Conn
	lines     *bufio.Reader
}

// long is for a machine whose every instruction is emulated, beside others.
const long = 20 * time.Minute

// boot starts the machine and waits until all units that start with it have.
func (m *installed) boot(t *testing.T) {
	t.Helper()
	m.dir = t.TempDir()
	file := func(name string) string { return filepath.Join(m.dir, name) }
	if err := os.WriteFile(file("spcr"), spcr(), 0o600); err != nil {
		t.Fatal(err)
	}
	m.qemu = exec.CommandContext(
		t.Context(),
		means.Tool(t, "qemu-system-x86_64"),
		"-nodefaults",
		"-no-user-config",
		"-display",
		"none",
		"-vga",
		"std",
		"-no-reboot",
		"-m",
		"768",
		"-accel",
		"tcg",
		"-acpitable",
		"file="+file("spcr"),
		"-serial",
		"null",
		"-serial",
		"file:"+file("serial"),
		"-drive",
		"if=virtio,format=raw,file="+m.disk,
		"-device",
		"virtio-serial-pci",
		"-chardev",
		"socket,id=shell,server=on,wait=on,path="+file("shell"),
		"-device",
		"virtserialport,chardev=shell,name=shell",
	)
	var said bytes.Buffer
	m.qemu.Stderr = &said
	if err := m.qemu.Start(); err != nil {
		t.Fatal(err)
	}
	m.gone = make(chan error, 1)
	go func() { m.gone <- m.qemu.Wait() }()
	t.Cleanup(func() { m.qemu.Process.Kill() })
	m.shell = means.Dial(t, "unix", file("shell"))
	m.lines = bufio.NewReader(m.shell)
	m.answer(t)
	m.says(t, "systemctl is-system-running --wait", "")
}

// answer is what the shell says up to its prompt.
func (m *installed) answer(t *testing.T) string {
	t.Helper()
	m.shell.SetReadDeadline(time.Now().Add(long))
	for out := ""; ; {
		line, err := m.lines.ReadString('\n')
		if line == prompt+"\n" {
			return out
		}
		if out += line; err != nil {
			t.Fatalf("the machine's shell: %v\n%s\non the serial port:\n%s", err, out, m.serial(t))
		}
	}
}

// says runs a command and wants something of what it prints.
func (m *installed) says(t *testing.T, command, want string) {
	t.Helper()
	fmt.Fprintln(m.shell, command)
	if out := m.answer(t); !strings.Contains(out, want) {
		t.Errorf("%s does not say %q:\n%s", command, want, out)
	}
}

func (m *installed) serial(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(m.dir, "serial"))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// shows wants texts to come on the serial port, in this order.
func (m *installed) shows(t *testing.T, want ...string) {
	t.Helper()
	for end := time.Now().Add(long); ; time.Sleep(time.Second) {
		got, missing := m.serial(t), ""
		for _, w := range want {
			_, after, ok := strings.Cut(got, w)
			if !ok {
				missing = w
				break
			}
			got = after
		}
		if missing == "" {
			return
		}
		if time.Now().After(end) {
			t.Errorf("%q did not come on the serial port:\n%q", missing, m.serial(t))
			return
		}
	}
}

func (m *installed) reboot(t *testing.T) {
	t.Helper()
	m.quit(t)
	m.boot(t)
}

func (m *installed) quit(t *testing.T) {
	t.Helper()
	fmt.Fprintln(m.shell, "systemctl poweroff")
	select {
	case <-m.gone:
	case <-time.After(long):
		t.Fatalf("it does not go down:\n%s", m.serial(t))
	}
	m.shell.Close()
}

const prompt = "--done--"

// shellUnit is a root shell on the port that the test holds. The port is there some
// time after udev has loaded its driver, and can be opened once (EBUSY).
const shellUnit = `[Unit]
StartLimitIntervalSec=0
[Service]
ExecStart=/bin/sh -c 'test -c /dev/virtio-ports/shell && exec 0<>/dev/virtio-ports/shell 1>&0 2>&1 && while echo ` + prompt + ` && read -r line; do eval "$$line"; done'
Environment=HOME=/root
Restart=always
RestartSec=1
[Install]
WantedBy=multi-user.target
`

// installDebian makes a disk as Debian's installer does, with the kernel's messages
// shown (without "quiet"). It works in a mount namespace of its own, and leaves no
// loop device.
func installDebian(t *testing.T) (disk string) {
	t.Helper()
	means.Root(t)
	for _, tool := range []string{"mmdebstrap", "qemu-system-x86_64", "losetup", "sfdisk", "mkfs.ext4", "unshare"} {
		means.Tool(t, tool)
	}
	dir := t.TempDir()
	os.Chmod(filepath.Dir(dir), 0o755)
	os.Chmod(dir, 0o755)
	if out, err := exec.Command("go", "build", "-o", filepath.Join(dir, "fettle"), "fettle/cmd/fettle").CombinedOutput(); err != nil {
		t.Fatal(err, string(out))
	}
	if err := os.WriteFile(filepath.Join(dir, "shell.service"), []byte(shellUnit), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "install"), []byte(installScript), 0o755); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Minute)
	defer cancel()
	c := exec.CommandContext(
		ctx,
		means.Tool(t, "unshare"),
		"--mount",
		"--pid",
		"--fork",
		"--kill-child",
		"--mount-proc",
		filepath.Join(dir, "install"),
		dir,
	)
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out[max(0, len(out)-4000):])
	}
	return filepath.Join(dir, "disk")
}

const installScript = `#!/bin/sh
set -eux
cd "$1"
export LC_ALL=C PATH=/usr/sbin:/usr/bin:/sbin:/bin
mmdebstrap --quiet --mode=root --variant=minbase --dpkgopt=force-unsafe-io \
	--include=systemd-sysv,dbus,udev,kmod,initramfs-tools,linux-image-cloud-amd64,grub-pc-bin,grub2-common bookworm root
install -m 755 fettle root/usr/bin/fettle
install -m 644 shell.service root/etc/systemd/system/shell.service
ln -s /etc/systemd/system/shell.service root/etc/systemd/system/multi-user.target.wants/
mkdir -p root/etc/systemd/system.conf.d # emulated: udev may need minutes until ttyS1 is there
printf '[Manager]\nDefaultDeviceTimeoutSec=15min\nDefaultTimeoutStartSec=15min\n' >root/etc/systemd/system.conf.d/slow.conf
sed 's/^GRUB_CMDLINE_LINUX_DEFAULT=.*/GRUB_CMDLINE_LINUX_DEFAULT=""/' root/usr/share/grub/default/grub >root/etc/default/grub
truncate -s 3G disk
mkfs.ext4 -q -d root disk
rm -rf root
mkdir mnt
# update-grub takes loop0 to loop9 for their files.
n=10
until losetup /dev/loop$n disk; do n=$((n + 1)) && test $n -lt 100; done
mount /dev/loop$n mnt
losetup -d /dev/loop$n # when it is unmounted
uuid=$(blkid -o value -s UUID disk)
echo "UUID=$uuid / ext4 errors=remount-ro 0 1" >mnt/etc/fstab
for d in proc sys; do mount --rbind /$d mnt/$d; done
mount -t tmpfs tmpfs mnt/dev
cp -a /dev/null /dev/zero /dev/urandom /dev/loop$n mnt/dev
mkdir -p mnt/dev/disk/by-uuid # as udev would
ln -s ../../loop$n mnt/dev/disk/by-uuid/$uuid
# Without partitions, which not every kernel reads: hence --force.
chroot mnt grub-install --target=i386-pc --force /dev/loop$n
chroot mnt update-grub
grep -c "root=UUID=$uuid" mnt/boot/grub/grub.cfg
umount -R mnt
`
