package host

import (
	"os/exec"
	"slices"
	"testing"
	"time"

	"fettle/internal/means"
)

// TestRingAsDmesg: the kernel's call gives the messages that dmesg prints.
func TestRingAsDmesg(t *testing.T) {
	means.Root(t)
	dmesg := means.Tool(t, "dmesg")
	read := func(text []byte) (all []LogLine) {
		LogText{Boot: time.Unix(0, 0)}.Lines(string(text), func(l LogLine) { all = append(all, l) })
		return all
	}
	for try := 0; ; try++ {
		ring, err := kernelRing()
		if err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(dmesg).Output()
		if err != nil {
			t.Fatal(err)
		}
		got, want := read(ring), read(out)
		if slices.Equal(got, want) && len(got) > 0 {
			return
		}
		if try == 3 { // not only something that the kernel said in between
			t.Fatalf("%d lines, and %d of dmesg", len(got), len(want))
		}
	}
}
