package proof

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"fettle/internal/chart/draw"
	"fettle/internal/means"
	"fettle/internal/mergeable"
	"fettle/lab"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == lab.MergeableVerb {
		g, err := mergeable.Parse(os.Args[2:])
		if err == nil {
			err = g.Hold()
		}
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// TestPacesHere compares the paces on this machine's own kernel: what was set
// is put back. FETTLE_KSM_LOADS and FETTLE_KSM_PACES name some of them,
// FETTLE_KSM_TIME is for how long each pace is watched, FETTLE_KSM_PLOTS a folder
// for pictures. Other virtual machines here merge too, and spoil the figures.
func TestPacesHere(t *testing.T) {
	means.Long(t, "sets this machine's KSM for an hour")
	means.Root(t)
	if _, err := os.Stat(dir + "run"); err != nil {
		means.Missing(t, "a kernel with KSM")
	}
	tmp := means.Programs(t, "fettle")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	standIn := filepath.Join(tmp, "qemu-system-x86_64")
	if err := os.Symlink(self, standIn); err != nil {
		t.Fatal(err)
	}
	path := func(name string) string {
		if name == "fettle" || name == filepath.Base(standIn) {
			return filepath.Join(tmp, name)
		}
		return name
	}
	p := Place{Paces: Paces, Dir: tmp, StandIn: []string{filepath.Base(standIn), lab.MergeableVerb},
		Exec: func(argv []string) (string, int, error) {
			cmd := exec.Command(path(argv[0]), argv[1:]...)
			out, err := cmd.CombinedOutput()
			if cmd.ProcessState != nil {
				return string(out), cmd.ProcessState.ExitCode(), nil
			}
			return string(out), -1, err
		},
		Spawn: func(argv []string) (int, func(), error) {
			cmd := exec.Command(path(argv[0]), argv[1:]...)
			cmd.Args[0] = argv[0]
			cmd.Stderr = os.Stderr
			cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
			if err := cmd.Start(); err != nil {
				return 0, nil, err
			}
			return cmd.Process.Pid, func() { cmd.Process.Kill(); cmd.Wait() }, nil
		}}
	length := time.Minute
	if s := os.Getenv("FETTLE_KSM_TIME"); s != "" {
		if length, err = time.ParseDuration(s); err != nil {
			t.Fatal(err)
		}
	}
	if s := os.Getenv("FETTLE_KSM_PACES"); s != "" {
		p.Paces = strings.Split(s, ",")
	}
	wanted := strings.Split(os.Getenv("FETTLE_KSM_LOADS"), ",")
	for _, l := range Loads(100) {
		if wanted[0] != "" && !slices.Contains(wanted, l.Name) {
			continue
		}
		r, err := p.Compare(t.Context(), l, length, func(cells ...string) { fmt.Println(strings.Join(cells, " | ")) })
		if err != nil {
			t.Fatalf("%s: %v", l.Name, err)
		}
		for _, err := range r.Promises(0.2) {
			t.Error(err)
		}
		if to := os.Getenv("FETTLE_KSM_PLOTS"); to != "" {
			for _, what := range []string{"saved", "cpu"} {
				plot := r.Plot(what)
				f, err := os.Create(filepath.Join(to, plot.Name+".svg"))
				if err != nil {
					t.Fatal(err)
				}
				if err := draw.Write(f, plot, "svg"); err != nil {
					t.Error(err)
				}
				f.Close()
			}
		}
	}
}
