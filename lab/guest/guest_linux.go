// Package guest is what runs inside a throwaway machine: fettle-lab, as its
// init. It mounts what programs expect, loads modules, runs the
// scenario, tells the host how it went, and powers the machine off.
package guest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"fettle/lab"
)

// Here tells whether this process is the init of a throwaway machine.
func Here() bool {
	if os.Getpid() != 1 {
		return false
	}
	_, err := os.Stat(lab.OrdersFile)
	return err == nil
}

// Main plays the orders and never returns. find knows the experiments.
func Main(find func(trap, name string) (lab.Experiment, bool)) {
	err := play(find)
	if err != nil {
		fmt.Println("fettle lab:", err)
	}
	unix.Sync()
	unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF)
	select {}
}

func play(find func(trap, name string) (lab.Experiment, bool)) error {
	o, err := readOrders()
	if err != nil {
		return err
	}
	if err := mountAll(); err != nil {
		return err
	}
	if o.Disk != "" {
		err := prepareMachine(o)
		if err == nil {
			err = becomeSystemd(o)
		}
		return fatal(o, err)
	}
	return tellStory(o, 0, find)
}

// fatal tells the host that the machine could not be made ready.
func fatal(o lab.Orders, err error) error {
	line, lerr := openLine(o.Channel)
	if lerr != nil {
		return errors.Join(err, lerr)
	}
	defer closeLine(line)
	return errors.Join(err, lab.NewTeller(line).Fatal(err))
}

func readOrders() (o lab.Orders, err error) {
	b, err := os.ReadFile(lab.OrdersFile)
	if err != nil {
		return o, err
	}
	return o, json.Unmarshal(b, &o)
}

// tellStory plays the orders, and tells the host. After a restart it goes on
// with act first.
func tellStory(o lab.Orders, first int, find func(trap, name string) (lab.Experiment, bool)) error {
	line, err := openLine(o.Channel)
	if err != nil {
		return err
	}
	defer closeLine(line)
	host := lab.NewTeller(line)
	if first == 0 {
		if err := host.Hello(); err != nil {
			return err
		}
	}
	if o.Disk == "" {
		if err := prepareMachine(o); err != nil {
			return host.Fatal(err)
		}
	}
	if o.Experiment != "" {
		if err := experiment(o, host, find); err != nil {
			return host.Fatal(err)
		}
		return host.Done()
	}
	if o.Command != nil {
		out, status, err := run(o.Command, nil)
		if err != nil {
			status = -1
		}
		if err := host.Stage(lab.CommandStage(out, status, err)); err != nil {
			return err
		}
		return host.Done()
	}
	p := newPlayer(o, host)
	if len(o.Scenario.Steps) > 0 {
		p.steps(first)
	} else {
		p.story()
	}
	return host.Done()
}

func closeLine(line *os.File) {
	unix.IoctlSetInt(int(line.Fd()), unix.TCSBRK, 1) // tcdrain(3)
	line.Close()
}

// openLine opens the serial line raw: no echo, no newline translation.
func openLine(dev string) (*os.File, error) {
	f, err := os.OpenFile(dev, os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	t, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	if err != nil {
		return f, nil // not a terminal: raw already
	}
	t.Oflag &^= unix.OPOST
	t.Lflag &^= unix.ECHO | unix.ICANON | unix.ISIG
	t.Iflag &^= unix.ICRNL | unix.IXON
	return f, unix.IoctlSetTermios(int(f.Fd()), unix.TCSETS, t)
}

func mountAll() error {
	for _, m := range []struct {
		dev, dir, typ string
		must          bool
	}{
		{"proc", "/proc", "proc", true}, {"sysfs", "/sys", "sysfs", true}, {"devtmpfs", "/dev", "devtmpfs", true},
		{"tmpfs", "/run", "tmpfs", true}, {"tmpfs", "/tmp", "tmpfs", true}, {"devpts", "/dev/pts", "devpts", false},
		{"tmpfs", "/dev/shm", "tmpfs", false}, {"securityfs", "/sys/kernel/security", "securityfs", false},
		{"debugfs", "/sys/kernel/debug", "debugfs", false}, {"cgroup2", "/sys/fs/cgroup", "cgroup2", false},
	} {
		if err := os.MkdirAll(m.dir, 0o755); err != nil && m.must {
			return err
		}
		if err := unix.Mount(m.dev, m.dir, m.typ, 0, ""); err != nil && m.must {
			return fmt.Errorf("mounting %s: %w", m.dir, err)
		}
	}
	return os.Chmod("/run", 0o755) // as systemd mounts it; a tmpfs of its own is 1777
}

func setEnvironment() {
	os.Clearenv()
	os.Setenv("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
	os.Setenv("HOME", "/root")
	os.Setenv("LC_ALL", "C")
}

func prepareMachine(o lab.Orders) error {
	setEnvironment()
	for _, d := range []string{"/root", "/var/lib", "/var/log", "/etc", "/run/lock"} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return err
		}
	}
	unix.Sethostname([]byte("lab"))
	for _, m := range o.Modules {
		if err := loadModule(m); err != nil {
			return err
		}
	}
	if ip, err := lab.FindTool("ip"); err == nil {
		exec.Command(ip, "link", "set", "lo", "up").Run()
	}
	return nil
}

func loadModule(file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := unix.FinitModule(int(f.Fd()), "", 0); err != nil && err != unix.EEXIST {
		return fmt.Errorf("loading module %s: %w", filepath.Base(file), err)
	}
	return nil
}

// run runs a command and returns what it printed, both streams together.
func run(argv []string, stdin []byte) (string, int, error) {
	bin, err := resolve(argv[0])
	if err != nil {
		return "", -1, err
	}
	cmd := exec.Command(bin, argv[1:]...)
	cmd.Stdin = bytes.NewReader(stdin)
	b, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState != nil {
		return string(b), cmd.ProcessState.ExitCode(), nil
	}
	return string(b), 0, err
}

// resolve finds a program; "fettle-lab" is this one.
func resolve(name string) (string, error) {
	if name == "fettle-lab" {
		return "/init", nil
	}
	if strings.HasPrefix(name, "/") {
		return name, nil
	}
	return lab.FindTool(name)
}
