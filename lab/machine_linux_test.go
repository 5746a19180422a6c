package lab_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"fettle/internal/means"
	"fettle/lab"
	"fettle/lab/labtest"
)

// playEnv makes this test program play one scenario and end, so that a test
// can kill a whole fettle in the middle of it. Its value is fettle-lab's path.
const playEnv = "FETTLE_LABTEST_PLAY"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == lab.Supervise { // as fettle-lab: see TestMachines
		if err := lab.Supervisor(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(3)
		}
		os.Exit(0)
	}
	if init := os.Getenv(playEnv); init != "" {
		k, err := lab.UML()
		if err == nil {
			_, err = lab.Play(context.Background(), "none", sleeper, lab.Options{Kernel: k, Init: init,
				OnStage: func(lab.Stage) { fmt.Println("stage") }})
		}
		fmt.Println(err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// sleeper tells of one stage and then never ends.
var sleeper = lab.Scenario{Name: "sleeper", Prepare: []lab.Act{{Run: []string{"sleep", "0"}}, {Run: []string{"sleep", "1000"}}}}

func play(t *testing.T, s lab.Scenario) lab.Verdict {
	t.Helper()
	v, err := lab.Play(t.Context(), "none", s, labtest.Options(t))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestBrokenScenarioIsNamed(t *testing.T) {
	means.Short(t, "takes seconds")
	v := play(t, lab.Scenario{Name: "broken", Prepare: []lab.Act{{Run: []string{"ip", "link", "set", "nosuch", "up"}}}})
	if v.OK || !strings.Contains(v.Why, `ip link set nosuch up: exit status 1: Cannot find device "nosuch"`) {
		t.Errorf("verdict: %+v", v)
	}
}

// TestSeccomp: a kernel that can intercept system calls with seccomp is asked to (from Linux 6.16 on).
func TestSeccomp(t *testing.T) {
	means.Short(t, "takes seconds")
	opt := labtest.Options(t)
	if opt.Kernel == labtest.Distribution(t).Kernel {
		means.Left(t, "the quicker kernel is not here: lab/kernels/uml/build")
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { lab.Play(ctx, "none", sleeper, opt); close(ended) }()
	means.Until(t, "a process of a guest that is held by seccomp", func() bool {
		all, _ := filepath.Glob("/proc/[0-9]*/status")
		return slices.ContainsFunc(all, func(p string) bool {
			b, _ := os.ReadFile(p)
			m := regexp.MustCompile(`(?s)^Name:\tuml-userspace\n.*\nPPid:\t(\d+)\n.*\nSeccomp:\t2\n`).FindSubmatch(b)
			if m == nil {
				return false
			}
			kernel, _ := os.ReadFile(filepath.Join("/proc", string(m[1]), "cmdline"))
			return bytes.Contains(kernel, fmt.Appendf(nil, "umid=fettle-%d\x00", os.Getpid()))
		})
	})
	cancel()
	<-ended
}

func TestPanicIsNamed(t *testing.T) {
	means.Short(t, "takes seconds")
	v := play(t, lab.Scenario{Name: "panic", Prepare: []lab.Act{{Write: &lab.File{Path: "/proc/sysrq-trigger", Content: "c"}}}})
	if v.OK || !strings.Contains(v.Why, "panicked") || !strings.Contains(v.Console, "sysrq") {
		t.Errorf("verdict: %+v", v)
	}
}

func TestHangIsCutOff(t *testing.T) {
	means.Short(t, "takes seconds")
	s := sleeper
	// The boot is within the limit, and takes long on a busy machine.
	for limit := 8 * time.Second; ; limit *= 2 {
		s.Needs.Limit = limit
		start := time.Now()
		v := play(t, s)
		if v.OK || !strings.Contains(v.Why, "stopped after "+limit.String()) {
			t.Errorf("verdict: %+v", v)
		}
		if took := time.Since(start); took > limit+means.Patience {
			t.Errorf("took %s, and should have been stopped after %s", took, limit)
		}
		if v.Kernel != "" || t.Failed() {
			return
		}
		if limit > 2*time.Minute {
			t.Fatalf("the machine does not boot in %s", limit)
		}
	}
}

func TestOutOfMemoryIsNamed(t *testing.T) {
	means.Short(t, "takes seconds")
	v := play(t, lab.Scenario{Name: "oom", Needs: lab.Needs{MemMiB: 288, Tools: []string{"dd", "mount"}},
		Prepare: []lab.Act{{Write: &lab.File{Path: "/proc/sys/vm/panic_on_oom", Content: "1"}},
			{Write: &lab.File{Path: "/fill/x"}}, {Run: []string{"mount", "-t", "ramfs", "ramfs", "/fill"}},
			{Run: []string{"dd", "if=/dev/zero", "of=/fill/zeros", "bs=1M"}}}})
	if v.OK || !strings.Contains(v.Why, "ran out of memory") {
		t.Errorf("verdict: %+v", v)
	}
}

// TestNothingIsLeftBehind kills a fettle that plays a scenario with SIGKILL
// and looks for processes, mounts and temporary files of the machine.
func TestNothingIsLeftBehind(t *testing.T) {
	opt := labtest.Options(t)
	tmp := t.TempDir()
	before := mounts(t)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), playEnv+"="+opt.Init, "TMPDIR="+tmp, "HOME="+tmp)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	means.Until(t, "a kernel to run", func() bool { return len(machines(t, opt.Init)) > 0 && uml(t, cmd.Process.Pid) > 0 })
	time.Sleep(500 * time.Millisecond) // well into the boot
	cmd.Process.Signal(syscall.SIGKILL)
	cmd.Wait()
	means.Until(t, "the machine to be gone", func() bool { return len(machines(t, opt.Init)) == 0 && uml(t, cmd.Process.Pid) == 0 })
	if left, _ := filepath.Glob(tmp + "/*"); len(left) > 0 {
		t.Errorf("left in TMPDIR: %v", left)
	}
	if left, _ := filepath.Glob(tmp + "/.*/*"); len(left) > 0 {
		t.Errorf("left in HOME: %v", left)
	}
	if after := mounts(t); after != before {
		t.Errorf("mounts before:\n%s\nafter:\n%s", before, after)
	}
}

// machines lists the processes that run this test's own build of fettle.
func machines(t *testing.T, bin string) []string {
	t.Helper()
	all, _ := filepath.Glob("/proc/[0-9]*/exe")
	var out []string
	for _, p := range all {
		if to, err := os.Readlink(p); err == nil && to == bin {
			out = append(out, p)
		}
	}
	return out
}

// uml counts the processes of User-Mode Linux kernels that the process pid
// has started: their command line names it. Each is kept on one CPU.
func uml(t *testing.T, pid int) int {
	t.Helper()
	all, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	n := 0
	for _, p := range all {
		b, err := os.ReadFile(p)
		if err != nil || !bytes.Contains(b, fmt.Appendf(nil, "umid=fettle-%d\x00", pid)) {
			continue
		}
		n++
		status, err := os.ReadFile(filepath.Join(filepath.Dir(p), "status"))
		if err == nil && !regexp.MustCompile(`\nCpus_allowed_list:\s*\d+\n`).Match(status) {
			t.Errorf("a User-Mode Linux kernel is passed from CPU to CPU:\n%s", status)
		}
	}
	return n
}

func mounts(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
