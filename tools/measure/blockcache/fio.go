package blockcache

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// fioDirs are where fio may be; nothing is looked for in $PATH.
var fioDirs = []string{"/usr/bin", "/usr/local/bin", "/bin"}

// Fio is the installed fio.
type Fio struct{ File, Version string }

const howToGetFio = "on Debian and Ubuntu: apt install fio"

// FindFio looks for fio and asks for its version: 3.0 was the first whose JSON
// has latencies in ns.
func FindFio(ctx context.Context) (Fio, error) { return findFio(ctx, fioDirs) }

func findFio(ctx context.Context, dirs []string) (Fio, error) {
	for _, dir := range dirs {
		file := filepath.Join(dir, "fio")
		if st, err := os.Stat(file); err != nil || !st.Mode().IsRegular() || st.Mode()&0o111 == 0 {
			continue
		}
		ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		cmd := exec.CommandContext(ctx, file, "--version")
		cmd.Env = cleanEnv
		out, err := cmd.Output()
		if err != nil {
			return Fio{}, fmt.Errorf("asking %s for its version: %w", file, err)
		}
		version := strings.TrimSpace(string(out))
		m := regexp.MustCompile(`^fio-(\d+)\.`).FindStringSubmatch(version)
		if m == nil {
			return Fio{}, fmt.Errorf("%s calls itself %.40q: expected fio-3.0 or newer; %s", file, version, howToGetFio)
		}
		if major, err := strconv.Atoi(m[1]); err != nil || major < 3 {
			return Fio{}, fmt.Errorf("%s is %s: too old, expected fio-3.0 or newer; %s", file, version, howToGetFio)
		}
		return Fio{file, version}, nil
	}
	return Fio{}, fmt.Errorf("fio is not in %s; %s", strings.Join(dirs, ", "), howToGetFio)
}

var cleanEnv = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C", "TMPDIR=/tmp"}

// run runs fio in dir. When ctx ends fio is asked to stop and, 5 seconds later,
// killed. The jobs are its threads: none outlives it.
func (f Fio) run(ctx context.Context, dir string, args ...string) error {
	cmd := exec.CommandContext(ctx, f.File, args...)
	cmd.Dir, cmd.Env = dir, cleanEnv
	var said tail
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.SysProcAttr = ownGroup()
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 5 * time.Second
	err := cmd.Run()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return fmt.Errorf("fio failed (%s): %s", exit, strings.TrimPrefix(said.why(), "fio: "))
	}
	return err
}

// understands asks fio itself whether it takes a job file, before anything is
// measured.
func (f Fio) understands(ctx context.Context, job string) error {
	dir, err := os.MkdirTemp("", "fettle-job-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "job.fio"), []byte(job), 0o600); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	return f.run(ctx, dir, "--parse-only", "job.fio")
}

// tail keeps the end of what is written to it.
type tail []byte

func (t *tail) Write(b []byte) (int, error) {
	*t = append(*t, b...)
	if n := len(*t) - 16<<10; n > 0 {
		*t = append((*t)[:0], (*t)[n:]...)
	}
	return len(b), nil
}

// why is the first line that names an error, or the last one: what follows
// the first is of its consequences.
func (t tail) why() string {
	lines := strings.Split(strings.TrimSpace(string(t)), "\n")
	for _, l := range lines {
		if strings.HasPrefix(l, "fio: ") {
			return strings.TrimSpace(l)
		}
	}
	if s := strings.TrimSpace(lines[len(lines)-1]); s != "" {
		return s
	}
	return "it did not say why"
}
