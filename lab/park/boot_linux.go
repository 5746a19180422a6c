package park

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"fettle/internal/uml"
)

// ask runs on the booted host and ends it.
//
//go:embed ask.sh
var ask string

// unit starts ask when the host is up.
const unit = `[Unit]
Description=A look at this host
After=multi-user.target
[Service]
ExecStart=/bin/sh /usr/local/lib/park/ask
StandardOutput=null
StandardError=journal
[Install]
WantedBy=graphical.target
`

const (
	answers    = "var/lib/park" // where ask leaves what it saw
	modulesDir = "/usr/lib/uml/modules"
	rootUUID   = "7a1f0c52-6d5e-4a6b-9d8f-3f6f2f3d2b10"
	// rootEntry is the line that Debian's installer writes; containers have none.
	rootEntry = "UUID=" + rootUUID + " /               ext4    errors=remount-ro 0       1\n"
)

// Boot boots a host made of layers in one of the ways, has fettle look at it,
// and returns the folder of answers below dir.
func Boot(ctx context.Context, way string, r Recipe, layers []string, fettle, dir string) (string, error) {
	up := filepath.Join(dir, "up")
	if err := os.Mkdir(up, 0o755); err != nil {
		return "", err
	}
	root, unmount, err := overlay(up, layers...)
	if err != nil {
		return "", err
	}
	defer unmount()
	if err := prepare(root, r, fettle); err != nil {
		return "", fmt.Errorf("preparing the host: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	if way == "machine" {
		return machine(ctx, root, r, dir)
	}
	return filepath.Join(up, answers), container(ctx, root, r, dir)
}

// prepare puts fettle, the script and its unit into a host's root.
func prepare(root string, r Recipe, fettle string) error {
	b, err := os.ReadFile(fettle)
	if err != nil {
		return err
	}
	const lib, units = "usr/local/lib/park", "etc/systemd/system"
	wants := filepath.Join(root, units, "graphical.target.wants")
	err = errors.Join(
		os.MkdirAll(filepath.Join(root, lib), 0o755),
		os.MkdirAll(wants, 0o755),
		os.MkdirAll(filepath.Join(root, answers), 0o700),
	)
	for name, content := range map[string]string{
		"usr/local/bin/fettle": string(b), lib + "/ask": ask, lib + "/begin": r.Begin, lib + "/inside": r.Inside, units + "/park.service": unit,
	} {
		err = errors.Join(err, os.WriteFile(filepath.Join(root, name), []byte(content), 0o755))
	}
	return errors.Join(err, os.Symlink("../park.service", filepath.Join(wants, "park.service")))
}

// container boots a root folder under systemd-nspawn; ask ends it.
func container(ctx context.Context, root string, r Recipe, dir string, more ...string) error {
	args := []string{
		"-q",
		"--register=no",
		"--keep-unit",
		"-M",
		"park-" + r.Name,
		"-D",
		root,
		"--private-network",
		"--resolv-conf=off",
		"--boot",
	}
	args = append(more, args...)
	if r.Privileged {
		args = append([]string{"--capability=all", "--system-call-filter=@mount @raw-io @keyring bpf perf_event_open"}, args...)
	}
	cmd := exec.CommandContext(ctx, "systemd-nspawn", args...)
	cmd.Env = append(os.Environ(), "UNIFIED_CGROUP_HIERARCHY=1")
	return booted(cmd, dir)
}

// sweep removes the control groups that containers left behind, below the one
// of this process (systemd-nspawn --keep-unit calls it payload).
func sweep() {
	for _, pattern := range []string{"/sys/fs/cgroup/payload", "/sys/fs/cgroup/*/payload"} {
		tops, _ := filepath.Glob(pattern)
		for _, top := range tops {
			var dirs []string
			filepath.WalkDir(top, func(p string, d fs.DirEntry, err error) error {
				if err == nil && d.IsDir() {
					dirs = append(dirs, p)
				}
				return nil
			})
			for _, d := range slices.Backward(dirs) {
				os.Remove(d) // one that is in use stays
			}
		}
	}
}

// machine boots a root folder as the disk of a User-Mode Linux kernel, and
// takes the answers off the disk when it has ended.
func machine(ctx context.Context, root string, r Recipe, dir string) (string, error) {
	disk := filepath.Join(dir, "disk")
	if err := modules(ctx, root); err != nil {
		return "", fmt.Errorf("giving the host the kernel's modules: %w", err)
	}
	if err := appendTo(filepath.Join(root, "etc/fstab"), rootEntry); err != nil {
		return "", err
	}
	if err := run(ctx, "mke2fs", "-q", "-t", "ext4", "-U", rootUUID, "-d", root, disk, "6G"); err != nil {
		return "", err
	}
	args := []string{"mem=768M", "ubd0=" + disk, "root=/dev/ubda", "ro", "con=null", "con0=null,fd:1"}
	for i, mib := range r.Disks {
		more := filepath.Join(dir, "disk"+strconv.Itoa(i+1))
		if err := run(ctx, "truncate", "-s", strconv.Itoa(mib)+"M", more); err != nil {
			return "", err
		}
		args = append(args, fmt.Sprintf("ubd%d=%s", i+1, more))
	}
	cmd := exec.CommandContext(ctx, "linux.uml", args...)
	cmd.Env = append(os.Environ(), "TMPDIR=/dev/shm")
	if err := uml.Help(cmd); err != nil {
		return "", err
	}
	if err := booted(cmd, dir); err != nil {
		return "", err
	}
	return filepath.Join(dir, "park"), run(ctx, "debugfs", "-R", "rdump /"+answers+" "+dir, disk)
}

// modules puts the modules of the User-Mode Linux kernel where modprobe looks.
func modules(ctx context.Context, root string) error {
	to := filepath.Join(root, "lib/modules")
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	return run(ctx, "cp", "-a", modulesDir+"/.", to)
}

func appendTo(name, line string) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(line)
	return errors.Join(err, f.Close())
}

// booted runs a host to its end. Its console is kept in dir.
func booted(cmd *exec.Cmd, dir string) error {
	console, err := os.Create(filepath.Join(dir, "console"))
	if err != nil {
		return err
	}
	defer console.Close()
	cmd.Stdout, cmd.Stderr = console, console
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Run(); err != nil {
		b, _ := os.ReadFile(console.Name())
		return fmt.Errorf("the host did not run to its end: %w\n%s", err, lastLines(string(b), 20))
	}
	return nil
}
