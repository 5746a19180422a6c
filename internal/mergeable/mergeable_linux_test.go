package mergeable

import (
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fettle/internal/means"
)

// holdVerb has this test's program hold memory.
const holdVerb = "hold-memory"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == holdVerb {
		g, err := Parse(os.Args[2:])
		if err == nil {
			err = g.Hold()
		}
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func TestParseReadsArgs(t *testing.T) {
	for _, g := range []Guest{{MiB: 1, Ready: "/run/ready"}, {MiB: 4096, Equal: 0.75, Churn: 12.5, Ready: "r"},
		{MiB: 2, Equal: 1, Churn: 1e-3, Ready: ""}} {
		a := g.Args()
		if got, err := Parse(a); err != nil || got != g {
			t.Errorf("%q: %+v, %v; want %+v", a, got, err, g)
		}
		if a[len(a)-1] != "-enable-kvm" {
			t.Errorf("ksmtuned does not count %q", a)
		}
	}
	for args, want := range map[string]string{
		"":                          "expected READY MIB EQUAL CHURN -enable-kvm",
		"r 1 0.5 0":                 "expected READY",
		"r 1 0.5 0 -enable-kvm x":   "expected READY",
		"r 1 0.5 0 -no-kvm":         "expected READY",
		"r many 0.5 0 -enable-kvm":  `"many" is not a number of MiB`,
		"r 0 0.5 0 -enable-kvm":     `"0" is not a number of MiB`,
		"r -1 0.5 0 -enable-kvm":    `"-1" is not a number of MiB`,
		"r 1 half 0 -enable-kvm":    `"half" is not a number`,
		"r 1 -0.5 0 -enable-kvm":    `"-0.5" is not a number`,
		"r 1 0.5 fast -enable-kvm":  `"fast" is not a number`,
		"r 1 0.5 -1 -enable-kvm":    `"-1" is not a number`,
		"r 1.5 0.5 0.1 -enable-kvm": `"1.5" is not a number of MiB`,
	} {
		if _, err := Parse(strings.Fields(args)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %q", args, err, want)
		}
	}
}

func TestContentIsEqualForAShare(t *testing.T) {
	const pages = 12_800
	for share, most := range map[float64]int{0: 0, 0.25: 128, 0.5: 128, 1: 128} {
		g := Guest{Equal: share}
		count := map[uint64]int{}
		equal := 0
		for i := range pages {
			c := g.content(i)
			if c == 0 {
				t.Fatalf("page %d would be a page of zeroes", i)
			}
			count[c]++
			if c>>63 == 1 {
				equal++
			}
		}
		if want := int(share * pages); equal != want {
			t.Errorf("of %d pages %d are as in other guests, want %d", pages, equal, want)
		}
		if others := pages - equal; len(count)-others > most || equal > 0 && len(count)-others < 32 {
			t.Errorf("%g equal: %d contents, %d of pages that are like no other", share, len(count), others)
		}
		for i := range 8 { // spread evenly
			n := 0
			for j := range pages / 8 {
				if g.content(i*pages/8+j)>>63 == 1 {
					n++
				}
			}
			if n != int(share*pages/8) {
				t.Errorf("%g equal: eighth %d has %d", share, i, n)
			}
		}
	}
}

// held starts a guest in a process of its own. It gives the process's memory, and where in it the guest's is.
func held(t *testing.T, g Guest) (memory *os.File, from, to int64) {
	t.Helper()
	if _, err := os.Stat("/sys/kernel/mm/ksm/run"); err != nil {
		means.Missing(t, "needs a kernel with KSM")
	}
	g.Ready = filepath.Join(t.TempDir(), "ready")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, append([]string{holdVerb}, g.Args()...)...)
	var said strings.Builder
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { cmd.Wait(); close(ended) }()
	t.Cleanup(func() { cmd.Process.Kill(); <-ended })
	means.Until(t, "the guest's file", func() bool {
		select {
		case <-ended:
			t.Fatalf("the guest ended: %s", said.String())
		default:
		}
		_, err := os.Stat(g.Ready)
		return err == nil
	})
	proc := fmt.Sprintf("/proc/%d/", cmd.Process.Pid)
	if name, err := os.ReadFile(proc + "comm"); string(name) != "qemu-stand-in\n" {
		t.Errorf("the process is called %q, %v", name, err)
	}
	smaps, err := os.ReadFile(proc + "smaps")
	if err != nil {
		t.Fatal(err)
	}
	var start, end, mergeable int64
	for line := range strings.Lines(string(smaps)) {
		var a, b int64
		if n, _ := fmt.Sscanf(line, "%x-%x ", &a, &b); n == 2 {
			start, end = a, b
		} else if f := strings.Fields(line); f[0] == "VmFlags:" && slices.Contains(f, "mg") {
			from, to = start, end
			mergeable += end - start
		}
	}
	if mergeable != int64(g.MiB)<<20 {
		t.Fatalf("%d bytes are mergeable, want %d MiB:\n%s", mergeable, g.MiB, smaps)
	}
	if memory, err = os.OpenFile(proc+"mem", os.O_RDWR, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { memory.Close() })
	return memory, from, to
}

