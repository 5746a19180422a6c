package labtest

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
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

// Installed is Debian with GRUB on a disk, in a machine of its own: its root shell is on a port
// that the test holds.
type Installed struct {
	Disk string
	// UEFI starts it by OVMF from an EFI system partition; else the firmware is SeaBIOS.
	UEFI bool
	// Port is the serial port whose output is kept, 0 or 1.
	Port int
	// Args are further ones of qemu.
	Args []string

	dir   string
	qemu  *exec.Cmd
	gone  chan error
	shell net.Conn
	lines *bufio.Reader
}

// Long is for a machine whose every instruction is emulated, beside others.
const Long = 20 * time.Minute

const (
	ovmfCode = "/usr/share/OVMF/OVMF_CODE_4M.fd"
	ovmfVars = "/usr/share/OVMF/OVMF_VARS_4M.fd"
)

// Boot starts the machine and waits until all units that start with it have.
func (m *Installed) Boot(t *testing.T) {
	t.Helper()
	m.start(t, "on")
	m.shell = means.Dial(t, "unix", filepath.Join(m.dir, "shell"))
	m.lines = bufio.NewReader(m.shell)
	m.answer(t)
	m.Says(t, "systemctl is-system-running --wait", "")
}

// Start starts the machine alone: what becomes of it is on the serial port.
func (m *Installed) Start(t *testing.T) { t.Helper(); m.start(t, "off") }

func (m *Installed) start(t *testing.T, wait string) {
	t.Helper()
	m.dir = t.TempDir()
	file := func(name string) string { return filepath.Join(m.dir, name) }
	args := append([]string{"-nodefaults", "-no-user-config", "-display", "none", "-vga", "std", "-no-reboot", "-m", "768", "-accel", "tcg"},
		m.Args...)
	if m.UEFI {
		b, err := os.ReadFile(ovmfVars)
		if err == nil {
			err = os.WriteFile(file("vars"), b, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		args = append(args, "-drive", "if=pflash,format=raw,readonly=on,file="+ovmfCode, "-drive", "if=pflash,format=raw,file="+file("vars"))
	}
	if m.Port == 1 {
		args = append(args, "-serial", "null")
	}
	args = append(args, "-serial", "file:"+file("serial"), "-drive", "if=virtio,format=raw,file="+m.Disk, "-device", "virtio-serial-pci",
		"-chardev", "socket,id=shell,server=on,wait="+wait+",path="+file("shell"), "-device", "virtserialport,chardev=shell,name=shell")
	m.qemu = exec.CommandContext(t.Context(), means.Tool(t, "qemu-system-x86_64"), args...)
	var said bytes.Buffer
	m.qemu.Stderr = &said
	if err := m.qemu.Start(); err != nil {
		t.Fatal(err)
	}
	m.gone = make(chan error, 1)
	go func() { m.gone <- m.qemu.Wait() }()
	t.Cleanup(func() { m.qemu.Process.Kill() })
}

// answer is what the shell says up to its prompt.
func (m *Installed) answer(t *testing.T) string {
	t.Helper()
	m.shell.SetReadDeadline(time.Now().Add(Long))
	for out := ""; ; {
		line, err := m.lines.ReadString('\n')
		if line == prompt+"\n" {
			return out
		}
		if out += line; err != nil {
			t.Fatalf("the machine's shell: %v\n%s\non the serial port:\n%s", err, out, m.Serial(t))
		}
	}
}

// Says runs a command and wants something of what it prints.
func (m *Installed) Says(t *testing.T, command, want string) {
	t.Helper()
	if out := m.Ask(t, command); !strings.Contains(out, want) {
		t.Errorf("%s does not say %q:\n%s", command, want, out)
	}
}

// Ask runs a command, and is what it prints.
func (m *Installed) Ask(t *testing.T, command string) string {
	t.Helper()
	fmt.Fprintln(m.shell, command)
	return m.answer(t)
}

// Serial is what came on the serial port.
func (m *Installed) Serial(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(m.dir, "serial"))
	if err != nil && !os.IsNotExist(err) { // qemu is about to make it
		t.Fatal(err)
	}
	return string(b)
}

// Shows wants texts to come on the serial port, in this order.
func (m *Installed) Shows(t *testing.T, want ...string) {
	t.Helper()
	for end := time.Now().Add(Long); ; time.Sleep(time.Second) {
		got, missing := m.Serial(t), ""
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
			t.Errorf("%q did not come on the serial port:\n%q", missing, m.Serial(t))
			return
		}
	}
}

// Reboot ends the machine and starts it again.
func (m *Installed) Reboot(t *testing.T) {
	t.Helper()
	m.Quit(t)
	m.Boot(t)
}

// Quit ends the machine as its own system does.
func (m *Installed) Quit(t *testing.T) {
	t.Helper()
	fmt.Fprintln(m.shell, "systemctl poweroff")
	select {
	case <-m.gone:
	case <-time.After(Long):
		t.Fatalf("it does not go down:\n%s", m.Serial(t))
	}
	m.shell.Close()
}

// Kill ends a machine that has no system.
func (m *Installed) Kill() {
	m.qemu.Process.Kill()
	<-m.gone
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

// Install makes a disk as Debian's installer does, with the kernel's messages shown (without
// "quiet"), and fettle on it. It works in a mount namespace of its own, and leaves no loop device.
func Install(t *testing.T, uefi bool) *Installed {
	t.Helper()
	means.Root(t)
	for _, tool := range []string{"mmdebstrap", "qemu-system-x86_64", "losetup", "sfdisk", "mkfs.ext4", "unshare"} {
		means.Tool(t, tool)
	}
	dir := t.TempDir()
	os.Chmod(filepath.Dir(dir), 0o755)
	os.Chmod(dir, 0o755)
	b, err := os.ReadFile(filepath.Join(means.Programs(t, "fettle"), "fettle"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{"fettle": b, "shell.service": []byte(shellUnit), "install": []byte(installScript)} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	firmware := "bios"
	if uefi {
		firmware = "uefi"
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, means.Tool(t, "unshare"), "--mount", "--pid", "--fork", "--kill-child", "--mount-proc",
		filepath.Join(dir, "install"), dir, firmware)
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out[max(0, len(out)-4000):])
	}
	return &Installed{Disk: filepath.Join(dir, "disk"), UEFI: uefi}
}

//go:embed install.sh
var installScript string
