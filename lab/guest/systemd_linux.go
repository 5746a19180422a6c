package guest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"fettle/lab"
)

// diskDir is where the disk is mounted. What is kept on it is mounted from
// there over the root that the kernel has unpacked afresh.
const diskDir = "/run/fettle-lab"

var kept = []string{"/etc", "/var"}

// becomeSystemd mounts the disk and makes systemd process 1 in place of this
// one. It returns only if that failed.
func becomeSystemd(o lab.Orders) error {
	if err := mountDisk(o.Disk); err != nil {
		return err
	}
	bin, err := lab.FindTool("systemd")
	if err != nil {
		return err
	}
	err = unix.Exec(bin, []string{"/sbin/init", "--log-target=journal-or-kmsg"}, []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"})
	return fmt.Errorf("starting systemd: %w", err)
}

func mountDisk(dev string) error {
	// A driver may still be looking at the disk.
	for range 100 {
		if _, err := os.Stat(dev); err == nil {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	fresh, err := blank(dev)
	if err != nil {
		return fmt.Errorf("the machine's disk: %w", err)
	}
	if fresh {
		if out, code, err := run([]string{"mkfs.ext4", "-qF", "-E", "nodiscard", dev}, nil); err != nil || code != 0 {
			return fmt.Errorf("mkfs.ext4 %s: status %d %v: %s", dev, code, err, lastLine(out))
		}
	}
	if err := os.Mkdir(diskDir, 0o700); err != nil {
		return err
	}
	if err := unix.Mount(dev, diskDir, "ext4", 0, ""); err != nil {
		return fmt.Errorf("mounting the machine's disk: %w", err)
	}
	for _, d := range kept {
		to := filepath.Join(diskDir, d)
		if fresh {
			if err := os.CopyFS(to, os.DirFS(d)); err != nil {
				return fmt.Errorf("filling the machine's disk: %w", err)
			}
			if err := os.Chmod(to, 0o755); err != nil {
				return err
			}
		}
		if err := unix.Mount(to, d, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("mounting %s from the machine's disk: %w", d, err)
		}
	}
	return nil
}

// blank tells whether the disk has no file system yet, and takes the mark of a
// restart away.
func blank(dev string) (bool, error) {
	f, err := os.OpenFile(dev, os.O_RDWR, 0)
	if err != nil {
		return false, err
	}
	defer f.Close()
	magic := make([]byte, 2)
	if _, err := f.ReadAt(magic, 1024+0x38); err != nil { // s_magic, Documentation/filesystems/ext4/super.rst
		return false, err
	}
	if string(magic) != "\x53\xef" {
		return true, nil
	}
	return false, writeAt(dev, make([]byte, len(lab.RestartMark)), 0)
}

func writeAt(dev string, b []byte, at int64) error {
	f, err := os.OpenFile(dev, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.WriteAt(b, at); err != nil {
		return err
	}
	return f.Sync()
}

// Story plays the orders under systemd, and powers the machine off.
func Story(find func(trap, name string) (lab.Experiment, bool)) error {
	o, err := readOrders()
	if self, _ := os.Executable(); self != "/init" || os.Getppid() != 1 || err != nil || o.Disk == "" {
		return errors.New("this verb is for fettle lab alone")
	}
	setEnvironment()
	first, err := nextAct(o.Disk)
	if err == nil {
		err = tellStory(o, first, find)
	}
	if err != nil {
		fmt.Println("fettle lab:", err)
	}
	unix.Sync()
	return unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF)
}

// restart starts the machine again; the story goes on with act next. It
// returns only to say why there was no restart.
func (p *player) restart(how string, next int) error {
	if p.orders.Disk == "" {
		return errors.New("a machine without systemd cannot be started again")
	}
	if err := writeAt(p.orders.Disk, binary.LittleEndian.AppendUint64(nil, uint64(next)), lab.NextOffset); err != nil {
		return err
	}
	if err := writeAt(p.orders.Disk, []byte(lab.RestartMark), 0); err != nil {
		return err
	}
	switch how {
	case lab.PowerCut:
		if err := os.WriteFile("/proc/sysrq-trigger", []byte("b"), 0); err != nil {
			return err
		}
	case lab.RestartClean:
		systemctl, err := lab.FindTool("systemctl")
		if err != nil {
			return err
		}
		// A quick shutdown may end systemctl itself before it has said that all is well.
		if err := exec.Command(systemctl, "reboot").Run(); err != nil && !terminated(err) {
			return fmt.Errorf("systemctl reboot: %w", err)
		}
	default:
		return fmt.Errorf("there is no restart %q", how)
	}
	time.Sleep(time.Minute) // systemd ends this process meanwhile
	return errors.New("the machine did not restart within a minute")
}

func terminated(err error) bool {
	var ended *exec.ExitError
	if !errors.As(err, &ended) {
		return false
	}
	status, ok := ended.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == unix.SIGTERM
}

// nextAct is the number of the act to go on with, 0 on the first boot.
func nextAct(dev string) (n int, err error) {
	f, err := os.Open(dev)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	b := make([]byte, 8)
	_, err = f.ReadAt(b, lab.NextOffset)
	return int(binary.LittleEndian.Uint64(b)), err
}