// pages reads the first words of all pages.
func pages(t *testing.T, memory *os.File, from, to int64) (out []uint64) {
	t.Helper()
	b := make([]byte, to-from)
	if _, err := memory.ReadAt(b, from); err != nil {
		t.Fatal(err)
	}
	for page := range slices.Chunk(b, os.Getpagesize()) {
		out = append(out, binary.LittleEndian.Uint64(page))
	}
	return out
}

func TestGuestsHoldWhatOthersHoldToo(t *testing.T) {
	a, from, to := held(t, Guest{MiB: 2, Equal: 0.5})
	b, from2, to2 := held(t, Guest{MiB: 2, Equal: 0.5})
	one, other := pages(t, a, from, to), pages(t, b, from2, to2)
	in := map[uint64]bool{}
	for _, c := range one {
		in[c] = true
	}
	if in[0] {
		t.Error("some pages were not written")
	}
	shared := 0
	for _, c := range other {
		if in[c] {
			shared++
		}
	}
	if shared != len(other)/2 {
		t.Errorf("%d of %d pages can be merged with the other guest's, want half", shared, len(other))
	}
}

// TestChurnWritesAgain: what is lost of a churning guest's memory comes back; one that does not churn leaves it.
func TestChurnWritesAgain(t *testing.T) {
	quiet, from, to := held(t, Guest{MiB: 1, Equal: 0.5})
	busy, from2, to2 := held(t, Guest{MiB: 1, Equal: 0.5, Churn: 2000})
	was := pages(t, busy, from2, to2)
	for _, g := range []struct {
		memory *os.File
		from   int64
		to     int64
	}{{quiet, from, to}, {busy, from2, to2}} {
		if _, err := g.memory.WriteAt(make([]byte, g.to-g.from), g.from); err != nil {
			t.Fatal(err)
		}
	}
	means.Until(t, "the busy guest's pages", func() bool { return slices.Equal(pages(t, busy, from2, to2), was) })
	for i, c := range pages(t, quiet, from, to) {
		if c != 0 {
			t.Fatalf("page %d of the quiet guest was written again", i)
		}
	}
}

func TestHoldTellsWhatItCannot(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	g := Guest{MiB: 1, Ready: filepath.Join(t.TempDir(), "none", "ready")}
	out, err := exec.CommandContext(t.Context(), self, append([]string{holdVerb}, g.Args()...)...).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "no such file") && !strings.Contains(string(out), "has this kernel KSM") {
		t.Errorf("a file in a folder that is not there: %s, %v", out, err)
	}
	g.MiB = 1 << 40 // more than addresses reach
	out, err = exec.CommandContext(t.Context(), self, append([]string{holdVerb}, g.Args()...)...).CombinedOutput()
	if err == nil || !strings.HasPrefix(string(out), "taking 1099511627776 MiB of memory: ") {
		t.Errorf("more than there is: %s, %v", out, err)
	}
}
