package proving_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"fettle/internal/means"
	"fettle/lab/labtest"
)

// fettleLab runs the program as it is built: it is process 1 of the machines
// that it starts.
func fettleLab(t *testing.T, dir string, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	cmd := exec.Command(labtest.Programs(t).Init, args...)
	cmd.Dir = dir
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// TestMachines boots machines with the programs as they are built.
func TestMachines(t *testing.T) {
	means.Short(t, "takes seconds")
	t.Run("boot", testBoot)
	t.Run("bisect kernels", testBisectKernels)
}

func testBoot(t *testing.T) {
	means.Tool(t, "linux.uml")
	for _, c := range []struct {
		args   []string
		status int
		out    string // begins so
		errs   string // has this
	}{
		{[]string{"--", "sh", "-c", "uname -s; id -u; exit 3"}, 3, "Linux\n0\n", ""},
		{[]string{"--", "nosuch"}, 255, "the program nosuch is not installed\n", ""},
		{[]string{"--kernel", "/nosuch", "--", "true"}, 125, "", "open /nosuch: no such file"},
		{[]string{"--kernel", "/etc/passwd", "--", "true"}, 125, "", "/etc/passwd"},
		{[]string{"--tool", "nosuch", "--", "true"}, 125, "", "nosuch"},
		{[]string{"--timeout", "5s", "--", "sleep", "60"}, 125, "", "stopped after 5s"},
		{nil, 2, "", "none given"},
		{[]string{"--mem", "3", "--", "true"}, 2, "", "at least 64 MiB"},
		{[]string{"--timeout", "0", "--", "true"}, 2, "", "--timeout"},
	} {
		out, errs, status := fettleLab(t, "", append([]string{"boot"}, c.args...)...)
		if status != c.status || !strings.HasPrefix(out, c.out) || !strings.Contains(errs, c.errs) {
			t.Errorf("boot %q: status %d, out %q, errors %q", c.args, status, out, errs)
		}
	}
}

// testBisectKernels hunts over commits that each "build" a kernel: their release
// jumps from 6.1 to 6.7 in the fourth; the second builds none, and is skipped.
func testBisectKernels(t *testing.T) {
	uml := means.Tool(t, "linux.uml")
	dir := t.TempDir()
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command(means.Tool(t, "git"), args...)
		cmd.Dir = dir
		cmd.Env = []string{
			"HOME=" + dir,
			"GIT_AUTHOR_NAME=a",
			"GIT_AUTHOR_EMAIL=a@example.org",
			"GIT_COMMITTER_NAME=a",
			"GIT_COMMITTER_EMAIL=a@example.org",
		}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	git("init", "-q", "-b", "main")
	for i, minor := range []string{"1", "none", "1", "7", "7"} {
		script := "LC_ALL=C sed 's/\\x006\\.1\\.\\([0-9]*\\)\\x00/\\x006." + minor + ".\\1\\x00/g' " + uml + " >linux && chmod +x linux\n"
		if minor == "none" {
			script = "echo rubbish >linux\n"
		}
		script += "# " + string(rune('0'+i)) + "\n"
		if err := os.WriteFile(filepath.Join(dir, "build"), []byte(script), 0o644); err != nil {
			t.Fatal(err)
		}
		git("add", "-A")
		git("commit", "-q", "-m", "change "+string(rune('0'+i)))
	}
	hunt := []string{
		"bisect",
		"--good",
		"main~4",
		"--bad",
		"main",
		"--build",
		"sh ./build",
		"--run",
		"uname -r | cut -d. -f2",
		"--levels",
		"1,7",
		"--noise",
		"0.01",
	}
	if _, errs, status := fettleLab(t, dir, append(hunt, "--boot", "--mem 128")...); status != 2 ||
		!strings.Contains(errs, "the kernel's file first") {
		t.Errorf("status %d, %s", status, errs)
	}
	out, errs, status := fettleLab(t, dir, append(hunt, "--boot", "linux")...)
	if status != 0 || !strings.Contains(out, "change 3") || !strings.Contains(out, "1 before, 7 after") {
		t.Errorf("status %d\n%s\n%s", status, out, errs)
	}
}
