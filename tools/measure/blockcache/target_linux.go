package blockcache

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"fettle/host"
)

// number is the device's, or that of the device of a folder's file system.
func (t Target) number() (major, minor uint32, err error) {
	var st unix.Stat_t
	if err := unix.Stat(t.Path, &st); err != nil {
		return 0, 0, fmt.Errorf("stat of %s: %w", t.Path, err)
	}
	n := st.Dev
	if t.Device {
		n = st.Rdev
	}
	return unix.Major(n), unix.Minor(n), nil
}

// room is the device's size, or the free space of a folder.
func (t Target) room() (int64, error) {
	if t.Device {
		f, err := os.Open(t.Path)
		if err != nil {
			return 0, err
		}
		defer f.Close()
		n, err := f.Seek(0, 2)
		if err != nil {
			return 0, fmt.Errorf("asking %s for its size: %w", t.Path, err)
		}
		return n, nil
	}
	var st unix.Statfs_t
	if err := unix.Statfs(t.Path, &st); err != nil {
		return 0, fmt.Errorf("statfs of %s: %w", t.Path, err)
	}
	return int64(st.Bavail) * st.Bsize, nil
}

// writable tells of a folder in which no files can be made, before anything is.
func (t Target) writable() error {
	if t.Device {
		return nil
	}
	if err := unix.Access(t.Path, unix.W_OK|unix.X_OK); err != nil {
		return fmt.Errorf("no files can be made in %s: %w", t.Path, err)
	}
	return nil
}

// hold opens a device for itself alone and keeps it: the kernel refuses while
// it is mounted, swapped to or part of another device, and lets nobody mount it
// until release. It looks itself at who has it as well, to say who that is.
func (t Target) hold() (release func(), err error) {
	major, minor, err := t.number()
	if err != nil {
		return nil, err
	}
	who, err := users("/", fmt.Sprintf("%d:%d", major, minor))
	if err != nil {
		return nil, fmt.Errorf("looking at who uses %s: %w", t.Path, err)
	}
	if who != "" {
		return nil, fmt.Errorf("%s is in use: %s; nothing was written", t.Path, who)
	}
	fd, err := unix.Open(t.Path, unix.O_RDWR|unix.O_EXCL|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("opening %s for fettle alone: %w; nothing was written", t.Path, err)
	}
	return func() { unix.Close(fd) }, nil
}

// users tells who uses a device, or one of its partitions: "" is nobody. root
// is where /proc and /sys are.
func users(root, number string) (string, error) {
	sys := filepath.Join(root, "sys/dev/block", number)
	numbers := map[string]string{number: "it"}
	parts, err := filepath.Glob(sys + "/*/partition")
	if err != nil {
		return "", err
	}
	for _, p := range parts {
		dev, err := os.ReadFile(filepath.Join(filepath.Dir(p), "dev"))
		if err != nil {
			return "", err
		}
		numbers[strings.TrimSpace(string(dev))] = "its partition " + filepath.Base(filepath.Dir(p))
	}
	for n, what := range numbers {
		holders, err := os.ReadDir(filepath.Join(root, "sys/dev/block", n, "holders"))
		if err != nil && !os.IsNotExist(err) {
			return "", err
		}
		for _, h := range holders {
			return what + " is part of " + h.Name(), nil
		}
	}
	mounts, err := os.ReadFile(filepath.Join(root, "proc/self/mountinfo"))
	if err != nil {
		return "", err
	}
	for _, m := range host.ParseMountinfo(string(mounts)) {
		if what := numbers[fmt.Sprintf("%d:%d", m.Major, m.Minor)]; what != "" {
			return what + " is mounted on " + m.Point, nil
		}
	}
	swaps, err := os.ReadFile(filepath.Join(root, "proc/swaps"))
	if err != nil && !os.IsNotExist(err) {
		return "", err
	}
	for line := range strings.Lines(string(swaps)) {
		file, _, _ := strings.Cut(line, " ")
		var st unix.Stat_t
		if unix.Stat(file, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFBLK {
			if what := numbers[fmt.Sprintf("%d:%d", unix.Major(st.Rdev), unix.Minor(st.Rdev))]; what != "" {
				return what + " is swap", nil
			}
		}
	}
	return "", nil
}

// conditions reads what a run is measured under.
func (t Target) conditions(ctx context.Context) Conditions {
	c := Conditions{
		Target:     t,
		Kernel:     line("/proc/sys/kernel/osrelease"),
		Load:       line("/proc/loadavg"),
		Host:       line("/proc/sys/kernel/hostname"),
		Processors: runtime.NumCPU(),
	}
	major, minor, err := t.number()
	if err != nil {
		return c
	}
	number := fmt.Sprintf("%d:%d", major, minor)
	sys := "/sys/dev/block/" + number
	c.Device = number
	if real, err := filepath.EvalSymlinks(sys); err == nil {
		c.Device = filepath.Base(real) + " (" + number + ")"
		if n, err := strconv.ParseInt(line(real+"/size"), 10, 64); err == nil {
			c.Bytes = n * 512
		}
		disk := real
		if line(real+"/partition") != "" {
			disk = filepath.Dir(real)
		}
		c.Model, c.Scheduler, c.Rotational = line(disk+"/device/model"), chosen(line(disk+"/queue/scheduler")), line(disk+"/queue/rotational")
	}
	if !t.Device {
		mounts, _ := os.ReadFile("/proc/self/mountinfo")
		for l := range strings.Lines(string(mounts)) {
			before, after, _ := strings.Cut(l, " - ")
			if f := strings.Fields(before); len(f) > 4 && f[2] == number {
				c.FileSystem, _, _ = strings.Cut(after, " ")
			}
		}
	}
	if line(sys+"/dm/name") != "" {
		c.Table, c.Before = dmsetup(ctx, "table", major, minor), dmsetup(ctx, "status", major, minor)
	}
	return c
}

// after reads the cache's counters again.
func (t Target) after(ctx context.Context, c *Conditions) {
	if major, minor, err := t.number(); err == nil && c.Table != "" {
		c.After = dmsetup(ctx, "status", major, minor)
	}
}

// chosen is the scheduler in brackets: "mq-deadline [none]".
func chosen(s string) string {
	if _, after, ok := strings.Cut(s, "["); ok {
		s, _, _ = strings.Cut(after, "]")
	}
	return s
}

func line(file string) string {
	b, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

func dmsetup(ctx context.Context, verb string, major, minor uint32) string {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for _, file := range []string{"/usr/sbin/dmsetup", "/sbin/dmsetup"} {
		if _, err := os.Stat(file); err != nil {
			continue
		}
		args := []string{verb, "-j", fmt.Sprint(major), "-m", fmt.Sprint(minor)}
		if verb == "status" {
			args = append(args, "--noflush")
		}
		cmd := exec.CommandContext(ctx, file, args...)
		cmd.Env = cleanEnv
		out, err := cmd.Output()
		if err == nil {
			return strings.TrimSpace(string(out))
		}
	}
	return ""
}
