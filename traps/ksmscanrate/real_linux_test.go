package ksmscanrate

import (
	"os"
	"strings"
	"testing"

	"fettle/engine/trap"
	"fettle/engine/trap/traptest"
	"fettle/host"
	"fettle/internal/means"
)

// The running kernel's own KSM, read only: what the check says must agree with
// what the kernel says, whatever that is.
func TestRealKernel(t *testing.T) {
	b, err := os.ReadFile(dir + "run")
	if os.IsNotExist(err) {
		means.Missing(t, "needs a kernel with KSM")
	}
	if err != nil {
		t.Fatal(err)
	}
	src, err := host.NewLive()
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	h := host.New(src)
	out := traptest.Run(t, &Trap, h)
	said := traptest.Lines(out)
	t.Log(said)
	for _, o := range out {
		if o.Status == trap.Unknown {
			t.Errorf("unknown on a live kernel: %s", o.Reason)
		}
	}
	switch run := strings.TrimSpace(string(b)); {
	case run == "0" && !strings.HasPrefix(said, "not-applicable: KSM is off") && !strings.HasPrefix(said, "found warning run:"):
		t.Errorf("run is 0")
	case run == "2" && !strings.Contains(said, "run:"):
		t.Errorf("run is 2")
	case run == "1" && !strings.Contains(said, scanRate):
		t.Errorf("run is 1")
	}
	k, err := readKSM(t.Context(), h)
	if err != nil || k.rate.pages == 0 || k.pageSize != uint64(os.Getpagesize()) {
		t.Errorf("%+v, %v", k, err)
	}
	if after, _ := os.ReadFile(dir + "run"); string(after) != string(b) {
		t.Errorf("run was %q and is %q: the check wrote, or somebody else did", b, after)
	}
}
