package lab

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

func TestCPUsAreSharedEvenly(t *testing.T) {
	var allowed unix.CPUSet
	for _, cpu := range []int{0, 2, 70} {
		allowed.Set(cpu)
	}
	var c cpus
	var got []int
	for range 4 {
		got = append(got, c.take(&allowed, 4)) // from the second on
	}
	c.give(0)
	c.give(0)
	if got = append(got, c.take(&allowed, 4)); !slices.Equal(got, []int{2, 70, 0, 2, 0}) {
		t.Errorf("machines on CPUs %v", got)
	}
}

// TestOneCPU: what is started is kept on one CPU, and who starts it is not.
func TestOneCPU(t *testing.T) {
	list := func(status []byte) string {
		return string(regexp.MustCompile(`(?m)^Cpus_allowed_list:\s*(.*)$`).FindSubmatch(status)[1])
	}
	own := func() string {
		b, err := os.ReadFile("/proc/thread-self/status")
		if err != nil {
			t.Fatal(err)
		}
		return list(b)
	}
	before := own()
	var c cpus
	var out []byte
	free, err := c.start(func() (err error) {
		out, err = exec.Command("cat", "/proc/self/status").Output()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := list(out); !regexp.MustCompile(`^\d+$`).MatchString(got) {
		t.Errorf("it may run on CPUs %s", got)
	}
	if after := own(); after != before {
		t.Errorf("this process was on %s, and is on %s", before, after)
	}
	free()
	free()
	for cpu, n := range c.machines {
		if n != 0 {
			t.Errorf("CPU %d has %d machines, and none runs", cpu, n)
		}
	}
}
